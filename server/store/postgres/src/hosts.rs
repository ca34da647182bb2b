//! Connects to the first of the database's hosts that serves.

use crate::outcome;
use crate::target::{port, Target};
use crate::tls::{Carried, Tls};
use interweave_store::StoreError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Duration;
use tokio_postgres::config::Host;
use tokio_postgres::{Client, Config, Connection, Socket};

/// A host that has not let the role in after this time is passed over: its machine may be off, or
/// takes connections while its PostgreSQL stands still.
const PATIENCE: Duration = Duration::from_secs(5);

/// The host that is tried first: the last one that served. Otherwise each new connection would wait
/// for the machine of a dead primary. The connections of a store share it.
#[derive(Debug, Clone, Default)]
pub struct First(Arc<AtomicUsize>);

impl First {
    pub fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    fn set(&self, index: usize) {
        self.0.store(index, Ordering::Relaxed);
    }

    /// The host that served is not the one that is wanted, as an old primary is not. Where several
    /// connections find that out at once, one of them turns to the next host.
    pub fn pass_over(&self, served: usize) {
        let order = Ordering::Relaxed;
        // It fails where another connection has turned already.
        let _ = self.0.compare_exchange(served, served + 1, order, order);
    }
}

pub type Connected = (Client, Connection<Socket, Carried<Socket>>);

/// So long a connection may take.
pub fn longest(target: &Target) -> Duration {
    PATIENCE * target.config.get_hosts().len() as u32
}

pub async fn connect(target: &Target) -> Result<Connected, StoreError> {
    let tls = Tls::of(target).map_err(StoreError::Away)?;
    let config = target.with_password().map_err(StoreError::Away)?;
    let count = config.get_hosts().len();
    let first = target.first.get() % count;
    let mut failures = Vec::new();
    for index in (first..count).chain(0..first) {
        let one = only(&config, index);
        let connecting = one.connect(tls.clone());
        let error = match tokio::time::timeout(PATIENCE, connecting).await {
            Ok(Ok(connected)) => {
                target.first.set(index);
                return Ok(connected);
            }
            Ok(Err(error)) => outcome::failed(&error),
            Err(_) => StoreError::Away(format!("PostgreSQL has said nothing for {PATIENCE:?}")),
        };
        failures.push((name(&config, index), error));
    }
    Err(all(failures))
}

/// Says of each host why it does not serve.
fn all(mut failures: Vec<(String, StoreError)>) -> StoreError {
    if failures.len() == 1 {
        return failures.remove(0).1;
    }
    failures.sort_by(|(one, _), (other, _)| one.cmp(other));
    let texts = failures
        .iter()
        .map(|(host, error)| format!("{host}: {error}"));
    StoreError::Away(texts.collect::<Vec<_>>().join("; "))
}

fn name(config: &Config, index: usize) -> String {
    let port = port(config, index);
    match &config.get_hosts()[index] {
        Host::Tcp(host) => format!("{host}:{port}"),
        Host::Unix(folder) => format!("{}:{port}", folder.display()),
    }
}

/// The same configuration with that host alone.
fn only(config: &Config, index: usize) -> Config {
    let mut one = Config::new();
    match &config.get_hosts()[index] {
        Host::Tcp(host) => one.host(host),
        Host::Unix(folder) => one.host_path(folder),
    };
    one.port(port(config, index));
    if let Some(address) = config.get_hostaddrs().get(index) {
        one.hostaddr(*address);
    }
    if let Some(user) = config.get_user() {
        one.user(user);
    }
    if let Some(password) = config.get_password() {
        one.password(password);
    }
    if let Some(name) = config.get_dbname() {
        one.dbname(name);
    }
    if let Some(options) = config.get_options() {
        one.options(options);
    }
    if let Some(name) = config.get_application_name() {
        one.application_name(name);
    }
    if let Some(time) = config.get_connect_timeout() {
        one.connect_timeout(*time);
    }
    if let Some(time) = config.get_tcp_user_timeout() {
        one.tcp_user_timeout(*time);
    }
    if let Some(time) = config.get_keepalives_interval() {
        one.keepalives_interval(time);
    }
    if let Some(count) = config.get_keepalives_retries() {
        one.keepalives_retries(count);
    }
    one.ssl_mode(config.get_ssl_mode())
        .ssl_negotiation(config.get_ssl_negotiation())
        .keepalives(config.get_keepalives())
        .keepalives_idle(config.get_keepalives_idle())
        .target_session_attrs(config.get_target_session_attrs())
        .channel_binding(config.get_channel_binding());
    one
}
