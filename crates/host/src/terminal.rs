//! Lines of output. File names, replies of servers and error texts are untrusted, so each line is escaped once,
//! when it is printed.

use std::borrow::Cow;
use std::fmt::Display;

/// Characters that change the order of the text around them.
const ORDERING: [char; 14] = [
    '\u{61c}', '\u{200e}', '\u{200f}', '\u{2028}', '\u{2029}', '\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}',
    '\u{202e}', '\u{2066}', '\u{2067}', '\u{2068}', '\u{2069}',
];

/// Escapes text into one harmless line. Some characters move the cursor, change colours, reorder text, or end the line.
/// Escapes replace these characters, for example `\u{1b}`.
#[must_use]
pub fn plain(text: &str) -> Cow<'_, str> {
    let acts = |c: char| c.is_control() || ORDERING.contains(&c);
    if !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    let mut line = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if acts(c) {
            line.extend(c.escape_unicode());
        } else {
            line.push(c);
        }
    }
    Cow::Owned(line)
}

/// Prints a warning to standard error.
pub fn warn(text: impl Display) {
    eprintln!("levelflow-net: {}", plain(&text.to_string()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_line_acts_on_the_terminal() {
        assert!(matches!(plain("naïve ☃ 名前.txt"), Cow::Borrowed(_)));
        assert_eq!(
            plain("a\x1b[2J\u{9b}1m\nb\r\u{7f}"),
            "a\\u{1b}[2J\\u{9b}1m\\u{a}b\\u{d}\\u{7f}"
        );
        assert_eq!(plain("exe\u{202e}txt.x"), "exe\\u{202e}txt.x");
        let all: String = (0..0x3000).filter_map(char::from_u32).collect();
        assert!(!plain(&all).chars().any(char::is_control));
        assert_eq!(plain(&plain(&all)), plain(&all));
    }
}
