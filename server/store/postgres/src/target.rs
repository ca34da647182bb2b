//! Where the database is: the URL of `--store`, the environment, and the file of passwords.

use crate::hosts::First;
use crate::passfile::{self, Login};
use std::path::PathBuf;
use std::time::Duration;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::Config;

const DEFAULT_SCHEMA: &str = "interweave";
const DEFAULT_PORT: u16 = 5432;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A connection whose peer is silent for so long is given up.
const SILENCE: Duration = Duration::from_secs(10);
/// PostgreSQL's limit of a name is 63 bytes.
const MOST_SCHEMA_BYTES: usize = 63;

/// A database, and the schema in it.
#[derive(Debug, Clone)]
pub struct Target {
    pub(crate) config: Config,
    /// The file of the authorities that the server's certificate must be of. None: the system's.
    pub(crate) authorities: Option<PathBuf>,
    pub(crate) schema: String,
    pub(crate) first: First,
    /// The URL without what may be secret.
    name: String,
}

impl Target {
    /// Reads `postgres://[USER@]HOST[:PORT]/DATABASE[?sslmode=...&sslrootcert=FILE&schema=NAME]`.
    pub fn parse(url: &str) -> Result<Target, String> {
        let (begin, query) = url.split_once('?').unwrap_or((url, ""));
        if has_password(url) {
            return Err(
                "a password on the command line can be read by every user of the machine; write \
                 it into the file that PGPASSFILE names (or ~/.pgpass), as \
                 HOST:PORT:DATABASE:USER:PASSWORD, and leave it out of --store"
                    .to_string(),
            );
        }
        let mut own = Own::default();
        let rest: Result<Vec<&str>, String> = query
            .split('&')
            .filter_map(|part| own.take(part).transpose())
            .collect();
        let plain = match rest?.join("&") {
            query if query.is_empty() => begin.to_string(),
            query => format!("{begin}?{query}"),
        };
        let parsed: Result<Config, _> = plain.parse();
        let mut config = parsed.map_err(|error| {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
            format!("{begin}: {error}{}", cause.unwrap_or_default())
        })?;
        if config.get_hosts().is_empty() {
            return Err(format!(
                "{begin}: name a host, as in postgres://HOST/DATABASE"
            ));
        }
        if !fit_together(&config) {
            return Err(format!(
                "{begin}: name as many ports and addresses as hosts, or one port for all hosts"
            ));
        }
        config.ssl_mode(own.ssl_mode(&config));
        config.connect_timeout(CONNECT_TIMEOUT);
        config.tcp_user_timeout(SILENCE).keepalives_idle(SILENCE);
        if config.get_application_name().is_none() {
            config.application_name("interweave");
        }
        Ok(Target {
            config,
            authorities: own.authorities,
            schema: own.schema.unwrap_or(DEFAULT_SCHEMA.to_string()),
            first: First::default(),
            name: begin.to_string(),
        })
    }

    /// The target as errors name it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The user who connects.
    fn user(&self) -> String {
        let user = self.config.get_user().map(String::from);
        let of_environment = || std::env::var("USER").ok();
        user.or_else(of_environment).unwrap_or_default()
    }

    /// The configuration with the password that the file of passwords has for it: that of the first
    /// host with one. The hosts are a primary and its standbys, which have the same users.
    pub(crate) fn with_password(&self) -> Result<Config, String> {
        let mut config = self.config.clone();
        let user = self.user();
        for (index, host) in config.get_hosts().iter().enumerate() {
            let login = Login {
                host: match host {
                    Host::Tcp(host) => host,
                    Host::Unix(_) => "localhost",
                },
                port: port(&config, index),
                database: config.get_dbname().unwrap_or(&user),
                user: &user,
            };
            if let Some(password) = passfile::look_up(&login)? {
                config.password(password);
                break;
            }
        }
        Ok(config)
    }
}

/// The port of that host. One port may stand for all hosts.
pub(crate) fn port(config: &Config, index: usize) -> u16 {
    let ports = config.get_ports();
    let port = ports.get(index).or(ports.first());
    port.copied().unwrap_or(DEFAULT_PORT)
}

/// Each host has its own port and address, if it has any.
fn fit_together(config: &Config) -> bool {
    let hosts = config.get_hosts().len();
    let (ports, addresses) = (config.get_ports().len(), config.get_hostaddrs().len());
    (ports <= 1 || ports == hosts) && (addresses == 0 || addresses == hosts)
}

/// A password may have any characters, also those at which the URL's login ends. So all text before
/// the last @ counts as the login.
fn has_password(url: &str) -> bool {
    let after = url.split_once("://").map_or("", |(_, after)| after);
    let login = after.rsplit_once('@').map(|(login, _)| login);
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let mut keys = query.split('&').map(|part| part.split('=').next());
    login.is_some_and(|login| login.contains(':'))
        || keys.any(|key| key.is_some_and(|key| key == "password" || key.contains('%')))
}

/// The parameters of a URL that the client library does not know as PostgreSQL's own clients do.
#[derive(Default)]
struct Own {
    schema: Option<String>,
    authorities: Option<PathBuf>,
    ssl_mode: Option<SslMode>,
}

