//! The token of a server that has neither a tokens file nor a rules file [OWN-1] [OWN-2].
//!
//! A thread of its own looks after the token's files, because a disk that does not answer must not
//! hold the engine's thread up.

use super::address::ListenAddress;
use interweave_access::{own_token, Access, TokenLine, Tokens};
use std::fs::{self, DirBuilder, OpenOptions};
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
    /// Or why no folder may be used.
    folder: Result<PathBuf, String>,
    files: Vec<PathBuf>,
    /// Why a file could not be written.
    failure: Option<String>,
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
        own.folder = folder().map_err(|error| error.to_string());
        let access = Access::of_own_token(tokens, own.folder.as_ref().ok().cloned());
        Ok((own, access))
    }

    /// Of a server that has no token of its own.
    pub fn none() -> OwnToken {
        OwnToken {
            token: None,
            folder: Err("there is no token".to_string()),
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
        let written = self.folder.clone().and_then(|folder| {
            let file = folder.join(&name);
            let written = write(&file, token, Over::Older);
            let written = written.map_err(|error| format!("{}: {error}", file.display()));
            written.map(|()| file)
        });
        match written {
            Ok(file) => self.files.push(file),
            Err(text) => self.failure = Some(text),
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
        match self.files.iter().find(|file| file.ends_with(&name)) {
            _ if has_terminal => {}
            Some(file) => tracing::info!(
                token = %file.display(),
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
            if fs::symlink_metadata(&*file).is_ok() {
                continue;
            }
            let Some(name) = file.file_name() else {
                continue;
            };
            let written = folder().and_then(|folder| {
                let anew = folder.join(name);
                write(&anew, token, Over::Nothing).map(|()| anew)
            });
            match written {
                Ok(anew) => {
                    tracing::info!(
                        file = %anew.display(),
                        "the file of the server's token was missing and was written anew"
                    );
                    *file = anew;
                    self.failure = None;
                }
                Err(error) if self.failure.is_none() => {
                    tracing::warn!(
                        "the file of the server's token, {}, is missing and cannot be written: \
                         {error}",
                        file.display()
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
            let text = fs::read_to_string(file).unwrap_or_default();
            if self.token.as_deref() == Some(text.trim_end()) {
                let _ = fs::remove_file(file);
            }
        }
    }
}

/// Removes what an older server left for the clients of a port.
fn remove_stale(name: &str) {
    for folder in folders().iter().filter(|folder| is_private(folder)) {
        // Mostly the file does not exist.
        let _ = fs::remove_file(folder.join(name));
    }
}

fn folders() -> Vec<PathBuf> {
    own_token::folders(std::env::var_os("XDG_RUNTIME_DIR"), user())
}

fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Returns the first folder that may be used. Makes it if need be.
fn folder() -> io::Result<PathBuf> {
    let mut refused = io::Error::from(io::ErrorKind::NotFound);
    for folder in folders() {
        match DirBuilder::new().mode(0o700).create(&folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => refused = error,
            _ if is_private(&folder) => return Ok(folder),
            _ => {
                let text = format!(
                    "{} is not a folder that belongs to this user alone",
                    folder.display()
                );
                refused = io::Error::other(text);
            }
        }
    }
    Err(refused)
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

/// Writes the file whole or not at all.
fn write(file: &Path, token: &str, over: Over) -> io::Result<()> {
    let part = file.with_extension(format!("part-{}", std::process::id()));
    // A part of a process that had the same number may lie there.
    let _ = fs::remove_file(&part);
    let mut options = OpenOptions::new();
    let mut made = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&part)?;
    let written = writeln!(made, "{token}").and_then(|()| match over {
        Over::Older => fs::rename(&part, file),
        // Unlike a rename it fails if there is a file, also one that has just come.
        Over::Nothing => fs::hard_link(&part, file),
    });
    // After a rename the name is free.
    let _ = fs::remove_file(&part);
    written
}
