//! Messages as the session room sees them: decoded requests, encoded replies and notifications.
//!
//! This room knows no frames. A message is its stream, its body and its bulk.

use super::wire::{LENT_BYTES, NOTIFICATION};
use bytes::Bytes;
use interweave_wire::protocol::xdr::{from_bytes, Reader, Xdr, XdrError};
use interweave_wire::protocol::*;
use interweave_wire::{Gathered, Rejection};

/// Every message that a client may send.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    Hello(Hello),
    /// A hello of a version that this server does not speak. The rest of it was not read [SES-4].
    ForeignHello {
        version_min: u32,
        version_max: u32,
    },
    Ping,
    Cancel(Cancel),
    Goodbye,
    ReloadAccess,
    FollowSegment(FollowSegment),
    HandOver(HandOver),
    Drain,
    ListMembers(ListMembers),
    OpenSegment(OpenSegment),
    CloseSegment(CloseSegment),
    RemoveSegment(RemoveSegment),
    ListSegments(ListSegments),
    ListPlaces(ListPlaces),
    DescribeBlocks(DescribeBlocks),
    AcquireReader(AcquireReader),
    ReleaseReader(ReleaseReader),
    AcquireWriter(AcquireWriter),
    RenewWriter(RenewWriter),
    MoreSerials(MoreSerials),
    ReleaseWriter(ReleaseWriter),
    AbortWriter(AbortWriter),
    ResolveRelease(ResolveRelease),
    Subscribe(Subscribe),
    Unsubscribe(Unsubscribe),
    Credit(Credit),
    /// A type that this server does not know [FRAME-6].
    Unknown(i32),
    /// A body that does not decode as its type.
    Undecodable(i32, XdrError),
}

impl Request {
    /// Decodes a request of that type from the control bytes after the envelope.
    pub fn decode(type_: i32, body: &[u8]) -> Request {
        let Ok(known) = MessageType::try_from(type_) else {
            return Request::Unknown(type_);
        };
        match decode_body(known, body) {
            Ok(request) => request,
            Err(error) => Request::Undecodable(type_, error),
        }
    }

    /// Whether the client may send bulk with it.
    pub fn takes_bulk(&self) -> bool {
        matches!(self, Request::ReleaseWriter(_))
    }
}

fn decode_body(type_: MessageType, body: &[u8]) -> Result<Request, XdrError> {
    let mut r = Reader::new(body);
    let request = match type_ {
        MessageType::Hello => return decode_hello(body),
        MessageType::Ping => Request::Ping,
        MessageType::Cancel => Request::Cancel(Cancel::decode(&mut r)?),
        MessageType::Goodbye => Request::Goodbye,
        MessageType::ReloadAccess => Request::ReloadAccess,
        MessageType::FollowSegment => Request::FollowSegment(FollowSegment::decode(&mut r)?),
        MessageType::HandOver => Request::HandOver(HandOver::decode(&mut r)?),
        MessageType::Drain => Request::Drain,
        MessageType::ListMembers => Request::ListMembers(ListMembers::decode(&mut r)?),
        MessageType::OpenSegment => Request::OpenSegment(OpenSegment::decode(&mut r)?),
        MessageType::CloseSegment => Request::CloseSegment(CloseSegment::decode(&mut r)?),
        MessageType::RemoveSegment => Request::RemoveSegment(RemoveSegment::decode(&mut r)?),
        MessageType::ListSegments => Request::ListSegments(ListSegments::decode(&mut r)?),
        MessageType::ListPlaces => Request::ListPlaces(ListPlaces::decode(&mut r)?),
        MessageType::DescribeBlocks => Request::DescribeBlocks(DescribeBlocks::decode(&mut r)?),
        MessageType::AcquireReader => Request::AcquireReader(AcquireReader::decode(&mut r)?),
        MessageType::ReleaseReader => Request::ReleaseReader(ReleaseReader::decode(&mut r)?),
        MessageType::AcquireWriter => Request::AcquireWriter(AcquireWriter::decode(&mut r)?),
        MessageType::RenewWriter => Request::RenewWriter(RenewWriter::decode(&mut r)?),
        MessageType::MoreSerials => Request::MoreSerials(MoreSerials::decode(&mut r)?),
        MessageType::ReleaseWriter => Request::ReleaseWriter(ReleaseWriter::decode(&mut r)?),
        MessageType::AbortWriter => Request::AbortWriter(AbortWriter::decode(&mut r)?),
        MessageType::ResolveRelease => Request::ResolveRelease(ResolveRelease::decode(&mut r)?),
        MessageType::Subscribe => Request::Subscribe(Subscribe::decode(&mut r)?),
        MessageType::Unsubscribe => Request::Unsubscribe(Unsubscribe::decode(&mut r)?),
        MessageType::Credit => Request::Credit(Credit::decode(&mut r)?),
        // A client may not send a reply, nor a notification of the server.
        other => return Ok(Request::Unknown(other as i32)),
    };
    r.finish()?;
    Ok(request)
}

