//! A client's copy of a segment.

use super::Watching;
use crate::content::Content;
use crate::history::{violation, Checked, SegmentHistory};
use bytes::Bytes;
use interweave_master::Segment;
use interweave_wire::planted::{self, Defect};
use interweave_wire::protocol::VersionStamp;
use interweave_wire::Diff;

pub struct Copy {
    /// On the present connection; None: it is not open there.
    pub number: Option<u32>,
    pub is_opening: bool,
    segment: Segment,
    pub stamp: VersionStamp,
    /// It was the newest then.
    pub confirmed_ns: u64,
    /// The server says when it is not recent enough any more.
    pub is_subscribed: bool,
    pub watching: Watching,
    /// The bytes of pushed diffs for which it has given no credit back.
    pub owed_bytes: u64,
    /// The server said so.
    pub is_old: bool,
    /// A diff did not fit. The server counts on the client's having it.
    pub has_dropped: bool,
    /// The Strict lock was asked for, so that the session may have it.
    pub has_asked_strictly: bool,
    /// RELEASE_READER, or the answer that brought the Strict lock, may be lost with its connection.
    pub owes_strict: bool,
}

impl Default for Copy {
    fn default() -> Copy {
        Copy {
            number: None,
            is_opening: false,
            segment: Segment::new(0),
            stamp: VersionStamp {
                incarnation: 0,
                number: 0,
                chain: 0,
            },
            confirmed_ns: 0,
            is_subscribed: false,
            watching: Watching::default(),
            owed_bytes: 0,
            is_old: false,
            has_dropped: false,
            has_asked_strictly: false,
            owes_strict: false,
        }
    }
}

impl Copy {
    pub fn connection_lost(&mut self) {
        self.number = None;
        self.is_opening = false;
        self.is_subscribed = false;
        self.owed_bytes = 0;
        self.is_old = false;
        self.has_dropped = false;
        self.owes_strict = self.has_asked_strictly;
    }

    /// The session has no Strict lock of the segment any more.
    pub fn strict_ended(&mut self) {
        self.has_asked_strictly = false;
        self.owes_strict = false;
    }

    /// Takes a diff in, and looks at what the copy holds then. False: it is not for this copy,
    /// because another one that it crossed came before.
    pub fn update(
        &mut self,
        diff: &Bytes,
        now: &VersionStamp,
        history: &mut SegmentHistory,
    ) -> Checked<bool> {
        let misfit = |text: String| violation("updates fit", format!("{}: {text}", history.path));
        let from = match Diff::parse(diff) {
            Ok(parsed) => parsed.from,
            Err(rejection) => return misfit(rejection.text),
        };
        let is_refused = !planted::is_in(Defect::DiffOutOfOrder);
        if from != 0 && from != self.stamp.number && is_refused {
            self.has_dropped |= *now != self.stamp;
            return Ok(*now == self.stamp);
        }
        match self.segment.apply(diff) {
            Ok(reached) if reached == now.number => {}
            Ok(reached) => return misfit(format!("version {reached} came as {}", now.number)),
            Err(rejection) => {
                let (from, to) = (self.stamp.number, now.number);
                return misfit(format!("an update of {from} to {to}: {}", rejection.text));
            }
        }
        self.stamp = now.clone();
        self.has_dropped = false;
        history.check_copy(now, &Content::of(&self.segment))?;
        Ok(true)
    }
}
