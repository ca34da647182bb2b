//! What certificates say. TLS has checked a client's before; the server's own is trusted.

use super::revocation::Revoked;
use super::trust::Trust;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio_rustls::rustls::pki_types::CertificateDer;
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

/// The certificate of a connection's client.
pub struct ClientCertificate<'a>(X509Certificate<'a>);

impl<'a> ClientCertificate<'a> {
    /// The first of the certificates that the client has shown. None: it has shown none.
    pub fn of(chain: &'a [CertificateDer<'_>]) -> Option<Self> {
        let (_, certificate) = X509Certificate::from_der(chain.first()?).ok()?;
        Some(ClientCertificate(certificate))
    }

    /// Returns the subject's common name; None: the subject has none, or several.
    pub fn common_name(&self) -> Option<Arc<str>> {
        let mut names = self.0.subject().iter_common_name();
        let name = names.next()?.as_str().ok()?;
        (names.next().is_none() && !name.is_empty()).then(|| name.into())
    }

    pub fn number(&self) -> Number {
        Number::new(self.0.issuer().as_raw(), self.0.raw_serial())
    }

    /// Returns how long the certificate is still valid. TLS takes it throughout its last second. A
    /// connection that ended before would begin again.
    pub fn time_left(&self) -> Option<Duration> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        let until = u64::try_from(self.0.validity().not_after.timestamp()).unwrap_or(0);
        let expires = Duration::from_secs(until.saturating_add(1));
        Some(expires.saturating_sub(now))
    }
}

pub const HAS_EXPIRED: &str = "the client's certificate has expired";
pub const WAS_REVOKED: &str = "the client's certificate was revoked";
const HAS_NO_AUTHORITY: &str = "the authority of the client's certificate is not in --client-ca \
                                any more";

/// The conditions under which a client's connection stays.
#[derive(Debug)]
pub struct Standing {
    /// The client's certificates, its own first.
    chain: Vec<CertificateDer<'static>>,
    /// The authorities that admitted the client.
    trust: Arc<Trust>,
    /// The numbers of certificates of which none may be revoked.
    numbers: Vec<Number>,
    /// The time for which all of them are still valid.
    pub left: Option<Duration>,
}

impl Standing {
    /// Returns the conditions of a client that has shown these certificates, its own first.
    /// `trust`: what the files said at the handshake. A certificate of an authority counts if it
    /// was valid then, because TLS ignores the others.
    pub fn of(chain: &[CertificateDer<'_>], trust: Arc<Trust>) -> Standing {
        let mut standing = Standing {
            chain: chain.iter().map(|one| one.clone().into_owned()).collect(),
            trust,
            numbers: Vec::new(),
            left: None,
        };
        let revoked: &Revoked = &standing.trust.revoked;
        for (index, shown) in chain.iter().enumerate() {
            let Some(one) = ClientCertificate::of(std::slice::from_ref(shown)) else {
                continue;
            };
            let (number, left) = (one.number(), one.time_left());
            let was_valid = left.is_some_and(|left| !left.is_zero()) && !revoked.has(&number);
            if index == 0 || was_valid {
                standing.left = standing.left.into_iter().chain(left).min();
                standing.numbers.push(number);
            }
        }
        standing
    }

    /// Returns why the connection ends by what the files say now. None: it stays.
    pub fn end(&self, now: &Arc<Trust>) -> Option<&'static str> {
        if Arc::ptr_eq(now, &self.trust) {
            return None;
        }
        if self.numbers.iter().any(|number| now.revoked.has(number)) {
            return Some(WAS_REVOKED);
        }
        let is_left = now.has_all_of(&self.trust) || now.lets_in(&self.chain);
        (!is_left).then_some(HAS_NO_AUTHORITY)
    }
}

/// The number that an authority gave a certificate, and the authority's name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Number {
    issuer: Box<[u8]>,
    /// Without leading zeros.
    serial: Box<[u8]>,
}

impl Number {
    pub fn new(issuer: &[u8], serial: &[u8]) -> Self {
        let zeros = serial.iter().take_while(|byte| **byte == 0).count();
        Number {
            issuer: issuer.into(),
            serial: serial[zeros..].into(),
        }
    }
}

/// The hosts that a server's certificate is for.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct HostNames {
    /// In small letters.
    names: Vec<String>,
    addresses: Vec<IpAddr>,
}

impl HostNames {
    pub fn of(certificate: &CertificateDer<'_>) -> Self {
        let mut hosts = HostNames::default();
        let Ok((_, certificate)) = X509Certificate::from_der(certificate) else {
            return hosts;
        };
        let Ok(Some(alternative)) = certificate.subject_alternative_name() else {
            return hosts;
        };
        for name in &alternative.value.general_names {
            match name {
                GeneralName::DNSName(name) => hosts.names.push(name.to_ascii_lowercase()),
                GeneralName::IPAddress(bytes) => hosts.addresses.extend(address_of(bytes)),
                _ => {}
            }
        }
        hosts
    }

    #[cfg(test)]
    pub fn named(names: &[&str]) -> Self {
        HostNames {
            names: names.iter().map(ToString::to_string).collect(),
            addresses: Vec::new(),
        }
    }

    /// Whether the certificate is for that host: a name in small letters, or an address.
    pub fn have(&self, host: &str) -> bool {
        if let Ok(address) = host.parse() {
            return self.addresses.contains(&address);
        }
        let labels = host.split_once('.').filter(|(first, _)| !first.is_empty());
        let under = labels.map(|(_, under)| under);
        self.names.iter().any(|name| match name.strip_prefix("*.") {
            // The star stands for one label.
            Some(rest) => under == Some(rest),
            None => name == host,
        })
    }
}

fn address_of(bytes: &[u8]) -> Option<IpAddr> {
    let of_4 = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    let of_16 = || <[u8; 16]>::try_from(bytes).map(IpAddr::from);
    of_4.or_else(|_| of_16()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_one_label() {
        let hosts = HostNames {
            names: vec!["sim.example".to_string(), "*.lab.example".to_string()],
            addresses: vec![[192, 168, 1, 7].into()],
        };
        for host in ["sim.example", "a.lab.example", "192.168.1.7"] {
            assert!(hosts.have(host), "{host}");
        }
        for host in [
            "lab.example",
            "a.b.lab.example",
            "*.sim.example",
            "192.168.1.8",
            "example",
            "",
            ".lab.example",
        ] {
            assert!(!hosts.have(host), "{host}");
        }
    }
}
