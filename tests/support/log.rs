//! A syslog of a test's own: a socket that one server finds at /dev/log.

use std::io::ErrorKind;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::time::Duration;

use tempfile::TempDir;

use crate::launch::Launch;

/// How long a record may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Who listens.
#[derive(Debug)]
pub struct Log {
    dir: TempDir,
    socket: UnixDatagram,
}

impl Default for Log {
    fn default() -> Self {
        Self::new()
    }
}

impl Log {
    /// A socket on which nothing has been said.
    #[must_use]
    pub fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("bcmr-log-").tempdir().unwrap();
        let socket = UnixDatagram::bind(dir.path().join("log")).unwrap();
        // As syslog's: whoever runs may write to it.
        let all = std::os::unix::fs::PermissionsExt::from_mode;
        std::fs::set_permissions(dir.path(), all(0o755)).unwrap();
        std::fs::set_permissions(dir.path().join("log"), all(0o666)).unwrap();
        Self { dir, socket }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.dir.path().join("log")
    }

    /// Has a server see a /dev of its own, with the log and little else. Needs root.
    #[must_use]
    pub fn seen_by(&self, launch: Launch) -> Launch {
        launch.under(["unshare", "-m", "--propagation", "private"]).after_shell(&self.mount())
    }

    /// The line of shell that makes such a /dev in a mount namespace.
    #[must_use]
    pub fn mount(&self) -> String {
        format!(
            "mount -t tmpfs -o mode=755 none /dev && mknod -m 666 /dev/null c 1 3 && \
             mknod -m 444 /dev/urandom c 1 9 && ln -s {} /dev/log",
            self.path().display()
        )
    }

    /// The next record; None where none comes in a while.
    #[must_use]
    pub fn next(&self, patience: Duration) -> Option<String> {
        self.socket.set_read_timeout(Some(patience)).unwrap();
        let mut record = vec![0; 1 << 17];
        match self.socket.recv(&mut record) {
            Ok(len) => Some(String::from_utf8(record[..len].to_vec()).expect("a record is ASCII")),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => None,
            Err(e) => panic!("{e}"),
        }
    }

    /// The next record.
    #[must_use]
    #[track_caller]
    pub fn record(&self) -> String {
        self.next(PATIENCE).expect("a record was due")
    }

    /// All the records that are there by now.
    #[must_use]
    pub fn records(&self) -> Vec<String> {
        std::iter::from_fn(|| self.next(Duration::from_millis(1))).collect()
    }

    /// The only record of a session that is over.
    #[must_use]
    #[track_caller]
    pub fn only(&self) -> String {
        let records = self.records();
        assert_eq!(records.len(), 1, "{records:?}");
        records.into_iter().next().unwrap()
    }
}
