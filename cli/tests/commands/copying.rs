//! `interweave cp`, `export` and `import`: everything in a segment, or nothing.

use crate::clients::{connect, open, PATIENT};
use crate::program::{call, call_with, refused, Running};
use crate::server::{Directory, Server};
use interweave_server::client::Client;
use interweave_wire::protocol::{
    Durability, Field, MessageType, MoreSerials, Primitive, SequenceBody, SerialsGranted, TypeBody,
    TypeDescriptor,
};
use interweave_wire::{DiffBuilder, Pointer, TypeTable};
use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{symlink, FileTypeExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{channel, Receiver};

/// `string word<20>; typedef int numbers<>;` and a struct of them with two pointers to itself.
fn types() -> TypeTable {
    let field = |name: &str, type_| Field {
        name: name.into(),
        type_,
    };
    let numbers = SequenceBody {
        element: Primitive::Int as u32,
        bound: 0,
    };
    let fields = vec![
        field("name", 66),
        field("values", 65),
        field("next", 64),
        field("other", 64),
    ];
    let bodies = [
        ("", TypeBody::Pointer(67)),
        ("numbers", TypeBody::Sequence(numbers)),
        ("word", TypeBody::String(20)),
        ("node", TypeBody::Record(fields)),
    ];
    let descriptor = |(at, (name, body)): (usize, (&str, TypeBody))| TypeDescriptor {
        serial: 64 + at as u32,
        name: name.into(),
        hash: 0,
        predecessor: 0,
        body,
    };
    let mut types = TypeTable::new();
    let descriptors = bodies.into_iter().enumerate().map(descriptor);
    let sealed = types.seal(descriptors.collect()).expect("types");
    types.extend(sealed).expect("types of the table");
    types
}

/// A segment with a string, a sequence, a pointer within it and one into /other, serials with gaps,
/// and two versions.
fn make_nodes(client: &mut Client, path: &str) {
    let types = types();
    let mut copy = open(client, path, Durability::Written);
    let lock = copy.lock(client, PATIENT, 1).expect("the lock");
    let more = MoreSerials {
        segment: copy.number(),
        fence: lock.grant.fence,
        count: 1000,
    };
    let reply = MessageType::SerialsGranted;
    let more = client.request(MessageType::MoreSerials, &more, reply);
    let _: (SerialsGranted, _) = more.expect("serials");
    let first = lock.grant.first_serial;
    let (head, values, second) = (first, first + 5, first + 900);
    let mut diff = DiffBuilder::new(0, 1);
    types
        .described()
        .iter()
        .for_each(|ty| diff.add_type(&ty.descriptor));
    diff.slots(1, ["/other"].into_iter());
    diff.add_block(head, 67, 1, "head");
    diff.add_block(values, Primitive::Int as u32, 3, "");
    diff.add_block(second, 67, 2, "");
    let pointer = |slot, serial, offset| Pointer {
        slot,
        serial,
        offset,
    };
    let mut run = vec![0, 4];
    run.extend_from_slice(&[5, 0]);
    run.extend_from_slice("hello".as_bytes());
    for to in [
        pointer(0, values, 0),
        pointer(0, second, 4),
        pointer(1, 77, 0),
    ] {
        run.extend(to.to_bytes());
    }
    diff.change(head, &run);
    let numbers: Vec<u8> = [1i32, -2, 3].iter().flat_map(|n| n.to_le_bytes()).collect();
    diff.set(values, 3, &numbers);
    copy.release(client, &lock, diff.finish())
        .expect("a version");
    let lock = copy.lock(client, PATIENT, 2).expect("the lock");
    let diff = DiffBuilder::new(1, 2).finish();
    copy.release(client, &lock, diff).expect("a version");
}

fn url(server: &Server, path: &str) -> String {
    format!("127.0.0.1:{}{path}", server.port)
}

fn shown(url: &str) -> String {
    let shown = call(&["show", "--json", url]);
    assert!(shown.success, "{}", shown.err);
    shown.out
}

/// The text of `show` without URL, server and versions.
fn contents(server: &Server, path: &str) -> String {
    let text = shown(&url(server, path)).replace(&format!("iw://{}", url(server, path)), "HERE");
    let text = text.replace(&server.port.to_string(), "PORT");
    assert!(
        text.contains("hello") && text.contains("[1, -2, 3]"),
        "{text}"
    );
    text.replace("\"version\": 2", "\"version\": 1")
}

#[test]
fn a_copy_has_types_names_serials_values_and_pointers() {
    let directory = Directory::new();
    let server = Server::start(&directory.path().join("store").display().to_string(), &[]);
    make_nodes(&mut connect(&server), "/nodes");
    let done = call(&[
        "cp",
        "--json",
        &url(&server, "/nodes"),
        &url(&server, "/copy"),
    ]);
    assert!(done.success, "{}", done.err);
    assert!(done.out.contains("\"version\": 2"), "{}", done.out);
    assert_eq!(contents(&server, "/copy"), contents(&server, "/nodes"));
    let listed = connect(&server).list("/").unwrap();
    assert_eq!(listed[0].durable, Durability::Written);
    assert_eq!(listed[0].quota_bytes, listed[1].quota_bytes);
    assert_eq!(listed[0].newest.number, 1);
    // The copy is a segment like others: what is new gets serials of its own.
    assert!(call(&["set", &url(&server, "/copy#head#name"), "again"]).success);
}

#[test]
fn between_servers_pointers_lead_where_they_led() {
    let (from, to) = (Server::in_memory(&[]), Server::in_memory(&[]));
    make_nodes(&mut connect(&from), "/nodes");
    let source = url(&from, "/nodes");
    assert!(call(&["cp", &source, &url(&to, "")]).success);
    let copied = shown(&url(&to, "/nodes"));
    let outside = format!("\"other\": \"iw://{}#77\"", url(&from, "/other"));
    assert!(copied.contains(&outside), "{copied}");
    let inside = format!("\"next\": \"iw://{}#901#4\"", url(&to, "/nodes"));
    assert!(copied.contains(&inside), "{copied}");
    let again = refused(&["cp", &source, &url(&to, "/nodes")]);
    assert!(
        again.contains("exists") && again.contains("--replace"),
        "{again}"
    );
    assert!(call(&["cp", "--replace", &source, &url(&to, "/nodes")]).success);
    let itself = refused(&["cp", "--replace", &source, &source]);
    assert!(itself.contains("onto itself"), "{itself}");
    assert!(call(&["get", &format!("{source}#head#name")])
        .out
        .contains("hello"));
}

/// A server without a disk keeps every segment in memory. A copy of it is synced all the same.
#[test]
fn what_comes_from_a_server_without_a_disk_outlives_the_end_of_one_with_a_disk() {
    let directory = Directory::new();
    let store = directory.path().join("store").display().to_string();
    let file = directory.path().join("nodes").display().to_string();
    let (from, mut to) = (Server::in_memory(&[]), Server::start(&store, &[]));
    make_nodes(&mut connect(&from), "/nodes");
    let source = url(&from, "/nodes");
    let said = |options: &[&str], durability: &str| {
        let done = call(options);
        assert!(done.success, "{}", done.err);
        let wanted = format!("durability {durability}");
        assert!(done.err.contains(&wanted), "{} is not {wanted}", done.err);
    };
    said(&["export", &source, &file], "memory");
    said(&["cp", &source, &url(&to, "/copied")], "synced");
    said(&["import", &file, &url(&to, "/imported")], "synced");
    let in_memory = ["--durability", "memory"];
    said(
        &[&["cp", &source, &url(&to, "/x")], &in_memory[..]].concat(),
        "memory",
    );
    let written = ["--durability", "written"];
    said(
        &[&["import", &file, &url(&to, "/y")], &written[..]].concat(),
        "written",
    );
    to.kill();
    let to = Server::start(&store, &[]);
    let listed = connect(&to).list("/").unwrap();
    let kept: Vec<(&str, Durability, u64)> = listed
        .iter()
        .map(|s| (&*s.path, s.durable, s.newest.number))
        .collect();
    assert_eq!(
        kept[..2],
        [
            ("/copied", Durability::Synced, 1),
            ("/imported", Durability::Synced, 1)
        ]
    );
    assert!(!kept.contains(&("/x", Durability::Memory, 1)), "{kept:?}");
    assert_eq!(kept.last(), Some(&("/y", Durability::Written, 1)));
    // The copy's pointer to /other still leads to the first server.
    contents(&to, "/copied");
    assert_eq!(contents(&to, "/imported"), contents(&from, "/nodes"));
    // A server without a disk keeps every copy in memory.
    said(
        &["cp", &url(&to, "/copied"), &url(&from, "/back")],
        "memory",
    );
}

#[test]
fn many_segments_keep_their_paths() {
    let (from, to) = (Server::in_memory(&[]), Server::in_memory(&[]));
    let mut client = connect(&from);
    for path in ["/fleet/a", "/fleet/b", "/x"] {
        make_nodes(&mut client, path);
    }
    let pattern = url(&from, "/fleet/*");
    let wrong = refused(&["cp", &pattern, &url(&to, "/one")]);
    assert!(wrong.contains("name only the server"), "{wrong}");
    let done = call(&["cp", &pattern, &url(&to, "")]);
    assert!(
        done.success && done.err.ends_with("2 segments copied\n"),
        "{}",
        done.err
    );
    let paths: Vec<String> = connect(&to)
        .list("/")
        .unwrap()
        .into_iter()
        .map(|s| s.path)
        .collect();
    assert_eq!(paths, ["/fleet/a", "/fleet/b"]);
}

#[test]
fn a_copy_that_does_not_fit_leaves_no_segment() {
    let server = Server::in_memory(&[]);
    make_nodes(&mut connect(&server), "/nodes");
    let (from, to) = (url(&server, "/nodes"), url(&server, "/copy"));
    let text = refused(&["cp", "--quota", "100", &from, &to]);
    assert!(text.contains("--quota"), "{text}");
    assert_eq!(connect(&server).list("/copy").unwrap().len(), 0);
}

#[test]
fn a_file_makes_the_same_segment_again() {
    // [SEGF-5]
    let (from, to) = (Server::in_memory(&[]), Server::in_memory(&[]));
    make_nodes(&mut connect(&from), "/nodes");
    let directory = Directory::new();
    let file = directory.path().join("nodes.iwseg").display().to_string();
    let done = call(&["export", &url(&from, "/nodes"), &file]);
    assert!(
        done.success && done.err.contains("3 blocks"),
        "{}",
        done.err
    );
    let exists = refused(&["export", &url(&from, "/nodes"), &file]);
    assert!(exists.contains("--force"), "{exists}");
    assert!(call(&["export", "--force", &url(&from, "/nodes"), &file]).success);
    let checked = call(&["import", "--check", &file, "--json"]);
    assert!(checked.out.contains("\"blocks\": 3"), "{}", checked.out);
    let server = url(&to, "");
    let done = call_with(&[("IW_SERVER", &server)], &["import", &file]);
    assert!(done.success, "{}", done.err);
    assert_eq!(contents(&to, "/nodes"), contents(&from, "/nodes"));
    assert!(call(&["import", &file, &url(&to, "/second")]).success);
    assert_eq!(contents(&to, "/second"), contents(&from, "/nodes"));
    // [SEGF-6]
    let other = format!("\"other\": \"iw://{}#77\"", url(&to, "/other"));
    assert!(shown(&url(&to, "/second")).contains(&other), "{other}");
    let again = refused(&["import", &file, &server]);
    assert!(again.contains("exists"), "{again}");
    assert_eq!(connect(&to).list("/").unwrap().len(), 2);
    // The folder has the file alone.
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn a_link_leads_to_the_file_that_is_replaced() {
    let server = Server::in_memory(&[]);
    make_nodes(&mut connect(&server), "/nodes");
    let directory = Directory::new();
    let [kept, link, far, new] = ["kept", "link", "far", "new"].map(|n| directory.path().join(n));
    std::fs::write(&kept, "old").unwrap();
    symlink("kept", &link).unwrap();
    symlink(&link, &far).unwrap();
    let export = |file: &Path, force: &[&str]| {
        let (url, file) = (url(&server, "/nodes"), file.display().to_string());
        call(&[&["export", &url, &file], force].concat())
    };
    assert!(!export(&far, &[]).success);
    assert_eq!(std::fs::read(&kept).unwrap(), b"old");
    let done = export(&far, &["--force"]);
    assert!(done.success, "{}", done.err);
    assert_eq!(std::fs::read_link(&link).unwrap(), Path::new("kept"));
    assert_eq!(std::fs::read_link(&far).unwrap(), link);
    let checked = call(&["import", "--check", &kept.display().to_string()]);
    assert!(checked.success, "{}", checked.err);
    // Nothing is behind it yet.
    std::fs::remove_file(&kept).unwrap();
    symlink("kept", &new).unwrap();
    let done = export(&new, &[]);
    assert!(done.success, "{}", done.err);
    assert!(kept.is_file() && new.is_symlink());
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 4);
}

#[test]
fn a_pipe_that_has_a_name_stays_and_is_written_into() {
    let server = Server::in_memory(&[]);
    make_nodes(&mut connect(&server), "/nodes");
    let directory = Directory::new();
    let [pipe, link, copy] = ["pipe", "link", "copy"].map(|name| directory.path().join(name));
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo runs").success());
    symlink("pipe", &link).unwrap();
    // It keeps the whole file, so nobody has to read at the same time.
    let opened = OpenOptions::new().read(true).write(true).open(&pipe);
    let mut opened = opened.unwrap();
    let source = url(&server, "/nodes");
    let exists = refused(&["export", &source, &pipe.display().to_string()]);
    assert!(exists.contains("--force"), "{exists}");
    for name in [&pipe, &link] {
        let done = call(&["export", &source, &name.display().to_string(), "--force"]);
        assert!(done.success, "{}", done.err);
        assert!(std::fs::symlink_metadata(&pipe)
            .unwrap()
            .file_type()
            .is_fifo());
        let mut bytes = vec![0; 1 << 16];
        let count = opened.read(&mut bytes).unwrap();
        std::fs::write(&copy, &bytes[..count]).unwrap();
        let checked = call(&["import", "--check", &copy.display().to_string()]);
        assert!(checked.success, "{}", checked.err);
    }
    assert!(link.is_symlink());
}

#[test]
fn a_pipe_carries_a_segment() {
    let server = Server::in_memory(&[]);
    make_nodes(&mut connect(&server), "/nodes");
    let program = env!("CARGO_BIN_EXE_interweave");
    let (from, to) = (url(&server, "/nodes"), url(&server, "/piped"));
    let line = format!("{program} export {from} - | {program} import - {to}");
    assert!(Command::new("sh")
        .args(["-c", &line])
        .status()
        .expect("sh runs")
        .success());
    assert_eq!(contents(&server, "/piped"), contents(&server, "/nodes"));
}

#[test]
fn a_damaged_file_makes_nothing() {
    let server = Server::in_memory(&[]);
    make_nodes(&mut connect(&server), "/nodes");
    let directory = Directory::new();
    let file = directory.path().join("f").display().to_string();
    assert!(call(&["export", &url(&server, "/nodes"), &file]).success);
    let whole = std::fs::read(&file).unwrap();
    let to = url(&server, "/copy");
    for (bytes, said) in [
        (whole[..whole.len() - 1].to_vec(), "it was cut"),
        (
            [&whole[..50], b"!", &whole[51..]].concat(),
            "checksum is wrong",
        ),
        (b"hello".to_vec(), "interweave export"),
        (Vec::new(), "interweave export"),
    ] {
        std::fs::write(&file, &bytes).unwrap();
        let text = refused(&["import", &file, &to]);
        assert!(text.contains(said) && text.contains(&file), "{text}");
    }
    assert_eq!(connect(&server).list("/copy").unwrap().len(), 0);
    let missing = refused(&["import", "/no/such/file", &to]);
    assert!(missing.contains("/no/such/file"), "{missing}");
}

/// Passes connections on to the server, and holds what the first one says once the segment exists.
/// Returns its port; the receiver hears that something is held.
fn holding_proxy(server: &Server, path: &'static str) -> (u16, Receiver<()>) {
    let proxy = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = proxy.local_addr().expect("its address").port();
    let target = server.port;
    let mut client = Some(connect(server));
    let (held, receiver) = channel();
    std::thread::spawn(move || {
        for mut inward in proxy.incoming().map_while(Result::ok) {
            let mut outward = TcpStream::connect(("127.0.0.1", target)).expect("a server");
            let (mut back, mut answers) =
                (inward.try_clone().unwrap(), outward.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut answers, &mut back));
            let (client, held) = (client.take(), held.clone());
            std::thread::spawn(move || {
                let Some(mut client) = client else {
                    return drop(std::io::copy(&mut inward, &mut outward));
                };
                let mut bytes = [0; 4096];
                while let Ok(count @ 1..) = inward.read(&mut bytes) {
                    if !client.list(path).expect("a list").is_empty() {
                        held.send(()).expect("the test waits");
                        // Until the other end is gone.
                        return drop(std::io::copy(&mut inward, &mut std::io::sink()));
                    }
                    outward.write_all(&bytes[..count]).expect("it is sent");
                }
            });
        }
    });
    (port, receiver)
}

