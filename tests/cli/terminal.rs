//! On a terminal: bars that fit into any number of columns, and a person's keys.

use std::fs;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, Command};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use bcmr_tests::content::noise;
use bcmr_tests::{Site, binaries};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::asking::terminal;

/// Gives a terminal so many columns.
fn resize(terminal: impl AsFd, columns: u16) {
    let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(terminal, size).unwrap();
}

/// What was drawn, in rows: what stands between two movements of the cursor or line breaks. A row that is filled up
/// goes on in the next one, which is how several bars are drawn.
fn wrapped(screen: &[u8], columns: usize) -> Vec<String> {
    let rows = rows(screen).into_iter().map(|row| row.chars().collect::<Vec<_>>());
    let pieces =
        rows.flat_map(|row| row.chunks(columns).map(|piece| piece.iter().collect()).collect::<Vec<String>>());
    pieces.filter(|row| !row.trim().is_empty()).collect()
}

/// The same for one bar, which must not fill up a row.
fn rows(screen: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(screen).into_owned();
    let (mut rows, mut row, mut chars) = (Vec::new(), String::new(), text.chars());
    while let Some(c) = chars.next() {
        match c {
            '\r' | '\n' => rows.push(std::mem::take(&mut row)),
            '\x1b' => {
                // A control sequence: ESC [ parameters letter. Colours and weights move nothing.
                assert_eq!(chars.next(), Some('['), "{text:?}");
                let end = chars.find(char::is_ascii_alphabetic);
                if end != Some('m') {
                    rows.push(std::mem::take(&mut row));
                }
            }
            c => row.push(c),
        }
    }
    rows.push(row);
    rows.retain(|row| !row.trim().is_empty());
    rows
}

/// A client at a terminal, and what it draws.
struct Seated {
    child: Child,
    person: fs::File,
    screen: mpsc::Receiver<Vec<u8>>,
}

