//! The `interweave` commands as processes, against a server as a process.

mod access;
mod anywhere;
#[allow(dead_code)]
#[path = "../serve/clients.rs"]
mod clients;
mod copying;
mod doctor;
mod manual;
mod program;
mod removing;
mod run;
#[allow(dead_code)]
#[path = "../serve/server.rs"]
mod server;
mod several;
mod status;
mod top;
mod values;
mod watch;
