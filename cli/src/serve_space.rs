//! `interweave serve`: the options of a server that shares its store with others (spec/space.md).

use clap::Args;
use interweave_store::Elsewhere;
use interweave_store_postgres::Member;
use interweave_wire::mip::Address;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
#[command(next_help_heading = "Several servers on one store")]
pub struct SpaceArgs {
    /// Share the store on PostgreSQL with other servers: HOST:PORT at which clients reach this one.
    /// Each segment has one of them as its owner; the others send clients there
    #[arg(long, value_name = "HOST:PORT", value_parser = reachable)]
    advertise: Option<String>,
    /// The name that this server's certificate has, where it is not the host of --advertise
    #[arg(long, value_name = "NAME", requires = "advertise", default_value = "")]
    advertise_tls_name: String,
    /// After so long without a sign of this server, the others take its segments over
    #[arg(long, value_name = "SECONDS", requires = "advertise", default_value = "10",
          value_parser = super::serve::milliseconds)]
    space_lease: u32,
    /// The authorities of the other servers' certificates (PEM), where this server encrypts and
    /// passes clients on to them; without it those of --client-ca, or else the system's
    #[arg(long, value_name = "FILE", requires = "advertise")]
    space_ca: Option<PathBuf>,
}

/// An address that another machine can use.
fn reachable(text: &str) -> Result<String, String> {
    match Address::parse(text) {
        Some(Address::Tcp { host, port, .. }) if is_unspecified(&host) => Err(format!(
            "means each address of the machine that reads it, so nobody is led here by it; name \
             the address at which clients reach this server, as a.example:{port} (--listen takes \
             {host})"
        )),
        Some(Address::Tcp { .. }) if !text.contains("://") && text.contains(':') => Ok(text.into()),
        _ if text.contains(',') => {
            Err("names several servers; a server says its own address alone".to_string())
        }
        _ => Err("is not HOST:PORT, as a.example:7747".to_string()),
    }
}

/// A server can listen there, but a client that connects to it finds its own machine.
fn is_unspecified(host: &str) -> bool {
    let address = host.parse::<IpAddr>();
    address.is_ok_and(|address| address.to_canonical().is_unspecified())
}

impl SpaceArgs {
    /// None: the server has its store alone.
    pub fn member(&self) -> Option<Member> {
        Some(Member {
            at: Elsewhere {
                address: self.advertise.clone()?,
                tls_name: self.advertise_tls_name.clone(),
            },
            lease: Duration::from_millis(self.space_lease.into()),
        })
    }

    /// None: those of clients' certificates, or the system's.
    pub fn take_authorities(&mut self) -> Option<PathBuf> {
        self.space_ca.take()
    }

    pub fn lease_ms(&self) -> Option<u32> {
        self.advertise.is_some().then_some(self.space_lease)
    }

    /// Refuses the options for a store that cannot be shared.
    pub fn check_alone(&self) -> Result<(), String> {
        match self.advertise {
            None => Ok(()),
            Some(_) => Err(
                "--advertise shares a store, which only one on PostgreSQL can be: name its \
                 database in --store, or leave --advertise out"
                    .to_string(),
            ),
        }
    }
}
