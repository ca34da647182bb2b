//! The server: rooms lock, coherence, session and net over wire, master and store.
//!
//! `lock` and `coherence` are pure rules; `session` applies them to messages, without sockets or a
//! clock; `net` is the only room with sockets. `client` is a small blocking client for the command
//! line and for tests.

pub mod client;
pub mod coherence;
pub mod lock;
pub mod net;
pub mod session;
