//! Confinement by spelling: what a path may say, and where a symbolic link may lead. Every case is asked of
//! every verb, with openat2 and without.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;

use bcmr_tests::asked::every_verb;
use bcmr_tests::{Launch, Reply, Server, Site};
use bcmr_wire::{Caps, Message};

/// With openat2, on a kernel before 5.6, in a container that forbids it, and where it keeps giving up.
const OPENAT2: [&[&str]; 4] = [&[], &["openat2=ENOSYS"], &["openat2=EPERM"], &["openat2=EAGAIN"]];

/// Where the phrase is one that clients in the field look for.
const ESCAPES: &str = "escapes server root";

fn sessions(site: &Site) -> impl Iterator<Item = Server> {
    OPENAT2.iter().map(|rules| Launch::new(site.root()).without(rules).start().hello(Caps::PUT_OFFSET))
}

/// Checks that every verb refuses each of these paths with a text that has the phrase, and that neither root
/// nor outside is changed by it.
#[track_caller]
fn refused(site: &Site, paths: &[impl AsRef<str>], phrase: &str) {
    let before = site.everything();
    for mut server in sessions(site) {
        for path in paths {
            for request in every_verb(path.as_ref()) {
                let reply = server.ask(&request);
                assert!(reply.error().contains(phrase), "{request:?}: {reply:?}");
            }
        }
        server.finish();
    }
    assert_eq!(site.everything(), before);
}

/// A root with a file, and an outside with a secret.
fn site() -> Site {
    let site = Site::new();
    site.file("d/f", "inside");
    site.outside_file("secret", "outside");
    site.outside_file("dir/secret", "outside");
    site
}

// ---- spelling

#[test]
fn two_dots_are_refused_wherever_they_stand() {
    let site = site();
    let paths = [
        "..",
        "../",
        "../outside/secret",
        "d/..",
        "d/../d/f",
        "d/../../outside/secret",
        "./..",
        "absent/../d/f",
        "d//..//d/f",
        "/..",
        "/../etc/passwd",
        "../root/d/f",
    ];
    refused(&site, &paths, ESCAPES);
    let absolute = [site.host("d/../d/f"), site.host("../outside/secret"), site.host("..")];
    refused(&site, &absolute, ESCAPES);
}

#[test]
fn names_that_only_look_like_dots_are_names() {
    let site = site();
    let mut server = Server::plain(site.root());
    for name in ["...", "..x", "x..", ". .", "..\\x", "~", "~root", "$HOME", "%2e%2e", "．．"] {
        assert!(server.put(name, b"x", false).ok().is_some(), "{name}");
        assert_eq!(site.read(name), b"x");
    }
    server.finish();
}

#[test]
fn a_nul_is_refused_wherever_it_stands() {
    let site = site();
    refused(&site, &["\0", "d/f\0", "\0d/f", "d\0/f", "d/f\0/../../outside/secret"], "NUL");
}

#[test]
fn dots_slashes_and_both_spellings_of_an_absolute_path_are_normalised() {
    let site = site();
    symlink(site.root(), site.base().join("alias")).unwrap();
    let alias = site.base().join("alias");
    let mut server = Server::plain(&alias);
    let alias = alias.to_str().unwrap();
    for path in [
        "d/f".to_owned(),
        "./d/./f".to_owned(),
        "d//f".to_owned(),
        "d/f/".to_owned(),
        "d/f/.".to_owned(),
        ".//d///.//f//".to_owned(),
        site.host("d/f"),
        site.host("./d//f/"),
        format!("/{}", site.host("d/f")),
        format!("{alias}/d/f"),
        format!("/.{alias}/./d/f"),
        format!("{}d/f", "./".repeat(2_000)),
    ] {
        assert_eq!(server.get(&path, 0).content, b"inside", "{path}");
    }
    server.finish();
}

#[test]
fn absolute_paths_that_are_not_under_the_root_are_refused() {
    let site = site();
    fs::create_dir(site.base().join("root2")).unwrap();
    fs::write(site.base().join("root2/secret"), "outside").unwrap();
    let base = site.base().to_str().unwrap();
    let paths = [
        "/".to_owned(),
        "//".to_owned(),
        "/etc/passwd".to_owned(),
        "/proc/self/environ".to_owned(),
        "/proc/self/root/etc/passwd".to_owned(),
        base.to_owned(),
        format!("{base}/roo"),
        format!("{base}/root2"),
        format!("{base}/root2/secret"),
        format!("{base}/outside/secret"),
        format!("{base}/ROOT/d/f"),
        "/d/f".to_owned(),
    ];
    refused(&site, &paths, ESCAPES);
}

