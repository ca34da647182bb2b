//! Finds the token of this user's own server [OWN-3].

use interweave_access::own_token;
use interweave_wire::mip::Address;
use rustix::fs::{open, Mode, OFlags};
use std::fs::File;
use std::io::Read;
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const MOST_BYTES: u64 = 4096;

/// Returns the token to be shown at that address. `peer`: the connection's other end. None: the
/// address is not for such tokens, or no file may be used.
pub fn find(address: &Address, peer: IpAddr) -> Option<String> {
    let Address::Tcp { host, port, secure } = address else {
        return None;
    };
    if *secure || !own_token::is_for_host(host, peer) {
        return None;
    }
    let user = rustix::process::geteuid().as_raw();
    let runtime = std::env::var_os("XDG_RUNTIME_DIR");
    let folders = own_token::folders(runtime, user).into_iter();
    let folders = folders.filter(|folder| is_private_folder(folder, user));
    let mut files = folders.map(|folder| folder.join(own_token::file_name(*port)));
    files.find_map(|file| read(&file, user))
}

/// Whether it belongs to the user, nobody else may open it, and it is not a symbolic link.
fn is_private_folder(folder: &Path, user: u32) -> bool {
    let found = std::fs::symlink_metadata(folder);
    found.is_ok_and(|found| found.is_dir() && found.uid() == user && found.mode() & 0o077 == 0)
}

/// Reads a file that belongs to the user, and that nobody else may read.
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
