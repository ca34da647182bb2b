//! The environment of clients: the variables that name files, and the libraries.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use interweave_access::own_token;
use interweave_wire::mip::Address;
use interweave_wire::protocol::MAX_TOKEN;
use x509_parser::pem::Pem;

use super::check::{Check, Finding};
use super::library::{client_library, openssl};
use super::subject::{variable, Subject};

pub const CHECKS: &[Check] = &[
    Check {
        name: "token",
        looks_at: "IW_TOKEN, or the file in which this user's server leaves its token",
        run: token,
    },
    Check {
        name: "authorities",
        looks_at: "IW_CA: the certificates of authorities that iws:// trusts",
        run: authorities,
    },
    Check {
        name: "certificate",
        looks_at: "IW_CERT: the client's own certificate",
        run: certificate,
    },
    Check {
        name: "key",
        looks_at: "IW_KEY: the key of the client's certificate",
        run: key,
    },
    Check {
        name: "openssl",
        looks_at: "libssl.so.3, by which C, C++, Fortran and Python speak iws://",
        run: openssl,
    },
    Check {
        name: "library",
        looks_at: "libinterweave.so, and whether its version is this program's",
        run: client_library,
    },
];

fn token(subject: &Subject) -> Finding {
    match variable("IW_TOKEN") {
        Some(token) if token.len() > MAX_TOKEN as usize => Finding::problem(
            format!("IW_TOKEN is longer than {MAX_TOKEN} bytes"),
            "set IW_TOKEN to the token alone, not to its file: IW_TOKEN=$(cat FILE)",
        ),
        Some(token) if token.trim() != token => Finding::problem(
            "IW_TOKEN has spaces or an end of line around the token",
            "IW_TOKEN=$(cat FILE) leaves the end of line away",
        ),
        Some(token) if Path::new(&token).exists() => Finding::problem(
            "IW_TOKEN names a file, and clients show its value as the token",
            "IW_TOKEN=$(cat FILE)",
        ),
        Some(_) => Finding::ok("IW_TOKEN is set"),
        None => own_tokens(subject),
    }
}

/// The tokens that servers of this user left for its programs [OWN-2].
fn own_tokens(subject: &Subject) -> Finding {
    let user = rustix::process::geteuid().as_raw();
    let folders = own_token::folders(std::env::var_os("XDG_RUNTIME_DIR"), user);
    let mut found = Vec::new();
    for folder in folders {
        let Ok(metadata) = std::fs::symlink_metadata(&folder) else {
            continue;
        };
        let name = folder.display();
        if !metadata.is_dir() || metadata.uid() != user || metadata.mode() & 0o077 != 0 {
            return Finding::problem(
                format!("{name} is not this user's alone, so that no token in it is used"),
                format!("look who made it; then `chmod 700 {name}`, or remove it"),
            );
        }
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        found.extend(entries.map(|entry| entry.file_name().to_string_lossy().into_owned()));
    }
    let wanted = match subject.server() {
        Address::Tcp { port, .. } => own_token::file_name(*port),
        Address::Unix { .. } => {
            return Finding::ok("IW_TOKEN is not set; a Unix socket needs none")
        }
    };
    match found.contains(&wanted) {
        true => Finding::ok("IW_TOKEN is not set; the server of this user left its token"),
        false => Finding::ok("IW_TOKEN is not set, and no server of this user left a token here"),
    }
}

fn authorities(_: &Subject) -> Finding {
    match variable("IW_CA") {
        None => Finding::ok("IW_CA is not set: the system's authorities are trusted"),
        Some(file) => certificates_in("IW_CA", Path::new(&file)),
    }
}

fn certificate(_: &Subject) -> Finding {
    match (variable("IW_CERT"), variable("IW_KEY")) {
        (None, None) => Finding::ok("IW_CERT is not set: clients show no certificate"),
        (None, Some(_)) => Finding::problem(
            "IW_KEY is set, and IW_CERT is not",
            "name the certificate of the key in IW_CERT, or unset IW_KEY",
        ),
        (Some(file), _) => certificates_in("IW_CERT", Path::new(&file)),
    }
}