#[test]
fn a_path_of_4095_bytes_is_looked_up_and_one_of_4096_is_refused() {
    let site = site();
    let longest = format!("{}d/f", "/".repeat(4_092));
    assert_eq!(longest.len(), 4_095);
    let mut server = Server::plain(site.root());
    // It begins with a slash, so it is absolute, and leads outside.
    assert!(server.ask(&Message::Stat { path: &longest }).error().contains(ESCAPES));
    let longest = format!("{}d/f", "./".repeat(2_046));
    assert_eq!(longest.len(), 4_095);
    assert_eq!(server.get(&longest, 0).content, b"inside");
    server.finish();
    refused(&site, &[format!("{longest}/"), "n".repeat(4_096), "a/".repeat(30_000)], "longer than 4095");
}

#[test]
fn borg_6855_refusals_do_not_tell_whether_something_exists_outside() {
    let site = site();
    for (name, target) in [
        ("to-secret", "../outside/secret"),
        ("to-absent", "../outside/absent"),
        ("to-dir", "../outside"),
        ("to-nowhere", "../nowhere"),
        ("to-etc", "/etc"),
        ("to-no-etc", "/no-etc"),
    ] {
        site.link(name, target);
    }
    let outside = site.outside().to_str().unwrap().to_owned();
    let pairs = [
        (format!("{outside}/secret"), format!("{outside}/absent")),
        (format!("{outside}/dir"), format!("{outside}/secret/below")),
        ("/etc/passwd".to_owned(), "/etc/absent".to_owned()),
        ("to-secret".to_owned(), "to-absent".to_owned()),
        ("to-dir/secret".to_owned(), "to-dir/absent".to_owned()),
        ("to-dir/secret/below".to_owned(), "to-nowhere/below".to_owned()),
        ("to-etc/passwd".to_owned(), "to-no-etc/passwd".to_owned()),
        ("to-etc".to_owned(), "to-no-etc".to_owned()),
    ];
    let before = site.everything();
    for mut server in sessions(&site) {
        for (there, absent) in &pairs {
            for (a, b) in every_verb(there).into_iter().zip(every_verb(absent)) {
                let (a, b) = (server.ask(&a), server.ask(&b));
                assert_eq!(a.error().replace(there, "P"), b.error().replace(absent, "P"));
                assert!(a.error().contains(ESCAPES), "{a:?}");
            }
        }
        // No name of a home directory means anything.
        let (root, nobody) = ("~root/x", "~no-such-account/x");
        let texts = [root, nobody].map(|path| server.ask(&Message::Stat { path }).error().replace(path, "P"));
        assert_eq!(texts[0], texts[1]);
        server.finish();
    }
    assert_eq!(site.everything(), before);
}

// ---- links

/// Checks that each of these paths leads to the file with the text "inside", for reading and for replacing.
#[track_caller]
fn leads_inside(site: &Site, paths: &[&str]) {
    for mut server in sessions(site) {
        for path in paths {
            assert_eq!(server.get(path, 0).content, b"inside", "{path}");
            assert!(matches!(server.ask(&Message::Stat { path }), Reply::Stat { size: 6, .. }), "{path}");
            assert!(server.put(path, b"inside", true).ok().is_some(), "{path}");
            assert!(site.path(path).exists(), "{path} was replaced itself");
        }
        server.finish();
    }
}

#[test]
fn links_that_stay_inside_are_followed() {
    let site = site();
    site.link("file", "d/f");
    site.link("dir", "d");
    site.link("d/up", "..");
    site.link("chain", "dir/up/file");
    site.link("slashes", ".//d/.//f");
    leads_inside(&site, &["file", "dir/f", "d/up/d/f", "d/up/dir/up/file", "chain", "slashes"]);
    assert!(site.path("file").is_symlink() && site.path("chain").is_symlink());
}

#[test]
fn absolute_links_are_host_paths_and_followed_under_the_root() {
    let site = site();
    site.link("file", site.path("d/f"));
    site.link("dir", site.path("d"));
    site.link("root", site.root());
    site.link("dots", format!("{}/d/../d/f", site.root().display()));
    leads_inside(&site, &["file", "dir/f", "root/d/f", "root/root/file", "dots"]);
    // Through another spelling of the root, where that is the one it is served by.
    symlink(site.root(), site.base().join("alias")).unwrap();
    let alias = site.base().join("alias");
    site.link("by-alias", alias.join("d/f"));
    let mut server = Server::plain(&alias);
    assert_eq!(server.get("by-alias", 0).content, b"inside");
    server.finish();
}

