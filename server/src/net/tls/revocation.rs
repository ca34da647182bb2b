//! The certificates of clients that their authority has revoked, as a file of lists (CRL) says.
//!
//! TLS asks the lists at each handshake. A connection that exists asks [`Revoked`] when the lists
//! change.

use super::certificate::Number;
use std::collections::HashSet;
use std::path::Path;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, CertificateRevocationListDer};
use x509_parser::prelude::{CertificateRevocationList, FromDer, X509Certificate};

/// The numbers of revoked certificates.
#[derive(Debug, Default)]
pub struct Revoked(HashSet<Number>);

impl Revoked {
    pub fn has(&self, number: &Number) -> bool {
        self.0.contains(number)
    }
}

/// The lists of a file.
#[derive(Debug, Default)]
pub struct Lists {
    pub lists: Vec<CertificateRevocationListDer<'static>>,
    pub revoked: Revoked,
}

/// Reads the lists of a file, in PEM or DER form. A list that none of the authorities has signed is
/// an error, because TLS would refuse all clients of the authority that it names.
pub fn read(file: &Path, authorities: &[CertificateDer<'_>]) -> Result<Lists, String> {
    let wrong = |why: String| format!("--client-crl {}: {why}", file.display());
    let bytes = std::fs::read(file).map_err(|error| wrong(error.to_string()))?;
    let lists = parse(&bytes).map_err(wrong)?;
    let mut revoked = HashSet::new();
    for list in &lists {
        let (_, parsed) = CertificateRevocationList::from_der(list)
            .map_err(|error| wrong(format!("a revocation list is damaged: {error}")))?;
        if !authorities.iter().any(|one| has_signed(one, &parsed)) {
            let issuer = parsed.issuer();
            let why = format!("the list of {issuer} is not signed by an authority of --client-ca");
            return Err(wrong(why));
        }
        let issuer = parsed.issuer().as_raw();
        let all = parsed.iter_revoked_certificates();
        revoked.extend(all.map(|one| Number::new(issuer, one.raw_serial())));
    }
    Ok(Lists {
        lists,
        revoked: Revoked(revoked),
    })
}

fn parse(bytes: &[u8]) -> Result<Vec<CertificateRevocationListDer<'static>>, String> {
    // A list in DER form is a sequence.
    if bytes.first() == Some(&0x30) {
        return Ok(vec![bytes.to_vec().into()]);
    }
    let found: Result<Vec<_>, _> = CertificateRevocationListDer::pem_slice_iter(bytes).collect();
    match found {
        Ok(found) if found.is_empty() => {
            let why = "the file has no revocation list; `interweave cert revoke` makes one";
            Err(why.to_string())
        }
        Ok(found) => Ok(found),
        Err(error) => Err(error.to_string()),
    }
}

fn has_signed(authority: &CertificateDer<'_>, list: &CertificateRevocationList<'_>) -> bool {
    let Ok((_, authority)) = X509Certificate::from_der(authority) else {
        return false;
    };
    authority.subject().as_raw() == list.issuer().as_raw()
        && list.verify_signature(authority.public_key()).is_ok()
}
