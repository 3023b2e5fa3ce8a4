//! Landlock: every right that the running kernel knows is handled, so that what was not granted is refused.

use std::fmt;
use std::os::fd::BorrowedFd;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, LandlockStatus, PathBeneath,
    RestrictionStatus, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus,
    Scope,
};

use super::rights::Rights;

/// ABIs, the newest first.
const ABIS: [ABI; 10] =
    [ABI::V10, ABI::V9, ABI::V8, ABI::V7, ABI::V6, ABI::V5, ABI::V4, ABI::V3, ABI::V2, ABI::V1];

/// The newest ABI of which everything is asked.
pub(super) const NEWEST: ABI = ABIS[0];

/// What an ABI brought that an older one cannot hold back. (ABI 2 brought the right to link across
/// directories, which ABI 1 refuses always; ABI 7 and 8 brought no rights.)
const BROUGHT: [(ABI, &str); 6] = [
    (ABI::V3, "truncating"),
    (ABI::V4, "TCP"),
    (ABI::V5, "device ioctls"),
    (ABI::V6, "signals and abstract sockets"),
    (ABI::V9, "named sockets"),
    (ABI::V10, "UDP"),
];

/// What Landlock does for a process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Landlock {
    /// All that the kernel has.
    On {
        /// The kernel's ABI.
        abi: i32,
        /// What newer kernels could hold back besides.
        absent: Vec<&'static str>,
    },
    /// Less than the kernel announced: it is not the kernel it says it is.
    SteppedDown {
        /// The ABI that was announced.
        announced: i32,
        /// The ABI that worked.
        abi: i32,
    },
    /// Nothing, and why.
    Off(String),
}

impl Landlock {
    /// Whether it is all that this kernel promises to have.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        matches!(self, Self::On { .. })
    }

    /// Whether it holds anything.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        !matches!(self, Self::Off(_))
    }
}

impl fmt::Display for Landlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::On { abi, absent } if absent.is_empty() => write!(f, "on (ABI {abi})"),
            Self::On { abi, absent } => write!(f, "on (ABI {abi}, without {})", absent.join(", ")),
            Self::SteppedDown { announced, abi } => {
                write!(f, "stepped down (ABI {announced} was announced, ABI {abi} worked)")
            }
            Self::Off(why) => write!(f, "off ({why})"),
        }
    }
}

/// Restricts this thread, and all that it starts, to `rights`.
pub(super) fn restrict(rights: Rights, root: BorrowedFd<'_>, state: Option<BorrowedFd<'_>>) -> Landlock {
    let mut why = "not tried".to_owned();
    for (steps, abi) in ABIS.into_iter().enumerate() {
        match restrict_with(abi, rights, root, state) {
            Ok(status) => return outcome(&status, if steps == 0 { None } else { Some(abi) }),
            // A kernel that announces an ABI and then knows it not: perhaps it knows an older one.
            Err(error) => why = error.to_string(),
        }
    }
    Landlock::Off(why)
}

fn restrict_with(
    abi: ABI,
    rights: Rights,
    root: BorrowedFd<'_>,
    state: Option<BorrowedFd<'_>>,
) -> Result<RestrictionStatus, RulesetError> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(abi))?;
    if abi >= ABI::V4 {
        ruleset = ruleset.handle_access(AccessNet::from_all(abi))?;
    }
    if abi >= ABI::V6 {
        ruleset = ruleset.scope(Scope::from_all(abi))?;
    }
    let mut created = ruleset.create()?;
    for (dir, rights) in [(Some(root), rights.root), (state, rights.state)] {
        // Rights that this ABI does not handle cannot be granted, and need not be.
        let rights = rights & AccessFs::from_all(abi);
        if let (Some(dir), false) = (dir, rights.is_empty()) {
            created = add(created, dir, rights)?;
        }
    }
    created.restrict_self()
}

fn add(
    ruleset: RulesetCreated,
    dir: BorrowedFd<'_>,
    rights: landlock::BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    ruleset.add_rule(PathBeneath::new(dir, rights))
}

/// What came of it. `stepped` is the ABI that was used where a newer one failed.
fn outcome(status: &RestrictionStatus, stepped: Option<ABI>) -> Landlock {
    let announced = match status.landlock {
        LandlockStatus::NotImplemented => return Landlock::Off("this kernel has none".to_owned()),
        LandlockStatus::NotEnabled => return Landlock::Off("it is disabled in this kernel".to_owned()),
        LandlockStatus::Available { effective_abi, .. } => effective_abi,
    };
    if status.ruleset == RulesetStatus::NotEnforced {
        return Landlock::Off("the kernel did not enforce it".to_owned());
    }
    match stepped {
        Some(abi) if abi < announced => {
            Landlock::SteppedDown { announced: announced as i32, abi: abi as i32 }
        }
        _ => {
            let absent = BROUGHT.iter().filter(|(abi, _)| *abi > announced).map(|(_, what)| *what).collect();
            Landlock::On { abi: announced as i32, absent }
        }
    }
}
