//! A client's connections: one to each server that it asks, with a session of its own there.

use super::Asked;
use crate::client::bytes_of;
use crate::env::{send_in_parts, Env, MS};
use crate::history::{violation, Checked};
use crate::network::{Item, Side};
use bytes::Bytes;
use interweave_wire::fields::field;
use interweave_wire::protocol::xdr::Xdr;
use interweave_wire::protocol::*;
use interweave_wire::{FrameDecoder, Message};
use std::collections::BTreeMap;

#[derive(Default)]
pub struct Link {
    connection: Option<u64>,
    is_greeted: bool,
    /// The session continued over the present connection.
    pub is_resumed: bool,
    pub session: SessionId,
    /// Of the session's last release.
    pub sequence: u64,
    space: Option<[u8; 16]>,
    decoder: Option<FrameDecoder>,
    last_stream: u32,
    asked: BTreeMap<u32, Asked>,
    connects_ns: u64,
    pinged_ns: u64,
    sent_ns: u64,
    pub heard_ns: u64,
    /// When the server sent what was heard last.
    pub heard_of_ns: u64,
}

impl Link {
    pub fn ask(
        &mut self,
        env: &mut Env,
        (type_, asked): (MessageType, Asked),
        body: &impl Xdr,
        bulk: Bytes,
    ) {
        self.last_stream += 1;
        let stream = self.last_stream;
        if type_ != MessageType::Credit {
            self.asked.insert(stream, asked);
        }
        self.put(env, Message::new(type_, stream, body, bulk));
    }

    /// Sends a request that has no body.
    pub fn ask_bare(&mut self, env: &mut Env, (type_, asked): (MessageType, Asked)) {
        self.last_stream += 1;
        self.asked.insert(self.last_stream, asked);
        self.put(env, Message::bare(type_, self.last_stream));
    }

    fn put(&mut self, env: &mut Env, message: Message) {
        let Some(connection) = self.connection else {
            return;
        };
        self.sent_ns = env.now_ns;
        let bytes = bytes_of(message).into();
        send_in_parts(env, connection, Side::Server, bytes, env.world_ns);
    }

    fn heard(&mut self, env: &mut Env, bytes: &[u8], sent_ns: u64) {
        self.heard_ns = env.now_ns;
        self.heard_of_ns = self.heard_of_ns.max(sent_ns);
        env.is_said(self.heard_of_ns);
        if let Some(decoder) = &mut self.decoder {
            decoder.push(bytes);
        }
    }

    pub fn answered(&mut self, stream: u32) -> Option<Asked> {
        self.asked.remove(&stream)
    }
}

/// The properties of a client that it tells each server.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClientHabits {
    /// It keeps grants [LOCK-13].
    pub keeps_grants: bool,
    /// It follows segments that move [SPACE-23].
    pub follows_moves: bool,
}

impl ClientHabits {
    /// The fields of HELLO that tell of them.
    fn fields(self) -> Vec<HeaderField> {
        let ClientHabits {
            keeps_grants,
            follows_moves,
        } = self;
        let keeping = field(FieldKey::Keeping, &KeepingField { keeps_grants });
        let moving = field(FieldKey::Moving, &MovingField { follows_moves });
        let said = [(keeps_grants, keeping), (follows_moves, moving)];
        let said = said.into_iter().filter(|(is_so, _)| *is_so);
        said.map(|(_, field)| field).collect()
    }
}

/// By server.
#[derive(Default)]
pub struct Links {
    pub(super) all: BTreeMap<usize, Link>,
    pub habits: ClientHabits,
}

impl Links {
    /// The server at the other end.
    pub fn with(&self, connection: u64) -> Option<usize> {
        let mut links = self.all.iter();
        let found = links.find(|(_, link)| link.connection == Some(connection));
        found.map(|(server, _)| *server)
    }

    pub fn connections(&self) -> Vec<(usize, u64)> {
        let links = self.all.iter();
        let open = links.filter_map(|(server, link)| Some((*server, link.connection?)));
        open.collect()
    }

    pub fn connected(&mut self, server: usize) -> Option<&mut Link> {
        let link = self.all.get_mut(&server);
        link.filter(|link| link.connection.is_some())
    }

    pub fn greeted(&mut self, server: usize) -> Option<&mut Link> {
        self.connected(server).filter(|link| link.is_greeted)
    }

    pub fn get(&self, server: usize) -> Option<&Link> {
        self.all.get(&server)
    }

