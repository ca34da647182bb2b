//! The options of `interweave serve` about encryption, and what they make of open addresses.

use clap::{Args, ValueEnum};
use interweave_server::net::{ListenAddress, TlsOptions};
use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(next_help_heading = "Encryption")]
pub struct TlsArgs {
    /// The server's certificate for TLS (PEM), made by `interweave cert server`
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The private key of that certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Whether TCP and HTTP also take connections that are not encrypted (iw://, http://)
    #[arg(long, value_enum, default_value_t = Wish::Optional, requires = "tls_cert")]
    tls: Wish,
    /// The authorities of clients' certificates (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    client_ca: Option<PathBuf>,
    /// The certificates that these authorities have revoked, as `interweave cert revoke` lists them
    /// (PEM or DER)
    #[arg(long, value_name = "FILE", requires = "client_ca")]
    client_crl: Option<PathBuf>,
    /// Whether a TLS client must have a certificate of such an authority
    #[arg(long, value_enum, default_value_t = Wish::Required, requires = "client_ca")]
    client_certs: Wish,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Wish {
    Optional,
    Required,
}

impl TlsArgs {
    /// None: the server does not encrypt.
    pub fn take_options(&mut self, serves_http: bool) -> Option<TlsOptions> {
        let (certificate, key) = self.tls_cert.take().zip(self.tls_key.take())?;
        Some(TlsOptions {
            certificate,
            key,
            admits_plain: self.tls == Wish::Optional,
            needs_client_certificate: self.client_certs == Wish::Required,
            client_authorities: self.client_ca.take(),
            client_revocations: self.client_crl.take(),
            serves_http,
        })
    }
}

/// Returns why the server does not listen on one of the addresses: without a login nothing may be
/// readable from other hosts (promise P6). `has_access`: the server has tokens or rules.
pub fn refusal_of_open(
    listen: &[ListenAddress],
    http: Option<SocketAddr>,
    tls: Option<&TlsOptions>,
    has_access: bool,
) -> Option<String> {
    let is_guarded = tls.is_some_and(|tls| {
        let knows_certificates = tls.client_authorities.is_some() && tls.needs_client_certificate;
        !tls.admits_plain && (knows_certificates || has_access)
    });
    if is_guarded {
        return None;
    }
    let (option, open) = open_address(listen, http)?;
    let port = open.port();
    Some(format!(
        "{option} {open} can be reached from other hosts. There a server must encrypt, and know \
         whom it lets in:\n  \
         interweave cert authority DIR && interweave cert server DIR NAME-OF-THIS-HOST\n  \
         interweave serve {option} {open} --tls required --tls-cert DIR/server.pem \
         --tls-key DIR/server.key --client-ca DIR/ca.pem\n\
         Tokens or rules (--tokens, --rules) do instead of --client-ca; \
         `interweave serve --init DIR` makes all that such a server needs.\n\
         Otherwise it listens on loopback only: use 127.0.0.1:{port}, and a tunnel \
         (ssh -L {port}:127.0.0.1:{port}) for other hosts. --insecure lets everybody in, without \
         encryption"
    ))
}

/// Returns the first address that other hosts reach, and its option.
fn open_address(
    listen: &[ListenAddress],
    http: Option<SocketAddr>,
) -> Option<(&'static str, SocketAddr)> {
    let of_programs = listen.iter().find_map(|address| match address {
        ListenAddress::Tcp(address) if !address.ip().is_loopback() => Some(("--listen", *address)),
        _ => None,
    });
    let of_http = || http.filter(|address| !address.ip().is_loopback());
    of_programs.or_else(|| of_http().map(|address| ("--http", address)))
}

/// Returns the warning of a server that lets everybody in [OWN-5].
pub fn warning_of_insecure(listen: &[ListenAddress], http: Option<SocketAddr>) -> String {
    let who = match open_address(listen, http) {
        None => "every user of this machine who can connect".to_string(),
        Some((_, open)) => format!("everybody who reaches {open}, from other machines, too,"),
    };
    format!(
        "--insecure: {who} may read, change and remove every segment; without this option the \
         server lets in your own programs alone, and `interweave serve --init DIR` makes what a \
         server for others needs"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(address: &str, tls: Option<&TlsOptions>) -> bool {
        refusal_of_open(&[address.parse().unwrap()], None, tls, false).is_some()
    }

    #[test]
    fn addresses_that_others_can_reach_are_refused_with_a_way_out() {
        let open = ["0.0.0.0:7747".parse().unwrap()];
        let refusal = refusal_of_open(&open, None, None, false).unwrap();
        for way in [
            "loopback only",
            "ssh -L 7747",
            "interweave cert",
            "--client-ca",
        ] {
            assert!(refusal.contains(way), "{refusal}");
        }
        let here = ["127.0.0.1:1".parse().unwrap()];
        assert!(warning_of_insecure(&here, None).contains("this machine"));
        assert!(warning_of_insecure(&open, None).contains("other machines"));
        assert!(!refused("127.0.0.1", None));
        assert!(!refused("[::1]:99", None));
        assert!(!refused("unix:/tmp/socket", None));
        let http = |address: &str| refusal_of_open(&[], Some(address.parse().unwrap()), None, true);
        assert!(http("0.0.0.0:7748").is_some_and(|text| text.contains("serve --http 0.0.0.0:7748")));
        assert_eq!(http("127.0.0.1:7748"), None);
    }

    #[test]
    fn addresses_that_others_can_reach_need_encryption_and_client_certificates() {
        let guarded = TlsOptions {
            certificate: PathBuf::from("server.pem"),
            key: PathBuf::from("server.key"),
            admits_plain: false,
            client_authorities: Some(PathBuf::from("ca.pem")),
            needs_client_certificate: true,
            client_revocations: None,
            serves_http: false,
        };
        assert!(!refused("0.0.0.0:7747", Some(&guarded)));
        let weaker = [
            TlsOptions {
                admits_plain: true,
                ..guarded.clone()
            },
            TlsOptions {
                client_authorities: None,
                ..guarded.clone()
            },
            TlsOptions {
                needs_client_certificate: false,
                ..guarded
            },
        ];
        let open = ["0.0.0.0:7747".parse().unwrap()];
        for tls in &weaker {
            assert!(refused("0.0.0.0:7747", Some(tls)), "{tls:?}");
            let with_tokens = refusal_of_open(&open, None, Some(tls), true);
            assert_eq!(with_tokens.is_some(), tls.admits_plain, "{tls:?}");
        }
    }
}
