//! A small blocking client, for the command line and for tests of the server.
//!
//! One connection, one thread, one request at a time; notifications that arrive meanwhile are kept
//! for [`Client::next_notification`]. [`Copy`] is a cached copy of one segment in wire format. The
//! client polls and renews nothing by itself.

mod copy;
mod error;
mod greeting;
mod moving;
mod own_token;
mod redirect;
mod ring;
mod tls;
mod transport;

pub use copy::{Copy, WriterLock};
pub use error::ClientError;
pub use greeting::Greeting;
pub use own_token::{OwnToken, OwnTokens};
pub use redirect::MOST_HOPS;
pub use ring::Ring;
pub use transport::Transport;

use bytes::Bytes;
use greeting::{own_fields, refusal, refused_hello};
use interweave_wire::mip::Address;
use interweave_wire::protocol::xdr::Xdr;
use interweave_wire::protocol::*;
use interweave_wire::{Fields, Message};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The server speaks at least every heartbeat; one that is silent for so many is lost.
const SILENT_HEARTBEATS: u32 = 10;
/// How long a client connects, however many tokens it tries, and how long a request may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A notification of the server.
#[derive(Debug, Clone, PartialEq)]
pub enum Notification {
    NotRecent(NotRecent),
    /// With the diff.
    Push(Push, Bytes),
    WriterLost(WriterLost),
    SegmentGone(SegmentGone),
    /// Another server has the segment; see [`Client::follow`].
    SegmentMoved(SegmentMoved),
    /// The server stops.
    Goodbye,
}

/// A connection that has said hello.
#[derive(Debug)]
pub struct Client {
    transport: Transport,
    /// Where it connected. None: the connection was made before.
    address: Option<Address>,
    welcome: Welcome,
    last_stream: u32,
    notifications: VecDeque<Notification>,
    spoken: Instant,
    /// How long a request may take, beside the time it asks to wait itself.
    pub patience: Duration,
}

/// Why the server did not welcome a client.
struct NotWelcome {
    error: ClientError,
    /// The server answered HELLO with DENIED. Otherwise the error says nothing of the token: TLS or
    /// the connection is refused.
    is_denial_of_hello: bool,
}

impl From<ClientError> for NotWelcome {
    fn from(error: ClientError) -> Self {
        NotWelcome {
            error,
            is_denial_of_hello: false,
        }
    }
}

/// Whether an answer is of that type.
fn expected(answer: &Message, type_: MessageType) -> Result<(), ClientError> {
    Err(match answer.kind() {
        Some(kind) if kind == type_ => return Ok(()),
        Some(MessageType::Error) => refusal(answer)?,
        Some(MessageType::Unimplemented) => ClientError::Unexpected(
            "the server does not know what was asked; it is of another version".to_string(),
        ),
        _ => {
            let type_ = answer.envelope.type_;
            let text = format!("the server answered with a message of type {type_}");
            ClientError::Unexpected(text)
        }
    })
}

/// How to open a segment.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    pub create: bool,
    pub read_only: bool,
    pub durable: Durability,
    /// 0: the server's default.
    pub quota_bytes: u64,
}

impl OpenOptions {
    /// An existing segment, to read.
    pub fn reading() -> Self {
        OpenOptions {
            create: false,
            read_only: true,
            durable: Durability::Synced,
            quota_bytes: 0,
        }
    }

    /// A segment to write, made if it does not exist.
    pub fn creating(durable: Durability) -> Self {
        OpenOptions {
            create: true,
            read_only: false,
            durable,
            quota_bytes: 0,
        }
    }
}

impl Client {
    /// Connects and says hello. Without a token it shows the one of this user's own server [OWN-3].
    pub fn connect(address: &Address, greeting: Greeting) -> Result<Client, ClientError> {
        Client::connect_knowing(address, greeting, &mut OwnTokens::default())
    }

    /// Connects, and notes which own tokens the server refuses, until it takes what the client
    /// shows, or refuses all of it [OWN-6].
    pub fn connect_knowing(
        address: &Address,
        greeting: Greeting,
        own: &mut OwnTokens,
    ) -> Result<Client, ClientError> {
        Client::connect_named((address, None), greeting, own, Instant::now() + PATIENCE)
    }

