//! Clients that cannot reach the owner, and are passed on to it by another server [SPACE-48..54].
//!
//! A program in a network of its own reaches a server through a Unix socket alone.

use crate::clients::{open, value, write};
use crate::member::{interweave, new_port, Member};
use crate::native_agent::NativeAgent;
use crate::server::Directory;
use crate::web_socket::{self, WebSocket};
use bytes::Bytes;
use interweave_postgres_cluster::Cluster;
use interweave_server::client::{Client, ClientError, Greeting, Notification, Transport};
use interweave_wire::fields::field;
use interweave_wire::protocol::{
    Durability, ErrorCode, FieldKey, Hello, MessageType, PlainError, RedirectField, Welcome,
    PROTOCOL_VERSION_MAX, PROTOCOL_VERSION_MIN,
};
use interweave_wire::Message;
use std::process::Command;
use std::time::{Duration, Instant};

/// How long a test waits for what the server says by itself.
const PATIENT: Duration = Duration::from_secs(20);

#[test]
fn clients_are_passed_on_to_the_owner() {
    let cluster = Cluster::start();
    let folder = Directory::new();
    let socket = folder.path().join("socket").display().to_string();
    let listens = format!("unix:{socket}");
    let mut one = Member::start(&cluster, ("relays", new_port()), &[]);
    let mut two = Member::start(&cluster, ("relays", new_port()), &["--listen", &listens]);
    a_client_reads_and_writes_over_another_server(&one, &two);
    no_other_address_is_connected_to(&one, &two);
    what_is_said_too_early_ends_it(&one, &two);
    few_connections_are_passed_on_at_a_time(&cluster, &one);
    commands_of_another_network_are_passed_on(&one, &listens);
    relays_end_with_their_server(&one, &mut two);
    two = Member::start(&cluster, ("relays", two.port()), &["--listen", &listens]);
    a_program_of_another_network_goes_on(&mut one, &two, &listens);
}

/// [SPACE-52] The page shows its token in the request by which its WebSocket begins.
#[test]
fn the_token_of_a_page_is_said_to_the_owner() {
    let cluster = Cluster::start();
    let folder = Directory::new();
    let tokens = folder.path().join("tokens").display().to_string();
    let (is_ok, token) = interweave(&["token", "new", "root", "--tokens", &tokens]);
    assert!(is_ok, "{token}");
    let token = token.lines().next().expect("a token").to_string();
    let own = ["--tokens", &*tokens];
    let one = Member::start(&cluster, ("relays_page", new_port()), &own);
    let two = Member::start(&cluster, ("relays_page", new_port()), &own);
    let mut body: Hello = web_socket::hello().decode().expect("a hello");
    body.fields = vec![field(FieldKey::Redirect, &wish(&one.host_and_port(), ""))];
    let hello = Message::new(MessageType::Hello, 1, &body, Bytes::new());
    let bearer = format!("Authorization: Bearer {token}\r\n");
    let mut page = WebSocket::open_with(&two.server, &bearer);
    page.send_message(hello.clone());
    let welcome = page.receive_message().expect("an answer");
    assert_eq!(welcome.kind(), Some(MessageType::Welcome), "{welcome:?}");
    let welcome: Welcome = welcome.decode().expect("a welcome");
    page.send_message(Message::bare(MessageType::Ping, 2));
    let pong = page.receive_message().expect("an answer");
    assert_eq!(pong.kind(), Some(MessageType::Pong));
    // The session is the owner's.
    let again = Greeting {
        session: welcome.session,
        token,
        ..Greeting::default()
    };
    let again = Client::connect(&one.address, again).expect("the owner answers");
    assert!(again.welcome().resumed);
    assert!(
        page.receive_message().is_none(),
        "the older connection ends"
    );
    // Without a token the page is not let in.
    let mut stranger = WebSocket::open(&two.server);
    stranger.send_message(hello);
    let error: PlainError = stranger
        .receive_message()
        .expect("an answer")
        .decode()
        .expect("an error");
    assert_eq!(error.code, ErrorCode::Denied, "{}", error.text);
}

#[test]
fn servers_that_encrypt_check_each_other() {
    let cluster = Cluster::start();
    let one = Member::secure(&cluster, ("relays_tls", new_port()), "1");
    let two = Member::secure(&cluster, ("relays_tls", new_port()), "1");
    let mut client = relayed(&two, "localhost", &one).expect("it is let in");
    let mut copy = open(&mut client, "/secure", Durability::Synced);
    write(&mut client, &mut copy, 1, 4, 7).expect("it is kept");
    assert_eq!(two.refusal("/secure"), Some(ErrorCode::Redirected));
    // One that knows another authority connects, and shows nothing.
    let folder = Directory::new();
    let path = folder.path().display().to_string();
    let (is_ok, text) = interweave(&["cert", "authority", &path]);
    assert!(is_ok, "{text}");
    let other = folder.path().join("ca.pem").display().to_string();
    let place = ("relays_tls", new_port());
    let three = Member::secure_trusting(&cluster, place, "1", &other);
    let refused = relayed(&three, "localhost", &one).expect_err("a certificate that it checks");
    let text = refused.to_string();
    assert_eq!(refused.code(), Some(ErrorCode::Unreachable), "{text}");
    assert!(text.contains("--space-ca"), "{text}");
}

