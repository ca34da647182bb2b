//! `interweave cert`: a private authority, and certificates of it for servers and clients.

use clap::{Args, Subcommand};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::unix::fs::{fchown, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use time::{Duration, OffsetDateTime};

use crate::cert_revoke::{self, RevokeArgs};
use crate::failure::Failure;
use crate::file_behind::behind_links;

const AUTHORITY: &str = "ca";
const SERVER: &str = "server";
/// A clock that is slow by less takes a new certificate all the same.
const CLOCK_SLACK: Duration = Duration::hours(1);
/// The longest common name that X.509 allows.
const MAX_NAME: usize = 64;

const EXAMPLES: &str = "\
Examples:
  interweave cert authority certs
  interweave cert server certs sim.lab.example 192.168.1.7
  interweave serve --tls-cert certs/server.pem --tls-key certs/server.key
  IW_CA=certs/ca.pem interweave ls iws://sim.lab.example

  interweave cert client certs alice
  interweave serve --tls-cert certs/server.pem --tls-key certs/server.key \\
      --tls required --client-ca certs/ca.pem --listen 0.0.0.0:7747
  IW_CA=certs/ca.pem IW_CERT=certs/alice.pem IW_KEY=certs/alice.key \\
      interweave ls iws://sim.lab.example

  interweave cert revoke certs/alice.pem --ca certs/ca.pem --key certs/ca.key --crl certs/ca.crl
  interweave serve ... --client-ca certs/ca.pem --client-crl certs/ca.crl

Whoever has DIR/ca.key makes certificates that everybody takes who trusts DIR/ca.pem. Keep it where
only you can read it. A server needs its own two files and, for client certificates, DIR/ca.pem.";

#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum CertCommand {
    /// Make an authority: DIR/ca.pem, which others trust, and DIR/ca.key, which signs
    #[command(after_help = EXAMPLES)]
    Authority(AuthorityArgs),
    /// Make a server's certificate and key: DIR/server.pem and DIR/server.key
    #[command(after_help = EXAMPLES)]
    Server(ServerArgs),
    /// Make a client's certificate and key: DIR/NAME.pem and DIR/NAME.key
    #[command(after_help = EXAMPLES)]
    Client(ClientArgs),
    /// List certificates as revoked: a server with --client-crl FILE does not take them any more
    Revoke(RevokeArgs),
}

#[derive(Debug, Args)]
pub struct AuthorityArgs {
    /// The folder of the certificates; it is made if it does not exist
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The authority's name. Two authorities that one server trusts need two names [default:
    /// InterWeave authority, and a random number]
    #[arg(long)]
    name: Option<String>,
    /// How long the authority is valid
    #[arg(long, value_name = "N", default_value_t = 3650, value_parser = days())]
    days: u32,
    /// Replace an authority that is there; its certificates are not valid any more then
    #[arg(long)]
    force: bool,
}

#[derive(Debug, Args)]
pub struct ServerArgs {
    /// The folder with ca.pem and ca.key
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The names and addresses in clients' URLs; localhost is always among them
    #[arg(value_name = "HOST", value_parser = host_name)]
    hosts: Vec<String>,
    #[command(flatten)]
    issue: IssueArgs,
}

#[derive(Debug, Args)]
pub struct ClientArgs {
    /// The folder with ca.pem and ca.key
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The client's name, which is its identity
    #[arg(value_parser = client_name)]
    name: String,
    #[command(flatten)]
    issue: IssueArgs,
}

#[derive(Debug, Args)]
struct IssueArgs {
    /// How long the certificate is valid
    #[arg(long, value_name = "N", default_value_t = 365, value_parser = days())]
    days: u32,
    /// Replace files that are there
    #[arg(long)]
    force: bool,
}

fn days() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=36_500)
}

/// The name or address of a host, as it stands in a URL without the port.
pub fn host_name(text: &str) -> Result<String, String> {
    let in_name = |c: char| c.is_ascii_alphanumeric() || "-_.*".contains(c);
    let is_name = !text.is_empty() && text.len() <= 253 && text.chars().all(in_name);
    match is_name || text.parse::<IpAddr>().is_ok() {
        true => Ok(text.to_string()),
        false => Err(format!(
            "{text:?} is not the name or address of a host: write it without scheme, port and \
             brackets, like sim.lab.example, and a name in other letters in its xn-- form"
        )),
    }
}

