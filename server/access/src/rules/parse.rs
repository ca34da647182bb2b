//! The grammar of a rules file, with its bounds [RULE-3]. Whatever the bytes are, their number
//! bounds the time and the memory that reading them costs.

use std::collections::HashMap;

use crate::file_error::{lines, no_end, shown, FileError};
use crate::{is_name, Identity, Limit, LimitName, Operation};

pub const MAX_RULES_FILE_BYTES: usize = 1 << 20;
const MAX_LINES: usize = 20_000;
const MAX_LINE_BYTES: usize = 4096;
const MAX_PATH_BYTES: usize = 1024;
/// The path with which `all` is about the server as a whole, too.
const EVERYTHING: &str = "/**";

/// What a whole file says.
pub struct Statements<'a> {
    pub groups: Vec<Group>,
    pub rules: Vec<Rule<'a>>,
    pub limits: Vec<(Who, Limit)>,
}

pub struct Group {
    pub line: usize,
    pub identities: Vec<Identity>,
    /// Groups above it, by their place.
    pub groups: Vec<usize>,
}

pub struct Rule<'a> {
    pub line: u32,
    pub is_allow: bool,
    pub who: Who,
    /// One bit for each operation, with what follows from the words of the rule [RULE-2].
    operations: u8,
    /// None for a rule that is about the server as a whole.
    pub path: Option<&'a str>,
}

pub enum Who {
    Everybody,
    Identity(Identity),
    Group(usize),
}

impl Rule<'_> {
    pub fn is_about(&self, operation: Operation) -> bool {
        self.operations & bit(operation) != 0
    }
}

fn bit(operation: Operation) -> u8 {
    1 << operation as u8
}

/// A word of a line, and the byte at which it begins.
#[derive(Clone, Copy)]
struct Word<'a> {
    at: usize,
    text: &'a str,
}

/// What is wrong in a line, and at which byte.
type Wrong = (usize, String);

#[derive(Default)]
struct Parser<'a> {
    groups: Vec<Group>,
    group_names: HashMap<&'a str, usize>,
    rules: Vec<Rule<'a>>,
    limits: Vec<(Who, Limit)>,
    is_at_end: bool,
}

pub fn parse(file: &[u8]) -> Result<Statements<'_>, FileError> {
    if file.len() > MAX_RULES_FILE_BYTES {
        let text = format!(
            "the file has {} bytes; a rules file has at most 1 MiB",
            file.len()
        );
        return Err(FileError::at(1, b"", 0, text));
    }
    let mut parser = Parser::default();
    for (number, bytes) in lines(file) {
        let read = text_of(number, bytes).and_then(|line| parser.take(number, line));
        read.map_err(|(at, text)| FileError::at(number, bytes, at, text))?;
    }
    match parser.is_at_end {
        true => Ok(Statements {
            groups: parser.groups,
            rules: parser.rules,
            limits: parser.limits,
        }),
        false => Err(no_end(file)),
    }
}

fn text_of(number: usize, bytes: &[u8]) -> Result<&str, Wrong> {
    if number > MAX_LINES {
        return Err((0, format!("a rules file has at most {MAX_LINES} lines")));
    }
    if bytes.len() > MAX_LINE_BYTES {
        let text = format!(
            "the line has {} bytes; a line has at most 4096",
            bytes.len()
        );
        return Err((MAX_LINE_BYTES, text));
    }
    let line = std::str::from_utf8(bytes).map_err(|error| {
        (
            error.valid_up_to(),
            "this byte is not UTF-8 text".to_string(),
        )
    })?;
    match line.find(|c: char| c.is_control() && c != '\t') {
        None => Ok(line),
        Some(at) if &line[at..] == "\r" => Err((
            at,
            "the line ends with a carriage return; end it with a line feed alone".into(),
        )),
        Some(at) => Err((
            at,
            "this is a control character; write spaces or tabs".into(),
        )),
    }
}

/// Splits a line into its words, up to a comment.
fn words(line: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut at = 0;
    for text in line.split([' ', '\t']) {
        if text.starts_with('#') {
            break;
        }
        if !text.is_empty() {
            words.push(Word { at, text });
        }
        at += text.len() + 1;
    }
    words
}

