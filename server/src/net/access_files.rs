//! The tokens file and the rules file of a server [RULE-3] [RULE-7] [ACC-6].
//!
//! A thread of its own looks at the files, reads them anew when they change or when SIGHUP comes,
//! and notices that a token expires, because a large file, or a disk that does not answer, must not
//! hold the engine's thread up. A file that does not parse is not taken: what it said before holds.
//! While the store has rules for all its servers, they go before the files [SPACE-43].

use super::shared_access::{self, SharedFiles};
use interweave_access::{
    Access, FileError, Rules, Tokens, MAX_RULES_FILE_BYTES, MAX_TOKENS_FILE_BYTES,
};
use interweave_store::AccessSource;
use interweave_wire::protocol::{FileRead, MAX_ACCESS_FILES};
use std::fs::{File, Metadata};
use std::future::Future;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, Sender};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::signal::unix::{signal, SignalKind};
use tokio::sync::mpsc::{unbounded_channel, UnboundedSender};

/// How often the files are looked at: a change holds within a second, which the engine needs a part
/// of.
const LOOK: Duration = Duration::from_millis(500);
/// How often the store is looked at, which may take a while to answer.
const LOOK_AT_STORE: Duration = Duration::from_millis(300);
/// A file that was written so shortly before it was read may change again without another mark,
/// because times of files are coarse.
const FRESH: Duration = Duration::from_secs(2);

/// Who may do what, by two files. None: the server does not have such a file.
#[derive(Debug, Clone, Default)]
pub struct AccessOptions {
    pub tokens: Option<PathBuf>,
    pub rules: Option<PathBuf>,
    /// The store must have rules for all its servers.
    pub needs_shared: bool,
}

impl AccessOptions {
    /// Ok: a server can begin with these files.
    pub fn check(&self) -> Result<(), String> {
        AccessFiles::of_options(self).map(drop)
    }
}

/// What a look at the files found.
pub struct Change {
    /// None: what the files say holds already.
    pub access: Option<Arc<Access>>,
    /// The version of the shared rules that holds; 0: the store has none.
    pub version: u64,
    /// Why nobody may be let in [SPACE-44]. None: the rules are known.
    pub unread: Option<String>,
    /// A file that was read anew. If it is not sound, what it said before holds.
    pub reloads: Vec<FileRead>,
    /// The last request RELOAD_ACCESS for which all files were read; 0: none asked.
    pub asked: u64,
}

/// Asks for a reading of the files: 0 for SIGHUP, else the number of a request.
pub type Wishes = Sender<u64>;

/// A file that was replaced or written has another mark.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Mark {
    inode: (u64, u64),
    bytes: u64,
    modified: (i64, i64),
}

impl Mark {
    fn of(data: &Metadata) -> Mark {
        Mark {
            inode: (data.dev(), data.ino()),
            bytes: data.len(),
            modified: (data.mtime(), data.mtime_nsec()),
        }
    }

    fn is_fresh(&self, now: Duration) -> bool {
        let seconds = u64::try_from(self.modified.0).unwrap_or(0);
        Duration::from_secs(seconds) + FRESH > now
    }
}

/// How a file is read, and how many entries it then has.
type Reading<T> = (fn(&[u8]) -> Result<T, FileError>, fn(&T) -> usize);

/// One of the files, and what it said when it was last sound.
struct Watched<T> {
    option: &'static str,
    path: PathBuf,
    most_bytes: usize,
    parse: fn(&[u8]) -> Result<T, FileError>,
    count: fn(&T) -> usize,
    sound: T,
    /// None: the file was not there.
    mark: Option<Mark>,
    /// What was last read, sound or not.
    bytes: Vec<u8>,
    /// It is read again at the next look, although its mark stays.
    is_fresh: bool,
    /// The reloads that nobody was told of.
    reloads: Vec<FileRead>,
}

