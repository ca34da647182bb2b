//! `interweave serve --init DIR`: the files of a server that other hosts may reach, and what to do
//! with them.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::cert;
use crate::failure::Failure;
use crate::output::print_text;
use crate::serve_config;
use crate::token;

/// The identity that the first token gives.
const ADMIN: &str = "admin";
const DAYS: u32 = 365;

/// Makes the folder's files. Prints the first token, which nothing keeps, and the next steps.
/// Changes nothing that is there already.
pub fn run(folder: &Path, hosts: &[String]) -> Result<(), Failure> {
    let at_folder = |error| Failure::at(folder, error);
    let mut builder = DirBuilder::new();
    builder
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(at_folder)?;
    let folder = &fs::canonicalize(folder).map_err(at_folder)?;
    check(folder)?;
    let named = |name: &str| folder.join(name);
    let config = named("serve.conf");
    let hosts = match hosts {
        [] => vec![own_host_name()],
        given => given.to_vec(),
    };
    cert::authority(folder, DAYS * 10)?;
    cert::server(folder, &hosts, DAYS)?;
    cert::write(&named("rules"), RULES, 0o640)?;
    let (token, _) = token::add(ADMIN, DAYS, &named("tokens"))?;
    // Last, because a folder with it is whole.
    cert::write(&config, &config_text(folder), 0o640)?;
    print_steps(folder, &hosts[0], &token);
    Ok(())
}

/// The files that --init makes.
const FILES: [&str; 7] = [
    "serve.conf",
    "rules",
    "tokens",
    "ca.pem",
    "ca.key",
    "server.pem",
    "server.key",
];

/// Refuses a folder that a config file cannot name, and one that has one of the files already.
fn check(folder: &Path) -> Result<(), Failure> {
    let shown = folder.display();
    if !folder.to_str().is_some_and(serve_config::can_say) {
        let text = format!("a config file cannot name {shown:?}; choose another folder");
        return Err(Failure::new(text));
    }
    for file in FILES.map(|name| folder.join(name)) {
        if file.symlink_metadata().is_ok() {
            let text = format!("{} is there already; choose another folder", file.display());
            return Err(Failure::new(text));
        }
    }
    Ok(())
}

fn own_host_name() -> String {
    let host = rustix::system::uname();
    host.nodename().to_string_lossy().into_owned()
}

const RULES: &str = "\
# Who may do what. The first line that matches decides; what no line allows is refused.
#
#   group operators alice bob cert:robot-1
#   allow @operators read,steer /cell/**
#   allow @operators metrics
#
# `interweave rules check FILE IDENTITY OPERATION PATH` says what a change would mean. A running
# server takes the file within a second.

allow admin all /**
end
";

fn config_text(folder: &Path) -> String {
    let of_folder = [
        ("store", "store"),
        ("tls-cert", "server.pem"),
        ("tls-key", "server.key"),
        ("tokens", "tokens"),
        ("rules", "rules"),
        ("audit", "audit.log"),
    ];
    let lines = of_folder.map(|(option, file)| {
        let path = folder.join(file);
        format!("{option} = {}\n", path.display())
    });
    format!(
        "# Made by `interweave serve --init`. `interweave serve --help` has all options.\n\
         listen = 0.0.0.0:7747\n\
         http = 127.0.0.1:7748\n\
         tls = required\n\
         {}",
        lines.concat()
    )
}

/// Warns of a folder in which others could replace the rules.
fn warning(folder: &Path) -> String {
    let mode = fs::metadata(folder).map_or(0, |data| data.mode());
    match mode & 0o002 {
        0 => String::new(),
        _ => format!(
            "\nEverybody may write in this folder, and so replace the rules. Unless the host is \
             yours alone:\n  chmod o-w {}\n",
            folder.display()
        ),
    }
}

fn print_steps(folder: &Path, host: &str, token: &str) {
    let warning = warning(folder);
    let folder = folder.display();
    let text = format!(
        "{folder} has what a server needs that other hosts reach.\n\
         \n\
         Start the server:\n  \
         interweave serve --config {folder}/serve.conf\n\
         \n\
         On each client, with a copy of {folder}/ca.pem:\n  \
         export IW_CA=ca.pem\n  \
         export IW_TOKEN={token}\n  \
         interweave ls iws://{host}\n\
         \n\
         This token of `{ADMIN}` may do everything, for {DAYS} days. It is shown once: the server \
         keeps its SHA-256 alone.\n\
         \n\
         For others:\n  \
         interweave token new NAME --tokens {folder}/tokens\n  \
         and a line in {folder}/rules, like `allow NAME read /**`\n\
         \n\
         {folder}/ca.key signs certificates. Keep it on another machine.\n\
         {warning}"
    );
    print_text(&text);
}

/// The folder of `--init` and the server's names in clients' URLs.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Beginning")]
pub struct InitArgs {
    /// Make DIR with what a server needs that other hosts reach, say what to do next, and end: a
    /// config, a rules file, a tokens file, an authority, the server's certificate, a first token
    #[arg(long, value_name = "DIR")]
    init: Option<PathBuf>,
    /// A name or address of this host in clients' URLs, for the certificate of --init; may be given
    /// again [default: this host's name]
    #[arg(long, value_name = "HOST", requires = "init", value_parser = cert::host_name)]
    host: Vec<String>,
}

impl InitArgs {
    /// None: a server is to run.
    pub fn run(&self) -> Option<Result<(), Failure>> {
        self.init.as_ref().map(|folder| run(folder, &self.host))
    }
}
