//! A server whose connections come from memory: the answers to bytes that a peer says. Fuzzing uses
//! it, because it tries more than a network brings.
//!
//! One server takes many connections, one after another. Each of them is over, and all of its tasks
//! have ended, when its answers are returned.

use super::door::{Door, Way};
use super::guests;
use super::http;
use super::listen;
use super::login::Failures;
use super::shell::Shell;
use super::socket::Stream;
use super::spinning::Spinning;
use super::visits::Visits;
use crate::session::{Access, Config, Engine, Peer, Statistics};
use axum::Router;
use interweave_store::MemoryStore;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::unbounded_channel;
use tokio::sync::oneshot;
use tokio::task::{spawn_local, LocalSet};

const PORT: u16 = 7748;
/// More than one connection at a time is never served.
const MAX_CONNECTIONS: usize = 4;

/// See the file's comment.
pub struct MemoryServer {
    shell: Rc<Shell>,
    app: Router,
    /// Dropped before the runtime, which its tasks need.
    tasks: LocalSet,
    runtime: Runtime,
}

/// A peer's bytes, and the pieces in which they come.
#[derive(Debug, Default)]
pub struct Said {
    pub words: Vec<u8>,
    /// The most bytes that one read brings. 0: all of them.
    pub part: usize,
    /// The answers are put behind these bytes.
    pub answers: Vec<u8>,
}

impl MemoryServer {
    /// Begins a server for those whom `access` lets in.
    pub fn begin(access: Access) -> io::Result<MemoryServer> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (stored, _) = unbounded_channel();
        let shell = Shell::new(
            Engine::new(Config::default()),
            Box::new(MemoryStore::new()),
            stored,
            MAX_CONNECTIONS,
            Spinning::default(),
        );
        shell.event(|engine, now_ns| engine.set_access(now_ns, Arc::new(access)));
        let door = Arc::new(Door {
            port: PORT,
            origins: Vec::new(),
        });
        // Nobody waits for the answers to tokens that are not valid.
        let (app, asked) = http::app(door, Failures::answered_after(Duration::ZERO));
        let tasks = LocalSet::new();
        tasks.spawn_local(http::answer(shell.clone(), asked));
        Ok(MemoryServer {
            shell,
            app,
            tasks,
            runtime,
        })
    }

    /// Returns the answers of HTTP on one connection, which the peer ends after its words.
    pub fn ask(&self, said: Said) -> Vec<u8> {
        let (end, ended) = oneshot::channel();
        let peer = ScriptedPeer {
            said,
            at: 0,
            is_late: false,
            end: Some(end),
        };
        let app = self.app.clone();
        self.tasks.block_on(&self.runtime, async {
            let visit = Visits::default().begin(None);
            spawn_local(guests::converse(peer, Way::default(), app, visit));
            let answers = ended.await.unwrap_or_default();
            self.shell.parted().await;
            answers
        })
    }

    /// Returns the answers on one connection of a program, which the peer ends after its words. The
    /// connection is a Unix socket, whose peer the server does not know.
    /// REQUIRES: such a socket holds the words.
    pub fn tell(&self, words: &[u8], mut answers: Vec<u8>) -> io::Result<Vec<u8>> {
        let (mut own, theirs) = UnixStream::pair()?;
        own.write_all(words)?;
        own.shutdown(Shutdown::Write)?;
        theirs.set_nonblocking(true)?;
        self.tasks.block_on(&self.runtime, async {
            let stream = Stream::Unix(theirs);
            listen::accept(&self.shell, stream, Peer::default(), Arc::default())?;
            self.shell.parted().await;
            io::Result::Ok(())
        })?;
        own.read_to_end(&mut answers)?;
        Ok(answers)
    }

    pub fn statistics(&self) -> Statistics {
        self.shell.statistics()
    }

    /// The text of a panic in one of the server's tasks.
    pub fn failure(&self) -> Option<String> {
        self.shell.failure()
    }
}

/// A peer that says its words, takes all answers, and gives them back when the server drops it.
struct ScriptedPeer {
    said: Said,
    at: usize,
    /// The next part has been waited for.
    is_late: bool,
    end: Option<oneshot::Sender<Vec<u8>>>,
}

impl Drop for ScriptedPeer {
    fn drop(&mut self) {
        let answers = std::mem::take(&mut self.said.answers);
        if let Some(end) = self.end.take() {
            // The one who asked waits, unless a panic ends it.
            let _ = end.send(answers);
        }
    }
}

impl AsyncRead for ScriptedPeer {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        space: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let peer = &mut *self;
        // Parts come one after another, so that the server waits between them.
        peer.is_late = peer.said.part > 0 && !peer.is_late;
        if peer.is_late {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let most = match peer.said.part {
            0 => usize::MAX,
            part => part,
        };
        let rest = &peer.said.words[peer.at..];
        let part = &rest[..rest.len().min(most).min(space.remaining())];
        space.put_slice(part);
        peer.at += part.len();
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for ScriptedPeer {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.said.answers.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