impl<T> Watched<T> {
    fn open(
        option: &'static str,
        path: &Path,
        most_bytes: usize,
        (parse, count): Reading<T>,
    ) -> Result<Self, String> {
        let read = read_file(path, most_bytes);
        let (mark, bytes) =
            read.map_err(|error| format!("{option} {}: {error}", path.display()))?;
        let sound = parse(&bytes).map_err(|error| error_text(option, path, &error))?;
        Ok(Watched {
            option,
            path: path.to_path_buf(),
            most_bytes,
            parse,
            count,
            sound,
            mark: Some(mark),
            bytes,
            is_fresh: mark.is_fresh(since_1970()),
            reloads: Vec::new(),
        })
    }

    /// Reads the file again if it has changed. Returns whether it says something new.
    fn look_again(&mut self) -> bool {
        let mark = std::fs::metadata(&self.path)
            .ok()
            .map(|data| Mark::of(&data));
        (mark != self.mark || self.is_fresh) && self.read_again(false)
    }

    /// `aloud`: somebody asked for it and wants to hear of it, even if nothing has changed.
    fn read_again(&mut self, aloud: bool) -> bool {
        let (option, path) = (self.option, self.path.display());
        let (mark, bytes) = match read_file(&self.path, self.most_bytes) {
            Ok(read) => read,
            Err(error) => {
                if self.mark.take().is_some() || aloud {
                    let text = format!("{option} {path}: {error}; what the file said before holds");
                    self.tell(false, text);
                }
                self.is_fresh = false;
                return false;
            }
        };
        let was_there = self.mark.replace(mark).is_some();
        self.is_fresh = mark.is_fresh(since_1970());
        if bytes == self.bytes && was_there && !aloud {
            return false;
        }
        self.bytes = bytes;
        match (self.parse)(&self.bytes) {
            Ok(sound) => {
                self.sound = sound;
                let text = format!("{option} {path} was read again");
                self.tell(true, text);
                true
            }
            Err(error) => {
                let text = error_text(option, &self.path, &error);
                self.tell(false, format!("{text}; what the file said before holds"));
                false
            }
        }
    }

    fn tell(&mut self, is_taken: bool, text: String) {
        self.reloads.push(FileRead {
            option: self.option.to_string(),
            taken: is_taken,
            count: (self.count)(&self.sound).try_into().unwrap_or(u32::MAX),
            text,
        });
    }
}

fn error_text(option: &str, path: &Path, error: &FileError) -> String {
    let FileError { line, column, text } = error;
    format!("{option} {}:{line}:{column}: error: {text}", path.display())
}

/// The mark is that of the very file whose bytes are returned, and from before they were read.
fn read_file(path: &Path, most_bytes: usize) -> io::Result<(Mark, Vec<u8>)> {
    // The system would wait for the writer of a pipe.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("this is not a file"));
    }
    let file = File::open(path)?;
    let data = file.metadata()?;
    let mut bytes = Vec::new();
    // The parser refuses a file of one byte too many.
    file.take(most_bytes as u64 + 1).read_to_end(&mut bytes)?;
    Ok((Mark::of(&data), bytes))
}

fn since_1970() -> Duration {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default()
}

/// The files as they are, and what they say.
pub struct AccessFiles {
    tokens: Option<Watched<Tokens>>,
    rules: Option<Watched<Rules>>,
    /// None: the store has no rules for several servers.
    shared: Option<SharedFiles>,
}

