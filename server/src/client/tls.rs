//! TLS of the blocking client [NET-5].
//!
//! IW_CA names the authorities that are trusted instead of the system's, IW_CERT and IW_KEY the
//! client's own certificate. All three are PEM files.

use super::error::ClientError;
use interweave_wire::fields::readable;
use interweave_wire::protocol::ErrorCode;
use interweave_wire::Rejection;
use std::io;
use std::net::{IpAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{
    AlertDescription, CertificateError, ClientConfig, ClientConnection, Error, RootCertStore,
    StreamOwned,
};

pub type TlsStream = StreamOwned<ClientConnection, TcpStream>;

/// Shakes hands with the server of that name on a new connection.
pub fn shake_hands(
    host: &str,
    mut socket: TcpStream,
    wait: Duration,
) -> Result<TlsStream, ClientError> {
    let config = Arc::new(config_of_environment()?);
    let name = ServerName::try_from(host.to_string()).map_err(|error| {
        denied(format!(
            "{host} cannot be the name of a TLS server: {error}"
        ))
    })?;
    let connection = ClientConnection::new(config, name);
    let mut connection = connection.map_err(|error| denied(error.to_string()))?;
    socket.set_read_timeout(Some(wait))?;
    while connection.is_handshaking() {
        match connection.complete_io(&mut socket) {
            Ok((0, 0)) => return Err(not_secure(io::ErrorKind::UnexpectedEof.into())),
            Ok(_) => {}
            Err(error) => return Err(worded(error)),
        }
    }
    Ok(StreamOwned::new(connection, socket))
}

/// Words an error of a TLS connection. In TLS 1.3 a server refuses a client's certificate after the
/// client's handshake is complete, so this is also about later reads.
pub fn worded(error: io::Error) -> ClientError {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref());
    match cause {
        Some(Error::InvalidCertificate(why)) => not_trusted(why),
        Some(Error::AlertReceived(alert)) if is_about_certificates(*alert) => denied(format!(
            "the server refused this client's certificate, or wants one ({alert:?}); name one of \
             an authority that the server trusts in IW_CERT, and its key in IW_KEY"
        )),
        Some(Error::InvalidMessage(_)) => not_secure(error),
        Some(_) => ClientError::Unreachable(error),
        None => ClientError::Io(error),
    }
}

fn not_trusted(why: &CertificateError) -> ClientError {
    match why {
        CertificateError::NotValidForNameContext {
            expected,
            presented,
        } => ClientError::NotNamed {
            wanted: expected.to_str().into_owned(),
            names: presented.iter().map(|name| plain_name(name)).collect(),
        },
        // The second one: another authority of the same name has signed.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => denied(format!(
            "the server's certificate is not trusted: {why}; name the file of its authority in \
             IW_CA"
        )),
        _ => denied(format!(
            "the server's certificate is not trusted: {why}; ask whoever runs the server for \
             another one"
        )),
    }
}

/// A name that `DnsName("localhost")` or `IpAddress(0::1)` stands for.
fn plain_name(debug_form: &str) -> String {
    let (_, name) = debug_form.split_once('(').unwrap_or(("", debug_form));
    let name = name.trim_end_matches(')').trim_matches('"');
    let address = name.parse::<IpAddr>();
    address.map_or_else(|_| readable(name), |address| address.to_string())
}

fn is_about_certificates(alert: AlertDescription) -> bool {
    matches!(
        alert,
        AlertDescription::CertificateRequired
            | AlertDescription::BadCertificate
            | AlertDescription::UnknownCA
            // A certificate that another authority of the same name has signed.
            | AlertDescription::DecryptError
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateRevoked
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::AccessDenied
    )
}

fn not_secure(error: io::Error) -> ClientError {
    ClientError::Unreachable(io::Error::new(
        error.kind(),
        format!(
            "the server does not answer with TLS ({error}); use iw://, or start the server with \
             --tls-cert"
        ),
    ))
}

