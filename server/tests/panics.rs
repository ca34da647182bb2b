//! A panic in one task is an error that ends the server: no task waits for ever, and none continues
//! as if nothing had happened.

use interweave_server::client::{Client, Copy, Greeting, OpenOptions};
use interweave_server::net::{self, ListenAddress, ServeError, ServeOptions};
use interweave_server::session::Config;
use interweave_store::{
    Checkpoint, Done, Next, Record, SegmentStore, Settled, StoreError, StoreStatus, Want,
};
use interweave_wire::mip::Address;
use interweave_wire::protocol::{CheckpointHead, Durability, ErrorCode};
use std::sync::mpsc;

/// What a store does with an append.
#[derive(Debug, Clone, Copy)]
enum Fault {
    /// It panics on the thread of the server.
    Panics,
    /// Its own thread dies of it: the answer is let go.
    LetsGo,
}

#[derive(Debug)]
struct Faulty(Fault);

impl SegmentStore for Faulty {
    fn identity(&self) -> interweave_store::Identity {
        interweave_store::Identity::default()
    }

    fn owner_epoch(&self) -> u64 {
        1
    }

    fn append(&self, _: Vec<Record>, _: Durability, done: Done) {
        match self.0 {
            Fault::Panics => panic!("told by the test"),
            Fault::LetsGo => drop(done),
        }
    }

    fn settle(&self, _: Vec<u64>, settled: Settled) {
        settled(Err(StoreError::Closed));
    }

    fn checkpoint(&self, _: Checkpoint, done: Done) {
        done(Ok(()));
    }

    fn checkpoint_in_pieces(&self, _: CheckpointHead, _: Want, done: Done) {
        done(Ok(()));
    }

    fn next(&self, _: u64, _: Next) {}

    fn status(&self) -> StoreStatus {
        StoreStatus::default()
    }

    fn close(self: Box<Self>, _: bool) -> Result<(), StoreError> {
        Ok(())
    }
}

/// How a server ends whose store has that fault, once a client makes a segment; and what the client
/// is told.
fn serve_until_the_end(fault: Fault) -> (Result<(), ServeError>, Option<ErrorCode>) {
    let (sender, ready) = mpsc::channel();
    let server = std::thread::spawn(move || {
        let options = ServeOptions {
            listen: vec!["127.0.0.1:0".parse().expect("an address")],
            http: None,
            origins: Vec::new(),
            unix_peers: net::UnixPeers::Own,
            makes_token: false,
            has_terminal: false,
            tls: None,
            space_authorities: None,
            access: net::AccessOptions::default(),
            spin: std::time::Duration::ZERO,
            max_connections: 10,
            audit: None,
            engine: Config {
                stored: true,
                ..Config::default()
            },
        };
        let mut tell =
            |address: &ListenAddress| sender.send(address.to_string()).expect("it waits");
        net::serve(options, Box::new(Faulty(fault)), Vec::new(), &mut tell)
    });
    let address = ready.recv().expect("the server listens");
    let (host, port) = address.rsplit_once(':').expect("a port");
    let address = Address::Tcp {
        host: host.to_string(),
        port: port.parse().expect("a number"),
        secure: false,
    };
    let mut client = Client::connect(&address, Greeting::default()).expect("it answers");
    let options = OpenOptions::creating(Durability::Synced);
    let refused = Copy::open(&mut client, "/a", &options).expect_err("the store does not take it");
    (
        server.join().expect("it ends without a panic"),
        refused.code(),
    )
}

#[test]
fn a_panic_in_a_task_ends_the_server_with_an_error_that_says_it() {
    let (ended, _) = serve_until_the_end(Fault::Panics);
    let Err(ServeError::Failed(text)) = ended else {
        panic!("{ended:?}");
    };
    assert!(text.contains("told by the test"), "{text}");
}

#[test]
fn a_store_that_dies_answers_all_the_same_and_ends_the_server() {
    let (ended, told) = serve_until_the_end(Fault::LetsGo);
    assert_eq!(told, Some(ErrorCode::Stopping));
    let Err(ServeError::Store(StoreError::Ended(_))) = ended else {
        panic!("{ended:?}");
    };
}
