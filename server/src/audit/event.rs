use std::fmt;

/// What a record tells of. Each kind has a MESSAGE_ID of its own for good, by which journalctl finds it
/// (systemd.journal-fields(7)).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    /// A session is served, or a question of the public client answered.
    Start,
    /// Nobody is served.
    Denied,
    /// A file is published.
    Publish,
    /// A file was sent.
    Get,
    /// A request that policy does not allow.
    Refused,
    /// A request that was allowed and failed.
    Failed,
    /// A session is over.
    End,
}

impl Event {
    pub(super) const fn message_id(self) -> &'static str {
        match self {
            Self::Start => "e636837f5489499f82aa780e9e45472d",
            Self::Denied => "a75619dcc4b1488e9f1fea4c4505c411",
            Self::Publish => "67587f9f1a5e411c8cd08d2cca114090",
            Self::Get => "749c147d8b6f40608e7f78571f93f71c",
            Self::Refused => "581232a59c5846c39128aa98564e4390",
            Self::Failed => "ac23144e3e924233b4cf722d013a546e",
            Self::End => "cbdcaa0ed7a84a3fa9b629a0c580231d",
        }
    }

    /// Whether it may come thousands of times a second.
    pub(super) const fn is_of_a_file(self) -> bool {
        matches!(self, Self::Publish | Self::Get)
    }

    /// Severity (RFC 5424, section 6.2.1): what was done is informational, what was not is a warning.
    pub(super) const fn severity(self) -> u8 {
        match self {
            Self::Publish | Self::Get => 6,
            Self::Start | Self::End => 5,
            Self::Denied | Self::Refused | Self::Failed => 4,
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Start => "start",
            Self::Denied => "denied",
            Self::Publish => "publish",
            Self::Get => "get",
            Self::Refused => "refused",
            Self::Failed => "failed",
            Self::End => "end",
        })
    }
}