impl AccessFiles {
    /// Reads the files, and looks at the store's rules. None: there is nothing to look at.
    pub fn open(
        options: &AccessOptions,
        source: Option<Box<dyn AccessSource>>,
    ) -> Result<Option<AccessFiles>, String> {
        let now_s = since_1970().as_secs();
        let shared = source.map(|source| SharedFiles::open(source, now_s));
        let shared = shared.transpose()?;
        let has_shared = shared.as_ref().is_some_and(|shared| shared.version() > 0);
        if options.needs_shared && !has_shared {
            return Err(format!(
                "{}: the store has no rules for all its servers; put some there with `interweave \
                 rules push`, which takes a store on PostgreSQL",
                shared_access::OPTION
            ));
        }
        let mut files = AccessFiles::of_options(options)?;
        let has_files = files.tokens.is_some() || files.rules.is_some();
        if has_files && has_shared {
            tracing::warn!(
                "the store has rules for all its servers, which go before --rules and --tokens: \
                 leave these out, and give --shared-rules"
            );
        }
        files.shared = shared;
        let is_any = has_files || files.shared.is_some();
        Ok(is_any.then_some(files))
    }

    /// The files alone.
    fn of_options(options: &AccessOptions) -> Result<AccessFiles, String> {
        let tokens = options.tokens.as_deref().map(|path| {
            let parse = |bytes: &[u8]| Tokens::parse(bytes, since_1970().as_secs());
            let count = |tokens: &Tokens| tokens.lines().len();
            Watched::open("--tokens", path, MAX_TOKENS_FILE_BYTES, (parse, count))
        });
        let rules = options.rules.as_deref().map(|path| {
            let parse = |bytes: &[u8]| Rules::parse(bytes);
            Watched::open("--rules", path, MAX_RULES_FILE_BYTES, (parse, Rules::count))
        });
        Ok(AccessFiles {
            tokens: tokens.transpose()?,
            rules: rules.transpose()?,
            shared: None,
        })
    }

    /// Whether the store's rules hold.
    pub fn are_shared(&self) -> bool {
        self.version() > 0
    }

    fn version(&self) -> u64 {
        self.shared.as_ref().map_or(0, SharedFiles::version)
    }

    /// Returns what holds. None: neither files nor the store say anything.
    fn access(&self) -> Option<Arc<Access>> {
        let shared = self.shared.as_ref().and_then(SharedFiles::access);
        let has_files = self.tokens.is_some() || self.rules.is_some();
        shared.or_else(|| has_files.then(|| self.access_of_files()))
    }

    fn access_of_files(&self) -> Arc<Access> {
        let rules = self.rules.as_ref().map(|file| file.sound.clone());
        let tokens = self.tokens.as_ref().map(|file| file.sound.clone());
        Arc::new(Access::new(rules, tokens))
    }

    /// Returns how long nothing needs to be done.
    fn rest(&self, now: Duration) -> Duration {
        let of_file = self.tokens.as_ref();
        let of_file = of_file.and_then(|file| file.sound.next_expiry());
        let of_store = self.shared.as_ref().and_then(SharedFiles::next_expiry);
        let next = match self.are_shared() {
            true => of_store,
            false => of_file,
        };
        let left = |at| Duration::from_secs(at).saturating_sub(now);
        let look = match self.shared {
            Some(_) => LOOK_AT_STORE,
            None => LOOK,
        };
        next.map_or(look, |at| look.min(left(at)))
    }

    /// Returns whether a token has expired.
    fn let_expire(&mut self, now: Duration) -> bool {
        if let Some(shared) = self.shared.as_mut().filter(|shared| shared.version() > 0) {
            return shared.let_expire(now.as_secs());
        }
        let Some(tokens) = &mut self.tokens else {
            return false;
        };
        let now = now.as_secs();
        let has_expired = tokens.sound.next_expiry().is_some_and(|at| at <= now);
        if has_expired {
            tokens.sound = tokens.sound.without_expired(now);
        }
        has_expired
    }

    /// Returns whether what holds has changed.
    fn look_again(&mut self) -> bool {
        let shared = self.look_at_store(false);
        if self.are_shared() {
            return self.let_expire(since_1970()) | shared;
        }
        let tokens = self.tokens.as_mut().is_some_and(Watched::look_again);
        let rules = self.rules.as_mut().is_some_and(Watched::look_again);
        self.let_expire(since_1970()) | tokens | rules
    }

