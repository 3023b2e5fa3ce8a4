//! The socket of the audit trail: connected before the sandbox, which lets nothing connect.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;

/// Where syslog listens.
const SYSLOG: &str = "/dev/log";

/// A connected socket; None where nobody listens. It never waits: a log that is stuck must not hold up service.
pub(crate) fn connect() -> Option<OwnedFd> {
    let socket = UnixDatagram::unbound().ok()?;
    socket.connect(SYSLOG).ok()?;
    socket.set_nonblocking(true).ok()?;
    Some(socket.into())
}
