//! Servers that share a database of PostgreSQL (spec/space.md): a primary and a standby, servers as
//! processes, clients over their sockets.

mod ballast;
// Each target uses a part of them.
#[allow(dead_code)]
#[path = "../serve/clients.rs"]
mod clients;
mod commands;
mod followers;
mod kills;
mod member;
mod moves;
mod native_agent;
mod native_hosts;
mod one_copy;
mod openings;
mod pair;
mod relays;
mod rules;
#[allow(dead_code)]
#[path = "../serve/server.rs"]
mod server;
mod subscriber;
mod takeover;
mod wanderer;
#[allow(dead_code)]
#[path = "../serve/web_socket.rs"]
mod web_socket;