/// Connects to a server that is to pass the client on to another one.
fn relayed(by: &Member, tls_name: &str, to: &Member) -> Result<Client, ClientError> {
    relayed_to(by, &to.host_and_port(), tls_name)
}

fn relayed_to(by: &Member, address: &str, tls_name: &str) -> Result<Client, ClientError> {
    let greeting = Greeting {
        follows_moves: true,
        relay: Some(wish(address, tls_name)),
        ..Greeting::default()
    };
    Client::connect(&by.address, greeting)
}

fn wish(address: &str, tls_name: &str) -> RedirectField {
    RedirectField {
        address: address.to_string(),
        tls_name: tls_name.to_string(),
        relay: true,
    }
}

/// [SPACE-48] [SPACE-51] [SPACE-52]
fn a_client_reads_and_writes_over_another_server(one: &Member, two: &Member) {
    let mut client = relayed(two, "", one).expect("it is let in");
    let mut copy = open(&mut client, "/relayed", Durability::Synced);
    // More than is kept of a direction.
    write(&mut client, &mut copy, 1, 1 << 20, 7).expect("it is kept");
    assert_eq!(two.refusal("/relayed"), Some(ErrorCode::Redirected));
    let mut direct = one.connect();
    let mut seen = open(&mut direct, "/relayed", Durability::Synced);
    seen.fetch(&mut direct).expect("a copy");
    assert_eq!(value(&seen), Some(7));
    write(&mut direct, &mut seen, 1, 1 << 20, 8).expect("it is kept");
    copy.fetch(&mut client).expect("a copy");
    assert_eq!(value(&copy), Some(8));
    assert_eq!(two.server.metric("relays"), 1);
    assert_eq!(two.server.metric("relays_total"), 1);
    assert!(two.server.metric("relayed_bytes_total") > 8 << 20);
    // It is not asked to be passed on again [SPACE-54].
    assert_eq!(one.server.metric("relays_total"), 0);
    // The session is the owner's, and is resumed over another way.
    let session = client.welcome().session;
    drop(client);
    let again = Greeting {
        session,
        ..Greeting::default()
    };
    let again = Client::connect(&one.address, again).expect("the server answers");
    assert!(again.welcome().resumed);
}

/// [SPACE-50]
fn no_other_address_is_connected_to(one: &Member, two: &Member) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let other = listener.local_addr().expect("its address").to_string();
    let mut refusals = vec![relayed_to(two, &other, "")];
    // Another name than that of its row, the server itself, and what is not an address.
    refusals.push(relayed_to(two, &one.host_and_port(), "other.example"));
    refusals.push(relayed_to(two, &two.host_and_port(), ""));
    refusals.push(relayed_to(two, "unix:/tmp/socket", ""));
    for refused in refusals {
        let refused = refused.expect_err("it is not a server of the space");
        assert_eq!(refused.code(), Some(ErrorCode::Unreachable), "{refused}");
        assert!(refused.to_string().contains("ask this server"), "{refused}");
    }
    listener.set_nonblocking(true).expect("it is a socket");
    assert!(listener.accept().is_err(), "the server connected to it");
    assert_eq!(two.server.metric("relays_failed_total"), 4);
    assert_eq!(two.server.metric("relays"), 0);
}

/// [SPACE-48]
fn what_is_said_too_early_ends_it(one: &Member, two: &Member) {
    let hello = Hello {
        magic: *b"IWV1",
        version_min: PROTOCOL_VERSION_MIN,
        version_max: PROTOCOL_VERSION_MAX,
        session: [0; 16],
        token: String::new(),
        client: "hasty".to_string(),
        fields: vec![field(FieldKey::Redirect, &wish(&one.host_and_port(), ""))],
    };
    let hello = Message::new(MessageType::Hello, 1, &hello, Bytes::new());
    let ping = Message::bare(MessageType::Ping, 2);
    let frames = [hello, ping].map(|message| message.into_frames().next_frame());
    let frames = frames.into_iter().flatten();
    let bytes: Vec<u8> = frames.flat_map(|(head, _)| head).collect();
    let mut transport = Transport::connect(&two.address).expect("it listens");
    transport.send_bytes(&bytes).expect("it is sent");
    let answer = transport.receive(Instant::now() + PATIENT);
    let answer = answer.expect("a connection").expect("an answer");
    let error: PlainError = answer.decode().expect("an error");
    assert_eq!(error.code, ErrorCode::Malformed, "{}", error.text);
}