    /// The same, until then. The certificate must have the TLS name that is given with the address;
    /// None: the host's.
    fn connect_named(
        (address, tls_name): (&Address, Option<&str>),
        greeting: Greeting,
        own: &mut OwnTokens,
        until: Instant,
    ) -> Result<Client, ClientError> {
        loop {
            let transport = Transport::connect_until(address, tls_name, until)?;
            let peer = transport.peer().filter(|_| greeting.token.is_empty());
            let shown = peer.and_then(|peer| own.find(address, peer));
            let mut hello = greeting.clone();
            if let Some(token) = &shown {
                hello.token = token.text().to_string();
            }
            let refused = match Client::greet_until(transport, hello, until) {
                Ok(client) => {
                    let address = Some(address.clone());
                    return Ok(Client { address, ..client });
                }
                Err(refused) => refused,
            };
            if !refused.is_denial_of_hello {
                return Err(refused.error);
            }
            let Some(token) = shown else {
                let advice = peer.and_then(|peer| own.advice(address, peer));
                return Err(refused.error.with_advice(advice));
            };
            own.refused(token);
        }
    }

    /// Says hello on a connection.
    pub fn greet(transport: Transport, greeting: Greeting) -> Result<Client, ClientError> {
        let until = Instant::now() + PATIENCE;
        Client::greet_until(transport, greeting, until).map_err(|refused| refused.error)
    }

    fn greet_until(
        transport: Transport,
        greeting: Greeting,
        until: Instant,
    ) -> Result<Client, NotWelcome> {
        let mut client = Client {
            transport,
            address: None,
            welcome: Welcome {
                version: 0,
                session: [0; 16],
                resumed: false,
                heartbeat_ms: 0,
                session_lease_ms: 0,
                max_diff_bytes: 0,
                server: String::new(),
                fields: Vec::new(),
            },
            last_stream: 0,
            notifications: VecDeque::new(),
            spoken: Instant::now(),
            patience: PATIENCE,
        };
        let fields = own_fields(&greeting);
        let hello = Hello {
            magic: *b"IWV1",
            version_min: PROTOCOL_VERSION_MIN,
            version_max: PROTOCOL_VERSION_MAX,
            session: greeting.session,
            token: greeting.token,
            client: greeting.client,
            fields,
        };
        let stream = client.send(MessageType::Hello, &hello, Bytes::new())?;
        let answer = client.answer(stream, until)?;
        let welcome = expected(&answer, MessageType::Welcome).map_err(refused_hello);
        let welcome = welcome.and_then(|()| Ok(answer.decode::<Welcome>()?));
        let welcome = welcome.map_err(|error| NotWelcome {
            is_denial_of_hello: answer.envelope.stream == stream
                && error.code() == Some(ErrorCode::Denied),
            error,
        })?;
        Fields::of(&welcome.fields).map_err(ClientError::from)?;
        client.welcome = welcome;
        Ok(client)
    }

    pub fn welcome(&self) -> &Welcome {
        &self.welcome
    }

    /// Sends a request and waits for its reply.
    pub fn request<Q: Xdr, A: Xdr>(
        &mut self,
        type_: MessageType,
        body: &Q,
        reply: MessageType,
    ) -> Result<(A, Bytes), ClientError> {
        let stream = self.send(type_, body, Bytes::new())?;
        self.reply(stream, reply)
    }

    /// Sends a request that is answered DONE.
    pub fn request_done<Q: Xdr>(
        &mut self,
        type_: MessageType,
        body: &Q,
    ) -> Result<(), ClientError> {
        let stream = self.send(type_, body, Bytes::new())?;
        let until = Instant::now() + self.patience;
        self.await_message(stream, MessageType::Done, until)
            .map(drop)
    }

    /// Sends a message; returns its stream.
    pub fn send<Q: Xdr>(
        &mut self,
        type_: MessageType,
        body: &Q,
        bulk: Bytes,
    ) -> Result<u32, ClientError> {
        self.last_stream = self.last_stream % (u32::MAX >> 1) + 1;
        let message = Message::new(type_, self.last_stream, body, bulk);
        self.spoken = Instant::now();
        self.transport.send(message)?;
        Ok(self.last_stream)
    }

    /// Waits for the reply to a request that was sent.
    pub fn reply<A: Xdr>(
        &mut self,
        stream: u32,
        reply: MessageType,
    ) -> Result<(A, Bytes), ClientError> {
        let until = Instant::now() + self.patience;
        self.reply_until(stream, reply, until)
    }