    fn look_at_store(&mut self, aloud: bool) -> bool {
        let now_s = since_1970().as_secs();
        let shared = self.shared.as_mut();
        shared.is_some_and(|shared| shared.look(now_s, aloud))
    }

    fn read_again(&mut self) -> bool {
        let shared = self.look_at_store(true);
        if self.are_shared() {
            return self.let_expire(since_1970()) | shared;
        }
        let tokens = self.tokens.as_mut();
        let tokens = tokens.is_some_and(|file| file.read_again(true));
        let rules = self.rules.as_mut();
        let rules = rules.is_some_and(|file| file.read_again(true));
        self.let_expire(since_1970()) | tokens | rules
    }

    fn take_reloads(&mut self) -> Vec<FileRead> {
        let tokens = self.tokens.as_mut().map(|file| &mut file.reloads);
        let rules = self.rules.as_mut().map(|file| &mut file.reloads);
        let shared = self.shared.as_mut().map(|shared| &mut shared.reloads);
        let both = tokens.into_iter().chain(rules).chain(shared);
        both.flat_map(std::mem::take).collect()
    }

    fn change(&mut self, has_changed: bool, asked: u64) -> Change {
        let access = match has_changed {
            true => self.access(),
            false => None,
        };
        let mut reloads = self.take_reloads();
        // An answer has room for so many; the last ones say what holds.
        let most = MAX_ACCESS_FILES as usize;
        let older = reloads.len().saturating_sub(most);
        reloads.drain(..older);
        Change {
            access,
            version: self.version(),
            unread: self.shared.as_ref().and_then(SharedFiles::unread),
            reloads,
            asked,
        }
    }

