//! A reader with the client library in C++, at all servers of a space.

use crate::native_agent::NativeAgent;
use interweave_wire::mip::Address;
use std::ffi::OsString;

pub struct Subscriber {
    agent: NativeAgent,
    /// The URL of the servers, without a path.
    servers: String,
}

impl Subscriber {
    pub fn start(program: &OsString, servers: &[Address]) -> Subscriber {
        let hosts = servers.iter().map(|server| match server {
            Address::Tcp { host, port, .. } => format!("{host}:{port}"),
            Address::Unix { .. } => unreachable!("a server of a space has an address of TCP"),
        });
        let hosts: Vec<_> = hosts.collect();
        Subscriber {
            agent: NativeAgent::start(program, &[]),
            servers: format!("iws://{}", hosts.join(",")),
        }
    }

    /// Returns whether the segment was opened. It may not exist yet, or have no server now.
    pub fn opens(&mut self, path: &str) -> bool {
        let open = format!("open {}{path} 5", self.servers);
        self.agent.tell(&open) == "ok"
    }

    /// Returns the copy's version, which its units have as their value. None: nobody says now which
    /// version is the newest.
    pub fn read(&mut self) -> Option<u64> {
        if self.agent.tell("rl") != "ok" {
            return None;
        }
        // The first release makes the block.
        let value = self.agent.tell("get numbers 0").parse().unwrap_or(0);
        assert_eq!(self.agent.tell("rl_release"), "ok");
        Some(value)
    }
}
