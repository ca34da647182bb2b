//! The tokens of servers that this user runs [OWN-3], and those that were refused [OWN-6].

use interweave_access::own_token;
use interweave_wire::mip::Address;
use rustix::fs::{open, Mode, OFlags};
use std::fs::File;
use std::io::Read;
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const MOST_BYTES: u64 = 4096;

/// The token of a file. It is a secret, so that nothing prints it.
#[derive(Clone, PartialEq, Eq)]
pub struct OwnToken {
    file: PathBuf,
    text: String,
}

impl OwnToken {
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Which tokens were refused. Of one server: a program keeps this for its next connection.
#[derive(Clone, Default)]
pub struct OwnTokens {
    /// One a file.
    refused: Vec<OwnToken>,
}

impl std::fmt::Debug for OwnTokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let files = self.refused.iter().map(|token| &token.file);
        f.debug_set().entries(files).finish()
    }
}

impl OwnTokens {
    /// Returns the token that is shown next at that address. `peer`: the connection's other end.
    /// None: no file has one that was not refused.
    pub fn find(&self, address: &Address, peer: IpAddr) -> Option<OwnToken> {
        let mut tokens = tokens_of(address, peer).into_iter();
        tokens.find(|token| !self.refused.contains(token))
    }

    /// The server does not take it. It is shown again once its file holds another one.
    pub fn refused(&mut self, token: OwnToken) {
        self.refused.retain(|other| other.file != token.file);
        self.refused.push(token);
    }

    /// Returns what a refusal of a client that showed nothing says of the files.
    pub fn advice(&self, address: &Address, peer: IpAddr) -> Option<String> {
        let tokens = tokens_of(address, peer).into_iter();
        let refused = tokens.filter(|token| self.refused.contains(token));
        let files: Vec<String> = refused
            .map(|token| token.file.display().to_string())
            .collect();
        let text = format!(
            "; the token of {}, which a server of this user wrote, is not valid here: remove the \
             file if its server has ended",
            files.join(" and ")
        );
        (!files.is_empty()).then_some(text)
    }
}

/// All that there are, in the order in which they are shown.
fn tokens_of(address: &Address, peer: IpAddr) -> Vec<OwnToken> {
    let Address::Tcp { host, port, .. } = address else {
        return Vec::new();
    };
    if !own_token::is_for_host(host, peer) {
        return Vec::new();
    }
    let user = rustix::process::geteuid().as_raw();
    let runtime = std::env::var_os("XDG_RUNTIME_DIR");
    let mut folders = own_token::folders(runtime, user);
    folders.dedup();
    let folders = folders
        .into_iter()
        .filter(|folder| is_private_folder(folder, user));
    let files = folders.map(|folder| folder.join(own_token::file_name(*port)));
    let tokens = files.filter_map(|file| {
        let text = read(&file, user).filter(|text| !text.is_empty())?;
        Some(OwnToken { file, text })
    });
    tokens.collect()
}

/// Whether it belongs to the user, nobody else may open it, and it is not a symbolic link.
fn is_private_folder(folder: &Path, user: u32) -> bool {
    let found = std::fs::symlink_metadata(folder);
    found.is_ok_and(|found| found.is_dir() && found.uid() == user && found.mode() & 0o077 == 0)
}

/// Reads the first line of a file that belongs to the user, and that nobody else may read.
fn read(file: &Path, user: u32) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = File::from(open(file, flags, Mode::empty()).ok()?);
    let metadata = file.metadata().ok()?;
    let is_private = metadata.uid() == user && metadata.mode() & 0o077 == 0;
    if !metadata.is_file() || !is_private || metadata.len() > MOST_BYTES {
        return None;
    }
    let mut text = String::new();
    file.take(MOST_BYTES).read_to_string(&mut text).ok()?;
    text.lines().next().map(str::to_string)
}
