//! A client as a person starts it: command line in, exit code and text out.

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getuid, kill_process_group};
use tempfile::TempDir;

use crate::binaries;
use crate::sshd::Sshd;

/// The account that tests take where they need one without root's rights.
const NOBODY: &str = "65534";

/// How long a client may take for whatever a test has it do.
const PATIENCE: Duration = Duration::from_secs(40);

/// The variable that names the public bcmr 0.7.2.
pub const PEER: &str = "BCMR_PEER";

/// The public bcmr 0.7.2, client and server in one program.
#[must_use]
pub fn peer() -> PathBuf {
    let path = std::env::var_os(PEER).map(PathBuf::from);
    path.unwrap_or_else(|| {
        panic!("{PEER} does not name the public bcmr 0.7.2; tests/run installs it and sets it")
    })
}

/// A client about to be started.
#[derive(Debug)]
pub struct Client {
    program: PathBuf,
    prefix: Vec<OsString>,
    args: Vec<OsString>,
    dir: Option<PathBuf>,
    env: Vec<(OsString, OsString)>,
    input: Option<Stdio>,
    /// Our server, and the root that it serves to this client.
    server: PathBuf,
    root: Option<PathBuf>,
    /// Whether a lost link is the end of it.
    once: bool,
}

impl Client {
    /// Ours.
    #[must_use]
    pub fn ours() -> Self {
        Self { once: true, ..Self::of(binaries::client()) }
    }

    /// Has it go on when the link is lost, which it does by itself, and no test waits for.
    #[must_use]
    pub const fn retrying(mut self) -> Self {
        self.once = false;
        self
    }

    /// The public one.
    #[must_use]
    pub fn public() -> Self {
        Self::of(peer())
    }

    fn of(program: PathBuf) -> Self {
        let server = binaries::server();
        Self {
            program,
            prefix: Vec::new(),
            args: Vec::new(),
            dir: None,
            env: Vec::new(),
            input: None,
            server,
            root: None,
            once: false,
        }
    }

    /// Reaches its server by that sshd.
    #[must_use]
    pub fn over(self, sshd: &Sshd) -> Self {
        self.arg("--ssh-config").arg(sshd.client_config())
    }

    /// Reaches its server by a line of shell.
    #[must_use]
    pub fn via(self, command: impl Into<OsString>) -> Self {
        self.arg("--via").arg(command)
    }

    /// Reaches our server, which serves `root`, by pipes.
    #[must_use]
    pub fn to_root(mut self, root: &Path) -> Self {
        self.root = Some(root.to_owned());
        self
    }

    /// Reaches the fake server that plays `scenario`.
    #[must_use]
    pub fn to_fake(self, scenario: &str) -> Self {
        self.via(format!("exec {} {scenario}", quoted(&binaries::tool("fake-server"))))
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets the directory that it is started in.
    #[must_use]
    pub fn within(mut self, dir: &Path) -> Self {
        self.dir = Some(dir.to_owned());
        self
    }

    /// Sets a variable of its environment.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Gives it something to read, where it has nothing otherwise.
    #[must_use]
    pub fn input(mut self, input: impl Into<Stdio>) -> Self {
        self.input = Some(input.into());
        self
    }

    /// Starts it by way of another command, which ends in exec.
    #[must_use]
    pub fn under(mut self, command: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.prefix.extend(command.into_iter().map(Into::into));
        self
    }

    /// Starts it without root's rights, also where the tests have them: root may read and write what no
    /// permission bit allows. Gives everything below `dir` to that account, and puts the programs there, since
    /// the place where they are built may be closed to others.
    #[must_use]
    pub fn unprivileged(mut self, dir: &Path) -> Self {
        if !getuid().is_root() {
            return self;
        }
        for program in [binaries::client(), binaries::server()] {
            fs::copy(&program, dir.join(program.file_name().unwrap())).unwrap();
        }
        (self.program, self.server) = (dir.join("bcmr"), dir.join("bcmr-serve"));
        let given = Command::new("chown").args(["-R", &format!("{NOBODY}:{NOBODY}")]).arg(dir).status();
        assert!(given.unwrap().success());
        self.under(["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--"])
    }

    /// Copies, and waits for the end.
    #[track_caller]
    pub fn copy(self, args: impl IntoIterator<Item = impl Into<OsString>>) -> Ran {
        self.arg("copy").args(args).run()
    }

    /// Runs, and waits for the end.
    #[track_caller]
    pub fn run(self) -> Ran {
        self.start().end()
    }

    /// Starts it.
    #[must_use]
    pub fn start(mut self) -> Running {
        let home = tempfile::tempdir().unwrap();
        if let Some(root) = &self.root {
            let serve = format!("exec {} --root {}", quoted(&self.server), quoted(root));
            self.args.splice(..0, ["--via".into(), serve.into()]);
        }
        if self.once && self.args.iter().any(|arg| arg == "copy") {
            self.args.insert(0, "--no-retry".into());
        }
        self.prefix.push(self.program.into_os_string());
        let mut command = Command::new(&self.prefix[0]);
        command.args(&self.prefix[1..]).args(&self.args);
        // A group of its own, so that whatever it has started can be ended with it.
        command.process_group(0);
        command
            .env("HOME", home.path())
            .env("TMPDIR", home.path())
            // No store of blocks, unless a test says where.
            .env("BCMR_CAS_DIR", "/dev/null")
            .env_remove("TERM")
            .env_remove("XDG_STATE_HOME");
        command.env_remove("XDG_CONFIG_HOME").env_remove("XDG_CACHE_HOME").env_remove("XDG_DATA_HOME");
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        if let Some(dir) = &self.dir {
            command.current_dir(dir);
        }
        command.stdin(self.input.unwrap_or_else(Stdio::null)).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let out = Drain::new(child.stdout.take().unwrap());
        let err = Drain::new(child.stderr.take().unwrap());
        Running { child, out: Some(out), err: Some(err), since: Instant::now(), home }
    }
}

/// The command that serves `root`, for a shell.
#[must_use]
pub fn serve(root: &Path) -> String {
    format!("exec {} --root {}", quoted(&binaries::server()), quoted(root))
}

/// A path as one word of a shell.
#[must_use]
pub fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_str().unwrap().replace('\'', r"'\''"))
}

