//! A client with a certificate of another authority reaches no message of the protocol [NET-5].
//! server/src/session/tests/situations.rs has the messages in every other situation.

use crate::clients::open;
use crate::routes::{is_refused, with_a_stranger};
use crate::tls::raw_as;
use crate::web_socket::hello;
use bytes::Bytes;
use interweave_server::client::{Client, Greeting, Transport};
use interweave_wire::protocol::{Durability, MessageType};
use interweave_wire::Message;
use std::io::{Read, Write};

/// A HELLO, and a message of that type.
fn words(type_: MessageType) -> Vec<u8> {
    let bytes_of = |message: Message| -> Bytes {
        let frame = message.into_frames().next_frame();
        frame.expect("one frame").0
    };
    let message = Message::bare(type_, 2);
    [bytes_of(hello()), bytes_of(message)].concat()
}

#[test]
fn net_5_a_client_certificate_of_another_authority_reaches_no_message() {
    let certificates = with_a_stranger();
    let authority = certificates.file("ca.pem");
    let optional = ["--client-ca", &authority, "--client-certs", "optional"];
    let servers = [
        certificates.serve_the_known(),
        certificates.serve(&optional),
    ];
    for server in &servers {
        let stream = |name| raw_as(&certificates, Some(name), server.port, &[]);
        let known = Transport::over_tls(stream("alice"));
        let mut known = Client::greet(known, Greeting::default()).expect("she is let in");
        open(&mut known, "/kept", Durability::Memory);
        let before = known.list("/").unwrap();
        assert_eq!(before.len(), 1);
        for type_ in (0..=0xffff).filter_map(|number| MessageType::try_from(number).ok()) {
            let words = words(type_);
            assert!(is_refused(stream("stranger"), &words), "{type_:?}");
            let mut alices = stream("alice");
            alices.write_all(&words).expect("it is sent");
            alices.read_exact(&mut [0; 8]).expect("an answer");
        }
        assert_eq!(known.list("/").unwrap(), before);
    }
}