impl Seated {
    /// Copies files of the site's outside, slowly enough to be looked at.
    fn copy(site: &Site, columns: u16, options: &[&str]) -> Self {
        for name in ["alpha", "beta"] {
            fs::write(site.outside().join(name), noise(8 << 20, 1)).unwrap();
        }
        let (person, program) = terminal();
        resize(&person, columns);
        let serve = bcmr_tests::client::serve(&site.root());
        // A session of its own, of which this is the terminal: then its keys are signals.
        let child = Command::new("setsid")
            .args(["--ctty", "--wait"])
            .arg(binaries::client())
            .args(["--via", &serve, "copy", "--bandwidth-limit", "8MiB"])
            .args(options)
            .args(["alpha", "beta", ":there/"])
            .current_dir(site.outside())
            .env("TERM", "xterm")
            .env("BCMR_CAS_DIR", "/dev/null")
            .env("XDG_CONFIG_HOME", site.base())
            .stdin(program.try_clone().unwrap())
            .stdout(program.try_clone().unwrap())
            .stderr(program)
            .spawn()
            .unwrap();
        let (sender, screen) = mpsc::channel();
        let mut reader = person.try_clone().unwrap();
        std::thread::spawn(move || {
            let mut piece = vec![0; 65_536];
            // Ends with EIO when the last of the program's descriptors is closed.
            while let Ok(read) = reader.read(&mut piece) {
                if read == 0 || sender.send(piece[..read].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { child, person, screen }
    }

    /// What is drawn until `enough` has happened.
    fn until(&self, enough: impl Fn(&str) -> bool) -> Vec<u8> {
        let deadline = Instant::now() + Duration::from_secs(30);
        let mut screen = Vec::new();
        while !enough(&String::from_utf8_lossy(&screen)) {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.screen.recv_timeout(left) {
                Ok(piece) => screen.extend(piece),
                Err(_) => panic!("not drawn: {:?}", String::from_utf8_lossy(&screen)),
            }
        }
        screen
    }

    /// The rest of what is drawn, and the exit code.
    fn end(mut self) -> (Vec<u8>, Option<i32>) {
        let screen = self.screen.iter().flatten().collect();
        (screen, self.child.wait().unwrap().code())
    }
}

#[track_caller]
fn fit(rows: &[String], columns: usize) {
    for row in rows {
        assert!(row.chars().count() <= columns, "{} columns of {columns}: {row:?}", row.chars().count());
    }
}

#[test]
fn bars_fit_into_40_80_and_200_columns() {
    for columns in [40_u16, 80, 200] {
        let site = Site::new();
        let (screen, code) = Seated::copy(&site, columns, &[]).end();
        let rows = rows(&screen);
        let (summary, bars) = rows.split_last().unwrap();
        fit(bars, columns.into());
        assert_eq!(code, Some(0));
        assert!(summary.starts_with("2 files, 16.00 MiB in "), "{summary}");
        assert!(bars.len() > 3, "{bars:?}");
        let half =
            bars.iter().filter(|bar| matches!(bar.trim().as_bytes(), [b'1'..=b'9', b'0'..=b'9', b'%', ..]));
        assert!(half.count() > 3, "{bars:?}");
        let full = bars.iter().filter(|bar| bar.contains('%') && bar.contains("MiB/s")).count();
        assert!(full > 3, "{bars:?}");
        // What there is room for.
        let says_files = bars.iter().any(|bar| bar.contains("files,") && bar.contains("of 16.00 MiB"));
        assert_eq!(says_files, columns >= 80, "{bars:?}");
    }
}

#[test]
fn each_connection_has_a_bar_that_names_its_file() {
    for columns in [40_u16, 200] {
        let site = Site::new();
        let (screen, code) = Seated::copy(&site, columns, &["-P", "2"]).end();
        let rows = wrapped(&screen, columns.into());
        let summary = rows.iter().position(|row| row.starts_with("2 files, 16.00 MiB in ")).unwrap();
        let bars = &rows[..summary];
        assert_eq!(code, Some(0), "{rows:?}");
        // One that did not fit would have its end where another begins.
        for bar in bars {
            let begins =
                bar.starts_with("  1 ") || bar.starts_with("  2 ") || bar.chars().nth(3) == Some('%');
            assert!(begins || bar.contains(" 0 B/s"), "{bar:?} of {bars:?}");
        }
        for (number, name) in [("  1 ", "alpha"), ("  2 ", "beta")] {
            let shown = bars.iter().any(|bar| bar.starts_with(number) && bar.contains(name));
            let swapped = bars.iter().any(|bar| bar.starts_with("  ") && bar.contains(name));
            assert!(shown || swapped, "{name}: {bars:?}");
        }
    }
}

#[test]
fn a_terminal_that_is_made_smaller_is_drawn_on_as_it_is_now() {
    let site = Site::new();
    let seated = Seated::copy(&site, 120, &[]);
    let before = seated.until(|screen| screen.matches("of 16.00 MiB").count() > 2);
    assert!(rows(&before).iter().any(|row| row.chars().count() > 60));
    resize(&seated.person, 40);
    // What was on its way when it happened was drawn for the old size.
    let _ = seated.until(|screen| screen.contains("MiB/s"));
    let (screen, code) = seated.end();
    assert_eq!(code, Some(0));
    let rows = rows(&screen);
    fit(&rows[1..rows.len() - 1], 40);
    assert!(rows.len() > 4, "{rows:?}");
}

#[test]
fn no_colours_are_used() {
    let site = Site::new();
    let (screen, _) = Seated::copy(&site, 80, &[]).end();
    let text = String::from_utf8_lossy(&screen);
    let colours = text.split("\x1b[").skip(1).filter(|rest| {
        rest.split_once(|c: char| c.is_ascii_alphabetic())
            .is_some_and(|(codes, _)| rest[codes.len()..].starts_with('m') && !matches!(codes, "" | "0"))
    });
    assert_eq!(colours.count(), 0, "{text:?}");
}

#[test]
fn ctrl_c_stops_it_and_takes_the_bars_away() {
    let site = Site::new();
    let mut seated = Seated::copy(&site, 80, &[]);
    let _ = seated.until(|screen| screen.contains("MiB/s"));
    seated.person.write_all(b"\x03").unwrap();
    let (screen, code) = seated.end();
    let text = String::from_utf8_lossy(&screen).into_owned();
    assert_eq!(code, Some(130), "{text:?}");
    assert!(text.contains("interrupted; nothing half-written is left"), "{text:?}");
    assert!(text.contains("copy -C"), "{text:?}");
    let left = site.tree();
    assert!(
        left.paths().iter().all(|path| ["there", "there/alpha", "there/beta"].contains(path)),
        "{left:?}"
    );
    for name in ["there/alpha", "there/beta"] {
        assert!(!site.path(name).exists() || site.read(name) == noise(8 << 20, 1));
    }
}

#[test]
fn nothing_is_drawn_over_a_question_and_ctrl_c_answers_it() {
    let site = Site::new();
    let mut seated = Seated::copy(&site, 80, &["-f"]);
    let _ = seated.until(|screen| screen.contains("[y/N] "));
    std::thread::sleep(Duration::from_millis(500));
    seated.person.write_all(b"\x03").unwrap();
    let (screen, code) = seated.end();
    let text = String::from_utf8_lossy(&screen).into_owned();
    assert!(!text.contains("files") && !text.contains('\x1b'), "{text:?}");
    assert_ne!(code, Some(0));
    assert!(site.tree().paths().is_empty());
}
