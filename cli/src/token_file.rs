//! Changes of a tokens file: one process at a time, whole or not at all.

use interweave_access::{to_hex, TokenLine, Tokens, MAX_TOKENS_FILE_BYTES};
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{fchown, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::failure::Failure;

/// Only its owner reads the file: whoever writes it makes tokens.
const MODE: u32 = 0o600;
const LAST_LINE: &[u8] = b"end\n";

/// A tokens file that no other process changes meanwhile.
pub struct TokenFile {
    path: PathBuf,
    /// Its lock is let go when it is closed.
    locked: File,
    bytes: Vec<u8>,
    tokens: Tokens,
}

pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// Reads the file without a lock, as a server does.
pub fn read(path: &Path) -> Result<Tokens, Failure> {
    let mut file = File::open(path).map_err(|error| Failure::at(path, error))?;
    parse(
        path,
        &contents(&mut file).map_err(|error| Failure::at(path, error))?,
    )
}

impl TokenFile {
    /// Waits until no other process changes the file. A file that is not there is an error.
    pub fn open(path: &Path) -> Result<TokenFile, Failure> {
        // A link to the file stays: the file behind it is replaced.
        let path = fs::canonicalize(path).map_err(|error| Failure::at(path, error))?;
        TokenFile::locked(path.clone()).map_err(|error| Failure::at(&path, error))?
    }

    /// The same, but makes a file without tokens if the file does not exist.
    pub fn open_or_make(path: &Path) -> Result<TokenFile, Failure> {
        match fs::symlink_metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                make(path).map_err(|error| Failure::at(path, error))?;
            }
            _ => {}
        }
        TokenFile::open(path)
    }

    fn locked(path: PathBuf) -> io::Result<Result<TokenFile, Failure>> {
        loop {
            let mut locked = File::open(&path)?;
            locked.lock()?;
            // Another process may have put a new file in its place while this one waited.
            if !is_same(&locked.metadata()?, &fs::metadata(&path)?) {
                continue;
            }
            let bytes = contents(&mut locked)?;
            return Ok(parse(&path, &bytes).map(|tokens| TokenFile {
                path,
                locked,
                bytes,
                tokens,
            }));
        }
    }

    pub fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// Adds a line in front of the last one.
    pub fn add(self, line: &TokenLine) -> Result<(), Failure> {
        let mut bytes = Vec::with_capacity(self.bytes.len() + 256);
        for one in lines(&self.bytes).filter(|one| *one != b"end") {
            bytes.extend_from_slice(one);
            bytes.push(b'\n');
        }
        bytes.extend_from_slice(line.to_string().as_bytes());
        bytes.push(b'\n');
        bytes.extend_from_slice(LAST_LINE);
        self.replace(&bytes)
    }

    /// Takes the lines with these IDs out.
    pub fn remove(self, ids: &[[u8; 6]]) -> Result<(), Failure> {
        let ids: Vec<String> = ids.iter().map(|id| to_hex(id) + " ").collect();
        let mut bytes = Vec::with_capacity(self.bytes.len());
        for one in lines(&self.bytes) {
            if !ids.iter().any(|id| one.starts_with(id.as_bytes())) {
                bytes.extend_from_slice(one);
                bytes.push(b'\n');
            }
        }
        self.replace(&bytes)
    }

    fn replace(self, bytes: &[u8]) -> Result<(), Failure> {
        parse(&self.path, bytes)?;
        let old = self.locked.metadata();
        let written = old.and_then(|old| {
            let partial = beside(&self.path);
            // Only this process has the lock, so that the file is what an interrupted call left.
            let _ = fs::remove_file(&partial);
            let written = write(&partial, bytes, Some(&old));
            let replaced = written.and_then(|()| fs::rename(&partial, &self.path));
            replaced.inspect_err(|_| drop(fs::remove_file(&partial)))
        });
        written.map_err(|error| Failure::at(&self.path, error))
    }
}

fn is_same(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    text.split(|&byte| byte == b'\n')
}

fn contents(file: &mut File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(MAX_TOKENS_FILE_BYTES as u64 + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn parse(path: &Path, bytes: &[u8]) -> Result<Tokens, Failure> {
    Tokens::parse(bytes, now()).map_err(|error| {
        let (path, line, column) = (path.display(), error.line, error.column);
        let text = format!("{path}:{line}:{column}: error: {}\n", error.text);
        Failure::already_worded(text)
    })
}

/// Makes a file without tokens, unless another process makes one just now.
fn make(path: &Path) -> io::Result<()> {
    let mut partial = beside(path).into_os_string();
    partial.push(format!(".{}", std::process::id()));
    let partial = PathBuf::from(partial);
    let _ = fs::remove_file(&partial);
    let made = write(&partial, LAST_LINE, None).and_then(|()| fs::hard_link(&partial, path));
    let _ = fs::remove_file(&partial);
    match made {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(".new");
    PathBuf::from(name)
}

/// Writes a new file and waits until the disk has it. It gets the owner and the rights of the old
/// one, so that a server that could read the old one can read the new one.
fn write(path: &Path, bytes: &[u8], old: Option<&Metadata>) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(MODE)
        .open(path)?;
    if let Some(old) = old {
        let new = file.metadata()?;
        if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
            fchown(&file, Some(old.uid()), Some(old.gid()))?;
        }
        file.set_permissions(Permissions::from_mode(old.mode() & 0o777))?;
    }
    file.write_all(bytes)?;
    file.sync_all()
}
