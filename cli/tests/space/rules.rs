//! Rules that all servers of a space share.

use crate::clients::{open, PATIENT};
use crate::member::{interweave, new_port, Member};
use crate::server::Directory;
use interweave_postgres_cluster::Cluster;
use interweave_server::client::{Client, ClientError, Greeting};
use interweave_wire::protocol::{
    Durability, ErrorCode, MemberInfo, MemberState, MAX_MEMBERS_LISTED,
};
use std::time::{Duration, Instant};

/// Rules that cannot be read hold for 10 s.
const PATIENCE_FOR_RULES: Duration = Duration::from_secs(60);
const SCHEMA: &str = "shared_rules";

/// A file of that text, and its name.
fn file(directory: &Directory, name: &str, text: &str) -> String {
    let path = directory.path().join(name);
    std::fs::write(&path, text).expect("it is written");
    path.display().to_string()
}

fn connect(member: &Member, token: &str) -> Result<Client, ClientError> {
    let greeting = Greeting {
        token: token.to_string(),
        ..Greeting::default()
    };
    Client::connect(&member.address, greeting)
}

/// Waits until each server says of both that they have taken that version [SPACE-45].
fn until_told(members: [&Member; 2], token: &str, version: u64) {
    let begun = Instant::now();
    for member in members {
        loop {
            let list = connect(member, token).and_then(|mut client| client.members());
            let taken = list.map(|list| {
                let lives = |member: &&MemberInfo| member.state == MemberState::Standing;
                let living = list.members.iter().filter(lives);
                let versions = living.map(|member| member.rules_version);
                versions.collect::<Vec<_>>()
            });
            if matches!(&taken, Ok(taken) if *taken == [version; 2]) {
                break;
            }
            let has_time = begun.elapsed() < PATIENT;
            assert!(has_time, "version {version} is not taken: {taken:?}");
        }
    }
}

#[test]
fn all_servers_take_the_rules_that_one_person_pushes() {
    let cluster = Cluster::start();
    let directory = Directory::new();
    let store = cluster.store_url(SCHEMA);
    let tokens = directory.path().join("tokens").display().to_string();
    let (is_ok, root) = interweave(&["token", "new", "root", "--tokens", &tokens]);
    assert!(is_ok, "{root}");
    let root = root
        .lines()
        .find(|line| line.starts_with("iw_"))
        .expect("a token");
    let first = "allow root all /**\nallow root metrics\nallow anyone read /**\nend\n";
    let rules = file(&directory, "rules", first);
    // Two servers with files of their own, until the store has rules.
    let own = file(
        &directory,
        "own",
        "allow anyone all /**\nallow anyone metrics\nend\n",
    );
    let start = || Member::start(&cluster, (SCHEMA, new_port()), &["--rules", &own]);
    let (mut one, two) = (start(), start());
    alerts_name_numbers_that_there_are(&one);
    let mut client = one.connect();
    open(&mut client, "/lab", Durability::Synced);
    // [SPACE-40] [SPACE-42] [SPACE-43]
    let (is_ok, text) = interweave(&["rules", "show", &store]);
    assert!(!is_ok && text.contains("interweave rules push"), "{text}");
    let push = [
        "rules", "push", &store, "--rules", &rules, "--tokens", &tokens, "--after", "0",
    ];
    let (is_ok, text) = interweave(&push);
    assert!(is_ok && text.contains("version 1"), "{text}");
    let pushed = Instant::now();
    for member in [&one, &two] {
        member.server.logs(&["version 1 of the store"]);
    }
    println!(
        "version 1 is taken after {} ms",
        pushed.elapsed().as_millis()
    );
    until_told([&one, &two], root, 1);
    for member in [&one, &two] {
        let refused = member.connect().remove("/lab").unwrap_err();
        assert_eq!(refused.code(), Some(ErrorCode::Denied), "{refused}");
    }
    two_people_who_push_at_once(&store, &rules);
    text_that_does_not_parse_is_not_pushed(&directory, &store);
    // [SPACE-42] A token that is taken out ends its sessions at each server.
    let mut of_root = [&one, &two].map(|member| connect(member, root).expect("let in"));
    let none = file(&directory, "none", "end\n");
    let open_to_all = file(
        &directory,
        "open",
        "allow anyone all /**\nallow anyone metrics\nend\n",
    );
    let pushed = [
        "rules",
        "push",
        &store,
        "--rules",
        &open_to_all,
        "--tokens",
        &none,
    ];
    let (is_ok, text) = interweave(&[&pushed[..], &["--note", "root is gone"]].concat());
    assert!(is_ok && text.contains("version 3"), "{text}");
    until_told([&one, &two], "", 3);
    for client in &mut of_root {
        assert!(client.list("/").is_err(), "its session has ended");
    }
    let (_, text) = interweave(&["rules", "history", &store]);
    assert!(
        text.contains("root is gone") && text.lines().count() == 4,
        "{text}"
    );
    let (is_ok, text) = interweave(&["status", &two.url("")]);
    assert!(is_ok, "{text}");
    // [SPACE-43] A server needs no file where the store has rules.
    assert!(one.server.stop().success());
    one = Member::start(&cluster, (SCHEMA, one.port()), &["--shared-rules"]);
    until_told([&one, &two], "", 3);
    nobody_logs_in_while_rules_are_unread(&cluster, &one);
    more_servers_than_a_page_has_are_counted(&cluster, &one);
}

