//! The server's HTTP without a socket: the answers of a connection to bytes that came on it.
//! Fuzzing uses it, because it tries more than a network brings.

use super::door::{Door, Way};
use super::guests;
use super::http;
use super::shell::Shell;
use super::spinning::Spinning;
use super::visits::Visits;
use crate::session::{Config, Engine};
use interweave_store::MemoryStore;
use std::sync::Arc;
use tokio::io::{duplex, split, AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc::unbounded_channel;
use tokio::task::{spawn_local, LocalSet};

/// Bytes under way in one direction.
const PIPE_BYTES: usize = 64 * 1024;
const PORT: u16 = 7748;

/// Returns the answers of a new server on one connection that the peer ends after these bytes.
pub fn http_in_memory(words: &[u8]) -> Vec<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let Ok(runtime) = runtime else {
        return Vec::new();
    };
    LocalSet::new().block_on(&runtime, converse(words))
}

async fn converse(words: &[u8]) -> Vec<u8> {
    let (stored, _) = unbounded_channel();
    let store = Box::new(MemoryStore::new());
    let shell = Shell::new(
        Engine::new(Config::default()),
        store,
        stored,
        1,
        Spinning::default(),
    );
    let door = Arc::new(Door {
        port: PORT,
        origins: Vec::new(),
    });
    let (app, asked) = http::app(door);
    let answering = spawn_local(http::answer(shell.clone(), asked));
    let (ours, theirs) = duplex(PIPE_BYTES);
    let visit = Visits::default().begin(None);
    spawn_local(guests::converse(theirs, Way::default(), app, visit));
    let (mut reader, mut writer) = split(ours);
    let mut answers = Vec::new();
    let saying = async {
        // The server may have ended it before.
        let _ = writer.write_all(words).await;
        let _ = writer.shutdown().await;
    };
    let (_, _) = tokio::join!(saying, reader.read_to_end(&mut answers));
    answering.abort();
    answers
}
