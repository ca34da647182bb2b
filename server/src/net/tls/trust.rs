//! The authorities and revocation lists that judge the certificates of clients, as the files said
//! at one moment.
//!
//! TLS asks them at each handshake. A connection that exists asks again when a file has changed
//! [NET-7].

use super::revocation::Revoked;
use std::sync::Arc;
use tokio_rustls::rustls::pki_types::{CertificateDer, UnixTime};
use tokio_rustls::rustls::server::danger::ClientCertVerifier;

/// Without authorities no client is asked for a certificate.
#[derive(Debug, Default)]
pub struct Trust {
    pub authorities: Vec<CertificateDer<'static>>,
    pub revoked: Revoked,
    /// TLS asks this.
    pub verifier: Option<Arc<dyn ClientCertVerifier>>,
}

impl Trust {
    /// Whether no authority is missing.
    pub fn has_all_of(&self, before: &Trust) -> bool {
        let mut all = before.authorities.iter();
        all.all(|authority| self.authorities.contains(authority))
    }

    /// Whether a client that shows these certificates, its own first, would be let in.
    pub fn lets_in(&self, chain: &[CertificateDer<'_>]) -> bool {
        let (Some(verifier), Some((own, others))) = (&self.verifier, chain.split_first()) else {
            return true;
        };
        let verified = verifier.verify_client_cert(own, others, UnixTime::now());
        verified.is_ok()
    }
}