/// Reads the versions first. They are at the beginning of every hello, so they are known whatever
/// follows [SES-4].
fn decode_hello(body: &[u8]) -> Result<Request, XdrError> {
    let mut r = Reader::new(body);
    let is_ours = r.fixed::<4>()? == *b"IWV1";
    let (version_min, version_max) = (u32::decode(&mut r)?, u32::decode(&mut r)?);
    if is_ours && common_version(version_min, version_max).is_none() {
        return Ok(Request::ForeignHello {
            version_min,
            version_max,
        });
    }
    from_bytes(body).map(Request::Hello)
}

/// Returns the highest version of the range that this server speaks [SES-1].
pub fn common_version(version_min: u32, version_max: u32) -> Option<u32> {
    let version = version_max.min(PROTOCOL_VERSION_MAX);
    (version >= version_min.max(PROTOCOL_VERSION_MIN)).then_some(version)
}

/// Returns the code as a client of that version knows it [ERR-1].
pub fn code_for(version: u32, code: ErrorCode) -> ErrorCode {
    match code {
        ErrorCode::StoreAlone | ErrorCode::StoreAway if version < 3 => ErrorCode::StoreFull,
        known => known,
    }
}

/// A whole request.
#[derive(Debug, Clone)]
pub struct Incoming {
    pub stream: u32,
    pub request: Request,
    pub bulk: Bytes,
    /// The bulk that the envelope announced: more than `bulk` if the engine did not admit it.
    pub announced_bytes: u64,
    /// The chain that each part of a release makes, if the bulk came in several frames. Of other
    /// releases the engine computes the chains.
    pub chains: Vec<u64>,
}

impl Incoming {
    /// A request without bulk.
    pub fn of(stream: u32, request: Request) -> Incoming {
        Incoming {
            stream,
            request,
            bulk: Bytes::new(),
            announced_bytes: 0,
            chains: Vec::new(),
        }
    }
}

/// A reply or notification to be sent.
#[derive(Debug, Clone)]
pub struct ServerMessage {
    /// The segment's number, or 0 for none. Messages of one segment are completed in order
    /// [FRAME-5].
    pub segment: u32,
    pub stream: u32,
    /// The encoded envelope and body.
    pub control: Vec<u8>,
    pub bulk: Gathered,
    /// The bulk is a diff that is counted once for all its receivers [NOT-7].
    pub lent: bool,
}

impl ServerMessage {
    /// Makes a message about the connection or session.
    pub fn new(type_: MessageType, stream: u32, body: &impl Body) -> Self {
        ServerMessage::with_bulk(0, type_, stream, body, Gathered::default())
    }

    /// Makes a message about a segment.
    pub fn about(segment: u32, type_: MessageType, stream: u32, body: &impl Body) -> Self {
        ServerMessage::with_bulk(segment, type_, stream, body, Gathered::default())
    }

    pub fn with_bulk(
        segment: u32,
        type_: MessageType,
        stream: u32,
        body: &impl Body,
        bulk: Gathered,
    ) -> Self {
        let envelope = Envelope {
            type_: type_ as i32,
            stream,
            bulk_bytes: bulk.len() as u64,
        };
        let mut control = Vec::with_capacity(128);
        envelope.encode(&mut control);
        body.put(&mut control);
        ServerMessage {
            segment,
            stream,
            control,
            lent: bulk.len() >= LENT_BYTES,
            bulk,
        }
    }

    /// Makes the ERROR that says why a request is refused, with the code that the peer knows.
    pub fn refusal(stream: u32, code: ErrorCode, rejection: &Rejection) -> Self {
        let reply = ErrorReply {
            code,
            ..rejection.reply()
        };
        ServerMessage::new(MessageType::Error, stream, &reply)
    }

    /// Makes an ERROR for a peer whose version is not known, or not spoken here [SES-5].
    pub fn plain_error(stream: u32, code: ErrorCode, text: String) -> Self {
        let text = shortened(text, MAX_ERROR_TEXT as usize);
        ServerMessage::new(MessageType::Error, stream, &PlainError { code, text })
    }

    /// Returns the kinds as which control part and bulk count while they wait.
    pub fn kinds(&self) -> (Kind, Kind) {
        let control = match self.stream & NOTIFICATION {
            0 => Kind::Reply,
            _ => Kind::Notification,
        };
        match self.lent {
            true => (control, Kind::Lent),
            false => (control, control),
        }
    }

    /// Returns what the message adds to the connection's backlog.
    pub fn cost(&self) -> Backlog {
        let (control, bulk) = self.kinds();
        let mut cost = Backlog::default();
        cost.add(control, MESSAGE_BYTES + self.control.len());
        cost.add(bulk, self.bulk.len());
        cost
    }
}

