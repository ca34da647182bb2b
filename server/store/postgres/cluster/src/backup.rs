//! Backups of a cluster by the tools of PostgreSQL, what is restored from them, and damage to the
//! primary's files.

use crate::admin::{Admin, PORT};
use crate::cluster::{own, run, Cluster};
use crate::process::Process;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A page of PostgreSQL. Rows fill it from its end.
const PAGE_BYTES: u64 = 8192;

impl Cluster {
    fn archived(&self) -> PathBuf {
        self.folder().join("archive")
    }

    /// From now on the primary's log is archived.
    pub fn archive(&mut self) {
        let archived = self.archived();
        std::fs::create_dir(&archived).unwrap();
        own(&archived);
        let admin = self.admin();
        admin.run("ALTER SYSTEM SET archive_mode TO on");
        let copy = format!("cp %p {}/%f", archived.display());
        admin.run(&format!("ALTER SYSTEM SET archive_command TO '{copy}'"));
        self.restart_primary(|_| ());
    }

    /// Waits until the log so far is archived.
    pub fn wait_for_archive(&self) {
        let admin = self.admin();
        let last = "SELECT pg_walfile_name(pg_switch_wal())";
        let last: String = admin.rows(last, &[])[0].get(0);
        let is_archived = "SELECT count(*) FROM pg_stat_archiver WHERE last_archived_wal >= $1";
        while admin.rows(is_archived, &[&last])[0].get::<_, i64>(0) == 0 {
            std::thread::yield_now();
        }
    }

    /// Starts a program that copies the primary's log, and waits until it is synchronous.
    pub fn receive_log(&self) -> Process {
        let to = self.folder().join("received");
        std::fs::create_dir(&to).unwrap();
        own(&to);
        let mut command = self.command("pg_receivewal");
        command.arg("-h").arg(self.sockets());
        command.args(["-p", &PORT.to_string(), "-U", crate::USER]);
        command
            .arg("-D")
            .arg(&to)
            .args(["--synchronous", "--no-loop"]);
        let receiver = Process::start(&mut command).unwrap();
        let is_synced = "SELECT count(*) FROM pg_stat_replication \
                         WHERE sync_state = 'quorum' AND flush_lsn IS NOT NULL";
        while self.admin().number(is_synced) == 0 {
            std::thread::yield_now();
        }
        receiver
    }

    /// Takes a base backup without the log, while the primary runs.
    pub fn back_up(&self) -> PathBuf {
        let to = self.folder().join("backup");
        let mut command = self.command("pg_basebackup");
        command.arg("-h").arg(self.sockets());
        command.args(["-p", &PORT.to_string(), "-U", crate::USER]);
        command.arg("-D").arg(&to);
        command.args(["-X", "none", "-c", "fast", "-N", "--no-manifest"]);
        run(&mut command);
        to
    }

    /// Restores the backup, and the archived log up to the restore point of that name. None: all of
    /// it.
    pub fn restore(&self, backup: &Path, name: &str, until: Option<&str>) -> Restored<'_> {
        let data = self.folder().join(name);
        let sockets = self.folder().join(format!("{name}.s"));
        std::fs::create_dir(&sockets).unwrap();
        own(&sockets);
        let mut command = self.copying();
        command.arg("-a").arg(backup).arg(&data);
        run(&mut command);
        let mut settings = format!(
            "restore_command = 'cp {}/%f %p'\narchive_mode = off\nsynchronous_standby_names = ''\n",
            self.archived().display()
        );
        if let Some(until) = until {
            settings +=
                &format!("recovery_target_name = '{until}'\nrecovery_target_action = 'promote'\n");
        }
        let file = data.join("postgresql.auto.conf");
        let file = std::fs::OpenOptions::new().append(true).open(file);
        file.unwrap().write_all(settings.as_bytes()).unwrap();
        let signal = data.join("recovery.signal");
        std::fs::write(&signal, "").unwrap();
        own(&signal);
        self.start_in(&data, &sockets);
        let restored = Restored {
            cluster: self,
            data,
            sockets,
        };
        let admin = Admin::of(&restored.sockets);
        while admin.number("SELECT pg_is_in_recovery()::int::bigint") == 1 {
            std::thread::yield_now();
        }
        restored
    }

    /// A bit of that table's first page changes on the primary's disk, and nowhere else.
    pub fn flip_a_bit(&mut self, table: &str) {
        let admin = self.admin();
        let path: String =
            admin.rows("SELECT pg_relation_filepath($1::text::regclass)", &[&table])[0].get(0);
        admin.run("CHECKPOINT");
        self.restart_primary(|data| {
            let file = std::fs::OpenOptions::new()
                .read(true)
                .write(true)
                .open(data.join(path));
            let file = file.unwrap();
            let (mut byte, at) = ([0], PAGE_BYTES - 20);
            file.read_exact_at(&mut byte, at).unwrap();
            byte[0] ^= 1;
            file.write_all_at(&byte, at).unwrap();
        });
    }
}

/// A database that was restored. It ends with this.
pub struct Restored<'a> {
    cluster: &'a Cluster,
    data: PathBuf,
    sockets: PathBuf,
}

impl Restored<'_> {
    /// The folder of its socket.
    pub fn sockets(&self) -> &Path {
        &self.sockets
    }
}

impl Drop for Restored<'_> {
    fn drop(&mut self) {
        self.cluster.end_in(&self.data);
    }
}
