//! Programs with the client library in C++, which follow servers of a space. They take part only if
//! they have been built.

use crate::member::{interweave, Member};
use crate::native_agent::NativeAgent;
use crate::server::Directory;
use interweave_wire::protocol::ErrorCode;
use std::time::Instant;

/// A folder with an authority, and a certificate for localhost alone.
pub struct Certificates(Directory);

impl Certificates {
    pub fn new() -> Certificates {
        let made = Directory::new();
        let folder = made.path().display().to_string();
        for what in ["authority", "server"] {
            let (is_ok, text) = interweave(&["cert", what, &folder]);
            assert!(is_ok, "{text}");
        }
        Certificates(made)
    }

    pub fn file(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    pub fn options_of_server(&self) -> [String; 4] {
        let (certificate, key) = (self.file("server.pem"), self.file("server.key"));
        ["--tls-cert".into(), certificate, "--tls-key".into(), key]
    }
}

/// [SPACE-11] The certificate does not have the addresses to which the servers send a client. The
/// first of them says the name that it has.
pub fn a_program_is_sent_on_encrypted(certificates: &Certificates, one: &Member, two: &Member) {
    let Some(program) = NativeAgent::program() else {
        return;
    };
    let authority = certificates.file("ca.pem");
    let start = || NativeAgent::start(&program, &[("IW_CA", &authority)]);
    let [mut of_one, mut of_two] = [start(), start()];
    of_one.do_all(&[&format!("open {} 20", one.secure_url("/by-one"))]);
    of_two.do_all(&[&format!("open {} 20", two.secure_url("/by-two"))]);
    let open = format!("open {} 20", two.secure_url("/by-one"));
    start().do_all(&[&open, "wl", "abort"]);
    let refused = start().tell(&format!("open {} 20", one.secure_url("/by-two")));
    assert!(refused.contains("certificate"), "{refused}");
}

/// [SPACE-23] A program has two segments of one server open. One of them moves.
pub fn the_connection_stays_for_other_segments(one: &Member, two: &Member) {
    let Some(program) = NativeAgent::program() else {
        return;
    };
    let [mut writer, mut follower] = [(); 2].map(|()| NativeAgent::start(&program, &[]));
    let [moves, stays] = ["/moves", "/stays"].map(|path| format!("open {} 20", two.url(path)));
    for (agent, open) in [(&mut follower, &moves), (&mut writer, &stays)] {
        agent.do_all(&[open, "wl", "make numbers 4", "release"]);
    }
    // It hears of the connection, and of changes.
    follower.do_all(&[&stays, "listen_for connection", "rl", "rl_release"]);
    let (is_ok, text) = interweave(&["move", &two.own_url("/moves"), &one.own_url("")]);
    assert!(is_ok, "{text}");
    let change = ["wl", "put numbers 0 7", "release"];
    follower.do_all(&[&[&*moves], &change[..]].concat());
    assert_eq!(two.refusal("/moves"), Some(ErrorCode::Redirected));
    follower.do_all(&[&stays, "listen_for change"]);
    writer.do_all(&change);
    assert_eq!(follower.tell("hear"), "version 2");
}

/// Two programs that have one segment open, each by the URL of another server.
pub struct Followers(Option<[NativeAgent; 2]>);

impl Followers {
    /// The second server owns the segment, and the first sends clients there.
    pub fn start(one: &Member, two: &Member) -> Followers {
        let Some(program) = NativeAgent::program() else {
            return Followers(None);
        };
        let [mut asks_one, mut asks_two] = [(); 2].map(|()| NativeAgent::start(&program, &[]));
        asks_two.do_all(&[
            &format!("open {} 20", two.url("/program")),
            "wl",
            "make numbers 4",
            "put numbers 0 7",
            "release",
        ]);
        asks_one.do_all(&[&format!("open {} 20", one.url("/program")), "rl"]);
        assert_eq!(asks_one.tell("get numbers 0"), "7");
        asks_one.do_all(&["rl_release"]);
        Followers(Some([asks_one, asks_two]))
    }

    /// The segment moves to and fro, and each program writes where it is. [SPACE-14] [SPACE-20]
    pub fn write_while_it_moves(&mut self, one: &Member, two: &Member) {
        let Some(programs) = &mut self.0 else {
            return;
        };
        for (number, to) in [one, two, one, two].into_iter().enumerate() {
            let words = ["move", &one.own_url("/program"), &to.own_url("")];
            let (is_ok, text) = interweave(&words);
            assert!(is_ok, "{text}");
            for program in programs.iter_mut() {
                let begun = Instant::now();
                program.do_all(&["wl", &format!("put numbers 0 {number}"), "release"]);
                println!(
                    "a program writes {} ms after a move",
                    begun.elapsed().as_millis()
                );
            }
        }
        let [asks_one, _] = programs;
        asks_one.do_all(&["wl", "put numbers 0 7", "release"]);
    }

    /// The owner was killed: the lock is granted once the other server is the owner.
    pub fn begin_to_write(&mut self) {
        if let Some([asks_one, _]) = &mut self.0 {
            asks_one.begin("wl");
        }
    }

    /// [SPACE-14]
    pub fn write(&mut self) {
        if let Some([asks_one, _]) = &mut self.0 {
            assert_eq!(asks_one.answer(), "ok");
            asks_one.do_all(&["put numbers 0 8", "release"]);
        }
    }

    /// [SPACE-13] [SPACE-14] The MIP names the server of the URL, which has lost the segment.
    pub fn read_at_the_next_owner(&mut self) {
        if let Some([_, asks_two]) = &mut self.0 {
            asks_two.do_all(&["rl"]);
            assert_eq!(asks_two.tell("get numbers 0"), "8");
        }
    }
}
