//! The requests that move segments among the servers of a space (spec/protocol/moving.x).

use super::{Client, ClientError};
use interweave_wire::fields::Fields;
use interweave_wire::protocol::*;
use std::time::{Duration, Instant};

impl Client {
    /// Has the server read the segment before it claims it, or claim it if it is free or was given
    /// to the server [SPACE-18].
    pub fn follow_segment(&mut self, path: &str) -> Result<SegmentFollowed, ClientError> {
        let body = FollowSegment {
            path: path.to_string(),
        };
        let answer = MessageType::SegmentFollowed;
        let (followed, _) = self.request(MessageType::FollowSegment, &body, answer)?;
        Ok(followed)
    }

    /// Has the server hand the segment over to the member with that number. It waits so long for
    /// whoever holds a lock of the segment [SPACE-19].
    pub fn hand_over(
        &mut self,
        path: &str,
        member: u64,
        wait: Duration,
    ) -> Result<(), ClientError> {
        let body = HandOver {
            path: path.to_string(),
            member,
            deadline_ms: wait.as_millis().try_into().unwrap_or(u32::MAX),
        };
        let stream = self.send(MessageType::HandOver, &body, bytes::Bytes::new())?;
        let until = Instant::now() + wait + self.patience;
        self.await_message(stream, MessageType::Done, until)
            .map(drop)
    }

    /// Has the server claim and create nothing until it is started again [SPACE-24].
    pub fn drain(&mut self) -> Result<(), ClientError> {
        let stream = self.send_bare(MessageType::Drain)?;
        let until = Instant::now() + self.patience;
        self.await_message(stream, MessageType::Done, until)
            .map(drop)
    }

    /// The id of the space that the server belongs to. None: it does not say it.
    pub fn space(&self) -> Result<Option<[u8; 16]>, ClientError> {
        let fields = Fields::of(&self.welcome.fields)?;
        let space: Option<IdField> = fields.get(FieldKey::SpaceId)?;
        Ok(space.map(|space| space.id))
    }
}
