//! A primary and a standby, started as an ordinary user, with all they have in memory files.

use crate::admin::{Admin, PORT, USER};
use rustix::process::{kill_process, pidfd_open, Pid, PidfdFlags, Signal};
use std::fs::Permissions;
use std::io::Write;
use std::net::Ipv4Addr;
use std::os::unix::fs::{chown, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const SETTINGS: &str = "
listen_addresses = ''
shared_buffers = 16MB
dynamic_shared_memory_type = mmap
max_connections = 200
min_wal_size = 2MB
max_wal_size = 64MB
wal_keep_size = 64MB
wal_retrieve_retry_interval = 100ms
synchronous_standby_names = 'ANY 1 (standby1)'
";

/// Where Debian and others have the programs.
fn programs() -> PathBuf {
    let named = std::env::var_os("IW_POSTGRES_BIN").map(PathBuf::from);
    named.unwrap_or_else(|| PathBuf::from("/usr/lib/postgresql/15/bin"))
}

/// The user and the group of a name in /etc/passwd.
fn ids_of(name: &str) -> Option<(u32, u32)> {
    let text = std::fs::read_to_string("/etc/passwd").ok()?;
    let line = text
        .lines()
        .find(|line| line.split(':').next() == Some(name))?;
    let fields: Vec<&str> = line.split(':').collect();
    Some((fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?))
}

/// PostgreSQL does not run as root.
pub fn ordinary_user() -> Option<(u32, u32)> {
    let is_root = rustix::process::geteuid().is_root();
    let user = || ids_of("postgres").or_else(|| ids_of("nobody"));
    is_root.then(user).flatten()
}

/// Gives a file to the user of PostgreSQL.
pub fn own(path: &Path) {
    if let Some((uid, gid)) = ordinary_user() {
        chown(path, Some(uid), Some(gid)).unwrap();
    }
}

struct Node {
    data: PathBuf,
    sockets: PathBuf,
}

pub struct Cluster {
    nodes: [Node; 2],
    primary: usize,
    admin: Option<Admin>,
    user: Option<(u32, u32)>,
    /// The process that receives the log, while it stands still.
    paused: Option<Pid>,
    folder: TempDir,
}

impl Cluster {
    pub fn start() -> Cluster {
        let memory = Path::new("/dev/shm");
        let folder = match memory.is_dir() {
            true => tempfile::tempdir_in(memory),
            false => tempfile::tempdir(),
        };
        Cluster::in_folder(folder.unwrap())
    }

    /// One whose syncs cost what they cost: its files are on a disk, and not in memory.
    pub fn on_disk() -> Cluster {
        Cluster::in_folder(tempfile::tempdir_in("/var/tmp").unwrap())
    }

    fn in_folder(folder: TempDir) -> Cluster {
        let user = ordinary_user();
        own(folder.path());
        let node = |name: &str| {
            let sockets = folder.path().join(format!("{name}.s"));
            std::fs::create_dir(&sockets).unwrap();
            own(&sockets);
            Node {
                data: folder.path().join(name),
                sockets,
            }
        };
        let mut cluster = Cluster {
            nodes: [node("a"), node("b")],
            primary: 0,
            admin: None,
            user,
            paused: None,
            folder,
        };
        cluster.initialise();
        cluster.begin(0);
        cluster.attach_standby();
        cluster.look();
        cluster
    }

    fn initialise(&self) {
        let data = &self.nodes[0].data;
        let mut command = self.command("initdb");
        command
            .arg("-D")
            .arg(data)
            .args(["-U", USER, "-k", "-N", "--wal-segsize=1"]);
        command.args(["--auth=trust", "--no-locale", "-E", "UTF8"]);
        run(&mut command);
        let file = std::fs::OpenOptions::new()
            .append(true)
            .open(data.join("postgresql.conf"));
        file.unwrap().write_all(SETTINGS.as_bytes()).unwrap();
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The program that copies folders.
    pub(crate) fn copying(&self) -> Command {
        self.as_user(Command::new("cp"))
    }

    pub(crate) fn command(&self, program: &str) -> Command {
        self.as_user(Command::new(programs().join(program)))
    }

    fn as_user(&self, mut command: Command) -> Command {
        command
            .current_dir("/")
            .env_remove("PGHOST")
            .env("LC_ALL", "C");
        if let Some((uid, gid)) = self.user {
            // Drops the other groups, too.
            command.uid(uid).gid(gid);
        }
        command
    }

    fn begin(&self, index: usize) {
        let node = &self.nodes[index];
        self.start_in(&node.data, &node.sockets);
    }

    pub(crate) fn start_in(&self, data: &Path, sockets: &Path) {
        let options = format!("-c unix_socket_directories={} -p {PORT}", sockets.display());
        let mut command = self.command("pg_ctl");
        command.arg("start").arg("-w").arg("-D").arg(data);
        command
            .arg("-l")
            .arg(data.join("log"))
            .arg("-o")
            .arg(options);
        run(&mut command);
    }

    pub(crate) fn end_in(&self, data: &Path) {
        let mut command = self.command("pg_ctl");
        command.args(["stop", "-w", "-m", "fast", "-D"]);
        command.arg(data);
        run(&mut command);
    }

    /// Stops the primary in order, does something to its files, and starts it again.
    pub(crate) fn restart_primary(&mut self, change: impl FnOnce(&Path)) {
        self.admin = None;
        let data = &self.nodes[self.primary].data;
        self.end_in(data);
        change(data);
        self.begin(self.primary);
        self.look();
    }

    /// Has the primary listen at an address of this machine, for encrypted connections with a
    /// password alone. The certificate must be for that address, [`Cluster::address`].
    pub fn listen(&mut self, certificate: &Path, key: &Path) {
        let data = &self.nodes[self.primary].data;
        for (from, name) in [(certificate, "server.crt"), (key, "server.key")] {
            let to = data.join(name);
            std::fs::copy(from, &to).unwrap();
            std::fs::set_permissions(&to, Permissions::from_mode(0o600)).unwrap();
            own(&to);
        }
        let access = "local all all trust\nlocal replication all trust\n\
                      hostssl all all 127.0.0.0/8 scram-sha-256\n";
        std::fs::write(data.join("pg_hba.conf"), access).unwrap();
        let admin = self.admin();
        admin.run("ALTER SYSTEM SET ssl TO on");
        admin.run(&format!(
            "ALTER SYSTEM SET listen_addresses TO '{}'",
            Cluster::address()
        ));
        self.restart_primary(|_| ());
    }

    /// An address of this machine that no other test process has.
    pub fn address() -> Ipv4Addr {
        let process = std::process::id().to_be_bytes();
        Ipv4Addr::new(127, 64 | (process[1] & 63), process[2], process[3])
    }

    /// Makes the other node a new standby of the primary.
    fn attach_standby(&self) {
        let standby = &self.nodes[1 - self.primary];
        if standby.data.exists() {
            std::fs::remove_dir_all(&standby.data).unwrap();
        }
        let mut command = self.command("pg_basebackup");
        command
            .arg("-h")
            .arg(self.sockets())
            .args(["-p", &PORT.to_string(), "-U", USER]);
        // With -R the standby's own connections have the name, too.
        command
            .args(["-d", "application_name=standby1"])
            .arg("-D")
            .arg(&standby.data)
            .args(["-R", "-X", "stream", "-c", "fast", "-N"]);
        run(&mut command);
        self.begin(1 - self.primary);
    }

    /// Makes the primary that was killed a standby of the one that took over. Changes that the new
    /// primary never had are undone.
    fn rewind_dead_primary(&self) {
        // pg_rewind reads from the control file on which timeline the new primary is.
        self.admin().run("CHECKPOINT");
        let source = format!(
            "host={} port={PORT} user={USER} dbname=postgres application_name=standby1",
            self.sockets().display()
        );
        let mut command = self.command("pg_rewind");
        command
            .arg("--target-pgdata")
            .arg(&self.nodes[1 - self.primary].data)
            .args(["--source-server", &source])
            .args(["--write-recovery-conf", "--no-sync"]);
        run(&mut command);
        self.begin(1 - self.primary);
    }

    fn look(&mut self) {
        self.admin = Some(Admin::of(self.sockets()));
        let synced = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'quorum'";
        while self.admin().number(synced) == 0 {
            std::thread::yield_now();
        }
    }

    pub fn admin(&self) -> &Admin {
        self.admin.as_ref().expect("the primary runs")
    }

    /// Sets a setting, and waits until a new session has it.
    pub fn set(&self, name: &str, value: &str) {
        let admin = self.admin();
        admin.run(&format!("ALTER SYSTEM SET {name} TO {value}"));
        admin.run("SELECT pg_reload_conf()");
        let wanted = value.trim_matches('\'');
        let is = || -> String {
            let admin = Admin::of(self.sockets());
            admin.rows("SELECT current_setting($1)", &[&name])[0].get(0)
        };
        while is() != wanted {
            std::thread::yield_now();
        }
    }

    /// The folder of the primary's socket.
    pub fn sockets(&self) -> &Path {
        &self.nodes[self.primary].sockets
    }

    pub fn standby_sockets(&self) -> &Path {
        &self.nodes[1 - self.primary].sockets
    }

    /// The URL of a store in that schema, whichever node is the primary.
    pub fn store_url(&self, schema: &str) -> String {
        let sockets = [self.sockets(), self.standby_sockets()];
        let hosts = sockets.map(|folder| folder.display().to_string().replace('/', "%2F"));
        format!(
            "postgres://{USER}@{}/postgres?target_session_attrs=read-write&schema={schema}",
            hosts.join(",")
        )
    }

    pub fn socket(&self) -> PathBuf {
        self.sockets().join(format!(".s.PGSQL.{PORT}"))
    }

    /// The standby gets nothing until [`Cluster::resume_standby`].
    pub fn pause_standby(&mut self) {
        let standby = Admin::of(&self.nodes[1 - self.primary].sockets);
        let receiver = "SELECT pid::bigint FROM pg_stat_wal_receiver";
        let pid = Pid::from_raw(standby.number(receiver) as i32).unwrap();
        kill_process(pid, Signal::STOP).unwrap();
        self.paused = Some(pid);
    }

    pub fn resume_standby(&mut self) {
        if let Some(pid) = self.paused.take() {
            kill_process(pid, Signal::CONT).unwrap();
        }
    }

    /// The primary stands still: it takes connections, and answers nobody. The standby takes over,
    /// and has no standby itself. [`Cluster::kill_standby`] ends the old primary.
    pub fn fail_over_from_a_hung_primary(&mut self) {
        self.admin = None;
        let (postmaster, _) = self.running(self.primary).unwrap();
        for child in stop_parent(postmaster) {
            // One that has ended meanwhile cannot be stopped.
            let _ = kill_process(child, Signal::STOP);
        }
        self.promote();
        self.admin = Some(Admin::of(self.sockets()));
    }

    /// The node's first process, and what its file says of it. None: it does not run.
    fn running(&self, index: usize) -> Option<(Pid, String)> {
        let text = std::fs::read_to_string(self.postmaster_file(index)).ok()?;
        let first = text.lines().next()?.parse().ok()?;
        Some((Pid::from_raw(first)?, text))
    }

    fn postmaster_file(&self, index: usize) -> PathBuf {
        self.nodes[index].data.join("postmaster.pid")
    }

    /// Kills every process of the node.
    fn kill(&self, index: usize) {
        let Some((postmaster, text)) = self.running(index) else {
            return;
        };
        let ends = pidfd_open(postmaster, PidfdFlags::empty()).unwrap();
        let children = stop_parent(postmaster);
        let fds: Vec<_> = children
            .iter()
            .filter_map(|pid| pidfd_open(*pid, PidfdFlags::empty()).ok())
            .chain([ends])
            .collect();
        for pid in children.into_iter().chain([postmaster]) {
            // One that has ended meanwhile cannot be killed.
            let _ = kill_process(pid, Signal::KILL);
        }
        for fd in &fds {
            let mut polled = [rustix::event::PollFd::new(fd, rustix::event::PollFlags::IN)];
            rustix::event::poll(&mut polled, None).unwrap();
        }
        // Where nobody takes the end of a process, its number stays in use, and the next start
        // takes it for a server that runs.
        std::fs::remove_file(self.postmaster_file(index)).unwrap();
        let lock = self.nodes[index]
            .sockets
            .join(format!(".s.PGSQL.{PORT}.lock"));
        std::fs::remove_file(lock).unwrap();
        remove_segment(&text);
    }

    /// Both nodes are killed. The primary runs again, or the standby takes over.
    pub fn lose_power(&mut self, standby_takes_over: bool) {
        self.admin = None;
        self.paused = None;
        self.kill(self.primary);
        self.kill(1 - self.primary);
        match standby_takes_over {
            true => {
                self.begin(1 - self.primary);
                self.promote();
                self.attach_standby();
            }
            false => {
                self.begin(self.primary);
                self.begin(1 - self.primary);
            }
        }
        self.look();
    }

    fn promote(&mut self) {
        self.primary = 1 - self.primary;
        let mut command = self.command("pg_ctl");
        command
            .arg("promote")
            .arg("-w")
            .arg("-D")
            .arg(&self.nodes[self.primary].data);
        run(&mut command);
    }

    /// The primary is killed. The standby takes over, and has no standby itself.
    pub fn fail_over(&mut self) {
        self.admin = None;
        self.kill(self.primary);
        // It takes what was sent already. A receiver that stands still would keep the standby.
        self.resume_standby();
        self.promote();
        self.admin = Some(Admin::of(self.sockets()));
    }

    /// Kills every process of the standby.
    pub fn kill_standby(&mut self) {
        self.paused = None;
        self.kill(1 - self.primary);
    }

    /// The standby that was killed starts again, and follows.
    pub fn start_standby(&mut self) {
        self.begin(1 - self.primary);
        self.look();
    }

    /// After [`Cluster::fail_over`] the dead primary comes back as a standby, as docs/operations.md
    /// says.
    pub fn recover(&mut self) {
        self.rewind_dead_primary();
        self.look();
    }

    /// Ends both nodes, and removes all they had.
    pub fn stop(&mut self) {
        self.admin = None;
        self.kill(0);
        self.kill(1);
        for node in &self.nodes {
            // It may be gone already.
            let _ = std::fs::remove_dir_all(&node.data);
        }
        let _ = std::fs::remove_dir_all(self.folder.path());
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A killed server leaves the segment of shared memory by which others see that its data are in
/// use. The next start would remove it, but not without the file that named it. A system has room
/// for some thousand. `text`: of postmaster.pid.
fn remove_segment(text: &str) {
    let id = text
        .lines()
        .nth(6)
        .and_then(|line| line.split_whitespace().nth(1));
    // A server that was killed early has none yet.
    if let Some(id) = id {
        run(Command::new("ipcrm").args(["-m", id]));
    }
}

/// Stops the process, so that it begins no further one, and returns its children.
fn stop_parent(parent: Pid) -> Vec<Pid> {
    kill_process(parent, Signal::STOP).unwrap();
    children_of(parent)
}

fn children_of(parent: Pid) -> Vec<Pid> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_child = |pid: &i32| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The state and the parent follow the name, which is in brackets.
        let after = text.rsplit_once(')').map(|(_, after)| after);
        let found = after.and_then(|after| after.split_whitespace().nth(1)?.parse().ok());
        found == Some(parent.as_raw_nonzero().get())
    };
    numbers.filter(is_child).filter_map(Pid::from_raw).collect()
}

pub(crate) fn run(command: &mut Command) {
    // Into a file: a program that is started keeps a pipe open.
    let log = tempfile::tempfile().unwrap();
    command.stdin(std::process::Stdio::null());
    command
        .stdout(log.try_clone().unwrap())
        .stderr(log.try_clone().unwrap());
    let status = command
        .status()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    if !status.success() {
        use std::io::{Read, Seek};
        let mut text = String::new();
        (&log).rewind().unwrap();
        (&log).read_to_string(&mut text).unwrap();
        panic!("{command:?}: {status}\n{text}");
    }
}
