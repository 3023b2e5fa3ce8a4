//! Where something is copied from or to, as people write it for scp.

use std::ffi::OsStr;
use std::fmt;
use std::path::PathBuf;

use thiserror::Error;

/// A source or a destination.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    Local(PathBuf),
    Remote(Remote),
}

/// A path on a server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Remote {
    pub(crate) host: Host,
    pub(crate) path: RemoteSpec,
}

/// The machine that a remote path is on.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub(crate) enum Host {
    /// Reached by ssh.
    Ssh { user: Option<String>, name: String, port: Option<u16> },
    /// What the command given with --via talks to.
    Via,
}

/// A remote path as the person wrote it, without `~/`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct RemoteSpec(String);

/// Why a target cannot be used. A usage error.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub(crate) enum TargetError {
    #[error("{0}: a host or user that begins with '-' would be taken for an option of ssh")]
    Dash(String),
    #[error("{0}: the host is missing")]
    NoHost(String),
    #[error("{0}: the port is not a number between 1 and 65535")]
    Port(String),
    #[error("{0}: paths of another user's home are not supported; give the absolute path")]
    OtherHome(String),
    #[error("{0}: a '%' that is not followed by two hex digits, or stands for bytes that are no text")]
    Percent(String),
    #[error("{0}: a control character in the host or user")]
    Control(String),
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Ssh { user, name, port } = self else { return Ok(()) };
        if let Some(user) = user {
            write!(f, "{user}@")?;
        }
        match name.contains(':') {
            true => write!(f, "[{name}]")?,
            false => f.write_str(name)?,
        }
        port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// As scp takes it; a port makes it a URI, in which a second slash begins an absolute path.
impl fmt::Display for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Ssh { port: Some(_), .. } => write!(f, "scp://{}/{}", self.host, self.path.0),
            host => write!(f, "{host}:{}", self.path.0),
        }
    }
}

impl Target {
    /// Parses a target. `via` tells whether `:path` means the command given with --via.
    pub(crate) fn parse(argument: impl AsRef<OsStr>, via: bool) -> Result<Self, TargetError> {
        // The protocol's paths are UTF-8, so anything else can only be local.
        let Some(text) = argument.as_ref().to_str() else {
            return Ok(Self::Local(argument.as_ref().into()));
        };
        if let Some(rest) = text.strip_prefix("scp://") {
            return scp_uri(text, rest);
        }
        let Some((host, path)) = split_host(text) else { return Ok(Self::Local(text.into())) };
        let path = RemoteSpec::parse(text, path)?;
        if host.is_empty() {
            // To scp, a leading colon is part of a local name.
            return Ok(if via {
                Self::Remote(Remote { host: Host::Via, path })
            } else {
                Self::Local(text.into())
            });
        }
        let (user, name) = split_user(host);
        Ok(Self::Remote(Remote { host: ssh(text, user, name, None)?, path }))
    }
}

impl RemoteSpec {
    fn parse(text: &str, path: &str) -> Result<Self, TargetError> {
        let path = match path.strip_prefix('~') {
            None => path,
            Some("") => "",
            Some(rest) => match rest.strip_prefix('/') {
                Some(in_home) => in_home.trim_start_matches('/'),
                None => return Err(TargetError::OtherHome(text.to_owned())),
            },
        };
        Ok(Self(path.to_owned()))
    }

    /// Whether it counts from the machine's root, not from the served one.
    pub(crate) fn is_absolute(&self) -> bool {
        self.0.starts_with('/')
    }

    /// The path as it goes into requests.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Splits `host:path` where the colon comes before any slash; `[host]:path` where the brackets are whole.
fn split_host(text: &str) -> Option<(&str, &str)> {
    let host_start = text.find('@').filter(|at| !text[..*at].contains(['/', ':'])).map_or(0, |at| at + 1);
    if text[host_start..].starts_with('[') {
        let close = text[host_start..].find("]:").filter(|end| !text[host_start..][..*end].contains('/'));
        if let Some(close) = close {
            let colon = host_start + close + 1;
            return Some((&text[..colon], &text[colon + 1..]));
        }
    }
    let colon = text.find(':')?;
    if text[..colon].contains('/') { None } else { Some((&text[..colon], &text[colon + 1..])) }
}

fn split_user(host: &str) -> (Option<&str>, &str) {
    match host.rsplit_once('@') {
        Some((user, name)) => (Some(user), unbracket(name)),
        None => (None, unbracket(host)),
    }
}

fn unbracket(name: &str) -> &str {
    name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name)
}

fn ssh(text: &str, user: Option<&str>, name: &str, port: Option<u16>) -> Result<Host, TargetError> {
    if name.is_empty() || user.is_some_and(str::is_empty) {
        return Err(TargetError::NoHost(text.to_owned()));
    }
    for part in user.into_iter().chain([name]) {
        if part.starts_with('-') {
            return Err(TargetError::Dash(text.to_owned()));
        }
        if part.contains(char::is_control) {
            return Err(TargetError::Control(text.escape_debug().to_string()));
        }
    }
    Ok(Host::Ssh { user: user.map(str::to_owned), name: name.to_owned(), port })
}