/// [SPACE-14] [SPACE-49] A program writes over a Unix socket while its segment moves and its owner
/// is killed.
fn a_program_of_another_network_goes_on(one: &mut Member, two: &Member, listens: &str) {
    let Some(program) = NativeAgent::program() else {
        return;
    };
    if apart("true").is_none() {
        return;
    }
    drop(one.take_over("/goes-on"));
    let start = || NativeAgent::run(apart(&program).expect("as before"));
    let [mut writer, mut reader] = [start(), start()];
    let open = format!("open {listens}:/goes-on 20");
    writer.do_all(&[&open, "wl", "make numbers 4", "put numbers 0 1", "release"]);
    reader.do_all(&[&open, "rl"]);
    assert_eq!(reader.tell("get numbers 0"), "1");
    reader.do_all(&["rl_release"]);
    assert_eq!(one.server.metric("relays"), 0);
    assert_eq!(two.server.metric("relays"), 2);
    let (is_ok, text) = interweave(&["move", &one.url("/goes-on"), &two.url("")]);
    assert!(is_ok, "{text}");
    writer.do_all(&["wl", "put numbers 0 2", "release"]);
    let (is_ok, text) = interweave(&["move", &two.url("/goes-on"), &one.url("")]);
    assert!(is_ok, "{text}");
    writer.do_all(&["wl", "put numbers 0 3", "release"]);
    assert_eq!(two.refusal("/goes-on"), Some(ErrorCode::Redirected));
    one.server.kill();
    writer.do_all(&["wl", "put numbers 0 4", "release"]);
    reader.do_all(&["wl"]);
    assert_eq!(reader.tell("get numbers 0"), "4");
    reader.do_all(&["abort"]);
    assert_eq!(two.refusal("/goes-on"), None);
}

/// [SPACE-53]
fn relays_end_with_their_server(one: &Member, two: &mut Member) {
    let mut client = relayed(two, "", one).expect("it is let in");
    let _copy = open(&mut client, "/stopped", Durability::Synced);
    assert!(two.server.stop().success());
    let ended = loop {
        match client.next_notification(PATIENT) {
            Ok(Some(Notification::Goodbye)) => panic!("a message of another server"),
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(ended.is_lost(), "{ended}");
}

/// [SPACE-50]
fn few_connections_are_passed_on_at_a_time(cluster: &Cluster, one: &Member) {
    let small = ["--max-connections", "8"];
    let three = Member::start(cluster, ("relays", new_port()), &small);
    let _first = relayed(&three, "", one).expect("it is let in");
    let second = relayed(&three, "", one).expect("it is let in");
    let refused = relayed(&three, "", one).expect_err("a quarter of 8 is passed on");
    assert_eq!(refused.code(), Some(ErrorCode::Unreachable), "{refused}");
    assert!(refused.to_string().contains("passes 2"), "{refused}");
    drop(second);
    let until = Instant::now() + PATIENT;
    while let Err(refused) = relayed(&three, "", one) {
        assert!(Instant::now() < until, "{refused}");
    }
}

/// [SPACE-49]
fn commands_of_another_network_are_passed_on(one: &Member, listens: &str) {
    let mut client = one.connect();
    let mut copy = open(&mut client, "/apart", Durability::Synced);
    write(&mut client, &mut copy, 1, 4, 7).expect("it is kept");
    let Some(mut command) = apart(env!("CARGO_BIN_EXE_interweave")) else {
        return;
    };
    let at = format!("{listens}:/apart#numbers#2");
    let ran = command.args(["set", &at, "9"]).output().expect("it runs");
    assert!(ran.status.success(), "{ran:?}");
    let mut command = apart(env!("CARGO_BIN_EXE_interweave")).expect("as before");
    let ran = command.args(["get", &at]).output().expect("it runs");
    let text = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && text.contains('9'), "{ran:?}");
    copy.fetch(&mut client).expect("a copy");
    assert_eq!(copy.stamp().number, 2);
}

/// A program in a network of its own, without any address. None: this user may not make one.
fn apart(program: impl AsRef<std::ffi::OsStr>) -> Option<Command> {
    let may = |options: &&&str| {
        let tried = Command::new("unshare").args([**options, "true"]).output();
        tried.is_ok_and(|tried| tried.status.success())
    };
    let options = ["-n", "-rn"];
    let Some(options) = options.iter().find(may) else {
        println!("no network can be made for a program, so nothing is tried in one");
        return None;
    };
    let mut command = Command::new("unshare");
    command.arg(options).arg(program);
    Some(command)
}
