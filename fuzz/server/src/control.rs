//! Control parts: envelope and body. XDR has one encoding, so what decodes encodes
//! to the same bytes.

use interweave_wire::fields::{readable, Fields};
use interweave_wire::protocol::xdr::{from_bytes, to_bytes, Reader, Xdr};
use interweave_wire::protocol::*;
use std::collections::HashSet;

fn same<T: Xdr>(bytes: &[u8]) {
    if let Ok(value) = from_bytes::<T>(bytes) {
        assert_eq!(
            to_bytes(&value),
            bytes,
            "written again it is something else"
        );
    }
}

/// The fields of an error: a value that is read is written to the same bytes.
fn fields(body: &[u8]) {
    let Ok(reply) = from_bytes::<ErrorReply>(body) else {
        return;
    };
    let keys: Vec<u32> = reply.fields.iter().map(|field| field.key).collect();
    let Ok(fields) = Fields::of(&reply.fields) else {
        return;
    };
    assert!(
        keys.iter().collect::<HashSet<_>>().len() == keys.len(),
        "a key twice"
    );
    let redirect = fields.get::<RedirectField>(FieldKey::Redirect);
    let pid = fields.get::<PidField>(FieldKey::Pid);
    let label = fields.get::<LabelField>(FieldKey::Program);
    for field in &reply.fields {
        let again = match FieldKey::try_from(field.key as i32) {
            Ok(FieldKey::Redirect) => redirect
                .as_ref()
                .ok()
                .map(|v| to_bytes(v.as_ref().unwrap())),
            Ok(FieldKey::Pid) => pid.as_ref().ok().map(|v| to_bytes(v.as_ref().unwrap())),
            Ok(FieldKey::Program) => label.as_ref().ok().map(|v| to_bytes(v.as_ref().unwrap())),
            _ => None,
        };
        if let Some(again) = again {
            assert_eq!(again, field.value, "written again it is something else");
        }
    }
    if let Ok(Some(label)) = label {
        assert!(!readable(&label.label).contains(char::is_control));
    }
}

macro_rules! messages {
    ($type_:expr, $body:expr, $($name:ident)*) => {
        match $type_ {
            MessageType::Error => {
                same::<PlainError>($body);
                same::<ErrorReply>($body);
                fields($body);
            }
            $(MessageType::$name => same::<$name>($body),)*
            _ => {}
        }
    };
}

pub fn run(data: &[u8]) {
    let mut reader = Reader::new(data);
    let Ok(envelope) = Envelope::decode(&mut reader) else {
        return;
    };
    let body = &data[data.len() - reader.remaining()..];
    let Ok(type_) = MessageType::try_from(envelope.type_) else {
        return;
    };
    messages!(type_, body,
        Unimplemented Hello Welcome Cancel OpenSegment SegmentOpened CloseSegment RemoveSegment
        ListSegments SegmentList DescribeBlocks BlocksDescribed AcquireReader ReaderAcquired
        ReleaseReader AcquireWriter WriterAcquired RenewWriter WriterRenewed MoreSerials
        SerialsGranted ReleaseWriter WriterReleased WriterKept AbortWriter ResolveRelease
        ReleaseResolved Subscribe Subscribed Unsubscribe NotRecent Push Credit WriterLost
        RecallWriter SegmentGone AccessReloaded FollowSegment SegmentFollowed HandOver
        SegmentMoved ListMembers MemberList ListPlaces PlaceList);
}
