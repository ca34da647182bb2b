//! Connects to another server of the space, encrypted if this server encrypts [SPACE-51].

use super::passing::End;
use crate::net::listen::send_at_once;
use crate::net::tls::{certificates, TlsOptions};
use interweave_store::Elsewhere;
use interweave_wire::mip::Address;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use tokio::net::TcpStream;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tokio_rustls::TlsConnector;

/// By which authorities the certificates of other servers are checked.
pub struct Encryption {
    /// The option and its file. None: the authorities of the system.
    authorities: Option<(&'static str, PathBuf)>,
}

impl Encryption {
    pub fn of(tls: &TlsOptions, authorities: Option<&Path>) -> Result<Encryption, String> {
        let own = authorities.map(|file| ("--space-ca", file));
        let of_clients = tls.client_authorities.as_deref();
        let of_clients = of_clients.map(|file| ("--client-ca", file));
        let named = own.or(of_clients);
        let made = Encryption {
            authorities: named.map(|(option, file)| (option, file.to_path_buf())),
        };
        made.roots()?;
        Ok(made)
    }

    /// Reads the file each time, because it may be replaced while the server runs.
    fn roots(&self) -> Result<Arc<RootCertStore>, String> {
        let Some((option, file)) = &self.authorities else {
            return Ok(system_roots());
        };
        let mut roots = RootCertStore::empty();
        for authority in certificates(option, file)? {
            let added = roots.add(authority);
            added.map_err(|error| format!("{option} {}: {error}", file.display()))?;
        }
        Ok(Arc::new(roots))
    }

    fn connector(&self) -> Result<TlsConnector, String> {
        let begun = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| format!("TLS 1.3: {error}"))?;
        let begun = begun.with_root_certificates(self.roots()?);
        let mut config = begun.with_no_client_auth();
        config.alpn_protocols = vec![b"iw/2".to_vec()];
        Ok(TlsConnector::from(Arc::new(config)))
    }
}

/// They are many, so they are read once.
fn system_roots() -> Arc<RootCertStore> {
    static ROOTS: OnceLock<Arc<RootCertStore>> = OnceLock::new();
    let read = || {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        Arc::new(roots)
    };
    ROOTS.get_or_init(read).clone()
}

/// Connects to the server. An error says why it cannot be reached.
pub async fn reach(to: Elsewhere, encryption: Option<Arc<Encryption>>) -> Result<End, String> {
    let stream = TcpStream::connect(&*to.address).await;
    let stream = stream.map_err(|error| error.to_string())?;
    send_at_once(&stream);
    let Some(encryption) = encryption else {
        return Ok(Box::new(stream));
    };
    let name = match (Address::parse(&to.address), to.tls_name.is_empty()) {
        (Some(Address::Tcp { host, .. }), true) => host,
        _ => to.tls_name,
    };
    let named = ServerName::try_from(name.clone());
    let named = named.map_err(|error| format!("{name} cannot be the name of a server: {error}"))?;
    let secure = encryption.connector()?.connect(named, stream).await;
    let secure = secure.map_err(|error| {
        format!(
            "TLS with {name}: {error}; the operator names the authority of the space's servers in \
             --space-ca"
        )
    })?;
    Ok(Box::new(secure))
}
