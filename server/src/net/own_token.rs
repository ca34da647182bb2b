//! The token of a server that has neither a tokens file nor a rules file [OWN-1] [OWN-2] [OWN-7].
//!
//! A thread of its own looks after the token's files, because a disk that does not answer must not
//! hold the engine's thread up.

use super::address::ListenAddress;
use interweave_access::{own_token, Access, TokenLine, Tokens};
use rustix::fs::{open, Mode, OFlags};
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

/// The name that the token has.
const OWNER: &str = "owner";
/// How often the server looks whether a file of its token is missing.
const LOOK: Duration = Duration::from_secs(2);

/// The token, and the files that it is in. The files are removed when this is dropped.
pub struct OwnToken {
    /// None: this server makes none.
    token: Option<String>,
    files: Vec<TokenFile>,
    /// Why a file could not be written.
    failure: Option<String>,
}

/// A file with the token.
struct TokenFile {
    path: PathBuf,
    /// Its lock says that this server runs. None: the file could not be written yet.
    locked: Option<File>,
}

impl OwnToken {
    /// Makes a token. The access lets in whoever shows the token.
    pub fn make() -> io::Result<(OwnToken, Access)> {
        let (mut id, mut secret) = ([0; 6], [0; 32]);
        getrandom::fill(&mut id).map_err(io::Error::other)?;
        getrandom::fill(&mut secret).map_err(io::Error::other)?;
        let (token, line) = TokenLine::new(OWNER, id, secret, 0, 0);
        let tokens = Tokens::parse(format!("{line}\nend\n"), 0).map_err(io::Error::other)?;
        let mut own = OwnToken::none();
        own.token = Some(token);
        let access = Access::of_own_token(tokens, first_folder(|_| Ok(())).ok());
        Ok((own, access))
    }

    /// Of a server that has no token of its own.
    pub fn none() -> OwnToken {
        OwnToken {
            token: None,
            files: Vec::new(),
            failure: None,
        }
    }

    /// Writes the token for the clients of that address, at which the server is about to listen. A
    /// server without a token removes what an older one left there.
    pub fn publish(&mut self, address: SocketAddr) {
        if address.ip() != Ipv4Addr::LOCALHOST {
            return;
        }
        let name = own_token::file_name(address.port());
        let Some(token) = &self.token else {
            return remove_stale(&name);
        };
        match place(&name, token, Over::Older) {
            Ok(file) => self.files.push(file),
            Err(error) => {
                self.failure = Some(error.to_string());
                let path = folders().into_iter().next().unwrap_or_default().join(name);
                self.files.push(TokenFile { path, locked: None });
            }
        }
    }

    /// Warns if programs do not find the token. They can still come by a Unix socket, and with TLS
    /// by their certificates.
    pub fn warn_of_failure(&self, listening: &[ListenAddress], has_tls: bool) {
        let tcp = || {
            listening.iter().filter_map(|address| match address {
                ListenAddress::Tcp(address) => Some(address.ip()),
                ListenAddress::Unix(_) => None,
            })
        };
        let is_here = tcp().any(|ip| ip == Ipv4Addr::LOCALHOST);
        if let Some(text) = &self.failure {
            tracing::warn!(
                "the server's token is not written for its clients: {text}; set XDG_RUNTIME_DIR to \
                 a folder of this user alone, or start the server with --tokens"
            );
        } else if self.token.is_some() && !has_tls && tcp().next().is_some() && !is_here {
            tracing::warn!(
                "programs look for the server's token at 127.0.0.1 alone, where the server does \
                 not listen: listen there, too, or start the server with --tokens"
            );
        }
    }

    /// Says how people log in to the viewer [OWN-4]. `page`: where it is, and its scheme.
    /// `has_terminal`: nothing collects what this process prints on stderr, so the token may be
    /// printed.
    pub fn tell(&self, page: Option<(&str, SocketAddr)>, has_terminal: bool) {
        let page = page.filter(|(_, http)| !http.ip().is_unspecified());
        let Some((token, (scheme, http))) = self.token.as_ref().zip(page) else {
            return;
        };
        if has_terminal {
            // The terminal may be gone.
            let _ = writeln!(
                io::stderr(),
                "the viewer, with this server's token: {scheme}://{http}/login#{token}"
            );
        }
        let name = own_token::file_name(http.port());
        let mut written = self.files.iter().filter(|file| file.locked.is_some());
        match written.find(|file| file.path.ends_with(&name)) {
            _ if has_terminal => {}
            Some(file) => tracing::info!(
                token = %file.path.display(),
                viewer = %format_args!("{scheme}://{http}/login"),
                "the viewer asks for the token that is in a file"
            ),
            None => tracing::warn!(
                "nobody can log in to the viewer, because no file has the server's token"
            ),
        }
    }
}

/// Looks after the token's files until this is dropped, which removes them.
pub struct Keeper {
    /// Tells the thread to end.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl OwnToken {
    /// From now on a file that is missing is written anew [OWN-2].
    pub fn keep(self) -> io::Result<Keeper> {
        if self.token.is_none() {
            return Ok(Keeper {
                end: None,
                thread: None,
            });
        }
        let (end, ends) = channel();
        let thread = std::thread::Builder::new().name("iw-token".to_string());
        let thread = thread.spawn(move || self.look_after_files(&ends))?;
        Ok(Keeper {
            end: Some(end),
            thread: Some(thread),
        })
    }

