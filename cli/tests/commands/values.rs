//! What the other commands say of servers and values, and what `set` changes.

use crate::clients::{connect, open, write, PATIENT};
use crate::program::{call, refused};
use crate::server::{Directory, Server};
use interweave_server::client::Client;
use interweave_wire::protocol::{
    ArrayBody, Durability, Field, MessageType, MoreSerials, Primitive, SequenceBody,
    SerialsGranted, TypeBody, TypeDescriptor,
};
use interweave_wire::{DiffBuilder, Pointer, TypeTable};

#[test]
fn a_port_of_http_is_named_as_that() {
    let server = Server::in_memory(&[]);
    let text = refused(&["show", &format!("{}/list", server.http)]);
    assert!(text.contains(&server.http.to_string()), "{text}");
    assert!(text.contains("HTTP answers there"), "{text}");
}

#[test]
fn ls_takes_a_socket_without_a_path_and_names_the_prefix_that_nothing_has() {
    let directory = Directory::new();
    let socket = format!("unix:{}", directory.path().join("iw.sock").display());
    let server = Server::in_memory(&["--listen", &socket]);
    let mut client = connect(&server);
    let mut copy = open(&mut client, "/numbers", Durability::Memory);
    write(&mut client, &mut copy, 1, 10, 1).unwrap();
    let listed = call(&["ls", &socket]);
    assert!(
        listed.success && listed.out.contains("/numbers"),
        "{}",
        listed.err
    );
    let listed = call(&["ls", &format!("{socket}:/astro")]);
    assert!(listed.success);
    assert_eq!(listed.err, "no segments that begin with /astro\n");
}

fn described(types: &mut TypeTable, serial: u32, name: &str, body: TypeBody) {
    let descriptor = TypeDescriptor {
        serial,
        name: name.into(),
        hash: 0,
        predecessor: 0,
        body,
    };
    let sealed = types.seal(vec![descriptor]).expect("a type");
    types.extend(sealed).expect("a type of the table");
}

fn field(name: &str, type_: u32) -> Field {
    Field {
        name: name.into(),
        type_,
    }
}

/// A segment /pairs with the blocks head and 2 of `struct pair { int key; int *to; }`.
fn make_pairs(client: &mut Client) {
    let mut types = TypeTable::new();
    let int = Primitive::Int as u32;
    described(&mut types, 64, "", TypeBody::Pointer(int));
    let fields = vec![field("key", int), field("to", 64)];
    described(&mut types, 65, "pair", TypeBody::Record(fields));
    make_blocks(client, "/pairs", &types, &[(65, "head"), (65, "")]);
}

/// A segment of these types, and of one block for each type and name.
fn make_blocks(client: &mut Client, path: &str, types: &TypeTable, blocks: &[(u32, &str)]) {
    let mut copy = open(client, path, Durability::Memory);
    let lock = copy.lock(client, PATIENT, 1).expect("the lock");
    let mut diff = DiffBuilder::new(0, 1);
    types
        .described()
        .iter()
        .for_each(|ty| diff.add_type(&ty.descriptor));
    for (serial, (number, name)) in (lock.grant.first_serial..).zip(blocks) {
        diff.add_block(serial, *number, 1, name);
    }
    copy.release(client, &lock, diff.finish())
        .expect("a version");
}

#[test]
fn show_declares_types_as_an_x_file_does() {
    let server = Server::in_memory(&[]);
    let mut client = connect(&server);
    let (int, double) = (Primitive::Int as u32, Primitive::Double as u32);
    let array = |element, count| TypeBody::Array(ArrayBody { element, count });
    let sequence = TypeBody::Sequence(SequenceBody {
        element: int,
        bound: 0,
    });
    let mut types = TypeTable::new();
    described(&mut types, 64, "", array(double, 4));
    described(&mut types, 65, "plane", array(64, 2));
    described(&mut types, 66, "word", TypeBody::String(16));
    described(&mut types, 67, "numbers", sequence);
    let fields = vec![field("at", 65), field("name", 66), field("all", 67)];
    described(&mut types, 68, "record", TypeBody::Record(fields));
    described(&mut types, 69, "link", TypeBody::Pointer(68));
    make_blocks(&mut client, "/types", &types, &[(69, "first")]);
    let shown = call(&[
        "show",
        "--types",
        &format!("127.0.0.1:{}/types", server.port),
    ]);
    assert!(shown.success, "{}", shown.err);
    for declaration in [
        "typedef double plane[2][4];",
        "typedef string word<16>;",
        "typedef int numbers<>;",
        "struct record { plane at; word name; numbers all; };",
        "typedef record *link;",
    ] {
        assert!(shown.out.contains(declaration), "{}", shown.out);
    }
}

