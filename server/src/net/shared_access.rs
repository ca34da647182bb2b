//! The rules that the servers of a store share [SPACE-40..45].
//!
//! The thread of the tokens file and the rules file looks at them as well. What a version says that
//! does not parse is not taken: what holds stays. REQUIRES of the whole file: one thread.

use interweave_access::{Access, FileError, Rules, Tokens};
use interweave_store::{AccessSource, SharedAccess};
use interweave_wire::protocol::FileRead;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The option under which people hear of shared rules.
pub const OPTION: &str = "--shared-rules";
/// After so long without a look that succeeded nobody is let in [SPACE-44].
const UNREAD: Duration = Duration::from_secs(10);

/// A version that was taken.
struct Taken {
    version: u64,
    /// When it was written.
    made_us: i64,
    rules: Option<Rules>,
    tokens: Option<Tokens>,
}

pub struct SharedFiles {
    source: Box<dyn AccessSource>,
    taken: Option<Taken>,
    /// A version that does not parse, which is not told again.
    refused: (u64, i64),
    looked: Instant,
    /// Why the last look failed.
    failure: Option<String>,
    /// Whether nobody is let in.
    pub is_unread: bool,
    pub reloads: Vec<FileRead>,
}

impl SharedFiles {
    /// The first look. An error: the server cannot begin.
    pub fn open(mut source: Box<dyn AccessSource>, now_s: u64) -> Result<SharedFiles, String> {
        let newest = source.other((0, 0));
        let newest = newest.map_err(|error| format!("{OPTION}: {error}"))?;
        let taken = newest.map(|access| parsed(&access, now_s)).transpose()?;
        let mut files = SharedFiles {
            source,
            taken: None,
            refused: (0, 0),
            looked: Instant::now(),
            failure: None,
            is_unread: false,
            reloads: Vec::new(),
        };
        if let Some(taken) = taken {
            files.take(taken);
        }
        Ok(files)
    }

    /// The version that holds. 0: the store has no rules.
    pub fn version(&self) -> u64 {
        self.taken.as_ref().map_or(0, |taken| taken.version)
    }

    fn taken(&self) -> (u64, i64) {
        let taken = self.taken.as_ref();
        taken.map_or((0, 0), |taken| (taken.version, taken.made_us))
    }

    /// What the version says. None: the store has no rules.
    pub fn access(&self) -> Option<Arc<Access>> {
        let taken = self.taken.as_ref()?;
        let access = Access::new(taken.rules.clone(), taken.tokens.clone());
        Some(Arc::new(access))
    }

    /// Looks for another version. Returns whether what holds has changed. `aloud`: somebody asked
    /// for it and wants to hear of it, even if nothing has changed.
    pub fn look(&mut self, now_s: u64, aloud: bool) -> bool {
        let version = self.version();
        let found = self.source.other(self.taken());
        let now = Instant::now();
        let other = match found {
            Ok(other) => other,
            Err(error) => {
                let text = format!("{OPTION}: {error}; version {version} holds");
                if aloud || self.failure.is_none() {
                    self.tell(false, text);
                }
                self.failure = Some(error.to_string());
                self.is_unread = version > 0 && now.duration_since(self.looked) >= UNREAD;
                return false;
            }
        };
        self.looked = now;
        self.is_unread = false;
        if self.failure.take().is_some() {
            self.tell(
                true,
                format!("{OPTION}: the store answers again; version {version} holds"),
            );
        }
        let Some(access) = other else {
            if aloud && version > 0 {
                self.tell(true, holds(version));
            }
            return false;
        };
        match parsed(&access, now_s) {
            Ok(taken) => {
                if taken.version <= version {
                    let text = format!("{OPTION}: the store has lost version {version}");
                    self.tell(false, text);
                }
                self.take(taken);
                true
            }
            Err(text) => {
                let refused = (access.version, access.made_us);
                if aloud || self.refused != refused {
                    self.tell(false, format!("{text}; version {version} holds"));
                }
                self.refused = refused;
                false
            }
        }
    }

    /// Why nobody is let in. None: the rules are known.
    pub fn unread(&self) -> Option<String> {
        let failure = self.failure.as_deref().unwrap_or_default();
        self.is_unread.then(|| {
            format!(
                "this server could not look for newer rules of its space for {} s, so it lets \
                 nobody in: {failure}; connect to another server of the space, or again later",
                UNREAD.as_secs()
            )
        })
    }

    /// When the next token expires, in seconds since 1970.
    pub fn next_expiry(&self) -> Option<u64> {
        self.taken.as_ref()?.tokens.as_ref()?.next_expiry()
    }

    /// Returns whether a token has expired.
    pub fn let_expire(&mut self, now_s: u64) -> bool {
        let has_expired = self.next_expiry().is_some_and(|at| at <= now_s);
        let taken = self.taken.as_mut().filter(|_| has_expired);
        if let Some(tokens) = taken.and_then(|taken| taken.tokens.as_mut()) {
            *tokens = tokens.without_expired(now_s);
        }
        has_expired
    }

    fn take(&mut self, taken: Taken) {
        let text = holds(taken.version);
        self.taken = Some(taken);
        self.tell(true, text);
    }