#[test]
fn links_that_leave_by_their_text_and_come_back_are_followed() {
    let site = site();
    let root = site.root().file_name().unwrap().to_str().unwrap().to_owned();
    site.link("back", format!("../{root}/d/f"));
    site.link("d/back", format!("../../{root}/d"));
    let base = site.base().file_name().unwrap().to_str().unwrap();
    site.link("far", format!("../../{base}/{root}/d/f"));
    site.link("from-the-top", format!("{}{}", "../".repeat(40), site.host("d/f")));
    site.link("parent", "..");
    leads_inside(&site, &["back", "d/back/f", "far", "from-the-top", &format!("parent/{root}/d/f")]);
}

#[test]
fn two_dots_in_a_target_mean_the_parent_of_what_the_link_before_leads_to() {
    // x/l leads to other/deep, so that x/l/../b is other/b, and x/b is another file.
    let site = Site::new();
    site.file("other/b", "inside");
    site.file("x/b", "the wrong one");
    site.file("b", "the wrong one");
    site.dir("other/deep");
    site.link("x/l", "../other/deep");
    site.link("abs", site.path("other/deep"));
    site.link("relative", "x/l/../b");
    site.link("absolute", format!("{}/x/l/../b", site.root().display()));
    site.link("by-absolute", "abs/../b");
    site.link("twice", "x/l/../../x/l/../b");
    site.link("dotted", "x/./l/.././b");
    site.link("as-directory", "x/l/..");
    for name in ["relative", "absolute", "by-absolute", "twice", "dotted", "as-directory/b"] {
        assert_eq!(fs::read(site.path(name)).unwrap(), b"inside", "{name}: as the kernel sees it");
    }
    let paths = ["relative", "absolute", "by-absolute", "twice", "dotted", "as-directory/b"];
    leads_inside(&site, &paths);
    assert_eq!(site.read("x/b"), b"the wrong one");
}

#[test]
fn two_dots_after_what_is_no_directory_lead_nowhere() {
    let site = site();
    site.link("by-file", "d/f/../f");
    site.link("by-absent", "absent/../d/f");
    site.link("by-dangling", "by-absent/../d/f");
    site.fifo("fifo");
    site.link("by-fifo", "fifo/../d/f");
    for name in ["by-file", "by-absent", "by-dangling", "by-fifo"] {
        assert!(fs::read(site.path(name)).is_err(), "{name}: as the kernel sees it");
    }
    refused(&site, &["by-file", "by-absent", "by-dangling", "by-fifo"], "");
}

#[test]
fn links_that_lead_out_are_refused_at_any_step() {
    let site = site();
    let outside = site.outside();
    let outside = outside.to_str().unwrap();
    for (name, target) in [
        ("rel", "../outside/secret"),
        ("abs", &*format!("{outside}/secret")),
        ("rel-dir", "../outside"),
        ("abs-dir", outside),
        ("parent", ".."),
        ("top", "/"),
        ("etc", "/etc/passwd"),
        ("proc", "/proc/self/root/etc/passwd"),
        ("d/deep", "../../outside/secret"),
        ("chain", "chain2"),
        ("chain2", "rel"),
        ("through", "rel-dir/secret"),
        ("sibling", "../root2/x"),
        ("dots", "d/../../outside/secret"),
    ] {
        site.link(name, target);
    }
    let paths = [
        "rel",
        "abs",
        "rel-dir",
        "rel-dir/secret",
        "rel-dir/new",
        "rel-dir/dir/secret",
        "abs-dir/secret",
        "parent",
        "parent/outside/secret",
        "parent/roo",
        "top",
        "top/etc/passwd",
        "etc",
        "proc",
        "d/deep",
        "chain",
        "through",
        "sibling",
        "dots",
    ];
    refused(&site, &paths, ESCAPES);
}

#[test]
fn a_link_to_a_stage_is_refused_like_its_name() {
    let site = site();
    let stage = ".bcmr-0123456789abcdef0123456789abcdef";
    site.file(stage, "stage");
    site.link("l", stage);
    site.link("abs", site.path(stage));
    refused(&site, &["l", "abs"], "reserved");
}

