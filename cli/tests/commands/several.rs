//! Commands whose URL names several servers: the first that answers is asked.

use crate::clients::{connect, open, write};
use crate::program::{call, call_with, refused, Running};
use crate::server::{Directory, Server};
use interweave_wire::protocol::Durability;

/// Nobody listens there.
const DEAD: &str = "127.0.0.1:1";
const ALSO_DEAD: &str = "127.0.0.1:2";

fn place(server: &Server) -> String {
    format!("127.0.0.1:{}", server.port)
}

/// [MIP-7] [SPACE-46]
#[test]
fn space_46_commands_ask_the_next_server_when_the_first_is_dead() {
    let server = Server::in_memory(&[]);
    let mut client = connect(&server);
    let mut copy = open(&mut client, "/list", Durability::Memory);
    write(&mut client, &mut copy, 1, 4, 7).expect("it is kept");
    let both = format!("{DEAD},{}", place(&server));
    let value = format!("{both}/list#numbers#2");
    assert_eq!(call(&["get", &value]).out, "7\n");
    let set = call(&["set", &value, "8"]);
    assert!(set.success, "{}", set.err);
    let named = [("IW_SERVER", &*both)];
    assert_eq!(call_with(&named, &["get", "/list#numbers#2"]).out, "8\n");
    let listed = call_with(&named, &["ls"]).out;
    assert!(listed.contains("/list"), "{listed}");
    // The row is that of the server that answered.
    let status = call_with(&named, &["status"]).out;
    let row = status.lines().nth(1).expect("a row");
    assert!(row.starts_with(&place(&server)), "{status}");
    let removed = call(&["rm", "--yes", &format!("{both}/list")]);
    assert!(removed.success, "{}", removed.err);
    assert!(!call(&["ls", &both]).out.contains("/list"));
}

/// [SPACE-46]
#[test]
fn space_46_an_error_names_each_server_and_what_happened_there() {
    let said = refused(&["get", &format!("{DEAD},{ALSO_DEAD}/list#numbers")]);
    for server in [DEAD, ALSO_DEAD] {
        let part = format!("iw://{server}: Connection refused");
        assert!(said.contains(&part), "{said}");
    }
}

/// [SPACE-46]
#[test]
fn space_46_no_other_server_is_asked_after_a_refusal() {
    let directory = Directory::new();
    let tokens = directory.path().join("tokens").display().to_string();
    assert!(call(&["token", "new", "alice", "--tokens", &tokens]).success);
    let strict = Server::start("memory", &["--tokens", &tokens]);
    let open = Server::in_memory(&[]);
    let both = format!("{},{}", place(&strict), place(&open));
    let said = call_with(&[("IW_TOKEN", "iw_wrong")], &["ls", &both]);
    assert!(!said.success, "{}", said.out);
    let refusal = format!("iw://{}: the token is not valid here", place(&strict));
    assert!(said.err.contains(&refusal), "{}", said.err);
    assert!(!said.err.contains(&place(&open)), "{}", said.err);
}

/// [SPACE-47]
#[test]
fn space_47_a_server_of_another_space_is_not_a_successor() {
    let (mut one, other) = (Server::in_memory(&[]), Server::in_memory(&[]));
    for server in [&one, &other] {
        let mut client = connect(server);
        let mut copy = open(&mut client, "/list", Durability::Memory);
        write(&mut client, &mut copy, 1, 4, 7).expect("it is kept");
    }
    let both = format!("{},{}/list", place(&one), place(&other));
    let mut watch = Running::start(&["watch", &both]);
    assert!(watch.word().contains("is at version 1"));
    one.kill();
    assert!(watch.word().contains("waiting for a server"));
    let said = watch.word();
    let apart = format!("iw://{}: it serves another space", place(&other));
    // A connection that waited while the process was killed is reset; later ones are refused.
    let dead = format!("iw://{}: ", place(&one));
    let is_down = ["Connection reset by peer", "Connection refused"].map(|why| said.contains(why));
    assert!(said.contains(&apart) && said.contains(&dead), "{said}");
    assert!(is_down.contains(&true), "{said}");
    watch.signal("INT");
    watch.end();
}

/// Which server is drained, given a segment or told to read its rules is for the user to say.
#[test]
fn commands_about_one_server_take_no_list() {
    let both = format!("{DEAD},{ALSO_DEAD}");
    let segment = format!("{DEAD}/list");
    for words in [
        &["drain", &both][..],
        &["move", &segment, &both],
        &["rules", "reload", &both],
    ] {
        let said = refused(words);
        assert!(said.contains(&format!("{both} are several")), "{said}");
    }
    let said = refused(&["serve", "--store", "memory", "--advertise", &both]);
    assert!(said.contains("names several servers"), "{said}");
}

#[test]
fn a_server_says_an_address_that_leads_to_it() {
    for at in ["0.0.0.0:7747", "[::]:7747", "[::ffff:0.0.0.0]:7747"] {
        let said = refused(&["serve", "--store", "memory", "--advertise", at]);
        assert!(
            said.contains(at) && said.contains("name the address"),
            "{said}"
        );
        assert!(said.contains("a.example:7747"), "{said}");
    }
}
