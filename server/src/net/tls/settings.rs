//! Certificates and keys as their files say. They are read at the start, and anew when a file
//! changes.

use super::certificate::HostNames;
use super::gate::HTTP_NAME;
use super::revocation::{self, Lists};
use super::trust::Trust;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::watch;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

/// What a server needs to encrypt its connections. The files are PEM.
#[derive(Debug, Clone)]
pub struct TlsOptions {
    /// The server's certificate, and those that lead to its authority.
    pub certificate: PathBuf,
    pub key: PathBuf,
    /// TCP also admits connections without TLS.
    pub admits_plain: bool,
    /// The authorities of clients' certificates. None: no client is asked for one.
    pub client_authorities: Option<PathBuf>,
    /// The lists of revoked certificates of those authorities, in PEM or DER form.
    pub client_revocations: Option<PathBuf>,
    /// A client without a certificate is refused.
    pub needs_client_certificate: bool,
    /// There is a service of HTTP.
    pub serves_http: bool,
}

/// The ALPN name of this protocol [NET-5].
const PROGRAMS_NAME: &[u8] = b"iw/2";

/// The settings that connections are encrypted with.
#[derive(Clone)]
pub struct Configs {
    pub programs: Arc<ServerConfig>,
    pub http: Arc<ServerConfig>,
    /// The hosts that the certificate is for.
    pub names: Arc<HostNames>,
    pub trust: Arc<Trust>,
}

impl TlsOptions {
    /// Ok: a server can begin with these files.
    pub fn check(&self) -> Result<(), String> {
        self.read().map(drop)
    }

    fn files(&self) -> impl Iterator<Item = &Path> {
        let own = [self.certificate.as_path(), self.key.as_path()];
        let of_clients = [&self.client_authorities, &self.client_revocations];
        let of_clients = of_clients.into_iter().filter_map(Option::as_deref);
        own.into_iter().chain(of_clients)
    }

    fn read(&self) -> Result<Configs, String> {
        let chain = certificates("--tls-cert", &self.certificate)?;
        let key = PrivateKeyDer::from_pem_file(&self.key).map_err(|error| {
            let file = self.key.display();
            format!("--tls-key {file}: a private key in PEM form was not found: {error}")
        })?;
        let begun = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| format!("TLS 1.3: {error}"))?;
        let names = chain.first().map(HostNames::of).unwrap_or_default();
        let trust = match &self.client_authorities {
            None => Trust::default(),
            Some(file) => self.trust(file)?,
        };
        let begun = match &trust.verifier {
            None => begun.with_no_client_auth(),
            Some(verifier) => begun.with_client_cert_verifier(verifier.clone()),
        };
        let mut config = begun.with_single_cert(chain, key).map_err(|error| {
            let (certificate, key) = (self.certificate.display(), self.key.display());
            format!("--tls-cert {certificate} with --tls-key {key}: {error}")
        })?;
        // A resumed connection would keep an identity that was not checked again.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        let with_names = |names: &[&[u8]]| {
            let mut config = config.clone();
            config.alpn_protocols = names.iter().map(|name| name.to_vec()).collect();
            Arc::new(config)
        };
        Ok(Configs {
            programs: match self.serves_http {
                true => with_names(&[PROGRAMS_NAME, HTTP_NAME]),
                false => with_names(&[PROGRAMS_NAME]),
            },
            http: with_names(&[HTTP_NAME]),
            names: Arc::new(names),
            trust: Arc::new(trust),
        })
    }

    fn trust(&self, file: &Path) -> Result<Trust, String> {
        let wrong = |error: String| format!("--client-ca {}: {error}", file.display());
        let mut roots = RootCertStore::empty();
        let authorities = certificates("--client-ca", file)?;
        let Lists { lists, revoked } = match &self.client_revocations {
            Some(file) => revocation::read(file, &authorities)?,
            None => Lists::default(),
        };
        for authority in &authorities {
            let added = roots.add(authority.clone());
            added.map_err(|error| wrong(error.to_string()))?;
        }
        let provider = Arc::new(default_provider());
        let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        // An authority of which there is no list has revoked nothing.
        let builder = builder.with_crls(lists).allow_unknown_revocation_status();
        let builder = match self.needs_client_certificate {
            true => builder,
            false => builder.allow_unauthenticated(),
        };
        let verifier = builder.build().map_err(|error| wrong(error.to_string()))?;
        Ok(Trust {
            authorities,
            revoked,
            verifier: Some(verifier),
        })
    }
}

pub fn certificates(option: &str, file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let wrong = |why: String| format!("{option} {}: {why}", file.display());
    let found = CertificateDer::pem_file_iter(file).map_err(|error| wrong(error.to_string()))?;
    let found: Result<Vec<_>, _> = found.collect();
    match found {
        Ok(found) if found.is_empty() => {
            let why = "the file has no certificate in PEM form; `interweave cert` makes one";
            Err(wrong(why.to_string()))
        }
        Ok(found) => Ok(found),
        Err(error) => Err(wrong(error.to_string())),
    }
}

/// A file that was replaced or written has another mark.
type Mark = Option<(u64, u64, i64, i64)>;

fn mark_of(file: &Path) -> Mark {
    let of = |data: Metadata| (data.ino(), data.len(), data.mtime(), data.mtime_nsec());
    std::fs::metadata(file).ok().map(of)
}

/// The settings in force.
pub struct Settings {
    options: TlsOptions,
    configs: Configs,
    /// What connections that exist hear of it.
    trust: watch::Sender<Arc<Trust>>,
    marks: Vec<Mark>,
}

impl Settings {
    pub fn new(options: TlsOptions) -> Result<Self, String> {
        // The marks come first, so that a file that changes meanwhile is read again.
        let marks = options.files().map(mark_of).collect();
        let configs = options.read()?;
        Ok(Settings {
            trust: watch::Sender::new(configs.trust.clone()),
            options,
            configs,
            marks,
        })
    }

    pub fn configs(&self) -> Configs {
        self.configs.clone()
    }

    /// Tells from now on by what clients' certificates are judged.
    pub fn trust(&self) -> watch::Receiver<Arc<Trust>> {
        self.trust.subscribe()
    }

    /// Reads the files again if one of them has changed.
    pub fn look_again(&mut self) {
        let marks: Vec<Mark> = self.options.files().map(mark_of).collect();
        if marks != self.marks {
            self.marks = marks;
            self.read_again();
        }
    }

    /// Takes what the files say now for new connections. If they are not sound, the settings stay
    /// as they are.
    pub fn read_again(&mut self) {
        match self.options.read() {
            Ok(configs) => {
                self.trust.send_replace(configs.trust.clone());
                self.configs = configs;
                tracing::info!("certificates were read again");
            }
            Err(text) => tracing::error!("{text}; the certificates that were read before stay"),
        }
    }
}