    fn tell(&mut self, is_taken: bool, text: String) {
        let rules = self.taken.as_ref().and_then(|taken| taken.rules.as_ref());
        self.reloads.push(FileRead {
            option: OPTION.to_string(),
            taken: is_taken,
            count: rules.map_or(0, |rules| rules.count().try_into().unwrap_or(u32::MAX)),
            text,
        });
    }
}

fn holds(version: u64) -> String {
    format!("{OPTION}: version {version} of the store's rules holds")
}

/// Reads both texts. An error says which version is wrong, and where.
fn parsed(access: &SharedAccess, now_s: u64) -> Result<Taken, String> {
    let version = access.version;
    let wrong = |what: &str, error: FileError| {
        let FileError { line, column, text } = error;
        format!("{OPTION}: the {what} of version {version}:{line}:{column}: error: {text}")
    };
    let rules = access.rules.as_deref().map(Rules::parse).transpose();
    let tokens = access
        .tokens
        .as_deref()
        .map(|text| Tokens::parse(text, now_s));
    Ok(Taken {
        version,
        made_us: access.made_us,
        rules: rules.map_err(|error| wrong("rules", error))?,
        tokens: tokens.transpose().map_err(|error| wrong("tokens", error))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use interweave_access::{Identity, Operation};
    use interweave_store::StoreError;
    use std::collections::VecDeque;

    type Answer = Result<Option<SharedAccess>, StoreError>;

    struct Answers(VecDeque<Answer>);

    impl AccessSource for Answers {
        fn other(&mut self, _taken: (u64, i64)) -> Answer {
            self.0
                .pop_front()
                .expect("a look that the test does not expect")
        }
    }

    fn version(version: u64, rules: &str) -> Answer {
        Ok(Some(SharedAccess {
            version,
            made_us: 0,
            rules: Some(rules.as_bytes().to_vec()),
            tokens: None,
        }))
    }

    fn lost() -> Answer {
        Err(StoreError::Io("no route".to_string()))
    }

    fn opened(answers: impl IntoIterator<Item = Answer>) -> SharedFiles {
        let answers = Answers(answers.into_iter().collect());
        SharedFiles::open(Box::new(answers), 0).unwrap()
    }

    fn may_read(files: &SharedFiles) -> bool {
        let alice = Identity::parse("alice").unwrap();
        let access = files.access().unwrap();
        access.decide(&alice, Operation::Read, "/a").is_allowed
    }

    #[test]
    fn space_42_a_version_is_taken_whole_or_not_at_all() {
        let mut files = opened([
            version(1, "allow alice read /**\nend\n"),
            version(2, "deny alice reed /**\nend\n"),
            version(2, "deny alice reed /**\nend\n"),
            Ok(None),
            version(3, "deny alice read /**\nend\n"),
        ]);
        assert!(may_read(&files) && files.version() == 1);
        files.reloads.clear();
        assert!(!files.look(0, false) && may_read(&files) && files.version() == 1);
        assert!(files.reloads[0]
            .text
            .contains("rules of version 2:1:12: error"));
        assert!(!files.look(0, false), "it is told once");
        assert!(!files.look(0, false));
        assert_eq!(files.reloads.len(), 1);
        assert!(files.look(0, false) && !may_read(&files) && files.version() == 3);
        assert!(files.reloads[1].text.contains("version 3"));
    }

    #[test]
    fn space_42_a_server_returns_to_an_older_version_and_says_that_the_newer_one_is_lost() {
        let mut files = opened([
            version(2, "deny alice read /**\nend\n"),
            version(1, "allow alice read /**\nend\n"),
            version(2, "allow alice read /**\nend\n"),
        ]);
        files.reloads.clear();
        assert!(files.look(0, false) && may_read(&files) && files.version() == 1);
        let [lost, holds] = &files.reloads[..] else {
            panic!("{:?}", files.reloads);
        };
        assert!(!lost.taken && lost.text.contains("has lost version 2"));
        assert!(holds.taken && holds.text.contains("version 1 of"));
        files.reloads.clear();
        assert!(files.look(0, false) && files.version() == 2);
        assert_eq!(files.reloads.len(), 1, "nothing is lost");
    }

    #[test]
    fn space_44_nobody_is_let_in_while_rules_are_unread_for_long() {
        let mut files = opened([version(1, "end\n"), lost(), lost(), Ok(None)]);
        assert!(
            !files.look(0, false) && files.unread().is_none(),
            "not for long yet"
        );
        files.looked -= UNREAD;
        assert!(!files.look(0, false));
        let why = files.unread().unwrap();
        assert!(why.contains("no route") && why.contains("10 s"), "{why}");
        assert!(!files.look(0, false) && files.unread().is_none());
        // A store without rules keeps nobody out.
        let mut files = opened([Ok(None), lost()]);
        files.looked -= UNREAD;
        assert!(!files.look(0, false) && files.unread().is_none() && files.access().is_none());
    }

    #[test]
    fn space_42_a_server_does_not_begin_with_rules_that_do_not_parse() {
        let answers = Answers([version(7, "allow alice read\nend\n")].into());
        let refused = SharedFiles::open(Box::new(answers), 0)
            .map(drop)
            .unwrap_err();
        assert!(refused.contains("version 7:1:17"), "{refused}");
    }
}