#[test]
fn dangling_links_are_errors_and_nothing_is_made_through_them() {
    let site = site();
    site.link("dangling", "absent");
    site.link("far", "absent/far/away");
    site.link("chain", "dangling");
    site.link("abs", site.path("absent"));
    refused(&site, &["dangling", "far", "chain", "abs", "dangling/below", "far/below", "abs/a/b"], "nowhere");
}

#[test]
fn cycles_are_refused() {
    let site = site();
    site.link("self", "self");
    site.link("ping", "pong");
    site.link("pong", "ping");
    site.link("spiral", "spiral/x");
    site.link("abs", site.path("abs"));
    site.link("dots", "dots/../d/f");
    let paths = ["self", "self/x", "ping", "pong/x/y", "spiral", "abs", "dots"];
    refused(&site, &paths, "too many symbolic links");
}

#[test]
fn forty_links_are_followed_and_forty_one_are_not() {
    let site = site();
    site.link("1", "d/f");
    (2..=41).for_each(|i| drop(site.link(&format!("{i}"), format!("{}", i - 1))));
    assert!(fs::read(site.path("40")).is_ok() && fs::read(site.path("41")).is_err(), "as the kernel sees it");
    leads_inside(&site, &["40"]);
    refused(&site, &["41"], "too many symbolic links");
    // The same number, one in each directory of a path.
    site.dir("e");
    site.link("e/here", ".");
    let path = |links| format!("e/{}f", "here/".repeat(links));
    site.file("e/f", "inside");
    leads_inside(&site, &[&path(40)]);
    refused(&site, &[path(41)], "too many symbolic links");
}

#[test]
fn a_link_whose_target_is_not_utf8_is_listed_and_refused_with_the_reason() {
    let site = site();
    let raw = std::ffi::OsStr::from_bytes(b"caf\xe9");
    fs::write(site.root().join(raw), "x").unwrap();
    site.link("l", raw);
    refused(&site, &["l", "l/below"], "not UTF-8");
    let mut server = Server::plain(site.root());
    let list = server.ask(&Message::List { path: "" });
    assert_eq!(list.paths(), ["caf\\xe9", "d", "d/f", "l"]);
    server.finish();
}

#[test]
fn the_magic_links_of_proc_are_text_like_any_other() {
    // Their text is a host path; to follow them the kernel's way would lead out of the root.
    for path in ["self/root", "self/root/etc/passwd", "self/cwd", "self/exe", "self/fd/0", "thread-self/root"]
    {
        for rules in OPENAT2 {
            let mut server = Launch::new("/proc").without(rules).start().hello(Caps::NONE);
            for request in [Message::Stat { path }, Message::List { path }, Message::Get { path, offset: 0 }]
            {
                let reply = server.ask(&request);
                assert!(reply.is_error(), "{path}: {reply:?}");
            }
            server.finish();
        }
    }
    let mut server = Server::plain("/proc");
    assert!(server.ask(&Message::Stat { path: "self/root" }).error().contains(ESCAPES));
    assert!(matches!(server.ask(&Message::Stat { path: "self/stat" }), Reply::Stat { .. }));
    server.finish();
}

#[test]
fn a_root_of_slash_has_everything_inside_it() {
    let site = site();
    site.link("abs", site.path("d/f"));
    site.link("up", format!("{}{}", "../".repeat(60), site.host("d/f")));
    let mut server = Server::plain("/");
    for path in [site.host("d/f"), site.host("abs"), site.host("up"), site.host("d/f")[1..].to_owned()] {
        assert_eq!(server.get(&path, 0).content, b"inside", "{path}");
    }
    assert!(matches!(server.ask(&Message::Stat { path: "/" }), Reply::Stat { is_dir: true, .. }));
    assert!(server.ask(&Message::Stat { path: "/.." }).error().contains(ESCAPES));
    server.finish();
}

#[test]
fn a_mount_inside_the_root_is_part_of_it() {
    let names = ["sys", "proc", "dev"];
    let mounted = names.iter().find(|name| Path::new("/").join(name).read_dir().is_ok()).unwrap();
    for rules in OPENAT2 {
        let mut server = Launch::new("/").without(rules).start().hello(Caps::NONE);
        assert!(matches!(server.ask(&Message::Stat { path: mounted }), Reply::Stat { is_dir: true, .. }));
        assert_eq!(server.get("proc/version", 0).content, fs::read("/proc/version").unwrap());
        server.finish();
    }
}
