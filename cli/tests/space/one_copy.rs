//! A program with the client library in C++ has one copy of a segment, by whatever URL of its space
//! it opens it. It takes part only if it has been built.

use crate::kills::lease;
use crate::member::{new_port, Member};
use crate::native_agent::NativeAgent;
use crate::server::{Directory, Server};
use interweave_postgres_cluster::{Cluster, USER};
use interweave_wire::mip::Address;
use std::ffi::OsString;
use std::process::Command;

#[test]
fn the_urls_of_a_segment_lead_to_one_copy() {
    let Some(program) = NativeAgent::program() else {
        return;
    };
    let cluster = Cluster::start();
    let plain = [(); 2].map(|()| Member::start(&cluster, ("one_copy", new_port()), &[]));
    let secure = [(); 2].map(|()| Member::secure(&cluster, ("one_copy_tls", new_port()), lease()));
    for [one, two] in [&plain, &secure] {
        pointers_lead_to_one_copy(&program, one, two);
    }
    let other_space = Member::start(&cluster, ("another", new_port()), &[]);
    let mut agent = NativeAgent::start(&program, &[]);
    agent.do_all(&[&format!("open {} 20", plain[0].own_url("/apart"))]);
    assert_eq!(
        agent.tell(&format!("also {}", other_space.own_url("/apart"))),
        "other"
    );
    for members in [plain, secure] {
        continue_at_the_other(&program, members);
    }
}

/// [SPACE-61] [SPACE-63]
fn continue_at_the_other(program: &OsString, [mut one, two]: [Member; 2]) {
    let urls = [&one, &two].map(|member| member.own_url("/copy"));
    let list = |hosts: [&Member; 2]| {
        let (scheme, _) = urls[0].split_once("://").expect("a scheme");
        format!(
            "{scheme}://{}/copy",
            hosts.map(Member::host_and_port).join(",")
        )
    };
    let mut agent = NativeAgent::start(program, &[]);
    let open = format!("open {} 20", urls[0]);
    agent.do_all(&[&open, "wl", "make numbers 4", "put numbers 0 7", "release"]);
    for other in [&urls[1], &list([&one, &two]), &list([&two, &one])] {
        assert_eq!(agent.tell(&format!("also {other}")), "same", "{other}");
        let mip = agent.tell(&format!("mip_at {other}#numbers#1"));
        assert_eq!(mip, format!("{}#1#1", urls[0]));
    }
    agent.do_all(&["listen_for connection"]);
    one.server.kill();
    assert_eq!(agent.tell("hear"), "disconnected");
    assert_eq!(agent.tell("hear"), "connected");
    agent.do_all(&["wl"]);
    assert_eq!(agent.tell("get numbers 0"), "7");
    agent.do_all(&[
        "put numbers 0 8",
        "release",
        "close",
        "close",
        "close",
        "close",
    ]);
    assert!(agent.tell("close").starts_with("error"));
}

/// [SPACE-64]
fn pointers_lead_to_one_copy(program: &OsString, one: &Member, two: &Member) {
    let [target, target_at_two] = [one, two].map(|member| member.own_url("/target"));
    let pointing = format!("open {} 20", one.own_url("/pointing"));
    let mut maker = NativeAgent::start(program, &[]);
    let open = format!("open {target} 20");
    maker.do_all(&[&open, "wl", "make numbers 4", "release", "close"]);
    // The slot table has the other server's URL then.
    let mut writer = NativeAgent::start(program, &[]);
    assert_eq!(writer.tell(&format!("also {target_at_two}")), "other");
    let point = format!("point arrow {target_at_two}#numbers#2");
    writer.do_all(&[&pointing, "wl", &point, "release"]);

    let mut reader = NativeAgent::start(program, &[]);
    reader.do_all(&[&pointing, "rl"]);
    assert_eq!(reader.tell("pointed_at arrow"), format!("{target}#1#2"));
    let mut late = NativeAgent::start(program, &[]);
    assert_eq!(late.tell(&format!("also {target_at_two}")), "other");
    late.do_all(&[&pointing, "rl"]);
    assert_eq!(
        late.tell("pointed_at arrow"),
        format!("{target_at_two}#1#2")
    );
}

/// [SPACE-60] A restored database has the ids of the first one, and lists its members of before.
#[test]
fn a_restored_database_is_another_store() {
    let Some(program) = NativeAgent::program() else {
        return;
    };
    let mut cluster = Cluster::start();
    cluster.archive();
    let member = Member::start(&cluster, ("restored", new_port()), &[]);
    let mut agent = NativeAgent::start(&program, &[]);
    let open = format!("open {} 20", member.own_url("/copy"));
    agent.do_all(&[&open, "wl", "make numbers 4", "put numbers 0 7", "release"]);
    let backup = cluster.back_up();
    cluster.wait_for_archive();
    let restored = cluster.restore(&backup, "restored", None);
    let sockets = restored.sockets().display();
    let store = format!("postgres:///postgres?user={USER}&host={sockets}&schema=restored");
    let at = Member::free_address();
    let drill = ["--store-alone", "--listen", &at, "--advertise", &at];
    let _drill = Server::start(&store, &drill);
    assert_eq!(agent.tell(&format!("also iw://{at}/copy")), "other");
    agent.do_all(&["close_also"]);
    assert_eq!(
        agent.tell(&format!("also {}", member.own_url("/copy"))),
        "same"
    );
}

/// [SPACE-60] A copy of a store has the ids of the first one, and is another store all the same.
#[test]
fn a_copied_store_is_another_one() {
    let Some(program) = NativeAgent::program() else {
        return;
    };
    let folder = Directory::new();
    let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
    Server::start(&first.display().to_string(), &[]).stop();
    let copied = Command::new("cp")
        .arg("-r")
        .args([&first, &second])
        .status();
    assert!(copied.expect("cp runs").success());
    let servers = [&first, &second].map(|store| Server::start(&store.display().to_string(), &[]));
    let [one, two] = servers.each_ref().map(|server| {
        let Address::Tcp { host, port, .. } = server.address() else {
            unreachable!("it is an address of TCP");
        };
        format!("iw://{host}:{port}/copy")
    });
    let mut agent = NativeAgent::start(&program, &[]);
    let open = format!("open {one} 20");
    agent.do_all(&[&open, "wl", "make numbers 4", "put numbers 0 7", "release"]);
    assert_eq!(agent.tell(&format!("also {two}")), "other");
    assert!(agent
        .tell(&format!("mip_at {two}#numbers"))
        .starts_with("error"));
}