/// A segment /deep of `struct nest { nest inner<>; }`, so many within one another.
fn make_nests(client: &mut Client, depth: u64) {
    // A sequence may name a later type, which a struct may not embed.
    let sequence = TypeBody::Sequence(SequenceBody {
        element: 65,
        bound: 0,
    });
    let record = TypeBody::Record(vec![field("inner", 64)]);
    let descriptor = |serial, name: &str, body| TypeDescriptor {
        serial,
        name: name.into(),
        hash: 0,
        predecessor: 0,
        body,
    };
    let bodies = vec![descriptor(64, "", sequence), descriptor(65, "nest", record)];
    let mut types = TypeTable::new();
    let sealed = types.seal(bodies).expect("types");
    types.extend(sealed).expect("types of the table");
    let mut copy = open(client, "/deep", Durability::Memory);
    let lock = copy.lock(client, PATIENT, 1).expect("the lock");
    let more = MoreSerials {
        segment: copy.number(),
        fence: lock.grant.fence,
        count: depth as u32,
    };
    let (more, _): (SerialsGranted, _) = client
        .request(MessageType::MoreSerials, &more, MessageType::SerialsGranted)
        .expect("serials");
    let first = more.first_serial;
    let serials: Vec<u64> = (first..first + depth).collect();
    let mut diff = DiffBuilder::new(0, 1);
    types
        .described()
        .iter()
        .for_each(|ty| diff.add_type(&ty.descriptor));
    for (index, &serial) in serials.iter().enumerate() {
        diff.add_block(serial, 65, 1, if index == 0 { "head" } else { "" });
    }
    for pair in serials.windows(2) {
        let inner = Pointer {
            slot: 0,
            serial: pair[1],
            offset: 0,
        };
        let mut run = vec![0, 1];
        run.extend(inner.to_bytes());
        diff.change(pair[0], &run);
    }
    copy.release(client, &lock, diff.finish())
        .expect("a version");
}

#[test]
fn values_deep_within_one_another_are_shown_as_far_as_is_said() {
    let server = Server::in_memory(&[]);
    make_nests(&mut connect(&server), 20_000);
    let url = format!("127.0.0.1:{}/deep", server.port);
    let mip = format!("{url}#head");
    for arguments in [
        &["show", &mip][..],
        &["show", "--json", &mip],
        &["get", &mip],
    ] {
        let shown = call(arguments);
        assert!(shown.success, "{arguments:?}: {}", shown.err);
        assert!(shown.out.contains(&format!("iw://{url}#")), "{}", shown.out);
        let inner = shown.out.matches("\"inner\": ").count();
        assert_eq!(inner, 33, "{}", shown.out);
        assert!(shown.err.contains("more than 32 deep"), "{}", shown.err);
    }
    make_pairs(&mut connect(&server));
    let shown = call(&["show", &format!("127.0.0.1:{}/pairs", server.port)]);
    assert_eq!(shown.err, "");
}