    fn look_after_files(mut self, ends: &Receiver<()>) {
        while ends.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
            self.write_missing();
        }
    }

    fn write_missing(&mut self) {
        let Some(token) = &self.token else {
            return;
        };
        for file in &mut self.files {
            // A file that is there is left alone, whosever it is.
            if file.locked.is_some() && fs::symlink_metadata(&file.path).is_ok() {
                continue;
            }
            let Some(name) = file.path.file_name().and_then(OsStr::to_str) else {
                continue;
            };
            match place(name, token, Over::Nothing) {
                Ok(anew) => {
                    tracing::info!(
                        file = %anew.path.display(),
                        "the file of the server's token was missing and was written anew"
                    );
                    *file = anew;
                    self.failure = None;
                }
                Err(error) if self.failure.is_none() => {
                    tracing::warn!(
                        "the file of the server's token, {name}, is missing and cannot be written: \
                         {error}"
                    );
                    self.failure = Some(error.to_string());
                }
                Err(_) => {}
            }
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            // It has panicked, and that was reported.
            let _ = thread.join();
        }
    }
}

impl Drop for OwnToken {
    fn drop(&mut self) {
        for file in &self.files {
            // Another server of this port may have put its own token there since.
            let text = fs::read_to_string(&file.path).unwrap_or_default();
            if self.token.as_deref() == Some(text.trim_end()) {
                let _ = fs::remove_file(&file.path);
            }
        }
    }
}

/// Removes what an older server left for the clients of a port.
fn remove_stale(name: &str) {
    for folder in folders().iter().filter(|folder| is_private(folder)) {
        let file = folder.join(name);
        if !is_of_a_running_server(&file) {
            // Mostly the file does not exist.
            let _ = fs::remove_file(file);
        }
    }
}

fn folders() -> Vec<PathBuf> {
    own_token::folders(std::env::var_os("XDG_RUNTIME_DIR"), user())
}

fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Returns the first folder that may be used and is wanted. Makes it if need be.
fn first_folder(mut is_wanted: impl FnMut(&Path) -> io::Result<()>) -> io::Result<PathBuf> {
    let mut refused = io::Error::from(io::ErrorKind::NotFound);
    for folder in folders() {
        let found = match DirBuilder::new().mode(0o700).create(&folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(at(&folder, error)),
            _ if is_private(&folder) => is_wanted(&folder),
            _ => Err(io::Error::other(format!(
                "{} is not a folder that belongs to this user alone",
                folder.display()
            ))),
        };
        match found {
            Ok(()) => return Ok(folder),
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

/// Says where an error was met.
fn at(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Writes the token where no other running server of this user has a file of this name.
fn place(name: &str, token: &str, over: Over) -> io::Result<TokenFile> {
    let turn = File::open(first_folder(|_| Ok(()))?)?;
    // Servers that start at the same time come one after the other.
    let _ = turn.lock();
    let mut others = None;
    let folder = first_folder(|folder| {
        let file = folder.join(name);
        if !is_of_a_running_server(&file) {
            return Ok(());
        }
        let text = format!("another running server has {}", file.display());
        others.get_or_insert(file);
        Err(io::Error::other(text))
    })?;
    let path = folder.join(name);
    let locked = write(&path, token, over).map_err(|error| at(&path, error))?;
    if let Some(other) = others {
        tracing::warn!(
            "{} is the token of another server of this user, which runs in another network \
             namespace: this server's token is in {}, and programs need a second more to find it; \
             set XDG_RUNTIME_DIR to another folder for one of the two servers and its programs",
            other.display(),
            path.display()
        );
    }
    Ok(TokenFile {
        path,
        locked: Some(locked),
    })
}

/// Whether the lock of that file is held. The port is this server's, so the other one is in another
/// network namespace.
fn is_of_a_running_server(file: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    // The look takes a shared lock, so that it does not seem to be a server's lock to other looks.
    let is_held = |file: File| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
    open(file, flags, Mode::empty()).is_ok_and(|found| is_held(File::from(found)))
}

fn is_private(folder: &Path) -> bool {
    let metadata = fs::symlink_metadata(folder);
    metadata.is_ok_and(|m| m.is_dir() && m.uid() == user() && m.mode() & 0o077 == 0)
}

/// The files whose place a new one may take.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Over {
    /// A server that starts replaces what an older one has left.
    Older,
    Nothing,
}

/// Writes the file whole or not at all, and locks it.
fn write(file: &Path, token: &str, over: Over) -> io::Result<File> {
    let part = file.with_extension(format!("part-{}", std::process::id()));
    // A part of a process that had the same number may lie there.
    let _ = fs::remove_file(&part);
    let mut options = OpenOptions::new();
    let mut made = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&part)?;
    // The lock fails where the file system has none. Other servers then write over the file.
    let _ = made.try_lock();
    let written = writeln!(made, "{token}").and_then(|()| match over {
        Over::Older => fs::rename(&part, file),
        // Unlike a rename it fails if there is a file, also one that has just come.
        Over::Nothing => fs::hard_link(&part, file),
    });
    // After a rename the name is free.
    let _ = fs::remove_file(&part);
    written.map(|()| made)
}
