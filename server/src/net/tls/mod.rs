//! TLS on the TCP ports [NET-5] and the HTTP port [NET-6].
//!
//! Encryption takes processor time that the engine's thread does not have, so a thread of its own
//! does it (gate.rs, carrying.rs). To the engine an encrypted connection is one end of a pair of
//! Unix sockets.

mod carrying;
mod certificate;
mod gate;
mod revocation;
mod settings;
mod trust;
mod validity;

pub use certificate::HostNames;
pub use gate::{Admitted, Entrance, Gate, Use, MOST_HALF_OPEN, MOST_PARTING};
pub use settings::{certificates, TlsOptions};
pub use validity::Validity;
