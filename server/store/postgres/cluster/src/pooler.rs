//! A pooler before a cluster.

use crate::admin::{Admin, PORT, USER};
use crate::cluster::{ordinary_user, own};
use crate::process::Process;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A process of pgbouncer. It ends with this.
pub struct Pooler {
    process: Process,
    folder: TempDir,
}

impl Pooler {
    /// Starts one before the server of that folder of sockets. `mode`: its pool_mode.
    pub fn start(sockets: &Path, mode: &str) -> Pooler {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pgbouncer.ini");
        let settings = format!(
            "[databases]\n* = host={} port={PORT} user={USER}\n\
             [pgbouncer]\nlisten_port = {PORT}\nunix_socket_dir = {}\n\
             auth_type = any\npool_mode = {mode}\n",
            sockets.display(),
            folder.path().display()
        );
        std::fs::write(&file, settings).unwrap();
        own(folder.path());
        own(&file);
        let mut command = Command::new("pgbouncer");
        command.arg(&file);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        if let Some((uid, gid)) = ordinary_user() {
            command.uid(uid).gid(gid);
        }
        let started = Process::start(&mut command);
        let process = started.unwrap_or_else(|error| panic!("{error} run make setup"));
        let mut pooler = Pooler { process, folder };
        // The socket's file is there a moment before the pooler listens.
        while Admin::connect(pooler.sockets()).is_err() {
            assert!(!pooler.process.has_ended(), "pgbouncer has ended");
            std::thread::yield_now();
        }
        pooler
    }

    /// The folder of its socket.
    pub fn sockets(&self) -> &Path {
        self.folder.path()
    }
}
