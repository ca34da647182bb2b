//! A program with the client library in C++ whose URL names several servers of a space [MIP-7]. It
//! takes part only if it has been built.

use crate::kills::lease;
use crate::member::{new_port, Member};
use crate::native_agent::NativeAgent;
use interweave_postgres_cluster::Cluster;
use interweave_wire::protocol::ErrorCode;
use std::ffi::OsString;

#[test]
fn a_program_continues_at_the_next_host_of_its_url() {
    let Some(program) = NativeAgent::program() else {
        return;
    };
    let cluster = Cluster::start();
    let plain = [(); 2].map(|()| Member::start(&cluster, ("native_hosts", new_port()), &[]));
    let secure =
        [(); 2].map(|()| Member::secure(&cluster, ("native_hosts_tls", new_port()), lease()));
    continue_at_the_next(&program, "iw", plain);
    continue_at_the_next(&program, "iws", secure);
}

/// [SPACE-46] [SPACE-47]
fn continue_at_the_next(program: &OsString, scheme: &str, [mut one, mut two]: [Member; 2]) {
    let hosts = [one.host_and_port(), two.host_and_port()];
    let open = format!("open {scheme}://{}/hosts 20", hosts.join(","));
    let mut agent = NativeAgent::start(program, &[]);
    agent.do_all(&[&open, "wl", "make numbers 4", "put numbers 0 7", "release"]);
    assert_eq!(two.refusal("/hosts"), Some(ErrorCode::Redirected));
    agent.do_all(&["listen_for connection"]);
    one.server.kill();
    assert_eq!(agent.tell("hear"), "disconnected");
    assert_eq!(agent.tell("hear"), "connected");
    agent.do_all(&["wl"]);
    assert_eq!(agent.tell("get numbers 0"), "7");
    agent.do_all(&["put numbers 0 8", "release"]);

    // The first host is gone when this one begins.
    let mut late = NativeAgent::start(program, &[]);
    late.do_all(&[&open, "rl"]);
    assert_eq!(late.tell("get numbers 0"), "8");
    two.server.kill();
    let refused = NativeAgent::start(program, &[]).tell(&open);
    for host in &hosts {
        assert!(refused.contains(host), "{refused}");
    }
}
