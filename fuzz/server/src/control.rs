//! Control parts: envelope and body. XDR has one encoding, so what decodes encodes
//! to the same bytes.

use interweave_wire::protocol::xdr::{from_bytes, to_bytes, Reader, Xdr};
use interweave_wire::protocol::*;

fn same<T: Xdr>(bytes: &[u8]) {
    if let Ok(value) = from_bytes::<T>(bytes) {
        assert_eq!(
            to_bytes(&value),
            bytes,
            "written again it is something else"
        );
    }
}

macro_rules! messages {
    ($type_:expr, $body:expr, $($name:ident)*) => {
        match $type_ {
            MessageType::Error => same::<ErrorReply>($body),
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
        SerialsGranted ReleaseWriter WriterReleased AbortWriter ResolveRelease ReleaseResolved
        Subscribe Subscribed Unsubscribe NotRecent Push Credit WriterLost SegmentGone);
}
