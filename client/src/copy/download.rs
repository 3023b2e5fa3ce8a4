//! Downloads: requests go out without waiting; content is staged beside its destination, checked, and published.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use bcmr_publish::{How, PublishError, Publisher, Stage};
use bcmr_wire::Message;
use bcmr_wire::blocks::ReceiveError;
use bcmr_wire::shown::shown;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

use super::Outcomes;
use super::dial::Dialer;
use super::names::{self, Into, Standing};
use crate::cli::ConnectionArgs;
use crate::exchange::{Dead, Exchange, Job, Listed, Lost, Replies, Reply};
use crate::exit::Fatal;
use crate::plan::join;
use crate::target::Remote;

/// A Get whose content is awaited.
#[derive(Debug)]
pub(crate) struct GetJob {
    remote: String,
    local: PathBuf,
}

/// Copies remote sources to this machine.
pub(super) fn download(
    sources: &[Remote],
    to: &Path,
    connection: &ConnectionArgs,
    outcomes: &Arc<Outcomes>,
) -> Result<(), Fatal> {
    // Without a slash at the end, with which a file is not found.
    let standing = match std::fs::metadata(to.components().as_path()) {
        Ok(there) if there.is_dir() => Standing::Directory,
        Ok(_) => Standing::File,
        Err(_) => Standing::Absent,
    };
    let into = names::decide(to, &to.to_string_lossy(), standing, sources.len())?;
    let mut servers: BTreeMap<String, Vec<&Remote>> = BTreeMap::new();
    for source in sources {
        // One connection per machine and kind of path.
        let key = format!("{:?} {}", source.host, source.path.is_absolute());
        servers.entry(key).or_default().push(source);
    }
    for sources in servers.into_values() {
        let Some(first) = sources.first() else { continue };
        let mut dialer = Dialer::new(&first.host, first.path.is_absolute(), connection, outcomes);
        let mut link = dialer.dial()?;
        let asked = ask_all(&mut link, &sources, &into, outcomes);
        let ending = link.close();
        match (asked, ending.why) {
            (Ok(()), None) => {}
            (Err(Stop::Fatal(fatal)), _) => return Err(fatal),
            (_, Some(Lost::Local(text))) => {
                return Err(Fatal::here(format!("{text}; nothing more was copied")));
            }
            (_, why) => {
                let why = why.map_or_else(|| Lost::Closed.to_string(), |why| why.to_string());
                let text = format!("the connection was lost: {why}; what was reported as copied is whole");
                return Err(Fatal::link(text));
            }
        }
    }
    Ok(())
}

enum Stop {
    Dead,
    Fatal(Fatal),
}

impl From<Dead> for Stop {
    fn from(_: Dead) -> Self {
        Self::Dead
    }
}

fn ask_all(
    link: &mut Exchange,
    sources: &[&Remote],
    into: &Into<&Path>,
    outcomes: &Outcomes,
) -> Result<(), Stop> {
    let mut stats = Vec::new();
    for source in sources {
        stats.push(link.ask(&Message::Stat { path: source.path.as_str() })?);
    }
    for (source, stat) in sources.iter().zip(stats) {
        let path = source.path.as_str();
        let local = match into {
            Into::Name(name) => (*name).to_owned(),
            Into::Directory(dir) => {
                names::own_remote_name(path).map_or_else(|| (*dir).to_owned(), |name| dir.join(name))
            }
        };
        match link.wait(&stat)? {
            Reply::Stat(stat) if !stat.is_dir => {
                if let Some(parent) = local.parent() {
                    make_dir(parent).map_err(Stop::Fatal)?;
                }
                get(link, path.to_owned(), local, outcomes)?;
            }
            Reply::Stat(_) if outcomes.settings.recursive => get_tree(link, path, &local, outcomes)?,
            Reply::Stat(_) => outcomes.fail(&format!("{path}: is a directory (copy it with -r)")),
            Reply::Error(error) => outcomes.fail(&error.about(path)),
            _ => return Err(Stop::Dead),
        }
    }
    Ok(())
}

