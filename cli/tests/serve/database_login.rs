//! A database that wants a password and encryption.

use crate::clients::{connect, open, write};
use crate::postgres::doctor_by;
use crate::server::Server;
use crate::tls::Certificates;
use interweave_postgres_cluster::Cluster;
use interweave_wire::protocol::Durability;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

fn keeps_a_release(server: &Server) {
    let mut client = connect(server);
    let path = format!("/of/{}", server.port);
    let mut copy = open(&mut client, &path, Durability::Synced);
    let version = write(&mut client, &mut copy, 1, 100, 7).expect("it is kept");
    assert_eq!(version, 1);
}

const PASSWORD: &str = r"a:b\c";
/// The password as a line of the file has it.
const ESCAPED: &str = r"a\:b\\c";

struct Passwords(PathBuf);

impl Passwords {
    fn write(&self, password: &str, mode: u32) {
        self.write_for("*", password, mode);
    }

    fn write_for(&self, host: &str, password: &str, mode: u32) {
        let line = format!("{host}:5432:postgres:keeper:{password}\n");
        std::fs::write(&self.0, line).unwrap();
        std::fs::set_permissions(&self.0, Permissions::from_mode(mode)).unwrap();
    }

    /// The only problem that doctor finds.
    fn problem(&self, store: &str) -> (String, String) {
        let mut problems = self.problems(store);
        assert_eq!(problems.len(), 1, "{problems:?}");
        problems.remove(0)
    }

    fn problems(&self, store: &str) -> Vec<(String, String)> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_interweave"));
        command.env("PGPASSFILE", &self.0);
        doctor_by(command, store, &[])
    }
}

#[test]
fn a_password_goes_over_an_encrypted_connection_alone() {
    let mut cluster = Cluster::start();
    let certificates = Certificates::new();
    let address = Cluster::address().to_string();
    certificates.make(&["server", &certificates.folder(), &address, "--force"]);
    let file = |name| PathBuf::from(certificates.file(name));
    cluster.listen(&file("server.pem"), &file("server.key"));
    cluster.admin().run(&format!(
        "CREATE ROLE keeper LOGIN PASSWORD '{PASSWORD}'; GRANT pg_read_all_stats TO keeper; \
         GRANT CREATE ON DATABASE postgres TO keeper"
    ));
    let passwords = Passwords(file("passwords"));
    let url = |more: &str| format!("postgres://keeper@{address}/postgres?schema=kept{more}");
    let trusted = format!("&sslrootcert={}", certificates.file("ca.pem"));
    let store = url(&trusted);
    passwords.write(ESCAPED, 0o600);
    assert_eq!(passwords.problems(&store), []);
    let server = Server::with_passwords(&passwords.0, &store);
    keeps_a_release(&server);
    health_tells_rights_that_are_revoked(&server, &cluster);
    drop(server);
    // The first host has no line, and is not there.
    passwords.write_for(&address, ESCAPED, 0o600);
    let both = format!("postgres://keeper@127.0.0.3,{address}/postgres?schema=kept{trusted}");
    assert_eq!(passwords.problems(&both), []);
    passwords.write(ESCAPED, 0o600);
    let refused = |store: &str, words: &str| {
        let (check, text) = passwords.problem(store);
        assert_eq!(check, "database", "{text}");
        assert!(text.contains(words), "{text}");
        assert!(!text.contains(PASSWORD), "{text}");
    };
    refused(&url(""), "invalid peer certificate");
    let elsewhere =
        format!("postgres://keeper@elsewhere.example/postgres?hostaddr={address}{trusted}");
    refused(&elsewhere, "not valid for name");
    refused(&url("&sslmode=disable"), "no pg_hba.conf entry");
    passwords.write(ESCAPED, 0o640);
    refused(&store, "run chmod 600");
    passwords.write("wrong", 0o600);
    refused(&store, "password authentication failed");
    std::fs::remove_file(Path::new(&passwords.0)).unwrap();
    refused(&store, "password missing");
}

/// Nobody writes meanwhile.
fn health_tells_rights_that_are_revoked(server: &Server, cluster: &Cluster) {
    server.answers("/healthz", (200, "ok"));
    for (revoke, grant) in [
        (
            "REVOKE UPDATE ON kept.segment FROM keeper",
            "GRANT UPDATE ON kept.segment TO keeper",
        ),
        (
            "ALTER TABLE kept.segment RENAME TO hidden",
            "ALTER TABLE kept.hidden RENAME TO segment",
        ),
    ] {
        cluster.admin().run(revoke);
        server.answers("/healthz", (503, "store away"));
        cluster.admin().run(grant);
        server.answers("/healthz", (200, "ok"));
    }
}
