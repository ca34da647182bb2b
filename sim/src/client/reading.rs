//! Reader locks, and copies that the server watches.

use super::{decoded, Asked, Client, Doing, PUSH_BYTES};
use crate::env::{Env, SECOND};
use crate::history::{Checked, Floor};
use bytes::Bytes;
use interweave_wire::protocol::*;
use interweave_wire::Message;

/// A model, its x, and whether the newest version is asked for.
pub type Wish = (CoherenceModel, u64, bool);

/// How many versions a copy may lack under the model.
pub fn slack((model, x, fresh): Wish) -> u64 {
    match model {
        _ if fresh => 0,
        CoherenceModel::Delta => x,
        CoherenceModel::Diff | CoherenceModel::NullCoherence => u64::MAX / 2,
        CoherenceModel::Full | CoherenceModel::Strict | CoherenceModel::Temporal => 0,
    }
}

impl Client {
    /// Whether the copy may be read without asking [FRESH-3] [COH-5]. It is read then.
    pub(super) fn may_read(&mut self, env: &mut Env, segment: usize, wish: Wish) -> Checked<bool> {
        let (model, x, fresh) = wish;
        let copy = &self.copies[segment];
        if fresh || copy.stamp.incarnation == 0 {
            return Ok(false);
        }
        let beats_ns = 2 * (self.lease_ns / 5);
        let is_heard = env.now_ns <= self.heard_ns + beats_ns;
        let is_watched = copy.is_subscribed && !copy.is_old && is_heard;
        let history = &env.history[segment];
        let floor = match model {
            CoherenceModel::Full | CoherenceModel::Delta if is_watched => {
                history.floor_at(self.heard_of_ns)
            }
            CoherenceModel::Temporal if env.now_ns <= copy.confirmed_ns + x * SECOND => {
                history.floor_at(env.now_ns.saturating_sub(x * SECOND))
            }
            _ => return Ok(false),
        };
        env.counts.reads += 1;
        history.check_floor("freshness without asking", &copy.stamp, floor, slack(wish))?;
        Ok(true)
    }

    pub(super) fn ask_to_read(&mut self, env: &mut Env, segment: usize, wish: Wish) {
        let (model, x, fresh) = wish;
        let body = AcquireReader {
            segment: self.copies[segment].number.expect("it is open"),
            have: self.copies[segment].stamp.clone(),
            model,
            x: x as f64,
            fresh,
            deadline_ms: 1_000,
        };
        let asked = Asked::Read {
            segment,
            floor: env.history[segment].floor(),
            sent_ns: env.now_ns,
        };
        self.ask(env, MessageType::AcquireReader, &body, Bytes::new(), asked);
    }

    pub(super) fn read(
        &mut self,
        env: &mut Env,
        (segment, floor, sent_ns): (usize, Floor, u64),
        message: &Message,
    ) -> Checked<()> {
        let acquired: ReaderAcquired = decoded(message)?;
        let Some(Doing::Reading {
            model, x, fresh, ..
        }) = self.doing.take()
        else {
            return Ok(());
        };
        let history = &mut env.history[segment];
        history.see(&acquired.now)?;
        history.check_floor("acknowledged is there", &acquired.now, floor, 0)?;
        let copy = &mut self.copies[segment];
        if acquired.updated && !copy.update(&message.bulk, &acquired.now, history)? {
            let is_asked = false;
            self.doing = Some(Doing::Reading {
                segment,
                model,
                x,
                fresh,
                is_asked,
            });
            return Ok(());
        }
        env.counts.reads += 1;
        if copy.stamp == acquired.now {
            copy.confirmed_ns = sent_ns;
            copy.is_old = false;
        }
        // Under Null any copy will do, also one that the server lost.
        if fresh || model != CoherenceModel::NullCoherence {
            let slack = slack((model, x, fresh));
            history.check_floor("freshness", &copy.stamp, floor, slack)?;
        }
        if model == CoherenceModel::Strict {
            let body = ReleaseReader {
                segment: copy.number.expect("it is open"),
            };
            let none = Bytes::new();
            self.ask(
                env,
                MessageType::ReleaseReader,
                &body,
                none,
                Asked::Anything,
            );
        }
        Ok(())
    }

    pub(super) fn ask_to_subscribe(&mut self, env: &mut Env, segment: usize, push: bool) {
        let body = Subscribe {
            segment: self.copies[segment].number.expect("it is open"),
            have: self.copies[segment].stamp.clone(),
            model: CoherenceModel::Full,
            x: 0.0,
            push,
            push_bytes: PUSH_BYTES,
        };
        let floor = env.history[segment].floor();
        let asked = Asked::Subscribe { segment, floor };
        self.ask(env, MessageType::Subscribe, &body, Bytes::new(), asked);
    }

    pub(super) fn subscribed(
        &mut self,
        env: &mut Env,
        (segment, floor): (usize, Floor),
        subscribed: &Subscribed,
    ) -> Checked<()> {
        self.doing = None;
        let history = &mut env.history[segment];
        history.see(&subscribed.now)?;
        history.check_floor("acknowledged is there", &subscribed.now, floor, 0)?;
        let copy = &mut self.copies[segment];
        copy.is_subscribed = true;
        copy.is_old = copy.stamp != subscribed.now;
        Ok(())
    }

    pub(super) fn unsubscribe(&mut self, env: &mut Env, segment: usize) {
        self.copies[segment].is_subscribed = false;
        let body = Unsubscribe {
            segment: self.copies[segment].number.expect("it is open"),
        };
        let none = Bytes::new();
        self.ask(env, MessageType::Unsubscribe, &body, none, Asked::Anything);
    }

    /// A diff came unasked.
    pub(super) fn pushed(&mut self, env: &mut Env, push: &Push, diff: &Bytes) -> Checked<()> {
        let Some(segment) = self.segment_of(push.segment) else {
            return Ok(());
        };
        let copy = &mut self.copies[segment];
        let fits = copy.update(diff, &push.now, &mut env.history[segment])?;
        // The server counts on it, so that its silence means nothing any more.
        copy.is_old = !fits;
        let body = Credit {
            segment: push.segment,
            bytes: diff.len() as u64,
        };
        self.ask(
            env,
            MessageType::Credit,
            &body,
            Bytes::new(),
            Asked::Anything,
        );
        Ok(())
    }

    /// Whether what the client watches is the newest, or it knows that it is not.
    pub fn has_heard_of_all(&self, env: &Env) -> Option<usize> {
        let watched = self.copies.iter().enumerate();
        let mut watched = watched.filter(|(_, copy)| copy.is_subscribed && !copy.is_old);
        let behind = watched.find(|(segment, copy)| {
            let history = &env.history[*segment];
            let floor = history.floor();
            !history.is_damaged && history.check_floor("", &copy.stamp, floor, 0).is_err()
        });
        behind.map(|(segment, _)| segment)
    }
}
