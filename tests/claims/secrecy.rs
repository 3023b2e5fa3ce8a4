//! S2: a refusal does not tell whether something exists outside the root, or in the state directory, which lies
//! inside it here, where it is hardest to hide.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use bcmr_tests::asked::every_verb;
use bcmr_tests::disk::snapshot;
use bcmr_tests::policy::Profile;
use bcmr_tests::{Launch, Policy, Reply, Server, Site};
use bcmr_wire::{Caps, Message};

const ESCAPES: &str = "escapes server root";

/// A root with a state directory in it, an outside, and links to both that are there and that are not.
fn site() -> Site {
    let site = Site::new();
    site.file("d/f", "inside");
    site.file("data/bcmr/secret", "state");
    site.dir("data/bcmr/blocks");
    site.file("data/other", "inside");
    site.outside_file("secret", "outside");
    site.outside_file("dir/secret", "outside");
    for (name, target) in [
        ("to-secret", "../outside/secret"),
        ("to-absent", "../outside/absent"),
        ("to-dir", "../outside/dir"),
        ("to-no-dir", "../outside/no-dir"),
        ("to-etc", "../../../../../../../../etc"),
        ("to-state", "data/bcmr"),
        ("to-state-file", "data/bcmr/secret"),
        ("to-state-absent", "data/bcmr/absent"),
        ("d/to-state", "../data/bcmr"),
        ("to-data", "data"),
        ("chain", "to-data/bcmr"),
        ("dots", "d/../data/bcmr"),
    ] {
        site.link(name, target);
    }
    site.link("abs-state", site.path("data/bcmr"));
    site.link("abs-secret", site.outside().join("secret"));
    site.link("abs-absent", site.outside().join("absent"));
    site
}

/// Paths with `..`, which are refused for that.
const DOTS: &str = ".. ../outside/secret ../outside/absent d/../../outside/secret d/../../outside/absent";

/// Paths that leave the root by a link, to what exists and to what does not.
const OUT: &str = "to-secret to-absent to-secret/below to-dir to-dir/secret to-dir/absent to-no-dir \
    to-no-dir/absent to-etc/passwd to-etc/absent to-etc/passwd/below abs-secret abs-absent abs-secret/below";

/// Paths into the state directory, by every spelling, to what exists and to what does not.
const STATE: &str = "data/bcmr data/bcmr/ data//./bcmr data/bcmr/secret data/bcmr/absent data/bcmr/secret/below \
    data/bcmr/blocks data/bcmr/blocks/absent data/bcmr/no/such/way to-state to-state/secret to-state/absent \
    to-state-file to-state-absent to-state-file/below d/to-state d/to-state/secret d/to-state/absent \
    to-data/bcmr to-data/bcmr/secret to-data/bcmr/absent chain chain/secret chain/absent dots dots/secret \
    dots/absent";

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// Sets of paths, for each of which a verb has one text, and whether that is the one for what lies outside.
fn forbidden(site: &Site, jail: bool) -> Vec<(Vec<String>, bool)> {
    let (mut out, mut state) = (words(OUT), words(STATE));
    if jail {
        // `/` is the root, for links as well: one that would leave it leads nowhere.
        state.extend(words("/data/bcmr /data/bcmr/secret /data/bcmr/absent /to-state/secret"));
        return vec![(words(DOTS), true), (out, false), (state, true)];
    }
    let outside = site.outside().to_str().unwrap().to_owned();
    out.extend(words("/ /etc/passwd /etc/absent /proc/self/environ"));
    out.extend([format!("{outside}/secret"), format!("{outside}/absent"), outside]);
    out.extend(state);
    out.extend(["data/bcmr", "data/bcmr/secret", "data/bcmr/absent"].map(|name| site.host(name)));
    out.extend(words("abs-state abs-state/secret abs-state/absent"));
    vec![(words(DOTS), true), (out, true)]
}

/// Asks for each path by every verb: for each verb all texts must be one, but for the path. Returns them.
#[track_caller]
fn one_text_per_verb(server: &mut Server, paths: &[String]) -> Vec<String> {
    let mut texts: BTreeMap<usize, (String, &str)> = BTreeMap::new();
    for path in paths {
        for (verb, request) in every_verb(path).iter().enumerate() {
            let reply = server.ask(request);
            assert!(reply.is_error(), "{request:?}: {reply:?}");
            let text = reply.error().replacen(path.as_str(), "P", 1);
            let (first, of) = texts.entry(verb).or_insert_with(|| (text.clone(), path));
            assert_eq!(*first, text, "for '{of}' and '{path}'");
        }
    }
    texts.into_values().map(|(text, _)| text).collect()
}