#[test]
fn an_interrupted_copy_leaves_no_segment() {
    for (signal, status) in [("INT", 130), ("TERM", 143)] {
        let server = Server::in_memory(&[]);
        let mut client = connect(&server);
        make_nodes(&mut client, "/nodes");
        let (port, held) = holding_proxy(&server, "/copy");
        let to = format!("127.0.0.1:{port}/copy");
        let copy = Running::start(&["cp", &url(&server, "/nodes"), &to]);
        held.recv_timeout(PATIENT).expect("the copy comes so far");
        assert_eq!(client.list("/copy").unwrap().len(), 1);
        copy.signal(signal);
        let (ended, _) = copy.end();
        assert_eq!(ended.code(), Some(status));
        assert_eq!(client.list("/copy").unwrap().len(), 0);
    }
}

/// Segments that were copied whole before stay.
#[test]
fn of_many_copies_only_the_interrupted_one_is_taken_away() {
    let server = Server::in_memory(&[]);
    let mut client = connect(&server);
    let target = Server::in_memory(&[]);
    for path in ["/fleet/a", "/fleet/b"] {
        make_nodes(&mut client, path);
    }
    let (port, held) = holding_proxy(&target, "/fleet/b");
    let to = format!("127.0.0.1:{port}");
    let copy = Running::start(&["cp", &url(&server, "/fleet/*"), &to]);
    held.recv_timeout(PATIENT).expect("the copy comes so far");
    copy.signal("INT");
    assert_eq!(copy.end().0.code(), Some(130));
    let left = connect(&target).list("/").unwrap();
    assert_eq!(left.len(), 1);
    assert_eq!((&*left[0].path, left[0].newest.number), ("/fleet/a", 1));
}

#[test]
fn an_export_into_a_closed_pipe_fails() {
    let server = Server::in_memory(&[]);
    make_nodes(&mut connect(&server), "/nodes");
    let mut child = Command::new(env!("CARGO_BIN_EXE_interweave"))
        .args(["export", &url(&server, "/nodes"), "-"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("its end").code(), Some(1));
}

/// A database's URL would pass for the name of a directory.
#[test]
fn backup_and_restore_refuse_a_database() {
    let directory = Directory::new();
    let here = directory.path().join("copy").display().to_string();
    let database = "postgres://me@db.example/interweave";
    for words in [["backup", database, &here], ["restore", &here, database]] {
        let said = refused(&words);
        assert!(said.contains("PostgreSQL's own tools"), "{said}");
    }
}
