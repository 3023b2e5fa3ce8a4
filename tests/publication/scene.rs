//! Puts to be killed, failed and frozen: what each finds, what it brings, and what may be left of it.

use std::fmt;
use std::fs;
use std::io::ErrorKind;

use bcmr_tests::content::noise;
use bcmr_tests::rungs::{KINDS, Rung};
use bcmr_tests::{Launch, Reply, Server, Site};
use bcmr_wire::{Caps, Message};
use rustix::fs::{XattrFlags, setxattr};

/// What a Put does to its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Act {
    /// Makes it, with its parents.
    New,
    /// Replaces the file.
    Replace,
    /// Keeps the file's beginning.
    Append,
}

/// A Put on a rung.
#[derive(Clone, Copy)]
pub(crate) struct Scene {
    pub(crate) act: Act,
    pub(crate) sync: bool,
    pub(crate) rung: Rung,
    /// Whether others may write the directory.
    pub(crate) shared: bool,
}

impl fmt::Display for Scene {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { act, sync, rung, shared } = self;
        write!(f, "{act:?} sync={sync} shared={shared} without {:?}", rung.rules)
    }
}

/// Bytes of the old file that an Append keeps.
const KEPT: usize = 20_000;

impl Scene {
    /// Every act on every rung, with SYNC and without.
    pub(crate) fn all() -> Vec<Self> {
        let acts = [Act::New, Act::Replace, Act::Append];
        let acts = acts.into_iter().flat_map(|act| [false, true].map(|sync| (act, sync)));
        acts.flat_map(|(act, sync)| KINDS.map(|rung| Self { act, sync, rung, shared: false })).collect()
    }

    /// The name that it is about.
    pub(crate) fn path(&self) -> &'static str {
        if self.act == Act::New { "a/b/f" } else { "d/f" }
    }

    /// Its last component.
    pub(crate) fn name(&self) -> &'static str {
        "f"
    }

    fn dir(&self) -> &'static str {
        if self.act == Act::New { "a/b" } else { "d" }
    }

    /// What the name holds before; None where there is no such name.
    pub(crate) fn old(&self) -> Option<Vec<u8>> {
        (self.act != Act::New).then(|| noise(30_000, 1))
    }

    /// What is sent. It ends in a hole, whose length is set by a call of its own.
    fn sent(&self) -> Vec<u8> {
        [noise(20_000, 2), vec![0; 8192]].concat()
    }

    /// What the name holds after.
    pub(crate) fn content(&self) -> Vec<u8> {
        let kept = if self.act == Act::Append { KEPT } else { 0 };
        [&noise(30_000, 1)[..kept], &self.sent()].concat()
    }

    /// The place as the Put finds it.
    pub(crate) fn site(&self) -> Site {
        let site = Site::new();
        if let Some(old) = self.old() {
            let path = site.file(self.path(), old);
            // With attributes, so that there is something to be carried over.
            let _ = setxattr(&path, "user.note", b"kept", XattrFlags::empty());
            site.chmod(self.path(), 0o640);
            site.chmod("d", if self.shared { 0o775 } else { 0o755 });
        }
        site
    }

    /// The server, about to be started by way of `command`.
    pub(crate) fn launch(&self, site: &Site, command: Vec<String>) -> Launch {
        self.rung.launch(site).under(command)
    }

    pub(crate) fn caps(&self) -> Caps {
        Caps::PUT_OFFSET | if self.sync { Caps::SYNC } else { Caps::NONE }
    }

    /// The Put, from its first frame to its Done.
    pub(crate) fn put(&self) -> Vec<u8> {
        let sent = self.sent();
        let size = self.content().len() as u64;
        let offset = size - sent.len() as u64;
        let mut put = Vec::new();
        let mut add = |message: Message<'_>| message.encode(&mut put).unwrap();
        add(Message::Put { path: self.path(), size, offset, overwrite: self.act != Act::New });
        add(Message::Data { payload: &sent });
        add(Message::Done);
        put
    }

    /// A whole session: Hello and the Put. It fits into a pipe, so that a server finds all of it there.
    pub(crate) fn session(&self) -> Vec<u8> {
        let mut session = Vec::new();
        Message::Hello { version: 2, caps: self.caps() }.encode(&mut session).unwrap();
        session.extend(self.put());
        session
    }

    /// What the name holds now.
    fn held(&self, site: &Site) -> Option<Vec<u8>> {
        match fs::read(site.path(self.path())) {
            Ok(content) => Some(content),
            Err(e) if e.kind() == ErrorKind::NotFound => None,
            Err(e) => panic!("{e}"),
        }
    }

    /// Checks that the name holds the old version or the new one, and the new one where the client was told so;
    /// that a new session shows nothing else; and that it sweeps what was left.
    #[track_caller]
    pub(crate) fn check_after_the_end(&self, site: &Site, told_ok: bool) {
        let held = self.held(site);
        let is_new = held.as_deref() == Some(&*self.content());
        let size = held.as_ref().map(Vec::len);
        assert!(
            is_new || (held == self.old() && !told_ok),
            "told Ok: {told_ok}, and the name holds {size:?} bytes"
        );

        let mut server = Server::plain(site.root());
        let list = server.ask(&Message::List { path: "" });
        let own = [self.dir(), self.dir().split('/').next().unwrap(), self.path()];
        for path in list.paths() {
            assert!(own.contains(&path), "{path} is visible");
        }
        assert_eq!(list.paths().contains(&self.path()), held.is_some());
        match &held {
            Some(content) => assert!(server.get(self.path(), 0).content == *content, "a Get that differs"),
            None => assert!(server.ask(&Message::Stat { path: self.path() }).is_error()),
        }

        let reply = server.put(&format!("{}/sweeping", self.dir()), b"", true);
        assert!(matches!(reply, Reply::Ok { .. }), "{reply:?}");
        server.finish();
        let tree = site.tree();
        for stage in tree.stages() {
            let node = tree.get(stage.to_str().unwrap()).unwrap();
            // Emptied, or another name of what is published, in a directory where names can be exchanged.
            assert!(
                self.shared && (node.size == 0 || (node.links == 2 && is_new)),
                "{stage:?} is left: {node:?}"
            );
        }
        let others = tree.paths().len() - tree.stages().len();
        let dirs = self.dir().split('/').count();
        assert_eq!(others, dirs + 1 + usize::from(held.is_some()), "{tree:?}");
        assert!(self.held(site) == held, "sweeping changed the file");
    }
}