    /// Runs until the other ends of both channels are gone.
    fn keep(mut self, wishes: &Receiver<u64>, changes: &UnboundedSender<Change>) {
        let mut was_unread = false;
        loop {
            let (has_changed, asked) = match wishes.recv_timeout(self.rest(since_1970())) {
                Ok(first) => {
                    // One reading is for all that came before it.
                    let asked = wishes.try_iter().fold(first, u64::max);
                    (self.read_again(), asked)
                }
                Err(RecvTimeoutError::Timeout) => (self.look_again(), 0),
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let change = self.change(has_changed, asked);
            let is_unread = change.unread.is_some();
            let is_any = change.access.is_some() || !change.reloads.is_empty() || asked > 0;
            let is_any = is_any || is_unread != was_unread;
            was_unread = is_unread;
            if is_any && changes.send(change).is_err() {
                return;
            }
        }
    }
}

/// Tells `on_change` at once what the files say, and begins to watch them. The returned task is to
/// run for as long as the server does; it tells `on_change` of each change. From now on SIGHUP does
/// not end the process. The returned sender takes wishes for a reading.
pub fn begin(
    mut files: AccessFiles,
    on_change: impl Fn(Change) + 'static,
) -> io::Result<(Wishes, impl Future<Output = ()>)> {
    let mut hangup = signal(SignalKind::hangup())?;
    on_change(files.change(true, 0));
    let (wishes, wished) = channel();
    let hangups = wishes.clone();
    let (changes, mut changed) = unbounded_channel();
    let thread = std::thread::Builder::new().name("iw-access".to_string());
    thread.spawn(move || files.keep(&wished, &changes))?;
    let task = async move {
        loop {
            tokio::select! {
                Some(()) = hangup.recv() => {
                    // The thread ends after this task, or this task panics below.
                    let _ = hangups.send(0);
                }
                change = changed.recv() => {
                    on_change(change.expect("the thread that watches the files runs"));
                }
            }
        }
    };
    Ok((wishes, task))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Peer;
    use interweave_access::{Identity, Operation, TokenLine};

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let name = format!("interweave-access-{}-{name}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            std::fs::create_dir_all(&folder).unwrap();
            Folder(folder)
        }

        fn write(&self, name: &str, text: &str) -> PathBuf {
            let path = self.0.join(name);
            std::fs::write(&path, text).unwrap();
            path
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn may_read(files: &AccessFiles) -> bool {
        let alice = Identity::parse("alice").unwrap();
        files
            .access()
            .unwrap()
            .decide(&alice, Operation::Read, "/a")
            .is_allowed
    }

    fn rules(folder: &Folder) -> AccessFiles {
        let options = AccessOptions {
            rules: Some(folder.0.join("rules")),
            ..AccessOptions::default()
        };
        AccessFiles::open(&options, None).unwrap().unwrap()
    }

    #[test]
    fn a_file_is_taken_whole_or_not_at_all() {
        // [RULE-3]
        let folder = Folder::new("whole");
        folder.write("rules", "allow alice read /**\nend\n");
        let mut files = rules(&folder);
        assert!(may_read(&files));
        for wrong in ["", "deny alice read /**\n", "deny alice reed /**\nend\n"] {
            folder.write("rules", wrong);
            assert!(!files.look_again() && may_read(&files), "{wrong}");
        }
        std::fs::remove_file(folder.0.join("rules")).unwrap();
        assert!(!files.look_again() && !files.read_again() && may_read(&files));
        folder.write("rules", "deny alice read /**\nend\n");
        assert!(files.look_again() && !may_read(&files));
    }

    #[test]
    fn a_change_that_keeps_size_and_time_is_seen() {
        // [RULE-7]
        let folder = Folder::new("fresh");
        // However long the test takes, the file was written lately.
        let time = SystemTime::now() + Duration::from_secs(3600);
        let write = |text: &str| {
            let path = folder.write("rules", text);
            let file = File::options().write(true).open(path).unwrap();
            file.set_modified(time).unwrap();
        };
        write("allow alice read /**\nend\n");
        let mut files = rules(&folder);
        write("allow bobby read /**\nend\n");
        assert!(files.look_again() && !may_read(&files));
        assert!(!files.look_again(), "nothing has changed");
    }

    #[test]
    fn a_token_expires_without_a_change_of_the_file() {
        // [ACC-2] [ACC-6]
        let folder = Folder::new("expiry");
        let now = since_1970();
        let expires = now.as_secs() + 3600;
        let (token, line) = TokenLine::new("alice", [1; 6], [2; 32], 0, expires);
        let path = folder.write("tokens", &format!("{line}\nend\n"));
        let options = AccessOptions {
            tokens: Some(path),
            ..AccessOptions::default()
        };
        let mut files = AccessFiles::open(&options, None).unwrap().unwrap();
        let is_let_in = |files: &AccessFiles| {
            files
                .access()
                .unwrap()
                .login(&token, &Peer::default())
                .is_ok()
        };
        assert_eq!(files.rest(now), LOOK);
        assert!(!files.let_expire(now) && is_let_in(&files));
        let just_before = Duration::from_secs(expires) - Duration::from_millis(1);
        assert_eq!(files.rest(just_before), Duration::from_millis(1));
        assert!(!files.let_expire(just_before) && is_let_in(&files));
        let after = Duration::from_secs(expires);
        assert!(files.let_expire(after) && !is_let_in(&files));
        assert_eq!(files.rest(after), LOOK);
        assert!(!files.let_expire(after));
    }

    #[test]
    fn a_server_does_not_begin_with_a_file_that_is_not_sound() {
        // [RULE-3]
        let folder = Folder::new("begin");
        let path = folder.write("rules", "allow alice read\nend\n");
        let check = |path: &Path| {
            let rules = Some(path.to_path_buf());
            AccessOptions {
                rules,
                ..AccessOptions::default()
            }
            .check()
            .unwrap_err()
        };
        assert!(check(&path).contains("rules:1:17: error: this rule needs a path"));
        assert!(check(&folder.0).contains("not a file"));
        assert!(check(&folder.0.join("none")).starts_with("--rules "));
    }
}