impl<'a> Parser<'a> {
    fn take(&mut self, number: usize, line: &'a str) -> Result<(), Wrong> {
        let words = words(line);
        let Some((first, rest)) = words.split_first() else {
            return Ok(());
        };
        if self.is_at_end {
            let text = "this stands behind `end`, which is the last line; put `end` below it";
            return Err((first.at, text.into()));
        }
        match (first.text, rest) {
            ("group", _) => self.take_group(number, line, rest),
            ("allow" | "deny", _) => {
                let rule = self.rule(number, first.text == "allow", line, rest)?;
                self.rules.push(rule);
                Ok(())
            }
            ("limit", _) => {
                let limit = self.limit(number, line, rest)?;
                self.limits.push(limit);
                Ok(())
            }
            ("end", []) => {
                self.is_at_end = true;
                Ok(())
            }
            ("end", [extra, ..]) => Err((extra.at, "`end` stands alone in its line".into())),
            (word, _) => {
                let text = format!("{} is not group, allow, deny, limit or end", shown(word));
                Err((first.at, text))
            }
        }
    }

    fn take_group(&mut self, line: usize, text: &str, words: &[Word<'a>]) -> Result<(), Wrong> {
        let [name, members @ ..] = words else {
            return Err((
                text.len(),
                "a group has a name: group NAME MEMBER...".into(),
            ));
        };
        if !is_name(name.text) {
            let text = "is not a name: 1 to 64 of A-Z a-z 0-9 . _ -, a letter or a digit first, \
                        and not anyone, group, allow, deny or end";
            return Err((name.at, format!("{} {text}", shown(name.text))));
        }
        if let Some(&first) = self.group_names.get(name.text) {
            let first = self.groups[first].line;
            let text = format!("the group {} stands in line {first}, too", shown(name.text));
            return Err((name.at, text));
        }
        if members.is_empty() {
            return Err((
                text.len(),
                "a group has members: group NAME MEMBER...".into(),
            ));
        }
        let mut group = Group {
            line,
            identities: Vec::new(),
            groups: Vec::new(),
        };
        for member in members {
            match self.who(member)? {
                Who::Identity(identity) => group.identities.push(identity),
                Who::Group(other) => group.groups.push(other),
                Who::Everybody => {
                    return Err((member.at, "`*` is not a member; write rules for `*`".into()))
                }
            }
        }
        self.group_names.insert(name.text, self.groups.len());
        self.groups.push(group);
        Ok(())
    }

    fn who(&self, word: &Word) -> Result<Who, Wrong> {
        if word.text == "*" {
            return Ok(Who::Everybody);
        }
        if let Some(name) = word.text.strip_prefix('@') {
            let found = self.group_names.get(name).map(|&group| Who::Group(group));
            let text = || format!("there is no group {} above", shown(name));
            return found.ok_or_else(|| (word.at, text()));
        }
        let what = "is not an identity: a token's name, cert:COMMON_NAME, uid:NUMBER or anyone";
        let found = Identity::parse(word.text).map(Who::Identity);
        found.ok_or_else(|| (word.at, format!("{} {what}, @GROUP or *", shown(word.text))))
    }

    fn limit(&self, line: usize, text: &str, words: &[Word<'a>]) -> Result<(Who, Limit), Wrong> {
        let [who, name, value, extra @ ..] = words else {
            return Err((text.len(), "a limit is `limit WHO NAME VALUE`".into()));
        };
        let who = self.who(who)?;
        let Some(limit) = LimitName::parse(name.text) else {
            let all = "connections, segments, bytes, releases or rate";
            return Err((
                name.at,
                format!("{} is not a limit: {all}", shown(name.text)),
            ));
        };
        let Some(most) = limit.parse_value(value.text) else {
            let what = match limit.is_of_a_second() {
                true => "from 1 to 2^53 - 1",
                false => "from 0 to 2^53 - 1",
            };
            let text = format!(
                "{} is not a number {what}; only bytes and rate may end with K, M or G",
                shown(value.text)
            );
            return Err((value.at, text));
        };
        if let Some(extra) = extra.first() {
            return Err((extra.at, "a limit has one value".into()));
        }
        let limit = Limit {
            name: limit,
            most,
            line: line as u32,
        };
        Ok((who, limit))
    }

    fn rule(
        &self,
        line: usize,
        is_allow: bool,
        text: &str,
        words: &[Word<'a>],
    ) -> Result<Rule<'a>, Wrong> {
        let (who, operations, path) = match words {
            [who, operations] => (who, operations, None),
            [who, operations, path] => (who, operations, Some(path)),
            [_, _, _, extra, ..] => {
                return Err((extra.at, "a rule has one path, which has no spaces".into()))
            }
            _ => {
                let text_is = "a rule is `allow WHO OPERATIONS [PATH]`, or `deny ...`";
                return Err((text.len(), text_is.into()));
            }
        };
        let who = self.who(who)?;
        let named = operations_of(operations)?;
        let path = path_of(named, text, path)?;
        let operations = with_what_follows(named, is_allow, path);
        Ok(Rule {
            line: line as u32,
            is_allow,
            who,
            operations,
            path,
        })
    }
}

/// The operations that a rule names.
#[derive(Clone, Copy, PartialEq)]
enum Named {
    All,
    OfSegment(u8),
    OfServer(u8),
}

fn operations_of(word: &Word) -> Result<Named, Wrong> {
    if word.text == "all" {
        return Ok(Named::All);
    }
    let (mut of_segment, mut of_server) = (0, 0);
    let mut at = word.at;
    for text in word.text.split(',') {
        let Some(operation) = Operation::parse(text) else {
            let text = match text {
                "all" => "`all` stands alone".to_string(),
                _ => format!(
                    "{} is not an operation: read, write, steer, create, remove, metrics, admin \
                     or all, with commas between",
                    shown(text)
                ),
            };
            return Err((at, text));
        };
        if (of_segment | of_server) & bit(operation) != 0 {
            return Err((at, format!("`{operation}` stands here twice")));
        }
        match operation.is_of_server() {
            true => of_server |= bit(operation),
            false => of_segment |= bit(operation),
        }
        if of_segment != 0 && of_server != 0 {
            let text = "metrics and admin have no path: write a rule of their own for them";
            return Err((at, text.into()));
        }
        at += text.len() + 1;
    }
    Ok(match of_server {
        0 => Named::OfSegment(of_segment),
        _ => Named::OfServer(of_server),
    })
}

fn path_of<'a>(
    named: Named,
    line: &str,
    path: Option<&Word<'a>>,
) -> Result<Option<&'a str>, Wrong> {
    let path = match (named, path) {
        (Named::OfServer(_), None) => return Ok(None),
        (Named::OfServer(_), Some(path)) => {
            return Err((path.at, "a rule about metrics and admin has no path".into()))
        }
        (_, None) => return Err((line.len(), "this rule needs a path, like /lab/**".into())),
        (_, Some(path)) => path,
    };
    if !path.text.starts_with('/') {
        return Err((
            path.at,
            format!("{} does not begin with `/`", shown(path.text)),
        ));
    }
    if let Some(at) = path.text.find('#') {
        return Err((
            path.at + at,
            "a path has no `#`; a comment begins behind a space".into(),
        ));
    }
    if path.text.len() > MAX_PATH_BYTES {
        let text = format!(
            "the path has {} bytes; a path has at most 1024",
            path.text.len()
        );
        return Err((path.at, text));
    }
    Ok(Some(path.text))
}

/// [RULE-2]: who may write may steer; who may not steer may not write.
fn with_what_follows(named: Named, is_allow: bool, path: Option<&str>) -> u8 {
    let of_segment = (1 << super::SEGMENT_OPERATIONS) - 1;
    match named {
        Named::All if path == Some(EVERYTHING) => (1 << Operation::ALL.len()) - 1,
        Named::All => of_segment,
        Named::OfServer(bits) => bits,
        Named::OfSegment(bits) => {
            let (one, other) = match is_allow {
                true => (Operation::Write, Operation::Steer),
                false => (Operation::Steer, Operation::Write),
            };
            bits | if bits & bit(one) != 0 { bit(other) } else { 0 }
        }
    }
}
