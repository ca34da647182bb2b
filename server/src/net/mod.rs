//! The net room has the only sockets and the only clock of the server.
//!
//! [`serve`] runs a server until it is told to stop. TCP, Unix sockets and WebSockets carry the
//! same frames. HTTP shows the server's state and the viewer. Implements the frames of
//! spec/protocol/session.x and [NET-1].

mod access_files;
mod address;
mod allocator;
mod appends;
mod audit;
mod client_socket;
mod clock;
mod complaints;
mod descriptors;
mod door;
mod freeing;
mod guests;
mod http;
mod inbound;
mod leash;
mod listen;
mod login;
mod logins;
mod memory;
mod metrics;
mod outbound;
mod own_token;
mod pages;
mod relay;
mod replicas;
mod routes;
mod serve;
mod serving;
mod shared_access;
mod shell;
mod socket;
mod space_view;
mod spinning;
mod strange_frames;
mod tasks;
mod tls;
mod turns;
mod viewer;
mod visits;
mod websocket;

#[cfg(test)]
mod tests;

pub use access_files::AccessOptions;
pub use address::{http_address, ListenAddress, DEFAULT_PORT};
pub use allocator::Recycling;
pub use audit::AuditOptions;
pub use clock::Punctuality;
pub use door::Origin;
pub use inbound::{Admission, Inbound};
pub use listen::UnixPeers;
pub use memory::{MemoryServer, Said};
pub use outbound::Outbound;
pub use replicas::Replicas;
pub use routes::{Need, Route};
pub use serve::{serve, ServeError, ServeOptions};
pub use tasks::log_panics;
pub use tls::TlsOptions;

/// Returns a number for one start of a server that keeps nothing. It makes fences and incarnations
/// differ from those of other starts.
pub fn random_epoch() -> u64 {
    let mut bytes = [0; 4];
    // Any number will do without randomness, because then no connection is taken either.
    let _ = getrandom::fill(&mut bytes);
    u64::from(u32::from_be_bytes(bytes) >> 1) + 1
}