fn config_of_environment() -> Result<ClientConfig, ClientError> {
    let roots = match file_of("IW_CA") {
        Some(file) => named_roots(&file)?,
        None => system_roots()?,
    };
    let begun = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&TLS13])
        .map_err(|error| denied(error.to_string()))?
        .with_root_certificates(roots);
    let mut config = match (file_of("IW_CERT"), file_of("IW_KEY")) {
        (None, None) => begun.with_no_client_auth(),
        (Some(certificate), Some(key)) => {
            let chain = certificates("IW_CERT", &certificate)?;
            let found = PrivateKeyDer::from_pem_file(&key);
            let found = found.map_err(|error| wrong_file("IW_KEY", &key, error))?;
            let config = begun.with_client_auth_cert(chain, found);
            config.map_err(|error| wrong_file("IW_CERT", &certificate, error))?
        }
        _ => {
            return Err(denied(
                "IW_CERT and IW_KEY belong together; set both".to_string(),
            ))
        }
    };
    config.alpn_protocols = vec![b"iw/2".to_vec()];
    Ok(config)
}

fn named_roots(file: &Path) -> Result<RootCertStore, ClientError> {
    let mut roots = RootCertStore::empty();
    for authority in certificates("IW_CA", file)? {
        let added = roots.add(authority);
        added.map_err(|error| wrong_file("IW_CA", file, error))?;
    }
    Ok(roots)
}

fn system_roots() -> Result<RootCertStore, ClientError> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    let (added, _) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        let text = "this system has no certificates of authorities; name the file of the server's \
                    authority in IW_CA";
        return Err(denied(text.to_string()));
    }
    Ok(roots)
}

fn certificates(name: &str, file: &Path) -> Result<Vec<CertificateDer<'static>>, ClientError> {
    let found = CertificateDer::pem_file_iter(file)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| wrong_file(name, file, error))?;
    match found.is_empty() {
        true => Err(wrong_file(name, file, "it has no certificate in PEM form")),
        false => Ok(found),
    }
}

fn file_of(name: &str) -> Option<PathBuf> {
    let value = std::env::var_os(name).filter(|value| !value.is_empty());
    value.map(PathBuf::from)
}

fn wrong_file(name: &str, file: &Path, error: impl std::fmt::Display) -> ClientError {
    denied(format!("{name} names {}: {error}", file.display()))
}

fn denied(text: String) -> ClientError {
    ClientError::Refused(Rejection::new(ErrorCode::Denied, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(why: CertificateError) -> String {
        let error = Error::InvalidCertificate(why);
        let told = worded(io::Error::new(io::ErrorKind::InvalidData, error));
        assert_eq!(told.code(), Some(ErrorCode::Denied));
        told.to_string()
    }

    #[test]
    fn a_certificate_for_another_host_is_told_with_its_names() {
        let presented = [
            "DnsName(\"localhost\")",
            "IpAddress(127.0.0.1)",
            "IpAddress(0::1)",
        ];
        let text = words(CertificateError::NotValidForNameContext {
            expected: ServerName::try_from("c.example").expect("a name"),
            presented: presented.map(str::to_string).to_vec(),
        });
        let expected = "is for localhost, 127.0.0.1 and ::1, not for c.example; write a host";
        assert!(text.contains(expected), "{text}");
        assert!(!text.contains("IW_CA"), "{text}");
    }

    #[test]
    fn only_an_unknown_authority_is_to_be_named_in_iw_ca() {
        let unknown = [
            CertificateError::UnknownIssuer,
            CertificateError::BadSignature,
        ];
        for why in unknown {
            assert!(words(why).contains("in IW_CA"));
        }
        let expired = words(CertificateError::Expired);
        assert!(!expired.contains("IW_CA"), "{expired}");
        assert!(expired.contains("ask whoever runs"), "{expired}");
    }
}
