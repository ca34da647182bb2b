//! Where a server's own token lies [OWN-2]. The callers read and write it.

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

/// Returns the folders in the order in which they are tried. `runtime`: the value of
/// XDG_RUNTIME_DIR. `user`: as whom the process runs.
pub fn folders(runtime: Option<OsString>, user: u32) -> Vec<PathBuf> {
    let runtime = runtime.filter(|folder| !folder.is_empty());
    let mut folders: Vec<PathBuf> = runtime
        .map(|folder| PathBuf::from(folder).join("interweave"))
        .into_iter()
        .collect();
    folders.push(PathBuf::from(format!("/run/user/{user}/interweave")));
    folders.push(PathBuf::from(format!("/tmp/interweave-{user}")));
    folders
}

/// Returns the file's name within its folder.
pub fn file_name(port: u16) -> String {
    format!("{port}.token")
}

/// Whether a client looks for the token of a server on that host [OWN-3]. At another address of
/// loopback another user's server may have the port. `peer`: the connection's other end.
pub fn is_for_host(host: &str, peer: IpAddr) -> bool {
    matches!(host, "127.0.0.1" | "localhost") && peer == Ipv4Addr::LOCALHOST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_2_the_runtime_folder_comes_first_and_tmp_last() {
        let folders = folders(Some("/run/mine".into()), 7);
        let expected = [
            "/run/mine/interweave",
            "/run/user/7/interweave",
            "/tmp/interweave-7",
        ];
        assert_eq!(folders, expected.map(PathBuf::from));
        assert_eq!(super::folders(Some("".into()), 7).len(), 2);
    }

    #[test]
    fn own_3_the_token_is_for_one_address_alone() {
        let is_for = |host: &str, peer: &str| is_for_host(host, peer.parse().unwrap());
        assert!(is_for("127.0.0.1", "127.0.0.1"));
        assert!(is_for("localhost", "127.0.0.1"));
        assert!(!is_for("localhost", "::1"));
        assert!(!is_for("localhost", "127.0.0.2"));
        let others = ["::1", "127.0.0.2", "example.org", "10.0.0.1"];
        assert!(!others.iter().any(|host| is_for(host, "127.0.0.1")));
    }
}
