//! Names and texts from the other end, made safe to show to people.

use std::fmt::{self, Write};

/// Shows `text` with everything that is not printable escaped (`\n`, `\u{1b}`): no line break, no terminal
/// sequence, no change of writing direction comes through. Backslashes and quotes stay, for people to read;
/// what must be told apart by a program needs another form.
pub fn shown(text: &str) -> impl fmt::Display + '_ {
    Shown(text)
}

struct Shown<'a>(&'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '\\' | '\'' | '"' => f.write_char(c)?,
                c => write!(f, "{}", c.escape_debug())?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn nothing_that_moves_a_cursor_or_ends_a_line_comes_through() {
        let text = "a\nb\x1b[31m\u{202e}\u{9b}c\\xe9 'süß'";
        let seen = shown(text).to_string();
        assert_eq!(seen, "a\\nb\\u{1b}[31m\\u{202e}\\u{9b}c\\xe9 'süß'");
    }
}
