//! One rule: which calls fail, and how.

use std::env::consts::ARCH;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter,
};

use crate::calls;

/// Calls that fail, and their error.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    call: i64,
    argument: Option<Argument>,
    error: u32,
}

/// What an argument must be.
#[derive(Debug, PartialEq, Eq)]
struct Argument {
    index: u8,
    mask: u64,
    value: u64,
}

impl Rule {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (calls, error) = text.rsplit_once('=').ok_or_else(|| format!("{text}: no =ERROR"))?;
        let error = calls::error(error).ok_or_else(|| format!("{text}: unknown error {error}"))?;
        let calls = calls::written_out(calls);
        let (call, argument) = match calls.split_once(':') {
            None => (calls, None),
            Some((call, argument)) => (call, Some(Argument::parse(argument).ok_or(text)?)),
        };
        let call = calls::number(call).ok_or_else(|| format!("{text}: unknown call {call}"))?;
        Ok(Self { call, argument, error: error.unsigned_abs() })
    }

    /// Makes the calls fail from now on, in this process and all that come of it.
    pub(crate) fn install(&self) -> Result<(), String> {
        let said = |error: &dyn std::fmt::Display| error.to_string();
        let mut rules = Vec::new();
        if let Some(Argument { index, mask, value }) = self.argument {
            let op = SeccompCmpOp::MaskedEq(mask);
            let condition = SeccompCondition::new(index, SeccompCmpArgLen::Qword, op, value);
            rules.push(SeccompRule::new(vec![condition.map_err(|e| said(&e))?]).map_err(|e| said(&e))?);
        }
        // One filter a rule, since a filter knows one error only. The kernel asks all of them; of those that
        // say "error" the one installed last is heard.
        let filter = SeccompFilter::new(
            [(self.call, rules)].into(),
            SeccompAction::Allow,
            SeccompAction::Errno(self.error),
            ARCH.try_into().map_err(|_| format!("{ARCH} has no seccomp filter here"))?,
        );
        let program: BpfProgram = filter.and_then(TryInto::try_into).map_err(|e| said(&e))?;
        apply_filter(&program).map_err(|e| said(&e))
    }
}

impl Argument {
    /// `2&0x400000`, `4&0x1400==0`.
    fn parse(text: &str) -> Option<Self> {
        let (index, mask) = text.split_once('&')?;
        let (mask, value) = mask.split_once("==").unwrap_or((mask, mask));
        Some(Self { index: index.parse().ok()?, mask: number(mask)?, value: number(value)? })
    }
}

fn number(text: &str) -> Option<u64> {
    if let Some(hex) = text.strip_prefix("0x") {
        u64::from_str_radix(hex, 16).ok()
    } else if let Some(octal) = text.strip_prefix("0o") {
        u64::from_str_radix(octal, 8).ok()
    } else {
        text.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_says_call_argument_and_error() {
        let rule = |call, argument, error| Ok(Rule { call, argument, error });
        assert_eq!(Rule::parse("openat2=ENOSYS"), rule(libc::SYS_openat2, None, 38));
        let tmpfile = Argument { index: 2, mask: 0x40_0000, value: 0x40_0000 };
        assert_eq!(Rule::parse("tmpfile=EISDIR"), rule(libc::SYS_openat, Some(tmpfile), 21));
        let names = Argument { index: 4, mask: 0x1400, value: 0 };
        assert_eq!(Rule::parse("linkat:4&0x1400==0=EPERM"), rule(libc::SYS_linkat, Some(names), 1));
    }

    #[test]
    fn what_is_no_rule_is_refused() {
        for text in ["openat2", "openat3=ENOSYS", "openat2=ENOSUCH", "openat:x&1=EIO", "openat:2=EIO"] {
            assert!(Rule::parse(text).is_err(), "{text}");
        }
    }
}
