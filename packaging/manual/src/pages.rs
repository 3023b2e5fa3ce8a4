//! One man page per program, its commands included: someone who looks for an option looks in one place.

use std::io;

use clap::Command;
use clap_mangen::Man;

/// What a page has that no command line says.
pub(crate) struct Page {
    pub(crate) file: &'static str,
    section: &'static str,
    manual: &'static str,
    /// Before the options, and after the last command.
    description: &'static str,
    rest: &'static str,
}

pub(crate) const SERVER: Page = Page {
    file: "bcmr-serve.8",
    section: "8",
    manual: "System Administration",
    description: include_str!("../prose/bcmr-serve.description"),
    rest: include_str!("../prose/bcmr-serve.rest"),
};

pub(crate) const CLIENT: Page = Page {
    file: "bcmr.1",
    section: "1",
    manual: "User Commands",
    description: include_str!("../prose/bcmr.description"),
    rest: include_str!("../prose/bcmr.rest"),
};

/// How roff is told what an apostrophe is.
const QUOTE: &str = ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n";

/// The page, in roff.
pub(crate) fn page(command: &mut Command, page: &Page) -> io::Result<Vec<u8>> {
    // So that each command has its own name in full, and the options that hold everywhere.
    command.build();
    let man = Man::new(command.clone());
    let name = command.get_name();
    // No date: the page would be another one every day.
    let title = [name, page.section, "", &format!("{name} {}", env!("CARGO_PKG_VERSION")), page.manual];
    let mut out = format!(".TH \"{}\"\n", title.join("\" \"")).into_bytes();
    man.render_name_section(&mut out)?;
    man.render_synopsis_section(&mut out)?;
    out.extend(page.description.bytes());
    man.render_options_section(&mut out)?;
    out.extend(b".SH COMMANDS\n");
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help" && !sub.is_hide_set()) {
        out.extend(subsection(sub)?.bytes());
    }
    out.extend(page.rest.bytes());
    // Each part that was rendered brings the definition again.
    let text = String::from_utf8_lossy(&out).replace(QUOTE, "");
    let lines: String = text.lines().flat_map(|line| [line.trim_end(), "\n"]).collect();
    Ok([QUOTE, &lines].concat().into_bytes())
}

/// A command, what it does, how it is called, and its own options.
fn subsection(sub: &Command) -> io::Result<String> {
    // Options that hold everywhere stand among the program's own, once.
    let own = sub.clone().mut_args(|arg| {
        let everywhere = arg.is_global_set() || matches!(arg.get_id().as_str(), "help" | "version");
        arg.hide(everywhere)
    });
    let named = own.get_bin_name().unwrap_or_default().to_owned();
    let man = Man::new(own.display_name(named));
    let mut body = Vec::new();
    man.render_synopsis_section(&mut body)?;
    man.render_options_section(&mut body)?;
    let body = String::from_utf8_lossy(&body).replace(".SH SYNOPSIS\n", "").replace(".SH OPTIONS\n", "");
    let about = sub.get_about().map(ToString::to_string).unwrap_or_default().replace('-', "\\-");
    Ok(format!(".SS \"{}\"\n{about}.\n.PP\n{body}", sub.get_name()))
}
