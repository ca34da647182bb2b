//! What XDR bytes mean, as the JSON of the vectors: members named as in the .x files.

use interweave_wire::protocol::xdr::{self, Reader, Xdr};
use interweave_wire::protocol::*;
use interweave_wire::{Json, Rejection};

pub trait Show {
    fn show(&self) -> Json;
}

/// Numbers that not every JSON reader holds exactly are strings.
pub fn integer(value: i128) -> Json {
    match i64::try_from(value) {
        Ok(exact) if value.unsigned_abs() < 1 << 53 => Json::from(exact),
        _ => Json::String(value.to_string()),
    }
}

pub fn text(value: impl Into<String>) -> Json {
    Json::String(value.into())
}

pub fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
    Json::Object(
        members
            .map(|(name, value)| (name.to_string(), value))
            .into_iter()
            .collect(),
    )
}

pub fn hex(bytes: &[u8]) -> Json {
    text(
        bytes
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>(),
    )
}

pub fn hash(value: u64) -> Json {
    text(format!("0x{value:016x}"))
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl Show for $type {
            fn show(&self) -> Json {
                integer(i128::from(*self))
            }
        }
    )*};
}
integers!(i32 u32 u64);

macro_rules! enums {
    ($($type:ty)*) => {$(
        impl Show for $type {
            fn show(&self) -> Json {
                text(self.name())
            }
        }
    )*};
}
enums!(ErrorCode Durability CoherenceModel MemberState SegmentPlace);

macro_rules! structs {
    ($($type:ident { $($field:ident)* })*) => {$(
        impl Show for $type {
            fn show(&self) -> Json {
                let $type { $($field),* } = self;
                object([$((stringify!($field).trim_end_matches('_'), $field.show())),*])
            }
        }
    )*};
}

impl Show for bool {
    fn show(&self) -> Json {
        Json::Bool(*self)
    }
}

impl Show for f64 {
    fn show(&self) -> Json {
        Json::from(*self)
    }
}

impl Show for String {
    fn show(&self) -> Json {
        text(self)
    }
}

impl<const N: usize> Show for [u8; N] {
    fn show(&self) -> Json {
        hex(self)
    }
}

impl<T: Show> Show for Vec<T> {
    fn show(&self) -> Json {
        Json::Array(self.iter().map(Show::show).collect())
    }
}

impl<T: Show> Show for Option<Box<T>> {
    fn show(&self) -> Json {
        self.as_ref().map_or(Json::Null, |value| value.show())
    }
}

structs! {
    Hello { magic version_min version_max session token client fields }
    Welcome { version session resumed heartbeat_ms session_lease_ms max_diff_bytes server fields }
    Cancel { stream }
    FileRead { option taken count text }
    AccessReloaded { generation files }
    ListMembers { after }
    MemberInfo { number address tls_name lease_ms state is_asked segments rules_version }
    StoreState { kind primary timeline standbys wants_standby trouble }
    MemberList { shares_store tells_all members more unowned rules_version store }
    Unimplemented { type_ }
    ErrorReply { code text fields }
    VersionStamp { incarnation number chain }
    OpenSegment { path create read_only durable quota_bytes fields }
    SegmentOpened { segment created newest durable quota_bytes block_count wire_bytes fields }
    CloseSegment { segment }
    RemoveSegment { path }
    ListSegments { prefix after }
    SegmentInfo { path newest durable block_count wire_bytes quota_bytes clients subscribers
        writer_locked writers_waiting }
    SegmentList { segments more }
    ListPlaces { prefix after }
    ListedPlace { segment place address tls_name }
    PlaceList { places more }
    DescribeBlocks { segment after_serial serials names }
    BlocksDescribed { newest more }
    AcquireReader { segment have model x fresh deadline_ms }
    ReaderAcquired { now updated }
    ReleaseReader { segment }
    AcquireWriter { segment have deadline_ms }
    WriterAcquired { now updated fence lease_ms max_hold_ms first_serial serial_count }
    RenewWriter { segment fence }
    WriterRenewed { lease_ms }
    MoreSerials { segment fence count }
    SerialsGranted { first_serial serial_count }
    ReleasePart { segment fence base diff_bytes }
    ReleaseWriter { sequence parts }
    WriterReleased { versions }
    WriterKept { versions }
    AbortWriter { segment fence }
    ResolveRelease { segment session sequence }
    ReleaseResolved { committed version }
    Subscribe { segment have model x push push_bytes }
    Subscribed { now }
    Unsubscribe { segment }
    NotRecent { segment now }
    Push { segment from now }
    Credit { segment bytes }
    WriterLost { segment fence }
    RecallWriter { segment fence }
    SegmentGone { segment }
    FollowSegment { path }
    SegmentFollowed { member owned read_bytes }
    HandOver { path member deadline_ms }
    SegmentMoved { segment address tls_name }
    EnumMember { name value }
    Field { name type_ }
    UnionArm { name type_ values }
    ArrayBody { element count }
    UnionBody { discriminant discriminant_type arms otherwise }
    SequenceBody { element bound }
    CommittedRelease { session sequence version chain }
    CheckpointHead { magic segment_id path durable quota_bytes at next_serial fence parent
        releases fields diff_bytes }
    IdField { id }
    LabelField { label }
    PidField { pid }
    RedirectField { address tls_name relay }
    IdentityField { scheme name }
    EpochField { epoch }
    KeepingField { keeps_grants }
    MovingField { follows_moves }
}