    pub fn reply_until<A: Xdr>(
        &mut self,
        stream: u32,
        reply: MessageType,
        until: Instant,
    ) -> Result<(A, Bytes), ClientError> {
        let message = self.await_message(stream, reply, until)?;
        Ok((message.decode()?, message.bulk))
    }

    fn await_message(
        &mut self,
        stream: u32,
        type_: MessageType,
        until: Instant,
    ) -> Result<Message, ClientError> {
        let message = self.answer(stream, until)?;
        expected(&message, type_).map(|()| message)
    }

    /// Waits for the answer to a request that was sent, or for an ERROR on any stream.
    fn answer(&mut self, stream: u32, until: Instant) -> Result<Message, ClientError> {
        loop {
            let message = self.receive(until)?.ok_or(ClientError::TimedOut)?;
            let is_error = message.kind() == Some(MessageType::Error);
            if is_error || message.envelope.stream == stream {
                return Ok(message);
            }
            self.keep(&message)?;
        }
    }

    /// The next message; None: there was none before `until`. Says something now and then, so that
    /// the server keeps the session, and gives a server up that says nothing [SES-3].
    fn receive(&mut self, until: Instant) -> Result<Option<Message>, ClientError> {
        let begun = Instant::now();
        loop {
            let lease = Duration::from_millis(self.welcome.session_lease_ms.into());
            let heartbeat = Duration::from_millis(self.welcome.heartbeat_ms.into());
            // Bytes that came while no call listened are not heard yet.
            let heard = self.transport.heard().max(begun);
            let speak = (!lease.is_zero()).then(|| self.spoken + lease / 3);
            let silent = (!heartbeat.is_zero()).then(|| heard + heartbeat * SILENT_HEARTBEATS);
            let wake = [speak, silent]
                .into_iter()
                .flatten()
                .fold(until, Instant::min);
            if let Some(message) = self.transport.receive(wake)? {
                return Ok(Some(message));
            }
            let now = Instant::now();
            if speak.is_some_and(|speak| speak <= now) {
                self.ping()?;
            } else if until <= now {
                return Ok(None);
            } else if silent.is_some_and(|silent| silent <= now) && self.transport.heard() <= heard
            {
                return Err(ClientError::Silent);
            }
        }
    }

    fn ping(&mut self) -> Result<(), ClientError> {
        self.send_bare(MessageType::Ping).map(drop)
    }

    /// Sends a message that has no body; returns its stream.
    fn send_bare(&mut self, type_: MessageType) -> Result<u32, ClientError> {
        self.spoken = Instant::now();
        self.last_stream = self.last_stream % (u32::MAX >> 1) + 1;
        self.transport
            .send(Message::bare(type_, self.last_stream))?;
        Ok(self.last_stream)
    }

    /// Keeps a notification; PONG and HEARTBEAT only say that the server lives, and what is not
    /// known is ignored [FRAME-6].
    fn keep(&mut self, message: &Message) -> Result<(), ClientError> {
        let notification = match message.kind() {
            Some(MessageType::NotRecent) => Notification::NotRecent(message.decode()?),
            Some(MessageType::Push) => Notification::Push(message.decode()?, message.bulk.clone()),
            Some(MessageType::WriterLost) => Notification::WriterLost(message.decode()?),
            Some(MessageType::SegmentGone) => Notification::SegmentGone(message.decode()?),
            Some(MessageType::SegmentMoved) => Notification::SegmentMoved(message.decode()?),
            Some(MessageType::Goodbye) => Notification::Goodbye,
            Some(MessageType::Error) if message.envelope.stream == 0 => {
                return Err(refusal(message)?)
            }
            _ => return Ok(()),
        };
        self.notifications.push_back(notification);
        Ok(())
    }

    /// The next notification; None: there was none for so long.
    pub fn next_notification(
        &mut self,
        wait: Duration,
    ) -> Result<Option<Notification>, ClientError> {
        let until = Instant::now() + wait;
        loop {
            if let Some(notification) = self.notifications.pop_front() {
                return Ok(Some(notification));
            }
            match self.receive(until)? {
                Some(message) => self.keep(&message)?,
                None => return Ok(None),
            }
        }
    }

    /// Opens a segment.
    pub fn open(
        &mut self,
        path: &str,
        options: &OpenOptions,
    ) -> Result<SegmentOpened, ClientError> {
        let body = OpenSegment {
            path: path.to_string(),
            create: options.create,
            read_only: options.read_only,
            durable: options.durable,
            quota_bytes: options.quota_bytes,
            fields: Vec::new(),
        };
        let (opened, _) =
            self.request(MessageType::OpenSegment, &body, MessageType::SegmentOpened)?;
        Ok(opened)
    }