fn certificates_in(name: &str, file: &Path) -> Finding {
    let mend = format!("name a PEM file with a certificate in {name}, or unset {name}");
    let found = match pems(file) {
        Ok(found) => found,
        Err(text) => return Finding::problem(format!("{name}={}: {text}", file.display()), mend),
    };
    let mut days = i64::MAX;
    let mut count = 0;
    for pem in found.iter().filter(|pem| pem.label == "CERTIFICATE") {
        let Ok(certificate) = pem.parse_x509() else {
            let text = format!("{name}={}: a certificate does not parse", file.display());
            return Finding::problem(text, mend);
        };
        count += 1;
        let validity = certificate.validity();
        let left = validity.not_after.timestamp() - crate::token_file::now() as i64;
        days = days.min(left.div_euclid(86_400));
    }
    let text = format!("{name}={}", file.display());
    match count {
        0 => Finding::problem(format!("{text}: it has no certificate in PEM form"), mend),
        _ if days < 0 => Finding::problem(
            format!("{text}: a certificate has expired"),
            "make a new one (`interweave cert new`), or ask who made it",
        ),
        _ if days < 14 => Finding::note(
            format!("{text}: a certificate expires in {days} days"),
            "make a new one (`interweave cert new`), or ask who made it",
        ),
        1 => Finding::ok(format!("{text}: a certificate, valid for {days} days")),
        _ => Finding::ok(format!(
            "{text}: {count} certificates, valid for {days} days"
        )),
    }
}

fn key(_: &Subject) -> Finding {
    let (file, certificate) = match (variable("IW_KEY"), variable("IW_CERT")) {
        (None, None) => return Finding::ok("IW_KEY is not set"),
        (None, Some(_)) => {
            return Finding::problem(
                "IW_CERT is set, and IW_KEY is not",
                "name the key of the certificate in IW_KEY, or unset IW_CERT",
            )
        }
        (Some(file), certificate) => (PathBuf::from(file), certificate),
    };
    let text = format!("IW_KEY={}", file.display());
    let mend = "name the PEM file of the certificate's key in IW_KEY";
    let pem = match std::fs::read_to_string(&file) {
        Ok(pem) => pem,
        Err(error) => return Finding::problem(format!("{text}: {error}"), mend),
    };
    let Ok(pair) = rcgen::KeyPair::from_pem(&pem) else {
        return Finding::problem(format!("{text}: it has no private key in PEM form"), mend);
    };
    if certificate.is_some_and(|file| !belongs(&pair, Path::new(&file))) {
        let found = format!("{text}: the key is not that of the certificate in IW_CERT");
        return Finding::problem(found, mend);
    }
    let mode = std::fs::metadata(&file).map_or(0, |found| found.mode());
    match mode & 0o077 {
        0 => Finding::ok(format!("{text}: a private key")),
        _ => Finding::problem(
            format!("{text}: other users may read it (mode {:o})", mode & 0o777),
            format!("chmod 600 {}", file.display()),
        ),
    }
}

/// Whether the key is that of the file's first certificate. Another check reports what cannot be
/// read.
fn belongs(pair: &rcgen::KeyPair, file: &Path) -> bool {
    use rcgen::PublicKeyData;
    let found = pems(file).unwrap_or_default();
    let Some(pem) = found.iter().find(|pem| pem.label == "CERTIFICATE") else {
        return true;
    };
    let parsed = pem.parse_x509();
    parsed.map_or(true, |certificate| {
        certificate.public_key().raw == pair.subject_public_key_info()
    })
}

fn pems(file: &Path) -> Result<Vec<Pem>, String> {
    let bytes = std::fs::read(file).map_err(|error| error.to_string())?;
    let found: Result<Vec<Pem>, _> = Pem::iter_from_buffer(&bytes).collect();
    found.map_err(|error| format!("it is not a PEM file: {error}"))
}