impl Own {
    /// Takes a parameter, or gives it back.
    fn take<'a>(&mut self, part: &'a str) -> Result<Option<&'a str>, String> {
        match part.split_once('=') {
            Some(("schema", name)) => self.schema = Some(schema(name)?),
            Some(("sslrootcert", file)) => self.authorities = Some(PathBuf::from(file)),
            Some(("sslmode", mode)) => self.ssl_mode = Some(ssl_mode(mode)?),
            _ if part.is_empty() => {}
            _ => return Ok(Some(part)),
        }
        Ok(None)
    }

    /// Encrypted where other machines can listen, unless the URL says otherwise.
    fn ssl_mode(&self, config: &Config) -> SslMode {
        let is_near = |host: &Host| match host {
            Host::Tcp(name) => matches!(&**name, "localhost" | "127.0.0.1" | "::1"),
            Host::Unix(_) => true,
        };
        let default = match config.get_hosts().iter().all(is_near) {
            true => SslMode::Disable,
            false => SslMode::Require,
        };
        self.ssl_mode.unwrap_or(default)
    }
}

/// The certificate is verified wherever there is encryption.
fn ssl_mode(mode: &str) -> Result<SslMode, String> {
    match mode {
        "disable" => Ok(SslMode::Disable),
        "require" | "verify-ca" | "verify-full" => Ok(SslMode::Require),
        other => Err(format!(
            "sslmode={other} does not say whether the connection is encrypted; write \
             sslmode=verify-full, or sslmode=disable"
        )),
    }
}

/// A schema's name, of which the URL may write bytes as `%20`.
fn schema(text: &str) -> Result<String, String> {
    let name = decoded(text).filter(|name| !name.is_empty() && !name.contains('\0'));
    let fits = |name: &String| name.len() <= MOST_SCHEMA_BYTES && !name.starts_with("pg_");
    name.filter(fits).ok_or_else(|| {
        format!(
            "schema={text} is not a schema's name: it has 1 to {MOST_SCHEMA_BYTES} bytes of UTF-8, \
             and does not begin with pg_"
        )
    })
}

/// Takes `%` and two hexadecimal digits for a byte. None: others follow, or it is not UTF-8.
fn decoded(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        let is_hexadecimal = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        bytes.push(
            u8::from_str_radix(digits, 16)
                .ok()
                .filter(|_| is_hexadecimal)?,
        );
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_in_the_url_is_refused_and_not_repeated() {
        for url in [
            "postgres://me:secret@db/iw",
            "postgres://me@db/iw?password=secret",
            "postgres://me@db/iw?sslmode=disable&password=secret",
            "postgresql://me:secret@db",
            "postgres://me:sec/secret@db/iw",
            "postgres://me:sec?secret@db/iw",
            "postgres://me@db/iw?%70assword=secret",
        ] {
            let error = Target::parse(url).unwrap_err();
            assert!(error.contains("PGPASSFILE"), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn hosts_have_their_ports_and_addresses() {
        for more in ["port=7", "hostaddr=127.0.0.1"] {
            let text = Target::parse(&format!("postgres://a,b/iw?{more}")).unwrap_err();
            assert!(text.contains("as many ports and addresses"), "{text}");
        }
        for (url, ports) in [
            ("postgres://a:7,b/iw", [7, DEFAULT_PORT]),
            (
                "postgres://a,b:8/iw?hostaddr=127.0.0.1,127.0.0.2",
                [DEFAULT_PORT, 8],
            ),
        ] {
            let target = Target::parse(url).unwrap();
            assert_eq!([0, 1].map(|index| port(&target.config, index)), ports);
        }
    }

    #[test]
    fn a_connection_to_another_machine_is_encrypted_unless_it_is_said_otherwise() {
        let mode = |url| Target::parse(url).unwrap().config.get_ssl_mode();
        assert_eq!(mode("postgres://me@db.example/iw"), SslMode::Require);
        assert_eq!(mode("postgres://me@127.0.0.1:99/iw"), SslMode::Disable);
        assert_eq!(
            mode("postgres:///iw?host=/run/postgresql"),
            SslMode::Disable
        );
        assert_eq!(
            mode("postgres://me@db.example/iw?sslmode=disable"),
            SslMode::Disable
        );
        let vague = Target::parse("postgres://me@db/iw?sslmode=prefer").unwrap_err();
        assert!(vague.contains("verify-full"), "{vague}");
    }

    #[test]
    fn a_schema_has_any_name_that_postgresql_can_give_one() {
        let of = |name: &str| Target::parse(&format!("postgres://h/d?schema={name}"));
        for (text, name) in [
            ("second_space", "second_space"),
            ("both", "both"),
            ("Capital", "Capital"),
            ("1a.b;c", "1a.b;c"),
            ("a%22b%20%25%C3%BC", "a\"b %\u{fc}"),
        ] {
            assert_eq!(of(text).unwrap().schema, name);
        }
        assert_eq!(
            Target::parse("postgres://h/d").unwrap().schema,
            "interweave"
        );
        let long = "a".repeat(64);
        for name in ["", "pg_x", "a%00", "a%2", "a%+1", "a%ff", &long] {
            assert!(of(name).is_err(), "{name}");
        }
    }
}