    /// The segment of that number is not open any more.
    pub fn close(&mut self, segment: u32) -> Result<(), ClientError> {
        self.request_done(MessageType::CloseSegment, &CloseSegment { segment })
    }

    /// All segments whose path begins so, in the order of their paths.
    pub fn list(&mut self, prefix: &str) -> Result<Vec<SegmentInfo>, ClientError> {
        let mut all: Vec<SegmentInfo> = Vec::new();
        loop {
            let body = ListSegments {
                prefix: prefix.to_string(),
                after: all.last().map(|s| s.path.clone()).unwrap_or_default(),
            };
            let (list, _): (SegmentList, _) =
                self.request(MessageType::ListSegments, &body, MessageType::SegmentList)?;
            let more = list.more && !list.segments.is_empty();
            all.extend(list.segments);
            if !more {
                return Ok(all);
            }
        }
    }

    /// The same, with the place of each [SPACE-36].
    pub fn places(&mut self, prefix: &str) -> Result<Vec<ListedPlace>, ClientError> {
        let mut all: Vec<ListedPlace> = Vec::new();
        loop {
            let last = all.last().map(|place| place.segment.path.clone());
            let page = self.places_after(prefix, &last.unwrap_or_default())?;
            let more = page.more && !page.places.is_empty();
            all.extend(page.places);
            if !more {
                return Ok(all);
            }
        }
    }

    /// A page of them, from behind that path on.
    pub fn places_after(&mut self, prefix: &str, after: &str) -> Result<PlaceList, ClientError> {
        let body = ListPlaces {
            prefix: prefix.to_string(),
            after: after.to_string(),
        };
        let (list, _) = self.request(MessageType::ListPlaces, &body, MessageType::PlaceList)?;
        Ok(list)
    }

    /// The servers of the space, as this one sees them [SPACE-30]: all pages as one list.
    pub fn members(&mut self) -> Result<MemberList, ClientError> {
        let mut all = self.members_after(0)?;
        while all.more {
            let last = all.members.last().map_or(0, |member| member.number);
            let page = self.members_after(last)?;
            all.more = page.more && !page.members.is_empty();
            all.members.extend(page.members);
        }
        Ok(all)
    }

    fn members_after(&mut self, after: u64) -> Result<MemberList, ClientError> {
        let body = ListMembers { after };
        let (list, _) = self.request(MessageType::ListMembers, &body, MessageType::MemberList)?;
        Ok(list)
    }

    pub fn remove(&mut self, path: &str) -> Result<(), ClientError> {
        let body = RemoveSegment {
            path: path.to_string(),
        };
        self.request_done(MessageType::RemoveSegment, &body)
    }

    /// Has the server read its tokens file and its rules file now.
    pub fn reload_access(&mut self) -> Result<AccessReloaded, ClientError> {
        let stream = self.send_bare(MessageType::ReloadAccess)?;
        let (reloaded, _) = self.reply(stream, MessageType::AccessReloaded)?;
        Ok(reloaded)
    }

    /// Asks to be told when the copy is not recent enough any more; with `push_bytes` the diffs
    /// themselves, up to so many bytes that are not yet given back by [`Client::credit`].
    pub fn subscribe(
        &mut self,
        copy: &Copy,
        model: CoherenceModel,
        x: f64,
        push_bytes: u64,
    ) -> Result<VersionStamp, ClientError> {
        let body = Subscribe {
            segment: copy.number(),
            have: copy.stamp().clone(),
            model,
            x,
            push: push_bytes > 0,
            push_bytes,
        };
        let (subscribed, _): (Subscribed, _) =
            self.request(MessageType::Subscribe, &body, MessageType::Subscribed)?;
        Ok(subscribed.now)
    }

    pub fn credit(&mut self, segment: u32, bytes: u64) -> Result<(), ClientError> {
        self.send(
            MessageType::Credit,
            &Credit { segment, bytes },
            Bytes::new(),
        )?;
        Ok(())
    }

    /// Ends the session.
    pub fn goodbye(mut self) -> Result<(), ClientError> {
        self.transport
            .send(Message::bare(MessageType::Goodbye, self.last_stream + 1))
    }
}
