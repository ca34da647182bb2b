//! The tokens file [ACC-2] [ACC-7]. It has the SHA-256 of each token, never a token.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::file_error::{lines, no_end, FileError};
use crate::identity::{is_name, number};

pub const MAX_TOKENS_FILE_BYTES: usize = 16 << 20;
pub const MAX_TOKENS: usize = 100_000;
/// A token's text: `iw_`, 12 digits, `_`, 64 digits.
const TOKEN_BYTES: usize = 80;
const MAX_SECONDS: u64 = (1 << 53) - 1;

const LINE_FORM: &str =
    "a token's line is `ID SHA256 NAME CREATED EXPIRES`, with one space between two";
const ID_FORM: &str = "this is not an ID: 12 lower-case hexadecimal digits";
const SHA256_FORM: &str = "this is not a SHA-256: 64 lower-case hexadecimal digits";
const NAME_FORM: &str = "this is not a name: 1 to 64 of A-Z a-z 0-9 . _ -, a letter or a digit \
                         first, and not anyone, group, allow, deny or end";
const TIME_FORM: &str =
    "this is not a time: seconds since 1970, in digits without leading zeros, below 2^53";

/// One line of a tokens file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenLine {
    pub id: [u8; 6],
    pub sha256: [u8; 32],
    pub name: Arc<str>,
    /// Seconds since 1970.
    pub created: u64,
    /// Seconds since 1970. 0: it does not expire.
    pub expires: u64,
}

/// The tokens of a file that have not expired at a moment. A clone costs nothing.
#[derive(Clone)]
pub struct Tokens {
    file: Arc<File>,
    now: u64,
}

struct File {
    lines: Vec<TokenLine>,
    by_id: HashMap<[u8; 6], u32>,
    /// When tokens expire, in order.
    expiries: Vec<u64>,
}

impl Tokens {
    /// Reads a whole tokens file. `now`: seconds since 1970.
    pub fn parse(file: impl AsRef<[u8]>, now: u64) -> Result<Tokens, FileError> {
        let lines = parse_lines(file.as_ref())?;
        let by_id = lines
            .iter()
            .zip(0..)
            .map(|(line, at)| (line.id, at))
            .collect();
        let mut expiries: Vec<u64> = lines.iter().map(|line| line.expires).collect();
        expiries.retain(|&expires| expires != 0);
        expiries.sort_unstable();
        expiries.dedup();
        let file = Arc::new(File {
            lines,
            by_id,
            expiries,
        });
        Ok(Tokens { file, now })
    }

    /// Returns the same file's tokens at a later moment.
    pub fn without_expired(&self, now: u64) -> Tokens {
        Tokens {
            file: self.file.clone(),
            now,
        }
    }

    /// Returns the second at which the next token expires.
    pub fn next_expiry(&self) -> Option<u64> {
        let next = self
            .file
            .expiries
            .partition_point(|&expires| expires <= self.now);
        self.file.expiries.get(next).copied()
    }

    /// Returns all lines of the file in their order, expired tokens too.
    pub fn lines(&self) -> &[TokenLine] {
        &self.file.lines
    }

    /// Finds the token of that text, if it is valid [ACC-2]. An ID that the file does not have
    /// costs the same time as one that it has with another secret.
    pub(crate) fn find(&self, token: &str) -> Option<&TokenLine> {
        let id = id_of(token)?;
        let sha256: [u8; 32] = Sha256::digest(token).into();
        let found = self
            .file
            .by_id
            .get(&id)
            .map(|&at| &self.file.lines[at as usize]);
        let is_same = is_equal(&sha256, found.map_or(&[0; 32], |line| &line.sha256));
        found.filter(|line| is_same && self.is_valid(line))
    }

    /// Whether a token of that ID and name is valid.
    pub(crate) fn has(&self, id: &[u8; 6], name: &str) -> bool {
        let line = self
            .file
            .by_id
            .get(id)
            .map(|&at| &self.file.lines[at as usize]);
        line.is_some_and(|line| *line.name == *name && self.is_valid(line))
    }

    fn is_valid(&self, line: &TokenLine) -> bool {
        line.expires == 0 || self.now < line.expires
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Tokens({} of a file, at {})",
            self.file.lines.len(),
            self.now
        )
    }
}

/// Compares in constant time [ACC-7]: all bytes are looked at, whatever the first ones say.
fn is_equal(a: &[u8; 32], b: &[u8; 32]) -> bool {
    let difference = a
        .iter()
        .zip(b)
        .fold(0, |sum, (a, b)| std::hint::black_box(sum | (a ^ b)));
    std::hint::black_box(difference) == 0
}