fn get_tree(link: &mut Exchange, path: &str, local: &Path, outcomes: &Outcomes) -> Result<(), Stop> {
    let list = match link.call(&Message::List { path })? {
        Reply::List(list) => list,
        Reply::Error(error) => {
            outcomes.fail(&error.about(path));
            return Ok(());
        }
        _ => return Err(Stop::Dead),
    };
    make_dir(local).map_err(Stop::Fatal)?;
    let mut doubts = Vec::new();
    for (at, entry) in list.iter().enumerate() {
        if !names::is_safe(&entry.path) {
            outcomes.fail(&format!("\"{}\": the server listed a name that is not safe", shown(&entry.path)));
            continue;
        }
        let (remote, local) = (join(path, &entry.path), local.join(&entry.path));
        if !entry.is_dir {
            get(link, remote, local, outcomes)?;
            continue;
        }
        if let Err(fatal) = make_dir(&local) {
            outcomes.fail(&fatal.message);
        }
        if came_back_empty(&list, at) {
            // Empty, or not to be read: only its own listing tells.
            let listed = link.ask(&Message::List { path: &remote })?;
            doubts.push((remote, listed));
        }
    }
    report_unreadable(link, doubts, outcomes)
}

/// Whether the directory at `at` has nothing listed below it; listings are depth-first.
fn came_back_empty(list: &[Listed], at: usize) -> bool {
    let below =
        |next: &Listed| next.path.strip_prefix(&list[at].path).is_some_and(|rest| rest.starts_with('/'));
    !list.get(at + 1).is_some_and(below)
}

fn report_unreadable(
    link: &mut Exchange,
    doubts: Vec<(String, Receiver<Reply>)>,
    outcomes: &Outcomes,
) -> Result<(), Stop> {
    for (path, doubt) in doubts {
        if let Reply::Error(error) = link.wait(&doubt)? {
            outcomes.fail(&error.about(&path));
        }
    }
    Ok(())
}

fn get(link: &mut Exchange, remote: String, local: PathBuf, outcomes: &Outcomes) -> Result<(), Dead> {
    // Looked at early, to spare the transfer; what counts is the look when it is published.
    let stands = std::fs::symlink_metadata(&local);
    match stands {
        Ok(there) if there.is_dir() => {
            outcomes.fail(&format!("{}: a directory stands under the name", local.display()));
            return Ok(());
        }
        Ok(_) if !outcomes.settings.overwrite => {
            outcomes.fail(&format!("{}: exists (replace it with -f -y)", local.display()));
            return Ok(());
        }
        _ => {}
    }
    let path = remote.clone();
    link.send(&Message::Get { path: &path, offset: 0 }, Job::Get(GetJob { remote, local }))
}

fn make_dir(dir: &Path) -> Result<(), Fatal> {
    if dir.as_os_str().is_empty() {
        return Ok(());
    }
    std::fs::create_dir_all(dir).map_err(|e| Fatal::here(format!("{}: {e}", dir.display())))
}

/// Where downloads are written, on the replies' thread.
pub(crate) struct Landing {
    outcomes: Arc<Outcomes>,
    publisher: Publisher,
    /// The directory of the last file, opened.
    dir: Option<(PathBuf, OwnedFd)>,
}

/// Why a file cannot be written here.
enum Local {
    /// The others can.
    File(String),
    /// Nothing can.
    Disk(String),
}

impl Landing {
    pub(crate) fn new(outcomes: Arc<Outcomes>) -> Self {
        Self { outcomes, publisher: Publisher::default(), dir: None }
    }

