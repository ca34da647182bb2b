//! A full disk: errors are typed, reads continue, a server starts, and writes resume by themselves.

use crate::clients::{connect, open, value, write, PATIENT};
use crate::server::{Directory, Server};
use interweave_server::client::{Client, Copy};
use interweave_wire::protocol::{Durability, ErrorCode};
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

/// 1 MiB.
const INTS: u64 = 1 << 18;

/// A file system of its own; needs root, which tests have in CI.
pub struct SmallDisk(Directory);

impl SmallDisk {
    pub fn mount(size: &str) -> Option<SmallDisk> {
        let directory = Directory::new();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(directory.path())
            .status();
        if mounted.is_ok_and(|status| status.success()) {
            return Some(SmallDisk(directory));
        }
        println!("skipped: no tmpfs can be mounted");
        None
    }

    pub fn store(&self) -> String {
        self.0.path().join("store").display().to_string()
    }

    /// Somebody else takes all the space.
    pub fn fill(&self) -> PathBuf {
        let path = self.0.path().join("ballast");
        let mut file = File::create(&path).expect("a file");
        let page = [1; 4096];
        while file.write_all(&page).is_ok() {}
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let ended = Command::new("umount").arg("-l").arg(self.0.path()).status();
        assert!(ended.is_ok_and(|status| status.success()));
    }
}

/// A client that writes one more at each step.
struct Writer {
    client: Client,
    copy: Copy,
    sequence: u64,
    next: i32,
}

impl Writer {
    fn of(server: &Server, path: &str) -> Writer {
        let mut client = connect(server);
        let mut copy = open(&mut client, path, Durability::Synced);
        copy.fetch(&mut client).expect("reads continue");
        let next = value(&copy).unwrap_or(0) + 1;
        Writer {
            client,
            copy,
            sequence: 0,
            next,
        }
    }

    fn write(&mut self) -> Result<(), ErrorCode> {
        self.sequence += 1;
        let written = write(
            &mut self.client,
            &mut self.copy,
            self.sequence,
            INTS,
            self.next,
        );
        match written {
            Ok(_) => {
                self.next += 1;
                Ok(())
            }
            Err(error) => Err(error.code().unwrap_or_else(|| panic!("{error}"))),
        }
    }

    /// Writes, asking as long as the store says that it is full.
    fn write_in_the_end(&mut self) {
        let begin = Instant::now();
        while let Err(code) = self.write() {
            assert_eq!(code, ErrorCode::StoreFull);
            assert!(begin.elapsed() < PATIENT, "it does not continue by itself");
        }
    }
}

#[test]
fn a_full_disk_refuses_writes_and_serves_reads_also_after_a_kill_and_goes_on_by_itself() {
    let Some(disk) = SmallDisk::mount("48m") else {
        return;
    };
    let mut server = Server::start(&disk.store(), &[]);
    let mut writer = Writer::of(&server, "/numbers");
    writer.write().expect("there is space");
    let ballast = disk.fill();
    let refusal = loop {
        if let Err(code) = writer.write() {
            break code;
        }
    };
    assert_eq!(refusal, ErrorCode::StoreFull);
    let written = writer.next - 1;
    let (status, health) = server.get("/healthz", "localhost");
    assert!(status.contains("503"), "{status}");
    assert!(health.contains("store full: reads continue"), "{health}");
    assert!(
        health.contains("\"why\":\"no space is left: writing"),
        "{health}"
    );
    for _ in 0..2 {
        let reader = Writer::of(&server, "/numbers");
        assert_eq!(value(&reader.copy), Some(written));
        server.kill();
        server = Server::start(&disk.store(), &[]);
        writer = Writer::of(&server, "/numbers");
        assert_eq!(value(&writer.copy), Some(written), "nothing is lost");
    }
    assert_eq!(writer.write(), Err(ErrorCode::StoreFull));
    std::fs::remove_file(ballast).unwrap();
    writer.write_in_the_end();
    let (status, health) = server.get("/healthz", "localhost");
    assert!(status.contains("200"), "{status}");
    assert!(health.contains("\"ok\""), "{health}");
}

#[test]
fn a_log_that_fills_the_disk_is_cut_while_writers_go_on() {
    let Some(disk) = SmallDisk::mount("64m") else {
        return;
    };
    // The idle client says nothing while the other writes, however long that takes.
    let server = Server::start(&disk.store(), &["--lease", "300"]);
    // an idle segment holds the oldest log file
    let mut idle = Writer::of(&server, "/idle");
    idle.write().expect("there is space");
    let mut busy = Writer::of(&server, "/busy");
    for _ in 0..300 {
        busy.write_in_the_end();
    }
    idle.write_in_the_end();
    assert_eq!((idle.next, busy.next), (3, 301));
}