    /// Bytes came from that server.
    pub fn heard(&mut self, env: &mut Env, server: usize, bytes: &[u8], sent_ns: u64) {
        if let Some(link) = self.connected(server) {
            link.heard(env, bytes, sent_ns);
        }
    }

    /// None: no further message of that server is whole, or its connection is closed.
    pub fn next_message(&mut self, server: usize) -> Checked<Option<Message>> {
        let link = self.connected(server);
        match link.and_then(|link| link.decoder.as_mut()) {
            Some(decoder) => decoder
                .next_message()
                .or_else(|rejection| violation("frames", rejection.text)),
            None => Ok(None),
        }
    }

    pub fn space_of(&self, server: usize) -> Option<[u8; 16]> {
        self.all.get(&server)?.space
    }

    /// Connects, unless that is under way. Returns when the client must look again.
    pub fn connect(
        &mut self,
        env: &mut Env,
        (client, server): (usize, usize),
        lease_ns: u64,
    ) -> Option<u64> {
        let link = self.all.entry(server).or_default();
        if link.connection.is_some() {
            return None;
        }
        if env.now_ns < link.connects_ns {
            return Some(link.connects_ns);
        }
        let connection = env.net.connect_to(client, server);
        link.connection = Some(connection);
        link.is_greeted = false;
        link.decoder = Some(FrameDecoder::new(1 << 30));
        link.heard_ns = env.now_ns;
        link.heard_of_ns = 0;
        link.pinged_ns = env.now_ns;
        env.send(connection, Side::Server, Item::Open);
        let hello = Hello {
            magic: *b"IWV1",
            version_min: PROTOCOL_VERSION_MIN,
            version_max: PROTOCOL_VERSION_MAX,
            session: link.session,
            token: String::new(),
            client: "sim".to_string(),
            fields: self.habits.fields(),
        };
        link.ask(
            env,
            (MessageType::Hello, Asked::Hello),
            &hello,
            Bytes::new(),
        );
        Some(env.now_ns + lease_ns / 4)
    }

    pub fn welcomed(&mut self, _: &Env, server: usize, (space, welcome): ([u8; 16], &Welcome)) {
        if let Some(link) = self.all.get_mut(&server) {
            link.is_greeted = true;
            link.space = Some(space);
            link.is_resumed = welcome.resumed;
            if !welcome.resumed {
                link.session = welcome.session;
                link.sequence = 0;
            }
        }
    }

    /// The servers that were not heard for a lease.
    pub fn silent(&self, now_ns: u64, lease_ns: u64) -> Vec<usize> {
        let is_silent =
            |link: &Link| link.connection.is_some() && now_ns >= link.heard_ns + lease_ns;
        let silent = self.all.iter().filter(|(_, link)| is_silent(link));
        silent.map(|(server, _)| *server).collect()
    }

    /// Asks the servers that were asked nothing for a while. Returns when to look again.
    pub fn ping(&mut self, env: &mut Env, lease_ns: u64) -> Option<u64> {
        let mut is_due = false;
        for link in self
            .all
            .values_mut()
            .filter(|link| link.connection.is_some())
        {
            if env.now_ns < link.pinged_ns + lease_ns / 4 {
                continue;
            }
            link.pinged_ns = env.now_ns;
            is_due = true;
            if link.is_greeted && env.now_ns >= link.sent_ns + lease_ns / 5 {
                link.ask_bare(env, (MessageType::Ping, Asked::Anything));
            }
        }
        is_due.then_some(env.now_ns + lease_ns / 4)
    }

    /// Hangs up.
    pub fn close(&mut self, env: &mut Env, server: usize) {
        let connection = self.all.get(&server).and_then(|link| link.connection);
        if let Some(connection) = connection {
            env.net.close(connection, Side::Client);
            env.send(connection, Side::Server, Item::Close);
        }
    }

    pub fn close_all(&mut self, env: &mut Env) {
        let servers: Vec<usize> = self.all.keys().copied().collect();
        for server in servers {
            self.close(env, server);
        }
    }

    /// The connection is lost. Returns whether the server had said WELCOME on it. None: there was
    /// none.
    pub fn lost(&mut self, env: &mut Env, server: usize) -> Option<bool> {
        let link = self.all.get_mut(&server)?;
        let connection = link.connection.take()?;
        env.net.close(connection, Side::Client);
        link.asked.clear();
        link.connects_ns = env.now_ns + 20 * MS;
        Some(std::mem::take(&mut link.is_greeted))
    }
}