    /// Takes the content and the reply of a Get. The job comes back where it was not answered.
    pub(crate) fn take(&mut self, job: GetJob, replies: &mut Replies) -> Result<(), (GetJob, Lost)> {
        match self.receive(&job, replies) {
            Ok(Ok(size)) => {
                self.outcomes.meter().add_file(size);
                Ok(())
            }
            Ok(Err(Local::File(text))) => {
                self.outcomes.fail(&text);
                Ok(())
            }
            Ok(Err(Local::Disk(text))) => Err((job, Lost::Local(text))),
            Err(why) => Err((job, why)),
        }
    }

    fn receive(&mut self, job: &GetJob, replies: &mut Replies) -> Result<Result<u64, Local>, Lost> {
        let mut hasher = replies.hashed.then(blake3::Hasher::new);
        let mut staged: Option<Result<Stage, Local>> = None;
        let reply = loop {
            let header = replies.header()?;
            let Some(data) = replies.reader.data_header(header)? else { break replies.reply_of(header)? };
            let staged = staged.get_or_insert_with(|| self.stage(job));
            let meter = self.outcomes.meter();
            let received = replies.blocks.receive(data, &mut replies.reader, |bytes| {
                if let Ok(stage) = staged {
                    if let Some(hasher) = &mut hasher {
                        hasher.update(bytes);
                    }
                    stage.write(bytes)?;
                    meter.add_moved(bytes.len() as u64);
                }
                Ok::<(), PublishError>(())
            });
            match received {
                Ok(()) => {}
                Err(ReceiveError::Frame(error)) => return Err(error.into()),
                Err(ReceiveError::Sink(error)) => *staged = Err(local(&job.local, error)),
                Err(error) => *staged = Err(Local::File(format!("{}: {error}", shown(&job.remote)))),
            }
            if let Err(Local::Disk(text)) = staged {
                return Ok(Err(Local::Disk(std::mem::take(text))));
            }
        };
        let hash = match reply {
            Reply::Ok(hash) => hash,
            Reply::Error(error) => return Ok(Err(Local::File(error.about(&job.remote)))),
            _ => return Err(Lost::Unexpected("another reply")),
        };
        let stage = match staged.unwrap_or_else(|| self.stage(job)) {
            Ok(stage) => stage,
            Err(local) => return Ok(Err(local)),
        };
        let computed = hasher.map(|hasher| hasher.finalize().to_hex());
        if computed.is_some() && hash.as_deref() != computed.as_deref() {
            let text = format!(
                "{}: what arrived is not what the server read (the hashes differ)",
                shown(&job.remote)
            );
            return Ok(Err(Local::File(text)));
        }
        let size = stage.len();
        Ok(self.publish(stage, job).map(|()| size))
    }

    fn stage(&mut self, job: &GetJob) -> Result<Stage, Local> {
        let parent = match job.local.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let io = |e: std::io::Error| Local::File(format!("{}: {e}", job.local.display()));
        let open = match &self.dir {
            Some((path, open)) if path == parent => open.try_clone().map_err(io)?,
            _ => {
                let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
                let open = openat(CWD, parent, flags, Mode::empty()).map_err(|e| io(e.into()))?;
                self.dir = Some((parent.to_owned(), open.try_clone().map_err(io)?));
                open
            }
        };
        self.publisher.begin(open).map_err(|error| local(&job.local, error))
    }

    fn publish(&mut self, stage: Stage, job: &GetJob) -> Result<(), Local> {
        let settings = self.outcomes.settings;
        let how = How { overwrite: settings.overwrite, sync: settings.sync, mode: None };
        let name = job.local.file_name().unwrap_or(OsStr::new(""));
        self.publisher.publish(stage, name, how).map_err(|error| local(&job.local, error))
    }
}

fn local(path: &Path, error: PublishError) -> Local {
    let text = match error {
        PublishError::Taken => format!("{}: exists (replace it with -f -y)", path.display()),
        error => format!("{}: {error}", path.display()),
    };
    match error {
        PublishError::Io { errno: Errno::NOSPC | Errno::DQUOT | Errno::IO | Errno::ROFS, .. } => {
            Local::Disk(text)
        }
        _ => Local::File(text),
    }
}
