//! What a client's certificate says. TLS has checked it before.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio_rustls::rustls::pki_types::CertificateDer;
use x509_parser::prelude::{FromDer, X509Certificate};

/// The certificate of a connection's client.
pub struct ClientCertificate<'a>(X509Certificate<'a>);

impl<'a> ClientCertificate<'a> {
    /// None: the client has shown no certificate.
    pub fn of(chain: Option<&'a [CertificateDer<'_>]>) -> Option<Self> {
        let (_, certificate) = X509Certificate::from_der(chain?.first()?).ok()?;
        Some(ClientCertificate(certificate))
    }

    /// Returns the subject's common name; None: the subject has none, or several.
    pub fn common_name(&self) -> Option<Arc<str>> {
        let mut names = self.0.subject().iter_common_name();
        let name = names.next()?.as_str().ok()?;
        (names.next().is_none() && !name.is_empty()).then(|| name.into())
    }

    /// Returns how long the certificate is still valid.
    pub fn time_left(&self) -> Option<Duration> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        let until = u64::try_from(self.0.validity().not_after.timestamp()).unwrap_or(0);
        Some(Duration::from_secs(until).saturating_sub(now))
    }
}
