//! `interweave cert revoke`: the list of certificates that an authority has revoked.

use clap::Args;
use rcgen::{
    CertificateRevocationListParams, Issuer, KeyIdMethod, KeyPair, RevokedCertParams, SerialNumber,
};
use std::fs;
use std::path::{Path, PathBuf};
use time::{Duration, OffsetDateTime};
use x509_parser::pem::Pem;
use x509_parser::prelude::{CertificateRevocationList, FromDer, X509Certificate};

use crate::cert::write;
use crate::failure::Failure;

/// A list is in force until the next one. The server does not ask how old it is.
const IN_FORCE: Duration = Duration::days(3650);

#[derive(Debug, Args)]
pub struct RevokeArgs {
    /// The certificates (PEM); without one the list is made, or signed anew, as it is
    #[arg(value_name = "CERT.pem")]
    certificates: Vec<PathBuf>,
    /// The authority's certificate
    #[arg(long, value_name = "FILE")]
    ca: PathBuf,
    /// The authority's private key
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// The list; it is made if it does not exist
    #[arg(long, value_name = "FILE")]
    crl: PathBuf,
}

pub fn run(args: &RevokeArgs) -> Result<(), Failure> {
    let read = |path: &Path| fs::read_to_string(path).map_err(|error| Failure::at(path, error));
    let authority = read(&args.ca)?;
    // One process at a time changes the lists of an authority. The lock ends with the file.
    let locked = fs::File::open(&args.key).map_err(|error| Failure::at(&args.key, error))?;
    locked
        .lock()
        .map_err(|error| Failure::at(&args.key, error))?;
    let key =
        KeyPair::from_pem(&read(&args.key)?).map_err(|error| Failure::at(&args.key, error))?;
    let issuer = Issuer::from_ca_cert_pem(&authority, key);
    let issuer = issuer.map_err(|error| Failure::at(&args.ca, error))?;
    let authority = pem(&args.ca, authority.as_bytes())?;
    let authority = certificate(&args.ca, &authority)?;
    let mut list = match args.crl.exists() {
        true => entries(&args.crl, &authority)?,
        false => List::default(),
    };
    let mut said = Vec::new();
    for file in &args.certificates {
        let found = pem(
            file,
            &fs::read(file).map_err(|error| Failure::at(file, error))?,
        )?;
        let found = certificate(file, &found)?;
        if found
            .verify_signature(Some(authority.public_key()))
            .is_err()
        {
            let ca = args.ca.display();
            return Err(Failure::at(
                file,
                format!("{ca} has not signed this certificate"),
            ));
        }
        let subject = found.subject();
        match list.add(found.raw_serial()) {
            true => said.push(format!("revoked: {subject}")),
            false => said.push(format!("was revoked before: {subject}")),
        }
    }
    let signed = list.params().signed_by(&issuer);
    let text = signed.and_then(|list| list.pem());
    write(
        &args.crl,
        &text.map_err(|error| Failure::at(&args.crl, error))?,
        0o644,
    )?;
    said.iter().for_each(|line| println!("{line}"));
    let crl = args.crl.display();
    println!("{crl} is read by a server with --client-crl {crl}, within 1 s of a change");
    Ok(())
}

/// What a revocation list says.
#[derive(Default)]
struct List {
    /// How often it was signed.
    number: u64,
    /// Numbers without leading zeros, and when they were revoked.
    revoked: Vec<(Vec<u8>, OffsetDateTime)>,
}

impl List {
    /// Returns false if the list has the certificate already.
    fn add(&mut self, serial: &[u8]) -> bool {
        let serial = without_zeros(serial);
        let is_new = self.revoked.iter().all(|(other, _)| *other != serial);
        if is_new {
            self.revoked.push((serial, OffsetDateTime::now_utc()));
        }
        is_new
    }

    fn params(&self) -> CertificateRevocationListParams {
        let now = OffsetDateTime::now_utc();
        let revoked_certs = self.revoked.iter().map(|(serial, when)| RevokedCertParams {
            serial_number: SerialNumber::from(serial.clone()),
            revocation_time: *when,
            reason_code: None,
            invalidity_date: None,
        });
        CertificateRevocationListParams {
            this_update: now,
            next_update: now + IN_FORCE,
            crl_number: SerialNumber::from(self.number + 1),
            issuing_distribution_point: None,
            revoked_certs: revoked_certs.collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        }
    }
}

fn without_zeros(serial: &[u8]) -> Vec<u8> {
    let zeros = serial.iter().take_while(|byte| **byte == 0).count();
    serial[zeros..].to_vec()
}

/// Reads the list of that authority. A list of another one, or a damaged one, is an error.
fn entries(file: &Path, authority: &X509Certificate<'_>) -> Result<List, Failure> {
    let bytes = fs::read(file).map_err(|error| Failure::at(file, error))?;
    if Pem::iter_from_buffer(&bytes).count() > 1 {
        let why =
            "it has several lists; keep each authority's list in a file of its own, and give \
                   the server a file that has all of them";
        return Err(Failure::at(file, why));
    }
    let found = pem(file, &bytes)?;
    let (_, list) = CertificateRevocationList::from_der(&found.contents)
        .map_err(|error| Failure::at(file, format!("it is not a revocation list: {error}")))?;
    if list.verify_signature(authority.public_key()).is_err() {
        let subject = authority.subject();
        let why = format!("it is not a list of {subject}; name another file, or its authority");
        return Err(Failure::at(file, why));
    }
    let number = list.crl_number().and_then(|number| number.try_into().ok());
    let revoked = list.iter_revoked_certificates().map(|one| {
        let when = OffsetDateTime::from_unix_timestamp(one.revocation_date.timestamp());
        let when = when.unwrap_or(OffsetDateTime::UNIX_EPOCH);
        (without_zeros(one.raw_serial()), when)
    });
    Ok(List {
        number: number.unwrap_or_default(),
        revoked: revoked.collect(),
    })
}

fn pem(file: &Path, bytes: &[u8]) -> Result<Pem, Failure> {
    let first = Pem::iter_from_buffer(bytes).next();
    let first = first.ok_or_else(|| Failure::at(file, "it has nothing in PEM form"))?;
    first.map_err(|error| Failure::at(file, error))
}

fn certificate<'a>(file: &Path, pem: &'a Pem) -> Result<X509Certificate<'a>, Failure> {
    pem.parse_x509()
        .map_err(|error| Failure::at(file, format!("it is not a certificate: {error}")))
}