/// A name that is also a file's name, and neither of the two that are taken.
fn client_name(text: &str) -> Result<String, String> {
    let in_name = |c: char| c.is_ascii_alphanumeric() || "-_.@".contains(c);
    let is_name = !text.is_empty() && text.len() <= MAX_NAME && text.chars().all(in_name);
    let is_taken = [AUTHORITY, SERVER].contains(&text) || text.starts_with(['.', '-']);
    match is_name && !is_taken {
        true => Ok(text.to_string()),
        false => Err(format!(
            "{text:?} is not a valid name: use up to {MAX_NAME} letters, digits, and - _ . @, and \
             not ca or server"
        )),
    }
}

pub fn run(command: CertCommand) -> Result<(), Failure> {
    match command {
        CertCommand::Authority(args) => make_authority(&args),
        CertCommand::Server(args) => make_server(&args),
        CertCommand::Client(args) => make_client(&args),
        CertCommand::Revoke(args) => cert_revoke::run(&args),
    }
}

/// Makes an authority in the folder.
pub fn authority(folder: &Path, days: u32) -> Result<(), Failure> {
    write_authority(&AuthorityArgs {
        folder: folder.to_path_buf(),
        name: None,
        days,
        force: false,
    })
    .map(drop)
}

/// Makes a certificate of the folder's authority for a server of these names.
pub fn server(folder: &Path, hosts: &[String], days: u32) -> Result<(), Failure> {
    let (folder, hosts) = (folder.to_path_buf(), hosts.to_vec());
    let issue = IssueArgs { days, force: false };
    write_server(&ServerArgs {
        folder,
        hosts,
        issue,
    })
    .map(drop)
}

fn write_authority(args: &AuthorityArgs) -> Result<Files, Failure> {
    fs::create_dir_all(&args.folder).map_err(|error| Failure::at(&args.folder, error))?;
    let name = match &args.name {
        Some(name) => name.clone(),
        None => authority_name()?,
    };
    let mut params = params(&name, Vec::new(), args.days)?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let key = KeyPair::generate().map_err(not_made)?;
    let certificate = params.self_signed(&key).map_err(not_made)?;
    let files = Files::of(&args.folder, AUTHORITY);
    files.write(&certificate.pem(), &key.serialize_pem(), args.force)?;
    Ok(files)
}

/// A list of revoked certificates belongs to the authority of its name, so each has another name.
fn authority_name() -> Result<String, Failure> {
    let mut random = [0; 4];
    let filled = getrandom::fill(&mut random);
    filled.map_err(|error| Failure::new(format!("a random number: {error}")))?;
    Ok(format!(
        "InterWeave authority {:08x}",
        u32::from_be_bytes(random)
    ))
}

fn make_authority(args: &AuthorityArgs) -> Result<(), Failure> {
    let files = write_authority(args)?;
    let folder = args.folder.display();
    println!(
        "{} is what clients trust: name it in IW_CA",
        files.certificate.display()
    );
    println!("{} signs certificates: keep it secret", files.key.display());
    println!("next: interweave cert server {folder} HOST...");
    Ok(())
}

/// Returns the files and the names that the certificate is for.
fn write_server(args: &ServerArgs) -> Result<(Files, Vec<String>), Failure> {
    let mut hosts = vec![
        "localhost".to_string(),
        "127.0.0.1".to_string(),
        "::1".to_string(),
    ];
    hosts.extend(
        args.hosts
            .iter()
            .filter(|host| !hosts.contains(host))
            .cloned()
            .collect::<Vec<_>>(),
    );
    let name = args.hosts.first().map_or("localhost", String::as_str);
    let name = &name[..name.len().min(MAX_NAME)];
    let params = params(name, hosts.clone(), args.issue.days)?;
    let files = issue(
        &args.folder,
        SERVER,
        params,
        ExtendedKeyUsagePurpose::ServerAuth,
        &args.issue,
    )?;
    Ok((files, hosts))
}

fn make_server(args: &ServerArgs) -> Result<(), Failure> {
    let (files, hosts) = write_server(args)?;
    let name = args.hosts.first().map_or("localhost", String::as_str);
    println!("a certificate for {}", hosts.join(", "));
    println!(
        "next: interweave serve --tls-cert {} --tls-key {}",
        files.certificate.display(),
        files.key.display()
    );
    println!(
        "clients: IW_CA={} and iws://{name}",
        Files::of(&args.folder, AUTHORITY).certificate.display()
    );
    Ok(())
}

