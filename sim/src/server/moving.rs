//! Checks a server that gives segments away, or was drained.

use crate::env::Env;
use crate::history::{violation, Checked};
use interweave_server::session::{Effect, Incoming, Request};
use interweave_wire::protocol::MessageType;
use std::collections::{BTreeMap, BTreeSet};

/// Words of an owner alone.
const OF_OWNERS: [MessageType; 6] = [
    MessageType::SegmentOpened,
    MessageType::WriterAcquired,
    MessageType::WriterRenewed,
    MessageType::ReaderAcquired,
    MessageType::Subscribed,
    MessageType::Push,
];

#[derive(Debug, Default)]
pub struct Moving {
    owner: u64,
    /// It was told to claim and create nothing any more [SPACE-24].
    pub is_drained: bool,
    /// The paths that are looked for since then.
    sought_drained: BTreeSet<String>,
    /// The segments of requests to open them.
    opening: BTreeMap<(u64, u32), usize>,
    /// Those that were opened, by their numbers at this server.
    numbers: BTreeMap<u32, usize>,
}

impl Moving {
    pub fn of(owner: u64) -> Moving {
        Moving {
            owner,
            ..Moving::default()
        }
    }

    /// A request comes.
    pub fn asked(&mut self, env: &Env, connection: u64, incoming: &Incoming) {
        match &incoming.request {
            Request::Drain => self.is_drained = true,
            Request::OpenSegment(r) => {
                if let Some(segment) = env.segment_at(&r.path) {
                    self.opening.insert((connection, incoming.stream), segment);
                }
            }
            _ => {}
        }
    }

    /// Messages go to clients. From the commit of a give on, the owner of before grants and
    /// confirms nothing [SPACE-20].
    pub fn heard(&mut self, env: &Env, effects: &[Effect]) -> Checked<()> {
        for effect in effects {
            let Effect::Send {
                connection,
                message,
            } = effect
            else {
                continue;
            };
            let first = message.control.first_chunk();
            let type_ = first.map(|b| i32::from_be_bytes(*b));
            if type_ == Some(MessageType::SegmentOpened as i32) {
                if let Some(segment) = self.opening.remove(&(*connection, message.stream)) {
                    self.numbers.insert(message.segment, segment);
                }
            }
            let Some(kind) = OF_OWNERS.iter().find(|kind| Some(**kind as i32) == type_) else {
                continue;
            };
            let Some(segment) = self.numbers.get(&message.segment) else {
                continue;
            };
            let history = &env.history[*segment];
            if history.gift.is_from(self.owner) {
                let text = format!("{}: {} after it was given away", history.path, kind.name());
                return violation("the giver is silent", text);
            }
        }
        Ok(())
    }

    /// The store is asked for the segment of that path.
    pub fn seeks(&mut self, path: &str) {
        if self.is_drained {
            self.sought_drained.insert(path.to_string());
        }
    }

    /// The store has claimed it, or has not.
    pub fn sought(&mut self, env: &Env, path: &str, is_claimed: bool) -> Checked<()> {
        let was_drained = self.sought_drained.remove(path);
        let Some(segment) = env.segment_at(path).filter(|_| was_drained && is_claimed) else {
            return Ok(());
        };
        let gift = &env.history[segment].gift;
        if gift.is_taken_by(self.owner) && !gift.is_to(self.owner) {
            let text = format!("{path}: it was claimed, and not given before");
            return violation("drained servers claim nothing", text);
        }
        Ok(())
    }

    /// Whether the segment was given to this server, and claimed by no other one since.
    pub fn was_given(&self, env: &Env, segment: usize) -> bool {
        env.history[segment].gift.is_to(self.owner)
    }
}
