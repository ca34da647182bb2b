//! How much one identity may use, as a rules file says it [LIM-1..6].

use std::fmt;

/// What a limit bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LimitName {
    Connections,
    Segments,
    Bytes,
    Releases,
    Rate,
}

/// One limit, and the line of the rules file that says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    pub name: LimitName,
    pub most: u64,
    pub line: u32,
}

/// The limits of one identity. None: there is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    of: [Option<Limit>; LimitName::ALL.len()],
}

/// The largest value: what a double holds exactly.
const MOST: u64 = (1 << 53) - 1;

impl LimitName {
    pub const ALL: [LimitName; 5] = [
        LimitName::Connections,
        LimitName::Segments,
        LimitName::Bytes,
        LimitName::Releases,
        LimitName::Rate,
    ];

    /// Returns the word that rules have for it.
    pub fn word(self) -> &'static str {
        match self {
            LimitName::Connections => "connections",
            LimitName::Segments => "segments",
            LimitName::Bytes => "bytes",
            LimitName::Releases => "releases",
            LimitName::Rate => "rate",
        }
    }

    pub(crate) fn parse(word: &str) -> Option<LimitName> {
        Self::ALL.into_iter().find(|name| name.word() == word)
    }

    /// Whether the limit is of what happens in a second.
    pub(crate) fn is_of_a_second(self) -> bool {
        matches!(self, LimitName::Releases | LimitName::Rate)
    }

    /// Reads the value of such a limit. None: it is not one.
    pub(crate) fn parse_value(self, word: &str) -> Option<u64> {
        let shift = match word.as_bytes().last()? {
            b'K' => 10,
            b'M' => 20,
            b'G' => 30,
            _ => 0,
        };
        let takes_unit = matches!(self, LimitName::Bytes | LimitName::Rate);
        let digits = match shift {
            0 => word,
            _ if takes_unit => &word[..word.len() - 1],
            _ => return None,
        };
        let value = crate::identity::number(digits)?.checked_mul(1 << shift)?;
        let least = u64::from(self.is_of_a_second());
        (least..=MOST).contains(&value).then_some(value)
    }
}

impl fmt::Display for LimitName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl Limits {
    pub fn get(&self, name: LimitName) -> Option<Limit> {
        self.of[name as usize]
    }

    /// Takes the limit, unless one of an earlier line is there.
    pub(crate) fn add(&mut self, limit: Limit) {
        let of = &mut self.of[limit.name as usize];
        if of.is_none_or(|there| limit.line < there.line) {
            *of = Some(limit);
        }
    }

    pub(crate) fn add_all(&mut self, other: &Limits) {
        other.of.iter().flatten().for_each(|limit| self.add(*limit));
    }

    /// Whether something happens later because of a limit [LIM-5].
    pub fn slow_down(&self) -> bool {
        let all = self.of.iter().flatten();
        all.into_iter().any(|limit| limit.name.is_of_a_second())
    }
}

#[cfg(test)]
mod tests;
