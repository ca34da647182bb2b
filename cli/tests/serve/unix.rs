//! Whom the Unix sockets admit. Other users are there only for root, who can be them.

use crate::server::{Directory, Server};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

const SOMEBODY: u32 = 65_533;

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output().expect("id runs");
    id.stdout == b"0\n"
}

/// Lists a server's segments as another user, with a program where that user may read it.
fn list_as_somebody(directory: &Path, socket: &Path) -> Output {
    let program = directory.join("interweave");
    // Another process copies: a child that another test starts meanwhile would keep the file that
    // this one writes, and no file that is written can be run.
    let copied = Command::new("cp")
        .arg(env!("CARGO_BIN_EXE_interweave"))
        .arg(&program)
        .status();
    assert!(copied.expect("cp runs").success());
    Command::new(program)
        .args(["ls", &format!("unix:{}", socket.display())])
        .current_dir("/")
        .uid(SOMEBODY)
        .gid(SOMEBODY)
        .output()
        .expect("it runs")
}

fn serve_on(socket: &Path, options: &[&str]) -> Server {
    let listen = format!("unix:{}", socket.display());
    Server::in_memory(&[&["--listen", &listen][..], options].concat())
}

#[test]
fn net_4_a_unix_socket_admits_its_own_user_and_all_only_when_told_so() {
    let directory = Directory::new();
    let place = directory.path();
    std::fs::set_permissions(place, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mode = |socket: &Path| std::fs::metadata(socket).unwrap().permissions().mode() & 0o777;
    let (own, all) = (place.join("own"), place.join("all"));
    let _servers = [
        serve_on(&own, &[]),
        serve_on(&all, &["--unix-socket", "all"]),
    ];
    assert_eq!((mode(&own), mode(&all)), (0o600, 0o666));
    if !is_root() {
        return;
    }
    let listed = list_as_somebody(place, &all);
    assert!(listed.status.success(), "{listed:?}");
    // The file's mode does not matter: the peer does.
    std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o666)).unwrap();
    let refused = list_as_somebody(place, &own);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(
        !refused.status.success() && said.contains("--unix-socket all"),
        "{said}"
    );
}