#[test]
fn set_changes_fields_structs_and_pointers() {
    let server = Server::in_memory(&[]);
    make_pairs(&mut connect(&server));
    let url = format!("127.0.0.1:{}/pairs", server.port);
    let mip = |rest: &str| format!("{url}#{rest}");
    let set = |rest: &str, value: &str| {
        let ended = call(&["set", &mip(rest), value]);
        assert!(ended.success, "{}", ended.err);
        call(&["get", &mip("head")]).out
    };
    assert_eq!(set("head#key", "-7"), "{\"key\": -7, \"to\": null}\n");
    let second = format!("{{\"key\": 5, \"to\": \"iw://{url}#2\"}}\n");
    assert_eq!(set("head", r##"{"key": 5, "to": "#2"}"##), second);
    let itself = format!("{{\"key\": 5, \"to\": \"iw://{url}#1\"}}\n");
    assert_eq!(set("head#to", &mip("head")), itself);
    assert_eq!(set("head#1", "null"), "{\"key\": 5, \"to\": null}\n");
}

#[test]
fn what_cannot_be_set_or_got_is_said_in_the_users_words() {
    let server = Server::in_memory(&[]);
    make_pairs(&mut connect(&server));
    let url = format!("127.0.0.1:{}/pairs", server.port);
    for (rest, value, said) in [
        (
            "head",
            "{bad",
            "that is not JSON: key must be a string at line 1 column 2",
        ),
        (
            "head",
            r#"{"key": 1, "foo": 2}"#,
            "the value has no field `foo`; its fields are key, to",
        ),
        ("head#to", "#3", "has no block #3"),
        (
            "head#to",
            "#2#1",
            "is in a block of pair, and no int begins there",
        ),
        ("head#to", "#2#9", "no int begins there"),
        ("head#to", "127.0.0.1/other#1", "is not a block of"),
        ("head#to", "7", "null, or a block as"),
        (
            "head#key",
            "2147483648",
            "an integer from -2147483648 to 2147483647",
        ),
    ] {
        let text = refused(&["set", &format!("{url}#{rest}"), value]);
        assert!(text.contains(said), "{rest} {value}: {text}");
    }
    for (place, said) in [
        ("[0]", "has `[0]` where a field is due; there are key, to"),
        ("kee", "has no field `kee`; there are key, to"),
        ("key.x", "goes into `key`, which is a single int"),
        (
            "to.key",
            "goes into `to`, whose value lies in another block",
        ),
    ] {
        let text = refused(&["get", &format!("{url}#head#{place}")]);
        assert!(text.contains(said), "{text}");
    }
}

#[test]
fn fields_that_a_value_leaves_out_stay() {
    let server = Server::in_memory(&[]);
    make_pairs(&mut connect(&server));
    let url = format!("127.0.0.1:{}/pairs", server.port);
    let set = |value: &str| {
        let ended = call(&["set", &format!("{url}#head"), value]);
        assert!(ended.success, "{}", ended.err);
        call(&["get", &format!("{url}#head")]).out
    };
    let second = format!("\"iw://{url}#2\"");
    assert_eq!(
        set(r##"{"to": "#2"}"##),
        format!("{{\"key\": 0, \"to\": {second}}}\n")
    );
    assert_eq!(
        set(r#"{"key": 9}"#),
        format!("{{\"key\": 9, \"to\": {second}}}\n")
    );
    assert_eq!(set("{}"), format!("{{\"key\": 9, \"to\": {second}}}\n"));
}

/// A segment /words of the block `word`, a string of 15 bytes, and `letters`, four chars.
fn make_words(client: &mut Client) {
    let char = Primitive::Char as u32;
    let letters = ArrayBody {
        element: char,
        count: 4,
    };
    let mut types = TypeTable::new();
    described(&mut types, 64, "", TypeBody::String(15));
    described(&mut types, 65, "", TypeBody::Array(letters));
    make_blocks(client, "/words", &types, &[(64, "word"), (65, "letters")]);
}

#[test]
fn a_string_takes_text_without_quotes_whatever_it_looks_like() {
    let server = Server::in_memory(&[]);
    make_words(&mut connect(&server));
    let mip = |block: &str| format!("127.0.0.1:{}/words#{block}", server.port);
    let set = |block: &str, value: &str| {
        let ended = call(&["set", &mip(block), value]);
        assert!(ended.success, "{value}: {}", ended.err);
        call(&["get", &mip(block)]).out
    };
    for (value, kept) in [
        ("hello", r#""hello""#),
        ("7", r#""7""#),
        ("-0.50", r#""-0.50""#),
        ("true", r#""true""#),
        ("null", r#""null""#),
        ("[1, 2]", r#""[1, 2]""#),
        ("{}", r#""{}""#),
        (r#""quoted""#, r#""quoted""#),
        ("", r#""""#),
    ] {
        assert_eq!(set("word", value), format!("{kept}\n"));
    }
    assert_eq!(set("letters", "12"), "\"12\"\n");
    assert_eq!(set("letters", "[65, 66, 0, 0]"), "\"AB\"\n");
    let long = refused(&["set", &mip("word"), "1234567890123456"]);
    assert!(long.contains("at most 15 bytes"), "{long}");
}