/// A server that keeps its state inside its root.
type Start = fn(&Site) -> (Launch, Option<Policy>);

fn personal(site: &Site) -> (Launch, Option<Policy>) {
    (Launch::new(site.root()).env("XDG_STATE_HOME", site.path("data")).env("BCMR_CAS_DIR", ""), None)
}

fn profile(site: &Site, view: &str) -> (Launch, Option<Policy>) {
    let state = format!("{:?}", site.path("data/bcmr").to_str().unwrap());
    let policy = Policy::of(&Profile::new(site).key("overwrite", true).key("state", state).key("view", view));
    (policy.launch(), Some(policy))
}

fn host_view(site: &Site) -> (Launch, Option<Policy>) {
    profile(site, r#""host""#)
}

fn jail_view(site: &Site) -> (Launch, Option<Policy>) {
    profile(site, r#""jail""#)
}

/// With openat2, without, and without Landlock, which must not be what hides anything.
const KERNELS: [&[&str]; 3] =
    [&[], &["openat2=ENOSYS"], &["landlock_create_ruleset=ENOSYS", "openat2=EPERM"]];

fn refusals_tell_nothing(start: Start, jail: bool, kernels: &[&[&str]]) {
    for rules in kernels {
        let site = site();
        let (launch, _policy) = start(&site);
        let mut server = launch.without(rules).start().hello(Caps::PUT_OFFSET);
        let before = site.everything();
        // The allowed twins, so that it is not everything that is refused.
        assert_eq!(server.get("d/f", 0).content, b"inside");
        assert_eq!(server.get("to-data/other", 0).content, b"inside");
        for (paths, outside) in forbidden(&site, jail) {
            let texts = one_text_per_verb(&mut server, &paths);
            assert_eq!(texts.iter().all(|text| text.contains(ESCAPES)), outside, "{texts:?}");
        }
        let listed = server.ask(&Message::List { path: "" });
        let inside = ["d", "d/f", "data", "data/other", "to-data", "to-data/other"];
        assert_eq!(listed.paths(), inside, "{rules:?}");
        assert_eq!(server.ask(&Message::List { path: "data" }).paths(), ["other"]);
        assert_eq!(site.everything(), before);
        server.finish();
    }
}

#[test]
fn borg_6855_in_personal_mode_refusals_tell_nothing_of_the_outside_or_the_state() {
    refusals_tell_nothing(personal, false, &KERNELS);
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn borg_6855_under_a_profile_refusals_tell_nothing_of_the_outside_or_the_state() {
    refusals_tell_nothing(host_view, false, &KERNELS[..2]);
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn borg_6855_in_jail_view_refusals_tell_nothing_of_the_outside_or_the_state() {
    refusals_tell_nothing(jail_view, true, &KERNELS[..2]);
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn a_state_directory_that_is_made_during_a_session_is_as_hidden_as_one_before() {
    let site = site();
    fs::remove_dir_all(site.path("data/bcmr")).unwrap();
    let (launch, _policy) = host_view(&site);
    let mut server = launch.start().hello(Caps::PUT_OFFSET);
    let absent = one_text_per_verb(&mut server, &words(STATE));
    // Not the times of directories, which are the host's, where something was made.
    let names = |server: &mut Server| -> Vec<String> {
        server.ask(&Message::List { path: "" }).paths().iter().map(|path| (*path).to_owned()).collect()
    };
    let listed = names(&mut server);
    site.file("data/bcmr/secret", "state");
    assert_eq!(names(&mut server), listed);
    assert_eq!(server.ask(&Message::List { path: "data" }).paths(), ["other"]);
    assert_eq!(one_text_per_verb(&mut server, &words(STATE)), absent);
    // As a link, too.
    fs::rename(site.path("data/bcmr"), site.base().join("elsewhere")).unwrap();
    site.link("data/bcmr", "../../elsewhere");
    assert_eq!(names(&mut server), listed);
    assert_eq!(one_text_per_verb(&mut server, &words(STATE)), absent);
    assert_eq!(fs::read(site.base().join("elsewhere/secret")).unwrap(), b"state");
    server.finish();
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn a_state_directory_that_is_absent_cannot_be_made_by_a_way_round_its_name() {
    // `config` leads to `data`: as it is configured the state lies in config/bcmr, in fact it would in data/bcmr.
    let site = Site::new();
    site.file("data/other", "inside");
    site.link("config", "data");
    let before = site.everything();
    let state = format!("{:?}", site.path("config/bcmr").to_str().unwrap());
    let policy = Policy::of(&Profile::new(&site).key("overwrite", true).key("state", state));
    let mut server = policy.launch().start().hello(Caps::PUT_OFFSET);
    let paths = ["config/bcmr", "data/bcmr", "data/bcmr/x", "config/bcmr/x"].map(str::to_owned);
    let texts = one_text_per_verb(&mut server, &paths);
    assert!(texts.iter().all(|text| text.contains(ESCAPES)), "{texts:?}");
    assert_eq!(site.everything(), before);
    // The twin beside it may.
    assert!(server.put("data/bcmr2", b"x", false).ok().is_some());
    server.finish();
}

#[test]
fn a_state_directory_that_the_account_moves_is_not_shown_under_its_new_name() {
    // Who can move it is the account itself, with a process on the host, and reads it there anyway.
    let site = site();
    let (launch, _) = personal(&site);
    let mut server = launch.start().hello(Caps::PUT_OFFSET);
    fs::rename(site.path("data/bcmr"), site.path("moved")).unwrap();
    let texts = one_text_per_verb(&mut server, &["moved", "moved/", "data/bcmr"].map(str::to_owned));
    assert!(texts.iter().all(|text| text.contains(ESCAPES)), "{texts:?}");
    assert!(!server.ask(&Message::List { path: "" }).paths().iter().any(|path| path.contains("moved")));
    server.finish();
}

// ---- mounts

/// A server that sees the state directory mounted a second time, inside the root.
fn with_state_mounted(launch: Launch, state: &Path, at: &Path) -> Launch {
    let line = format!("mount --bind {} {}", state.display(), at.display());
    launch.under(["unshare", "-m", "--propagation", "private"]).after_shell(&line)
}

#[test]
#[ignore = "needs root to mount: run by tests/run"]
fn a_mount_of_the_state_directory_is_as_closed_as_the_directory_itself() {
    for rules in KERNELS {
        for mounted in ["mnt", "deep/er/mnt"] {
            let site = site();
            site.dir(mounted);
            let (launch, _) = personal(&site);
            let launch = with_state_mounted(launch, &site.path("data/bcmr"), &site.path(mounted));
            let mut server = launch.without(rules).start().hello(Caps::PUT_OFFSET);
            let before = snapshot(&site.path("data/bcmr"));
            let ways = ["", "/secret", "/absent", "/blocks", "/blocks/absent", "/secret/below"];
            let mut paths: Vec<_> = ways.iter().map(|way| format!("{mounted}{way}")).collect();
            paths.extend(["data/bcmr/secret", "data/bcmr/absent"].map(str::to_owned));
            let texts = one_text_per_verb(&mut server, &paths);
            assert!(texts.iter().all(|text| text.contains(ESCAPES)), "{texts:?}");
            let listed = server.ask(&Message::List { path: "" });
            assert!(!listed.paths().iter().any(|path| path.ends_with("mnt") || path.contains("secret")));
            assert_eq!(snapshot(&site.path("data/bcmr")), before);
            // Another directory that is mounted is inside, so that it is not the mount that is refused.
            assert!(matches!(server.ask(&Message::Stat { path: "d" }), Reply::Stat { is_dir: true, .. }));
            server.finish();
        }
    }
}

#[test]
#[ignore = "needs root to mount: run by tests/run"]
fn another_mount_inside_the_root_is_served() {
    // The positive control of the test above.
    let site = site();
    site.dir("mnt");
    let (launch, _) = personal(&site);
    let launch = with_state_mounted(launch, &site.outside(), &site.path("mnt"));
    let mut server = launch.start().hello(Caps::PUT_OFFSET);
    assert_eq!(server.get("mnt/secret", 0).content, b"outside");
    assert!(server.ask(&Message::List { path: "" }).paths().contains(&"mnt/dir/secret"));
    server.finish();
}
