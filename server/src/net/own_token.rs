//! The token of a server that has neither a tokens file nor a rules file [OWN-1] [OWN-2].

use interweave_access::{own_token, Access, TokenLine, Tokens};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The name that the token has.
const OWNER: &str = "owner";

/// The token, and the files that it is in. The files are removed when this is dropped.
pub struct OwnToken {
    token: String,
    files: Vec<PathBuf>,
}

impl OwnToken {
    /// Makes a token. The access lets in whoever shows the token.
    pub fn make() -> io::Result<(OwnToken, Access)> {
        let (mut id, mut secret) = ([0; 6], [0; 32]);
        getrandom::fill(&mut id).map_err(io::Error::other)?;
        getrandom::fill(&mut secret).map_err(io::Error::other)?;
        let (token, line) = TokenLine::new(OWNER, id, secret, 0, 0);
        let tokens = Tokens::parse(format!("{line}\nend\n"), 0).map_err(io::Error::other)?;
        let files = Vec::new();
        Ok((OwnToken { token, files }, Access::new(None, Some(tokens))))
    }

    /// Writes the token for the clients of these ports.
    pub fn publish(&mut self, ports: &[u16]) -> io::Result<()> {
        let folder = folder()?;
        for port in ports {
            let file = folder.join(own_token::file_name(*port));
            write(&file, &self.token)?;
            self.files.push(file);
        }
        Ok(())
    }
}

impl Drop for OwnToken {
    fn drop(&mut self) {
        for file in &self.files {
            // Another server of this port may have put its own token there since.
            let is_own = fs::read_to_string(file).is_ok_and(|text| text.trim_end() == self.token);
            if is_own {
                let _ = fs::remove_file(file);
            }
        }
    }
}

/// Removes what an older server left for the clients of these ports.
pub fn remove_stale(ports: &[u16]) {
    for folder in folders().iter().filter(|folder| is_private(folder)) {
        for port in ports {
            // Mostly the file does not exist.
            let _ = fs::remove_file(folder.join(own_token::file_name(*port)));
        }
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

/// Writes the file whole or not at all.
fn write(file: &Path, token: &str) -> io::Result<()> {
    let part = file.with_extension(format!("part-{}", std::process::id()));
    // A part of a process that had the same number may lie there.
    let _ = fs::remove_file(&part);
    let mut options = OpenOptions::new();
    let mut made = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&part)?;
    writeln!(made, "{token}")?;
    fs::rename(&part, file)
}