/// Returns the ID of a token's text, or None if the text does not have a token's form.
fn id_of(token: &str) -> Option<[u8; 6]> {
    let (id, secret) = token.strip_prefix("iw_")?.split_once('_')?;
    let _: [u8; 32] = from_hex(secret)?;
    (token.len() == TOKEN_BYTES).then(|| from_hex(id)).flatten()
}

/// Writes bytes as the tokens file has them.
pub fn to_hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits
        .map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)]))
        .collect()
}

fn from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    if text.len() != 2 * N {
        return None;
    }
    for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = digit(digits[0])? << 4 | digit(digits[1])?;
    }
    Some(bytes)
}

impl TokenLine {
    /// Makes a token of random bytes: its text, for its owner alone, and its line in the file.
    pub fn new(
        name: &str,
        id: [u8; 6],
        secret: [u8; 32],
        created: u64,
        expires: u64,
    ) -> (String, TokenLine) {
        let token = format!("iw_{}_{}", to_hex(&id), to_hex(&secret));
        let sha256 = Sha256::digest(&token).into();
        let name = name.into();
        (
            token,
            TokenLine {
                id,
                sha256,
                name,
                created,
                expires,
            },
        )
    }

    /// Returns the byte at which a line is wrong, and how. The text quotes no word, because a word
    /// may be a token that stands in the wrong place [ACC-7].
    fn parse(line: &str) -> Result<TokenLine, (usize, String)> {
        let [id, sha256, name, created, expires] = five_words(line)?;
        let seconds = |(at, word): (usize, &str)| {
            let found = number(word).filter(|&seconds| seconds <= MAX_SECONDS);
            found.ok_or_else(|| (at, TIME_FORM.to_string()))
        };
        Ok(TokenLine {
            id: from_hex(id.1).ok_or_else(|| (id.0, ID_FORM.to_string()))?,
            sha256: from_hex(sha256.1).ok_or_else(|| (sha256.0, SHA256_FORM.to_string()))?,
            name: match is_name(name.1) {
                true => name.1.into(),
                false => return Err((name.0, NAME_FORM.to_string())),
            },
            created: seconds(created)?,
            expires: seconds(expires)?,
        })
    }
}

fn five_words(line: &str) -> Result<[(usize, &str); 5], (usize, String)> {
    let mut words = [(0, ""); 5];
    let mut at = 0;
    let mut count = 0;
    for word in line.split(' ') {
        let Some(place) = words.get_mut(count) else {
            return Err((at, format!("the line has a sixth word; {LINE_FORM}")));
        };
        if word.is_empty() {
            return Err((at, format!("a word is missing here; {LINE_FORM}")));
        }
        *place = (at, word);
        at += word.len() + 1;
        count += 1;
    }
    match count {
        5 => Ok(words),
        _ => Err((
            line.len(),
            format!("the line has {count} of five words; {LINE_FORM}"),
        )),
    }
}

/// The line as the file has it, without a line feed.
impl fmt::Display for TokenLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (id, sha256) = (to_hex(&self.id), to_hex(&self.sha256));
        write!(
            f,
            "{id} {sha256} {} {} {}",
            self.name, self.created, self.expires
        )
    }
}

fn parse_lines(file: &[u8]) -> Result<Vec<TokenLine>, FileError> {
    if file.len() > MAX_TOKENS_FILE_BYTES {
        let text = format!(
            "the file has {} bytes; a tokens file has at most 16 MiB",
            file.len()
        );
        return Err(FileError::at(1, b"", 0, text));
    }
    let mut tokens = Vec::new();
    let mut seen = HashMap::new();
    let mut is_at_end = false;
    for (number, bytes) in lines(file) {
        if is_at_end {
            let text = "a line stands behind `end`, which is the last line; put `end` below it";
            return Err(FileError::at(number, bytes, 0, text));
        }
        if bytes.is_empty() || bytes[0] == b'#' {
            continue;
        }
        is_at_end = bytes == b"end";
        if is_at_end {
            continue;
        }
        let line = std::str::from_utf8(bytes).map_err(|error| {
            FileError::at(
                number,
                bytes,
                error.valid_up_to(),
                "this byte is not UTF-8 text",
            )
        })?;
        let token =
            TokenLine::parse(line).map_err(|(at, text)| FileError::at(number, bytes, at, text))?;
        if let Some(first) = seen.insert(token.id, number) {
            let text = format!("the ID {} stands in line {first}, too", to_hex(&token.id));
            return Err(FileError::at(number, bytes, 0, text));
        }
        if tokens.len() == MAX_TOKENS {
            let text = "the file has more than 100000 tokens; revoke those that have expired";
            return Err(FileError::at(number, bytes, 0, text));
        }
        tokens.push(token);
    }
    if is_at_end {
        Ok(tokens)
    } else {
        Err(no_end(file))
    }
}

#[cfg(test)]
mod tests;
