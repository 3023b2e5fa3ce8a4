use std::fmt::Write;

use serde_json::json;

use crate::exit::Exit;

/// What something that was looked at means for service.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Grade {
    /// As it should be.
    Full,
    /// Served with less than there could be.
    Degraded,
    /// Not served.
    Refuses,
}

impl Grade {
    const fn word(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Degraded => "degraded",
            Self::Refuses => "refuses",
        }
    }

    pub(super) const fn exit(self) -> Exit {
        match self {
            Self::Full => Exit::Done,
            Self::Degraded => Exit::No,
            Self::Refuses => Exit::Refuses,
        }
    }
}

/// One thing that was looked at.
#[derive(Debug)]
struct Finding {
    about: String,
    grade: Grade,
    text: String,
}

/// Everything that was looked at, in order.
#[derive(Debug, Default)]
pub(super) struct Findings(Vec<Finding>);

impl Findings {
    pub(super) fn add(&mut self, about: impl Into<String>, grade: Grade, text: impl Into<String>) {
        self.0.push(Finding { about: about.into(), grade, text: text.into() });
    }

    /// The worst of them.
    pub(super) fn verdict(&self) -> Grade {
        self.0.iter().map(|finding| finding.grade).max().unwrap_or(Grade::Full)
    }

    /// Lines for people.
    pub(super) fn text(&self) -> String {
        let width = self.0.iter().map(|finding| finding.about.len()).max().unwrap_or(0);
        let mut out = String::new();
        for Finding { about, grade, text } in &self.0 {
            // Writing to a String cannot fail.
            let _ = writeln!(out, "{about:width$}  {:8}  {text}", grade.word());
        }
        let _ = writeln!(out, "{:width$}  {}", "verdict", self.verdict().word());
        out
    }

    /// The same for programs.
    pub(super) fn json(&self) -> String {
        let findings: Vec<_> = self
            .0
            .iter()
            .map(
                |Finding { about, grade, text }| json!({"about": about, "grade": grade.word(), "text": text}),
            )
            .collect();
        let verdict = self.verdict();
        format!("{:#}\n", json!({"verdict": verdict.word(), "findings": findings}))
    }
}