/// `scp://[user@]host[:port][/path]`, percent-encoded; like scp's, the path counts from the home directory
/// unless it begins with a second slash.
fn scp_uri(text: &str, rest: &str) -> Result<Target, TargetError> {
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(percent_decode(text, user)?), host),
        None => (None, authority),
    };
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => {
            let number = port.parse().ok().filter(|number| *number != 0);
            (name, Some(number.ok_or_else(|| TargetError::Port(text.to_owned()))?))
        }
        _ => (host, None),
    };
    let host = ssh(text, user.as_deref(), unbracket(name), port)?;
    let path = RemoteSpec::parse(text, &percent_decode(text, path)?)?;
    Ok(Target::Remote(Remote { host, path }))
}

fn percent_decode(text: &str, encoded: &str) -> Result<String, TargetError> {
    let bad = || TargetError::Percent(text.to_owned());
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|b| char::from(b).to_digit(16)).ok_or_else(bad);
        let value = digit()? * 16 + digit()?;
        bytes.push(u8::try_from(value).map_err(|_| bad())?);
    }
    String::from_utf8(bytes).ok().filter(|decoded| !decoded.contains('\0')).ok_or_else(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remote(text: &str) -> (Host, String) {
        match Target::parse(text, false) {
            Ok(Target::Remote(Remote { host, path })) => (host, path.0),
            other => panic!("{text}: {other:?}"),
        }
    }

    fn ssh(user: Option<&str>, name: &str, port: Option<u16>) -> Host {
        Host::Ssh { user: user.map(str::to_owned), name: name.to_owned(), port }
    }

    fn is_local(text: &str) -> bool {
        Target::parse(text, false) == Ok(Target::Local(text.into()))
    }

    #[test]
    fn openssh_portable_49_a_colon_before_any_slash_makes_it_remote() {
        assert_eq!(remote("h:p"), (ssh(None, "h", None), "p".to_owned()));
        assert_eq!(remote("[h]:p"), (ssh(None, "h", None), "p".to_owned()));
        assert_eq!(remote("u@[2001:db8::1]:p"), (ssh(Some("u"), "2001:db8::1", None), "p".to_owned()));
        assert_eq!(remote("C:/x"), (ssh(None, "C", None), "/x".to_owned()));
        assert!(is_local("./h:p") && is_local("/h:p") && is_local("plain"));
    }

    #[test]
    fn teleport_59982_a_colon_after_a_slash_is_part_of_a_local_name() {
        assert!(is_local("dir/a:b") && is_local("./a:b"));
        assert_eq!(remote("host:a:b"), (ssh(None, "host", None), "a:b".to_owned()));
        assert_eq!(remote("host:a@b:c"), (ssh(None, "host", None), "a@b:c".to_owned()));
    }

    #[test]
    fn desync_351_a_host_or_user_that_begins_with_a_dash_is_refused() {
        for text in [
            "[-oProxyCommand=touch p]:/x",
            "-oProxyCommand=x:/y",
            "-u@h:x",
            "u@-h:x",
            "scp://-h/x",
            "scp://%2du@h/x",
        ] {
            assert_eq!(Target::parse(text, false), Err(TargetError::Dash(text.to_owned())), "{text}");
        }
        assert_eq!(remote("h-o:x"), (ssh(None, "h-o", None), "x".to_owned()));
    }

    #[test]
    fn scp_uris_carry_a_port_and_count_from_home_unless_doubled() {
        assert_eq!(remote("scp://u@h:2222/a%20b"), (ssh(Some("u"), "h", Some(2222)), "a b".to_owned()));
        assert_eq!(remote("scp://h//etc"), (ssh(None, "h", None), "/etc".to_owned()));
        assert_eq!(remote("scp://[::1]:22/x"), (ssh(None, "::1", Some(22)), "x".to_owned()));
        assert_eq!(remote("scp://[::1]/x"), (ssh(None, "::1", None), "x".to_owned()));
        assert!(Target::parse("scp://h:0/x", false).is_err() && Target::parse("scp://h:x/x", false).is_err());
        assert!(Target::parse("scp://h/%zz", false).is_err() && Target::parse("scp:///x", false).is_err());
    }

    #[test]
    fn a_leading_colon_is_the_via_command_or_else_a_local_name() {
        let path = RemoteSpec("a".to_owned());
        assert_eq!(Target::parse(":a", true), Ok(Target::Remote(Remote { host: Host::Via, path })));
        assert!(is_local(":a"));
    }

    #[test]
    fn only_the_own_home_is_known_by_a_tilde() {
        assert_eq!(remote("h:~/a").1, "a");
        assert_eq!(remote("h:~").1, "");
        assert_eq!(remote("h:~/").1, "");
        assert!(matches!(Target::parse("h:~root/x", false), Err(TargetError::OtherHome(_))));
        assert_eq!(remote("h:./~x").1, "./~x");
    }
}