/// What a stream has brought so far, and the thread that reads it.
#[derive(Debug)]
struct Drain {
    bytes: Arc<Mutex<Vec<u8>>>,
    thread: JoinHandle<()>,
}

impl Drain {
    fn new(mut from: impl Read + Send + 'static) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&bytes);
        let thread = std::thread::spawn(move || {
            let mut piece = [0; 16_384];
            loop {
                match from.read(&mut piece).unwrap() {
                    0 => return,
                    read => shared.lock().unwrap().extend_from_slice(&piece[..read]),
                }
            }
        });
        Self { bytes, thread }
    }

    /// Everything, when the stream has ended.
    fn all(self) -> Vec<u8> {
        self.thread.join().unwrap();
        std::mem::take(&mut *self.bytes.lock().unwrap())
    }
}

/// A client that runs. It is killed, with all that it has started, where it still runs when the value goes.
#[derive(Debug)]
pub struct Running {
    child: Child,
    out: Option<Drain>,
    err: Option<Drain>,
    since: Instant,
    home: TempDir,
}

impl Running {
    /// The process.
    #[must_use]
    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// What it has written to its standard error so far.
    #[must_use]
    pub fn said(&self) -> String {
        let err = self.err.as_ref().map(|err| err.bytes.lock().unwrap().clone());
        String::from_utf8_lossy(&err.unwrap_or_default()).into_owned()
    }

    /// What it has written to its standard output so far, as text.
    #[must_use]
    pub fn printed(&self) -> String {
        let out = self.out.as_ref().map(|out| out.bytes.lock().unwrap().clone());
        String::from_utf8_lossy(&out.unwrap_or_default()).into_owned()
    }

    /// Waits until it has ended, for as long as a slow machine may need.
    #[track_caller]
    pub fn end(self) -> Ran {
        self.ends_within(PATIENCE)
    }

    /// Waits until it has ended, for at most `limit`.
    #[track_caller]
    pub fn ends_within(mut self, limit: Duration) -> Ran {
        let deadline = Instant::now() + limit;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > deadline {
                let _ = kill_process_group(self.pid(), Signal::KILL);
                let err = self.err.take().unwrap().all();
                panic!("the client still ran after {limit:?}; it said: {}", String::from_utf8_lossy(&err));
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let took = self.since.elapsed();
        // What it may have left behind holds its pipes open.
        let _ = kill_process_group(self.pid(), Signal::KILL);
        Ran {
            code: status.code().unwrap_or_else(|| -status.signal().unwrap_or_default()),
            out: self.out.take().unwrap().all(),
            err: self.err.take().unwrap().all(),
            took,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = kill_process_group(self.pid(), Signal::KILL);
        let _ = self.child.wait();
        // The public client leaves an ssh behind, for its next run.
        for socket in fs::read_dir(self.home.path().join("bcmr-ssh")).into_iter().flatten().flatten() {
            let _ = Command::new("ssh").arg("-S").arg(socket.path()).args(["-qO", "exit", "any"]).output();
        }
    }
}

/// How a client ended.
#[derive(Debug)]
pub struct Ran {
    /// The exit code; a signal's number, negative, where it died of one.
    pub code: i32,
    /// What it wrote to its standard output.
    pub out: Vec<u8>,
    /// What it wrote to its standard error.
    pub err: Vec<u8>,
    /// How long it ran.
    pub took: Duration,
}

impl Ran {
    /// What it wrote to its standard error, as text.
    #[must_use]
    pub fn said(&self) -> String {
        String::from_utf8_lossy(&self.err).into_owned()
    }

    /// What it wrote to its standard output, as text.
    #[must_use]
    pub fn printed(&self) -> String {
        String::from_utf8_lossy(&self.out).into_owned()
    }

    /// Checks that all went well.
    #[track_caller]
    pub fn succeeds(&self) -> &Self {
        self.ends_with(0)
    }

    /// Checks the exit code.
    #[track_caller]
    pub fn ends_with(&self, code: i32) -> &Self {
        assert_eq!(self.code, code, "it said: {}", self.said());
        self
    }

    /// Checks that it said something.
    #[track_caller]
    pub fn says(&self, text: &str) -> &Self {
        assert!(self.said().contains(text), "it did not say {text:?}: {}", self.said());
        self
    }

    /// Checks that it did not say something.
    #[track_caller]
    pub fn keeps_quiet_about(&self, text: &str) -> &Self {
        assert!(!self.said().contains(text), "it said {text:?}: {}", self.said());
        self
    }
}