/// [SPACE-30]
fn more_servers_than_a_page_has_are_counted(cluster: &Cluster, member: &Member) {
    const OTHERS: u64 = 2 * MAX_MEMBERS_LISTED as u64;
    cluster.admin().run(&format!(
        "INSERT INTO {SCHEMA}.owner
           (epoch, claim, creations, is_clean, address, lease_ms, counter)
         SELECT newest.epoch + n, newest.claim, 0, false, 'n' || n || '.example:7747', 600000, 1
         FROM (SELECT * FROM {SCHEMA}.owner ORDER BY epoch DESC LIMIT 1) AS newest,
           generate_series(1, {OTHERS}) AS n"
    ));
    // With the two that run. Rows of servers that are over would be swept away [SPACE-4].
    let all = OTHERS + 2;
    let standing = format!("interweave_space_members{{state=\"standing\"}} {all}\n");
    member.server.answers("/metrics", (200, &standing));
}

/// [SPACE-44]
fn nobody_logs_in_while_rules_are_unread(cluster: &Cluster, member: &Member) {
    let rename = |from, to| {
        let statement = format!("ALTER TABLE {SCHEMA}.{from} RENAME TO {to}");
        cluster.admin().run(&statement);
    };
    rename("access", "access_away");
    let begun = Instant::now();
    let refused = |error: ClientError| error.to_string().contains("could not look for newer rules");
    while !connect(member, "").err().is_some_and(refused) {
        assert!(begun.elapsed() < PATIENCE_FOR_RULES, "it lets people in");
        std::thread::yield_now();
    }
    let (status, page) = member
        .server
        .ask_http("POST /login", "127.0.0.1", "token=iw_x");
    assert!(status.contains(" 503 "), "{status}");
    assert!(page.contains("lets nobody in"), "{page}");
    member.server.answers("/metrics", (200, "interweave_"));
    rename("access_away", "access");
    let begun = Instant::now();
    while connect(member, "").is_err() {
        assert!(begun.elapsed() < PATIENT, "it lets nobody in");
    }
}

/// Names in packaging/prometheus are those of a server.
fn alerts_name_numbers_that_there_are(member: &Member) {
    let alerts = include_str!("../../../packaging/prometheus/interweave-space.rules.yml");
    let begun = Instant::now();
    let mut page = String::new();
    // The first look at the space follows the start.
    while !page.contains("interweave_space_members") && begun.elapsed() < PATIENT {
        let host = member.server.http.to_string();
        page = member.server.get("/metrics", &host).1;
    }
    let is_part = |c: char| c.is_ascii_lowercase() || c == '_';
    let words = alerts.split(|c| !is_part(c));
    let names: Vec<&str> = words
        .filter(|word| word.starts_with("interweave_"))
        .collect();
    assert!(names.len() >= 6, "{names:?}");
    for name in names {
        let is_named = |line: &str| {
            let rest = line.strip_prefix(name);
            rest.is_some_and(|rest| rest.starts_with([' ', '{']))
        };
        assert!(page.lines().any(is_named), "{name} is not in {page}");
    }
}

/// [SPACE-41]
fn two_people_who_push_at_once(store: &str, rules: &str) {
    let push = || interweave(&["rules", "push", store, "--rules", rules, "--after", "1"]);
    let both = std::thread::scope(|scope| {
        let other = scope.spawn(push);
        [push(), other.join().expect("it ends")]
    });
    let taken = both.iter().filter(|(is_ok, _)| *is_ok).count();
    assert_eq!(taken, 1, "{both:?}");
    let told = both.iter().find(|(is_ok, _)| !is_ok).expect("one is told");
    assert!(
        told.1.contains("version 1 is not the newest any more"),
        "{}",
        told.1
    );
}

/// [SPACE-41]
fn text_that_does_not_parse_is_not_pushed(directory: &Directory, store: &str) {
    let wrong = file(directory, "wrong", "allow alice reed /**\nend\n");
    let (is_ok, text) = interweave(&["rules", "push", store, "--rules", &wrong]);
    assert!(!is_ok && text.contains(":1:13: error"), "{text}");
    let (is_ok, text) = interweave(&["rules", "show", store]);
    assert!(
        is_ok && text.contains("version 2") && text.contains("allow root all"),
        "{text}"
    );
    let (_, text) = interweave(&["rules", "show", store, "--tokens"]);
    assert!(text.contains(" root "), "{text}");
}
