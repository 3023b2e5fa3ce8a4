//! seccomp: an allow-list. Two filters, because each has one action for what matches and one for the rest: the
//! first answers ENOSYS to calls that libc merely tries, the second lets the list pass and kills at anything
//! else. The stricter of two verdicts holds.

use std::collections::BTreeMap;

use rustix::io::Errno;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};

use super::calls::{self, Call, Is};
use crate::rules::Rules;

#[cfg(target_arch = "x86_64")]
const ARCH: TargetArch = TargetArch::x86_64;
#[cfg(target_arch = "aarch64")]
const ARCH: TargetArch = TargetArch::aarch64;

/// Installs both filters for this thread and all that it starts.
pub(super) fn filter(_rules: &Rules) -> Result<(), String> {
    #[allow(clippy::cast_sign_loss, reason = "errnos are positive")]
    let absent = SeccompAction::Errno(Errno::NOSYS.raw_os_error() as u32);
    let probed = program(calls::PROBED, SeccompAction::Allow, absent).map_err(|e| e.to_string())?;
    let listed = calls::ALLOWED.iter().chain(calls::PROBED);
    let listed =
        program(listed, SeccompAction::KillProcess, SeccompAction::Allow).map_err(|e| e.to_string())?;
    apply_filter(&probed).and_then(|()| apply_filter(&listed)).map_err(|e| e.to_string())
}

fn program<'c>(
    calls: impl IntoIterator<Item = &'c Call>,
    otherwise: SeccompAction,
    on_match: SeccompAction,
) -> Result<BpfProgram, BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for call in calls {
        let alternatives = rules.entry(call.number).or_default();
        for conditions in call.when {
            let conditions = conditions.iter().map(condition).collect::<Result<_, _>>()?;
            alternatives.push(SeccompRule::new(conditions)?);
        }
    }
    SeccompFilter::new(rules, otherwise, on_match, ARCH)?.try_into()
}

fn condition(is: &Is) -> Result<SeccompCondition, BackendError> {
    let Is { arg, mask, value } = *is;
    SeccompCondition::new(arg, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(mask), value)
}