/// Opaque values of variable length.
impl Show for HeaderField {
    fn show(&self) -> Json {
        object([("key", self.key.show()), ("value", hex(&self.value))])
    }
}

impl Show for ChallengeField {
    fn show(&self) -> Json {
        let bytes = hex(&self.bytes);
        object([("scheme", self.scheme.show()), ("bytes", bytes)])
    }
}

impl Show for ChainField {
    fn show(&self) -> Json {
        let hash = hex(&self.hash);
        object([("function", self.function.show()), ("hash", hash)])
    }
}

impl Show for TypeBody {
    fn show(&self) -> Json {
        let (name, value) = match self {
            TypeBody::Enum(members) => ("members", members.show()),
            TypeBody::String(bound) => ("bound", bound.show()),
            TypeBody::Array(array) => ("array", array.show()),
            TypeBody::Record(fields) => ("fields", fields.show()),
            TypeBody::Union(choice) => ("choice", choice.show()),
            TypeBody::Pointer(target) => ("target", target.show()),
            TypeBody::Sequence(sequence) => ("sequence", sequence.show()),
            TypeBody::Text(bound) => ("text_bound", bound.show()),
            TypeBody::Other(kind) => panic!("kind {kind} has no body"),
        };
        let kind = TypeKind::try_from(self.discriminant()).expect("a kind of type");
        object([("kind", text(kind.name())), (name, value)])
    }
}

/// A message's body: what it means, and what that is written as.
pub fn body(type_: i32, bytes: &[u8]) -> Result<(Json, Vec<u8>), Rejection> {
    use MessageType as M;
    fn of<T: Xdr + Show>(bytes: &[u8]) -> Result<(Json, Vec<u8>), Rejection> {
        let value: T = xdr::from_bytes(bytes)?;
        Ok((value.show(), xdr::to_bytes(&value)))
    }
    let Ok(type_) = MessageType::try_from(type_) else {
        return Ok((hex(bytes), bytes.to_vec()));
    };
    match type_ {
        M::Continue
        | M::Ping
        | M::Pong
        | M::Done
        | M::Goodbye
        | M::Heartbeat
        | M::ReloadAccess
        | M::Drain => {
            Reader::new(bytes).finish()?;
            Ok((object([]), Vec::new()))
        }
        M::Error => of::<ErrorReply>(bytes),
        M::Unimplemented => of::<Unimplemented>(bytes),
        M::Hello => of::<Hello>(bytes),
        M::Welcome => of::<Welcome>(bytes),
        M::Cancel => of::<Cancel>(bytes),
        M::AccessReloaded => of::<AccessReloaded>(bytes),
        M::ListMembers => of::<ListMembers>(bytes),
        M::MemberList => of::<MemberList>(bytes),
        M::OpenSegment => of::<OpenSegment>(bytes),
        M::SegmentOpened => of::<SegmentOpened>(bytes),
        M::CloseSegment => of::<CloseSegment>(bytes),
        M::RemoveSegment => of::<RemoveSegment>(bytes),
        M::ListSegments => of::<ListSegments>(bytes),
        M::SegmentList => of::<SegmentList>(bytes),
        M::ListPlaces => of::<ListPlaces>(bytes),
        M::PlaceList => of::<PlaceList>(bytes),
        M::DescribeBlocks => of::<DescribeBlocks>(bytes),
        M::BlocksDescribed => of::<BlocksDescribed>(bytes),
        M::AcquireReader => of::<AcquireReader>(bytes),
        M::ReaderAcquired => of::<ReaderAcquired>(bytes),
        M::ReleaseReader => of::<ReleaseReader>(bytes),
        M::AcquireWriter => of::<AcquireWriter>(bytes),
        M::WriterAcquired => of::<WriterAcquired>(bytes),
        M::RenewWriter => of::<RenewWriter>(bytes),
        M::WriterRenewed => of::<WriterRenewed>(bytes),
        M::MoreSerials => of::<MoreSerials>(bytes),
        M::SerialsGranted => of::<SerialsGranted>(bytes),
        M::ReleaseWriter => of::<ReleaseWriter>(bytes),
        M::WriterReleased => of::<WriterReleased>(bytes),
        M::WriterKept => of::<WriterKept>(bytes),
        M::AbortWriter => of::<AbortWriter>(bytes),
        M::ResolveRelease => of::<ResolveRelease>(bytes),
        M::ReleaseResolved => of::<ReleaseResolved>(bytes),
        M::FollowSegment => of::<FollowSegment>(bytes),
        M::SegmentFollowed => of::<SegmentFollowed>(bytes),
        M::HandOver => of::<HandOver>(bytes),
        M::SegmentMoved => of::<SegmentMoved>(bytes),
        M::Subscribe => of::<Subscribe>(bytes),
        M::Subscribed => of::<Subscribed>(bytes),
        M::Unsubscribe => of::<Unsubscribe>(bytes),
        M::NotRecent => of::<NotRecent>(bytes),
        M::Push => of::<Push>(bytes),
        M::Credit => of::<Credit>(bytes),
        M::WriterLost => of::<WriterLost>(bytes),
        M::RecallWriter => of::<RecallWriter>(bytes),
        M::SegmentGone => of::<SegmentGone>(bytes),
    }
}
