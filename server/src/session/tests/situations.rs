//! Every message of the protocol in every situation of its sender is answered as the rules say
//! [RULE-4], and what is refused changes nothing [RULE-5]. The messages are those of spec/protocol.
//!
//! A client with a certificate of another authority does not reach the engine:
//! cli/tests/serve/messages.rs has this situation. cli/tests/serve/routes.rs has those of HTTP.

use super::access::{hello_with, list, open_to_read, value_diff};
use super::*;
use interweave_access::{Rules, TokenLine, Tokens};
use interweave_store::{unshared, StoreStatus};
use std::sync::{Arc, LazyLock};

/// The rules from the beginning, by which all who have a token may read and write the segment.
const BEFORE: &str = "allow cert:owner all /**\nallow * all /lab/**\nend\n";
const RULES: &str = "\
allow cert:owner all /**
allow writer all /lab/**
allow writer admin
allow reader read /lab/**
allow steerer read,steer /lab/**
allow elsewhere all /other/**
end
";
const PATH: &str = "/lab/x";
/// The second at which the tokens are looked at.
const NOW: u64 = 1_000;
/// The tokens of the file, and the second at which each expires.
const TOKENS: [(&str, u64); 7] = [
    ("writer", 0),
    ("reader", 0),
    ("steerer", 0),
    ("elsewhere", 0),
    ("reloaded", 0),
    ("late", NOW),
    ("gone", 0),
];

/// The situation of a client that sends a message.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Situation {
    NoLogin,
    WrongToken,
    ExpiredToken,
    RevokedWhileConnected,
    ReadOnly,
    SteerOnly,
    OtherPath,
    /// It had the segment open, and new rules allow it nothing.
    AfterAReload,
    /// New rules allowed it nothing, and the next ones everything.
    AllowedAgain,
    MayDoAll,
}
use Situation::*;

const SITUATIONS: [Situation; 10] = [
    NoLogin,
    WrongToken,
    ExpiredToken,
    RevokedWhileConnected,
    ReadOnly,
    SteerOnly,
    OtherPath,
    AfterAReload,
    AllowedAgain,
    MayDoAll,
];

/// A message's needs.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Needs {
    Nothing,
    Read,
    /// To write or to steer.
    Change,
    Remove,
    Admin,
    /// Nothing. It ends what its sender has at the segment.
    Own,
    /// It is a second HELLO, or a message that no client may send.
    NoClientMay,
}
use Needs::*;

impl Situation {
    /// The token that the client shows in HELLO. None: it says no HELLO.
    fn token(self) -> Option<String> {
        let name = match self {
            NoLogin => return None,
            WrongToken => {
                let mut wrong = token_of("writer").to_string();
                wrong.pop();
                return Some(wrong + "1");
            }
            ExpiredToken => "late",
            RevokedWhileConnected => "gone",
            ReadOnly => "reader",
            SteerOnly => "steerer",
            OtherPath => "elsewhere",
            AfterAReload => "reloaded",
            AllowedAgain | MayDoAll => "writer",
        };
        Some(token_of(name).to_string())
    }

    fn may(self, needs: Needs) -> bool {
        match needs {
            Nothing => true,
            Own => self.has_opened(),
            NoClientMay => false,
            Read => [ReadOnly, SteerOnly, AllowedAgain, MayDoAll].contains(&self),
            Change => [SteerOnly, AllowedAgain, MayDoAll].contains(&self),
            Remove | Admin => [AllowedAgain, MayDoAll].contains(&self),
        }
    }

    /// Whether the client has opened the segment.
    fn has_opened(self) -> bool {
        self == AfterAReload || self.may(Read)
    }
}

/// The tokens and their lines. To make one takes long in a build for tests.
static MADE: LazyLock<Vec<(String, TokenLine)>> = LazyLock::new(|| {
    let all = TOKENS.iter().zip(0..);
    all.map(|((name, expires), at)| TokenLine::new(name, [at; 6], [at; 32], 0, *expires))
        .collect()
});

fn token_of(name: &str) -> &'static str {
    let at = TOKENS.iter().position(|(of, _)| *of == name);
    &MADE[at.expect("a token of the table")].0
}

/// The rules, and a tokens file without that token.
fn access_without(revoked: &str, rules: &str) -> Arc<Access> {
    let lines = MADE.iter().map(|(_, line)| line);
    let lines = lines.filter(|line| *line.name != *revoked);
    let lines: String = lines.map(|line| format!("{line}\n")).collect();
    let tokens = Tokens::parse(lines + "end\n", NOW).expect("tokens");
    let rules = Rules::parse(rules.as_bytes()).expect("rules");
    Arc::new(Access::new(Some(rules), Some(tokens)))
}

/// The numbers that a message names.
struct Numbers {
    segment: u32,
    fence: u64,
}

/// An example of a message of a client, and what it needs. None: no client sends it. A message that
/// spec/protocol gets must be added here, because the match has no other arm.
fn example(type_: MessageType, about: &Numbers) -> Option<(Request, Needs)> {
    use MessageType as Type;
    let Numbers { segment, fence } = *about;
    let path = PATH.to_string();
    let have = stamp(0, 0);
    Some(match type_ {
        Type::Hello => (hello_with(token_of("writer")), NoClientMay),
        Type::Ping => (Request::Ping, Nothing),
        Type::Cancel => (Request::Cancel(Cancel { stream: 1 }), Nothing),
        Type::Goodbye => (Request::Goodbye, Nothing),
        Type::ReloadAccess => (Request::ReloadAccess, Admin),
        Type::FollowSegment => (Request::FollowSegment(FollowSegment { path }), Admin),
        Type::HandOver => {
            let asked = HandOver {
                path,
                member: 1,
                deadline_ms: 0,
            };
            (Request::HandOver(asked), Admin)
        }
        Type::Drain => (Request::Drain, Admin),
        Type::ListMembers => (Request::ListMembers(ListMembers { after: 0 }), Nothing),
        Type::OpenSegment => (open_to_read(PATH), Read),
        Type::CloseSegment => (Request::CloseSegment(CloseSegment { segment }), Own),
        Type::RemoveSegment => (Request::RemoveSegment(RemoveSegment { path }), Remove),
        Type::ListSegments => (list("/"), Nothing),
        Type::ListPlaces => {
            let Request::ListSegments(ListSegments { prefix, after }) = list("/") else {
                unreachable!()
            };
            (Request::ListPlaces(ListPlaces { prefix, after }), Nothing)
        }
        Type::DescribeBlocks => {
            let asked = DescribeBlocks {
                segment,
                serials: Vec::new(),
                names: Vec::new(),
                after_serial: 0,
            };
            (Request::DescribeBlocks(asked), Read)
        }
        Type::AcquireReader => (acquire_reader(segment, have, CoherenceModel::Full), Read),
        Type::ReleaseReader => (Request::ReleaseReader(ReleaseReader { segment }), Own),
        Type::AcquireWriter => (acquire_writer(segment, 0), Change),
        Type::RenewWriter => (Request::RenewWriter(RenewWriter { segment, fence }), Change),
        Type::MoreSerials => {
            let count = 1;
            let asked = MoreSerials {
                segment,
                fence,
                count,
            };
            (Request::MoreSerials(asked), Change)
        }
        Type::AbortWriter => (Request::AbortWriter(AbortWriter { segment, fence }), Own),
        // `released` makes it whole.
        Type::ReleaseWriter => {
            let parts = Vec::new();
            let sequence = 1;
            let asked = ReleaseWriter { sequence, parts };
            (Request::ReleaseWriter(asked), Change)
        }
        Type::ResolveRelease => {
            let asked = ResolveRelease {
                segment,
                session: [0; 16],
                sequence: 1,
            };
            (Request::ResolveRelease(asked), Read)
        }
        Type::Subscribe => {
            let asked = Subscribe {
                segment,
                have,
                model: CoherenceModel::Full,
                x: 0.0,
                push: false,
                push_bytes: 0,
            };
            (Request::Subscribe(asked), Read)
        }
        Type::Unsubscribe => (Request::Unsubscribe(Unsubscribe { segment }), Own),
        Type::Credit => (Request::Credit(Credit { segment, bytes: 1 }), Own),
        Type::Error | Type::Unimplemented | Type::Continue => return None,
        Type::Welcome | Type::Pong | Type::Done | Type::AccessReloaded => return None,
        Type::MemberList | Type::PlaceList => return None,
        Type::SegmentOpened | Type::SegmentList | Type::BlocksDescribed => return None,
        Type::ReaderAcquired | Type::WriterAcquired | Type::WriterRenewed => return None,
        Type::SerialsGranted | Type::WriterReleased | Type::WriterKept => return None,
        Type::ReleaseResolved | Type::Subscribed | Type::NotRecent | Type::Push => return None,
        Type::Heartbeat | Type::WriterLost | Type::SegmentGone => return None,
        Type::RecallWriter | Type::SegmentMoved | Type::SegmentFollowed => return None,
    })
}

/// A world in which the owner, connection 1, has the writer lock of the segment. Connection 2 is in
/// the situation.
struct Case {
    world: World,
    segment: u32,
    grant: WriterAcquired,
    /// The block of the segment.
    block: u64,
    /// The stream of the HELLO of connection 2.
    hello: u32,
}

impl Case {
    fn new(situation: Situation) -> Case {
        let mut world = World::new(false);
        set_access(&mut world, access_without("", BEFORE));
        super::access::enter(&mut world, 1, "owner");
        let segment = world.open(1, PATH, Durability::Memory);
        let first = world.lock(1, segment);
        world.release(1, segment, &first, 1);
        let now_ns = world.now_ns();
        let nobody = Peer::default();
        world.engine.connected(now_ns, 2, session_of(2), nobody);
        let token = situation.token();
        let hello = token.map_or(0, |token| world.send(2, hello_with(&token)));
        if situation.has_opened() || situation == RevokedWhileConnected {
            world.open(2, PATH, Durability::Memory);
        }
        let grant = world.lock(1, segment);
        world.sent.clear();
        let revoked = match situation {
            RevokedWhileConnected => "gone",
            _ => "",
        };
        if situation == AllowedAgain {
            set_access(
                &mut world,
                access_without("", "allow cert:owner all /**\nend\n"),
            );
        }
        set_access(&mut world, access_without(revoked, RULES));
        Case {
            world,
            segment,
            grant,
            block: first.first_serial,
            hello,
        }
    }

    /// Sends the message on connection 2. Returns its stream.
    fn send(&mut self, type_: MessageType, request: Request, may: bool) -> u32 {
        let mut bulk = Bytes::new();
        let request = match (type_, request) {
            (MessageType::ReleaseWriter, _) => {
                if may {
                    self.give_lock_to_2();
                }
                bulk = value_diff(&self.grant, self.block, 9);
                release_writer(self.segment, &self.grant, 1, bulk.len())
            }
            (_, request) => request,
        };
        let stream = self.world.send_with(2, request, bulk);
        let now_ns = self.world.now_ns();
        for asked in std::mem::take(&mut self.world.readings) {
            self.world.engine.files_read(now_ns, asked, Vec::new());
            self.world.drain();
        }
        for (asked, ..) in std::mem::take(&mut self.world.looks) {
            let found = Ok(unshared("memory", &StoreStatus::default()));
            self.world.engine.members_found(now_ns, asked, found);
            self.world.drain();
        }
        stream
    }

    /// From now on connection 2 has the writer lock.
    fn give_lock_to_2(&mut self) {
        let (segment, fence) = (self.segment, self.grant.fence);
        let abort = AbortWriter { segment, fence };
        self.world.ask(1, Request::AbortWriter(abort));
        self.grant = self.world.lock(2, segment);
    }

    /// The state that a refused message may not change.
    fn state(&self) -> String {
        let all = std::ops::Bound::Unbounded;
        let engine = &self.world.engine;
        let segments = engine.segment_statistics(self.world.now_ns(), all, 10);
        format!("{segments:?} {}", engine.statistics().sessions)
    }

    fn is_lock_kept(&mut self) -> bool {
        let (segment, fence) = (self.segment, self.grant.fence);
        let renew = Request::RenewWriter(RenewWriter { segment, fence });
        self.world.ask(1, renew).type_ == MessageType::WriterRenewed
    }

    /// Fails unless connection 2 is refused as one that is not let in.
    fn check_not_let_in(&mut self, type_: MessageType, situation: Situation, stream: u32) {
        let world = &mut self.world;
        let what = format!("{type_:?}, {situation:?}");
        match situation {
            NoLogin => {
                let expected = match type_ {
                    MessageType::Hello => ErrorCode::Denied,
                    _ => ErrorCode::NotOpen,
                };
                assert_eq!(world.answer(stream).error(), expected, "{what}");
            }
            RevokedWhileConnected => {
                let ended = world.answer(0);
                assert_eq!(ended.error(), ErrorCode::Denied, "{what}");
            }
            _ => {
                let is_answered = world.sent.iter().any(|sent| sent.connection == 2);
                assert!(!is_answered, "{what}: {:?}", world.sent);
                world.pass(1000);
                let refused = world.answer(self.hello);
                assert_eq!(refused.error(), ErrorCode::Denied, "{what}");
            }
        }
        let more = world.sent.iter().find(|sent| sent.connection == 2);
        assert!(more.is_none(), "{what}: {more:?}");
        assert_eq!(world.closed, [2], "{what}");
    }
}

fn set_access(world: &mut World, access: Arc<Access>) {
    let now_ns = world.now_ns();
    world.engine.set_access(now_ns, access);
    world.drain();
}

/// Fails unless a client that is let in is answered as the rules say.
fn check_answer(type_: MessageType, situation: Situation, needs: Needs, answer: Option<&Sent>) {
    let what = format!("{type_:?}, {situation:?}: {answer:?}");
    let code = answer.filter(|a| a.type_ == MessageType::Error);
    let code = code.map(Sent::error);
    let is_refused = match (needs, type_) {
        (NoClientMay, MessageType::Hello) => code == Some(ErrorCode::Malformed),
        (NoClientMay, _) => answer.is_some_and(|a| a.type_ == MessageType::Unimplemented),
        // A client that may not know of the segment is answered as about one that is not there.
        (Own, _) if !situation.may(Own) => code.is_none_or(|code| code == ErrorCode::NotOpen),
        // A client without the right to change has no lock, so it cannot release.
        (_, MessageType::ReleaseWriter) => code.is_some(),
        _ => matches!(code, Some(ErrorCode::Denied | ErrorCode::NotOpen)),
    };
    let may = situation.may(needs);
    assert_eq!(is_refused, !may, "{what}");
    let has_answer = ![
        MessageType::Cancel,
        MessageType::Credit,
        MessageType::Goodbye,
    ]
    .contains(&type_);
    assert_eq!(answer.is_some(), has_answer || code.is_some(), "{what}");
    let shows = answer.filter(|a| a.type_ == MessageType::SegmentList);
    if let Some(shown) = shows {
        let shown: SegmentList = shown.body();
        let count = usize::from(situation.may(Read));
        assert_eq!(shown.segments.len(), count, "{what}");
    }
    assert!(may || answer.is_none_or(|a| a.bulk.is_empty()), "{what}");
}

fn check(type_: MessageType, situation: Situation) {
    let mut case = Case::new(situation);
    let about = Numbers {
        segment: case.segment,
        fence: case.grant.fence,
    };
    let unknown = (Request::Unknown(type_ as i32), NoClientMay);
    let (mut request, needs) = example(type_, &about).unwrap_or(unknown);
    if (type_, situation) == (MessageType::Hello, NoLogin) {
        request = hello_with("");
    }
    let is_let_in =
        ![NoLogin, WrongToken, ExpiredToken, RevokedWhileConnected].contains(&situation);
    let may = is_let_in && situation.may(needs);
    let before = case.state();
    let stream = case.send(type_, request, may);
    // A second HELLO ends the connection, and GOODBYE and CLOSE_SEGMENT end what the client had.
    let ends_own = is_let_in && (may || type_ == MessageType::Hello);
    if !ends_own {
        let what = format!("{type_:?}, {situation:?} changed something");
        assert_eq!(case.state(), before, "{what}");
    }
    if is_let_in {
        let answer = case.world.try_answer(stream);
        check_answer(type_, situation, needs, answer.as_ref());
    } else {
        case.check_not_let_in(type_, situation, stream);
    }
    let takes_lock = [MessageType::ReleaseWriter, MessageType::RemoveSegment].contains(&type_);
    if !(may && takes_lock) {
        let what = format!("{type_:?}, {situation:?} took the owner's lock");
        assert!(case.is_lock_kept(), "{what}");
    }
}

#[test]
fn rule_4_every_message_in_every_situation_is_answered_as_the_rules_say() {
    let all = (0..=0xffff).filter_map(|number| MessageType::try_from(number).ok());
    let all: Vec<_> = all.collect();
    let about = Numbers {
        segment: 1,
        fence: 1,
    };
    let of_clients = all
        .iter()
        .filter(|type_| example(**type_, &about).is_some());
    assert!(of_clients.count() >= 21, "{all:?}");
    for type_ in all {
        for situation in SITUATIONS {
            check(type_, situation);
        }
    }
}
