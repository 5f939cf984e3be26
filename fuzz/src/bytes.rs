//! Random bytes, and their interpretation as a sequence of choices.

use levelflow_random::Stream;

/// Decodes choices from the front of a byte slice. Once the slice is empty, every choice is the first option.
#[derive(Debug)]
pub struct Choices<'a>(&'a [u8]);

impl<'a> Choices<'a> {
    /// Creates the sequence of choices that these bytes encode.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// True if bytes remain.
    #[must_use]
    pub fn are_left(&self) -> bool {
        !self.0.is_empty()
    }

    /// Chooses a number below `count`.
    pub fn below(&mut self, count: usize) -> usize {
        let (number, rest) = match self.0 {
            [a, b, rest @ ..] => (usize::from(u16::from_le_bytes([*a, *b])), rest),
            [a] => (usize::from(*a), &[] as &[u8]),
            [] => (0, self.0),
        };
        self.0 = rest;
        number % count.max(1)
    }

    /// Chooses one of these options.
    ///
    /// # Panics
    /// When `options` is empty.
    pub fn of<'t, T>(&mut self, options: &'t [T]) -> &'t T {
        &options[self.below(options.len())]
    }
}

/// Returns up to 64 random bytes. The bytes depend only on the seed.
#[must_use]
pub fn random(seed: u64) -> Vec<u8> {
    let mut stream = Stream::new(seed, "fuzz", "bytes");
    let mut below = |count: f64| (stream.unit() * count) as usize;
    let length = below(65.0);
    (0..length).map(|_| below(256.0) as u8).collect()
}

/// Makes text that resembles a quantity, from digits, signs and units.
#[must_use]
pub fn quantity(bytes: &[u8]) -> Vec<u8> {
    const PIECES: &[&str] = &[
        "0",
        "1",
        "9",
        "25",
        "000",
        "999999999",
        ".",
        ".5",
        "e",
        "e3",
        "E-3",
        "e400",
        "-",
        "+",
        " ",
        "ps",
        "ns",
        "us",
        "ms",
        "s",
        "min",
        "h",
        "B",
        "kB",
        "MB",
        "TB",
        "KiB",
        "GiB",
        "packet",
        "packets",
        "b/s",
        "kb/s",
        "Tb/s",
        "/s",
        "\n",
        "\u{b5}s",
    ];
    let mut choices = Choices::new(&bytes[..bytes.len().min(16)]);
    let mut text = String::new();
    while choices.are_left() {
        text.push_str(choices.of::<&str>(PIECES));
    }
    text.into_bytes()
}