fn make_client(args: &ClientArgs) -> Result<(), Failure> {
    let params = params(&args.name, Vec::new(), args.issue.days)?;
    let purpose = ExtendedKeyUsagePurpose::ClientAuth;
    let files = issue(&args.folder, &args.name, params, purpose, &args.issue)?;
    println!(
        "give {} the two files and ca.pem; programs take them from the environment:",
        args.name
    );
    println!(
        "IW_CA={} IW_CERT={} IW_KEY={}",
        Files::of(&args.folder, AUTHORITY).certificate.display(),
        files.certificate.display(),
        files.key.display()
    );
    Ok(())
}

/// Signs a certificate with the folder's authority, and writes it and its key.
fn issue(
    folder: &Path,
    file: &str,
    mut params: CertificateParams,
    purpose: ExtendedKeyUsagePurpose,
    args: &IssueArgs,
) -> Result<Files, Failure> {
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![purpose];
    params.use_authority_key_identifier_extension = true;
    let issuer = authority_of(folder)?;
    let key = KeyPair::generate().map_err(not_made)?;
    let certificate = params.signed_by(&key, &issuer).map_err(not_made)?;
    let files = Files::of(folder, file);
    files.write(&certificate.pem(), &key.serialize_pem(), args.force)?;
    Ok(files)
}

fn authority_of(folder: &Path) -> Result<Issuer<'static, KeyPair>, Failure> {
    let files = Files::of(folder, AUTHORITY);
    let read = |path: &Path| {
        fs::read_to_string(path).map_err(|error| {
            let folder = folder.display();
            let advice = format!("make an authority first: interweave cert authority {folder}");
            Failure::new(format!("{}: {error}; {advice}", path.display()))
        })
    };
    let (certificate, key) = (read(&files.certificate)?, read(&files.key)?);
    let key = KeyPair::from_pem(&key).map_err(|error| Failure::at(&files.key, error))?;
    Issuer::from_ca_cert_pem(&certificate, key)
        .map_err(|error| Failure::at(&files.certificate, error))
}

fn params(name: &str, hosts: Vec<String>, days: u32) -> Result<CertificateParams, Failure> {
    let wrong = |error| Failure::new(format!("{}: {error}", hosts.join(", ")));
    let mut params = CertificateParams::new(hosts.clone()).map_err(wrong)?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    let now = OffsetDateTime::now_utc();
    params.not_before = now - CLOCK_SLACK;
    params.not_after = now + Duration::days(days.into());
    Ok(params)
}

/// A certificate and its key.
struct Files {
    certificate: PathBuf,
    key: PathBuf,
}

impl Files {
    fn of(folder: &Path, name: &str) -> Files {
        Files {
            certificate: folder.join(format!("{name}.pem")),
            key: folder.join(format!("{name}.key")),
        }
    }

    fn write(&self, certificate: &str, key: &str, force: bool) -> Result<(), Failure> {
        let is_there = [&self.certificate, &self.key]
            .into_iter()
            .find(|path| path.exists());
        if let Some(path) = is_there.filter(|_| !force) {
            let path = path.display();
            let text = format!("{path} is there already; choose another name, or add --force");
            return Err(Failure::new(text));
        }
        write(&self.key, key, 0o600)?;
        write(&self.certificate, certificate, 0o644)
    }
}

/// Replaces the file whole, so that a server that reads it anew never finds a part. A link to the
/// file stays.
pub fn write(path: &Path, text: &str, mode: u32) -> Result<(), Failure> {
    let path = &*behind_links(path);
    let mut partial = path.as_os_str().to_os_string();
    partial.push(".new");
    let partial = PathBuf::from(partial);
    // A call that was interrupted may have left a file there, with other rights.
    let _ = fs::remove_file(&partial);
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(&partial)
        .and_then(|mut file| {
            keep_owner(&file, path)?;
            file.write_all(text.as_bytes())
        })
        .and_then(|()| fs::rename(&partial, path));
    written.map_err(|error| Failure::at(path, error))
}

/// Gives the file the owner of the one that it replaces, or of its folder, so that root may renew
/// the files of a service. Others cannot give files away.
fn keep_owner(file: &File, path: &Path) -> io::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let owner = fs::metadata(path).or_else(|_| fs::metadata(folder))?;
    fchown(file, Some(owner.uid()), Some(owner.gid()))
}

fn not_made(error: rcgen::Error) -> Failure {
    Failure::new(format!("the certificate could not be made: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clients_name_is_a_files_name() {
        for name in ["alice", "robot-7", "alice@lab.example"] {
            assert!(client_name(name).is_ok(), "{name}");
        }
        for name in [
            "", "ca", "server", "../x", "a/b", ".hidden", "-x", "a b", "\u{e9}",
        ] {
            assert!(client_name(name).is_err(), "{name}");
        }
    }
}