/// A waiting message takes so much besides its bytes. It counts, so that many small messages are
/// bounded, too.
pub const MESSAGE_BYTES: usize = 128;

/// The kind as which bytes that wait to be sent count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An answer to a request of the connection.
    Reply,
    Notification,
    /// Part of a diff that [NOT-7] bounds over all receivers.
    Lent,
}

/// Bytes that wait to be sent on a connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Backlog {
    pub all: usize,
    /// The bytes without lent diffs, which [NET-2] bounds over all connections.
    pub kept: usize,
    /// The part of `kept` that answers requests.
    pub replies: usize,
}

impl Backlog {
    pub fn add(&mut self, kind: Kind, bytes: usize) {
        self.all += bytes;
        self.kept += if kind == Kind::Lent { 0 } else { bytes };
        self.replies += if kind == Kind::Reply { bytes } else { 0 };
    }

    pub fn take(&mut self, kind: Kind, bytes: usize) {
        self.all -= bytes;
        self.kept -= if kind == Kind::Lent { 0 } else { bytes };
        self.replies -= if kind == Kind::Reply { bytes } else { 0 };
    }
}

impl std::ops::AddAssign for Backlog {
    fn add_assign(&mut self, more: Backlog) {
        self.all += more.all;
        self.kept += more.kept;
        self.replies += more.replies;
    }
}

/// Cuts a text to `most` bytes at a character's boundary.
pub(super) fn shortened(mut text: String, most: usize) -> String {
    if text.len() > most {
        let end = (0..=most).rev().find(|&at| text.is_char_boundary(at));
        text.truncate(end.unwrap_or(0));
    }
    text
}

/// The part of a message after the envelope: an XDR body, or nothing (`()`).
pub trait Body {
    fn put(&self, out: &mut Vec<u8>);
}

impl Body for () {
    fn put(&self, _: &mut Vec<u8>) {}
}

macro_rules! bodies {
    ($($type:ty)*) => {$(
        impl Body for $type {
            fn put(&self, out: &mut Vec<u8>) {
                self.encode(out);
            }
        }
    )*};
}

bodies!(
    ErrorReply PlainError Unimplemented Welcome SegmentOpened SegmentList BlocksDescribed
    ReaderAcquired WriterAcquired WriterRenewed SerialsGranted WriterReleased WriterKept
    ReleaseResolved Subscribed NotRecent Push WriterLost RecallWriter SegmentGone AccessReloaded
    SegmentFollowed SegmentMoved
    MemberList PlaceList
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn not_7_diffs_of_64_kib_or_more_are_lent() {
        for (bytes, is_lent) in [(LENT_BYTES - 1, false), (LENT_BYTES, true)] {
            let bulk = Gathered::from(Bytes::from(vec![0; bytes]));
            let message = ServerMessage::with_bulk(1, MessageType::Push, 1, &(), bulk);
            assert_eq!(message.lent, is_lent, "{bytes}");
        }
    }

    #[test]
    fn net_2_replies_notifications_and_lent_diffs_wait_as_such() {
        let kinds = |stream, bytes| {
            let bulk = Gathered::from(Bytes::from(vec![0; bytes]));
            ServerMessage::with_bulk(1, MessageType::Push, stream, &(), bulk).kinds()
        };
        assert_eq!(kinds(7, 1), (Kind::Reply, Kind::Reply));
        let notification = (Kind::Notification, Kind::Notification);
        assert_eq!(kinds(NOTIFICATION | 7, 1), notification);
        assert_eq!(kinds(7, LENT_BYTES), (Kind::Reply, Kind::Lent));
    }

    #[test]
    fn a_text_is_cut_at_a_character_and_only_if_it_is_too_long() {
        for (most, cut) in [(5, "aé12"), (4, "aé1"), (2, "a"), (0, "")] {
            assert_eq!(shortened("aé12".to_string(), most), cut, "{most}");
        }
    }

    #[test]
    fn a_backlog_is_what_was_added_and_not_taken() {
        let mut backlog = Backlog::default();
        for (kind, bytes) in [
            (Kind::Lent, 100),
            (Kind::Reply, 20),
            (Kind::Notification, 3),
        ] {
            backlog.add(kind, bytes);
        }
        let expected = |all, kept, replies| Backlog { all, kept, replies };
        assert_eq!(backlog, expected(123, 23, 20));
        backlog += expected(1, 1, 1);
        backlog.take(Kind::Lent, 90);
        assert_eq!(backlog, expected(34, 24, 21));
        backlog.take(Kind::Reply, 15);
        assert_eq!(backlog, expected(19, 9, 6));
        backlog.take(Kind::Notification, 2);
        assert_eq!(backlog, expected(17, 7, 6));
    }
}
