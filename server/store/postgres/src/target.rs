//! Where the database is: the URL of `--store`, the environment, and the file of passwords.

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
    /// The URL without what may be secret.
    name: String,
}

impl Target {
    /// Reads `postgres://[USER@]HOST[:PORT]/DATABASE[?sslmode=...&sslrootcert=FILE&schema=NAME]`.
    pub fn parse(url: &str) -> Result<Target, String> {
        let (begin, query) = url.split_once('?').unwrap_or((url, ""));
        if has_password(begin) || query.split('&').any(|part| part.starts_with("password=")) {
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
            name: begin.to_string(),
        })
    }

    /// The target as errors name it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The user who connects.
    pub fn user(&self) -> String {
        let user = self.config.get_user().map(String::from);
        let of_environment = || std::env::var("USER").ok();
        user.or_else(of_environment).unwrap_or_default()
    }

    /// The configuration with the password that the file of passwords has for it.
    pub(crate) fn with_password(&self) -> Result<Config, String> {
        let mut config = self.config.clone();
        let user = self.user();
        let host = match config.get_hosts().first() {
            Some(Host::Tcp(host)) => host.clone(),
            _ => "localhost".to_string(),
        };
        let login = Login {
            host: &host,
            port: config.get_ports().first().copied().unwrap_or(DEFAULT_PORT),
            database: config.get_dbname().unwrap_or(&user),
            user: &user,
        };
        if let Some(password) = passfile::look_up(&login)? {
            config.password(password);
        }
        Ok(config)
    }
}

fn has_password(begin: &str) -> bool {
    let after = begin.split_once("://").map_or("", |(_, after)| after);
    let authority = after.split('/').next().unwrap_or_default();
    let user = authority.rsplit_once('@').map(|(user, _)| user);
    user.is_some_and(|user| user.contains(':'))
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

/// A name that stands in statements without quotes.
fn schema(name: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
    let fits = begins && name.len() <= MOST_SCHEMA_BYTES && name.chars().all(is_plain);
    match fits && !name.starts_with("pg_") {
        true => Ok(name.to_string()),
        false => Err(format!(
            "schema={name}: a schema's name has small letters, digits and _, begins with a \
             letter, and has at most {MOST_SCHEMA_BYTES} characters"
        )),
    }
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
        ] {
            let error = Target::parse(url).unwrap_err();
            assert!(error.contains("PGPASSFILE"), "{error}");
            assert!(!error.contains("secret"), "{error}");
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
    fn the_schema_is_a_plain_name() {
        let of = |name: &str| Target::parse(&format!("postgres://h/d?schema={name}"));
        assert_eq!(of("second_space").unwrap().schema, "second_space");
        assert_eq!(
            Target::parse("postgres://h/d").unwrap().schema,
            "interweave"
        );
        for name in ["", "A", "1a", "a\"b", "a;b", "a.b", "pg_x", &"a".repeat(64)] {
            assert!(of(name).is_err(), "{name}");
        }
    }
}
