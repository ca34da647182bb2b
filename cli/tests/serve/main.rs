//! `interweave serve` as a process, spoken to over its sockets.

mod access;
mod audit;
mod clients;
mod crash;
mod damage;
mod faults;
mod flood;
mod formats;
mod full;
mod hostile;
mod https;
mod limits;
mod log_end;
mod login;
mod makers;
mod many;
mod own_token;
mod postgres;
mod routes;
mod server;
mod sharing;
mod stale_token;
mod strangers;
mod tls;
mod unix;
mod web;
