//! Openings and commands that are sent on to an owner that is away [SPACE-55].

use crate::clients::write;
use crate::member::{interweave, new_port, Member};
use crate::native_agent::NativeAgent;
use crate::server::Server;
use interweave_postgres_cluster::Cluster;
use interweave_server::client::{Client, Copy, Greeting, OpenOptions, Ring};
use interweave_wire::mip::Address;
use interweave_wire::protocol::{Durability, ErrorCode, RedirectField};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::thread;

const WAITING: &str = "waiting until a server has the segment";

#[test]
fn openings_wait_until_another_server_has_taken_over() {
    let cluster = Cluster::start();
    for schema in ["killed", "stopped"] {
        let one = Member::start(&cluster, (schema, new_port()), &[]);
        let mut two = Member::start(&cluster, (schema, new_port()), &[]);
        for path in ["/get", "/set", "/rm", "/program"] {
            let (mut client, mut copy) = two.take_over(path);
            write(&mut client, &mut copy, 1, 4, 7).expect("a release");
        }
        let program = NativeAgent::program();
        let mut agent = program.map(|program| NativeAgent::start(&program, &[]));
        match schema {
            "killed" => two.server.kill(),
            _ => two.server.signal("-STOP"),
        }
        if let Some(agent) = &mut agent {
            agent.begin(&format!("open {} 20", one.url("/program")));
        }
        let (get, set) = (one.url("/get#numbers#[1]"), one.url("/set#numbers#[1]"));
        let remove = one.url("/rm");
        let commands = [
            vec!["get", &get],
            vec!["set", &set, "8"],
            vec!["rm", &remove],
        ];
        thread::scope(|scope| {
            for words in &commands {
                scope.spawn(move || {
                    let (is_ok, text) = interweave(words);
                    assert!(is_ok, "{words:?}: {text}");
                });
            }
        });
        if let Some(agent) = &mut agent {
            assert_eq!(agent.answer(), "ok", "{schema}");
            agent.do_all(&["rl"]);
            assert_eq!(agent.tell("get numbers 1"), "7");
        }
        let (_, text) = interweave(&["get", &one.url("/set#numbers#[1]")]);
        assert_eq!(text, "8\n");
        assert_eq!(one.refusal("/rm"), Some(ErrorCode::NoSegment));
        if schema == "stopped" {
            two.server.signal("-CONT");
        }
    }
}

/// The owner lives, so nobody takes the segment over, and it says an address where nobody listens.
#[test]
fn a_command_that_waits_says_what_for_and_ends_with_ctrl_c() {
    let cluster = Cluster::start();
    let one = Member::start(&cluster, ("hidden", new_port()), &[]);
    let (at, said) = (Member::free_address(), Member::free_address());
    let options = ["--listen", &at, "--advertise", &said, "--space-lease", "1"];
    let _hidden = Server::start(&cluster.store_url("hidden"), &options);
    let at = Address::parse(&format!("iw://{at}")).expect("an address");
    let mut client = Client::connect(&at, Greeting::default()).expect("it answers");
    let wish = OpenOptions::creating(Durability::Synced);
    Copy::open(&mut client, "/here", &wish).expect("it opens");
    let mut command = Command::new(env!("CARGO_BIN_EXE_interweave"));
    let command = command.args(["get", &one.url("/here#x")]);
    let mut get = command.stderr(Stdio::piped()).spawn().expect("it runs");
    let mut line = String::new();
    let mut words = BufReader::new(get.stderr.take().expect("its errors"));
    words.read_line(&mut line).expect("text");
    let expected = format!("the server iw://{said}, to which this client was sent on, cannot be");
    let advice = format!("`interweave status iw://{}`", one.host_and_port());
    for part in [&*expected, &*advice, WAITING] {
        assert!(line.contains(part), "{line}");
    }
    let signal = ["-INT", &get.id().to_string()];
    assert!(Command::new("kill")
        .args(signal)
        .status()
        .unwrap()
        .success());
    assert_eq!(get.wait().expect("it ends").signal(), Some(2));
}

/// A process that was stopped: the system takes connections for it.
#[test]
fn an_owner_that_says_nothing_is_given_up() {
    let cluster = Cluster::start();
    let one = Member::start(&cluster, ("silent", new_port()), &[]);
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let to = RedirectField {
        address: silent.local_addr().expect("it is bound").to_string(),
        tls_name: String::new(),
        relay: false,
    };
    let mut ring = Ring::new(one.address.clone().into());
    let (client, _) = ring.connect(&Greeting::default()).expect("it answers");
    let followed = ring.follow(&client, &to, Greeting::default());
    let error = followed.expect_err("nobody is there");
    assert_eq!(error.code(), Some(ErrorCode::Unreachable), "{error}");
    assert!(
        error.is_lost() && error.to_string().contains(&to.address),
        "{error}"
    );
}
