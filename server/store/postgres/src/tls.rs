//! TLS of the connection to PostgreSQL, by the rustls that the server has in any case.

use crate::target::Target;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::client::TlsStream as Encrypted;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tokio_rustls::TlsConnector;

/// Makes connections to servers whose certificates the authorities have signed.
#[derive(Clone)]
pub struct Tls(Arc<ClientConfig>);

impl Tls {
    pub fn of(target: &Target) -> Result<Tls, String> {
        let mut roots = RootCertStore::empty();
        match &target.authorities {
            Some(file) => {
                let wrong = |error: &dyn std::fmt::Display| {
                    format!("sslrootcert={}: {error}", file.display())
                };
                let found = CertificateDer::pem_file_iter(file).map_err(|e| wrong(&e))?;
                for certificate in found {
                    let certificate = certificate.map_err(|e| wrong(&e))?;
                    roots.add(certificate).map_err(|e| wrong(&e))?;
                }
                if roots.is_empty() {
                    return Err(wrong(&"the file has no certificate"));
                }
            }
            None if target.config.get_ssl_mode() == SslMode::Disable => {}
            None => {
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            }
        }
        let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Tls(Arc::new(config)))
    }
}

type Handshake<T> = Pin<Box<dyn Future<Output = io::Result<T>> + Send>>;

impl<S> MakeTlsConnect<S> for Tls
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = Carried<S>;
    type TlsConnect = Named;
    type Error = io::Error;

    fn make_tls_connect(&mut self, domain: &str) -> io::Result<Named> {
        let connector = TlsConnector::from(Arc::clone(&self.0));
        Ok(Named(connector, domain.to_string()))
    }
}

/// A connector to the server of that name. A connection that is not encrypted may have none.
pub struct Named(TlsConnector, String);

impl<S> TlsConnect<S> for Named
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = Carried<S>;
    type Error = io::Error;
    type Future = Handshake<Carried<S>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let name = ServerName::try_from(self.1).map_err(io::Error::other)?;
            Ok(Carried(self.0.connect(name, stream).await?))
        })
    }
}

/// An encrypted stream.
pub struct Carried<S>(Encrypted<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Carried<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Carried<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Carried<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
