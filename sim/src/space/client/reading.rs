//! Reader locks, and copies that the owner watches.

use super::{Asked, Doing, SpaceClient};
use crate::client::reading::slack;
use crate::client::{decoded, Op, Watching};
use crate::env::{Env, SECOND};
use crate::history::{violation, Checked, Floor};
use bytes::Bytes;
use interweave_wire::protocol::*;
use interweave_wire::Message;

pub use crate::client::reading::Wish;

impl SpaceClient {
    /// Whether the copy may be read without asking [FRESH-3] [COH-5]. It is read then.
    pub(super) fn may_read(&mut self, env: &mut Env, segment: usize, wish: Wish) -> Checked<bool> {
        let (model, x, fresh) = wish;
        let copy = &self.copies[segment];
        if fresh || copy.stamp.incarnation == 0 {
            return Ok(false);
        }
        let Some(link) = self.links.get(self.places[segment].at) else {
            return Ok(false);
        };
        let is_heard = env.now_ns <= link.heard_ns + 2 * (self.lease_ns / 5);
        let is_watched = copy.is_subscribed && !copy.is_old && is_heard;
        let history = &env.history[segment];
        let floor = match model {
            CoherenceModel::Full | CoherenceModel::Delta if is_watched => {
                history.floor_at(link.heard_of_ns)
            }
            CoherenceModel::Temporal if env.now_ns <= copy.confirmed_ns + x * SECOND => {
                history.floor_at(env.world_at(env.now_ns.saturating_sub(x * SECOND)))
            }
            _ => return Ok(false),
        };
        env.counts.reads += 1;
        history.check_floor("freshness without asking", &copy.stamp, floor, slack(wish))?;
        Ok(true)
    }

    pub(super) fn ask_to_read(&mut self, env: &mut Env, segment: usize, wish: Wish) {
        let (model, x, fresh) = wish;
        self.copies[segment].has_dropped = false;
        let body = AcquireReader {
            segment: self.copies[segment].number.unwrap_or(0),
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
        let what = (MessageType::AcquireReader, asked);
        self.ask(env, segment, what, &body, Bytes::new());
    }

    pub(super) fn read(
        &mut self,
        env: &mut Env,
        (segment, floor, sent_ns): (usize, Floor, u64),
        message: &Message,
    ) -> Checked<()> {
        let acquired: ReaderAcquired = decoded(message)?;
        let Some(Doing::Reading { wish, .. }) = self.doing.take() else {
            return Ok(());
        };
        let history = &mut env.history[segment];
        history.see(&acquired.now)?;
        history.check_floor("acknowledged is there", &acquired.now, floor, 0)?;
        let copy = &mut self.copies[segment];
        // The server counted on a pushed diff that did not fit. Now it knows better.
        let is_misjudged = !acquired.updated && copy.has_dropped && copy.stamp != acquired.now;
        let is_taken = !acquired.updated || copy.update(&message.bulk, &acquired.now, history)?;
        if is_misjudged || !is_taken {
            let is_asked = false;
            self.doing = Some(Doing::Reading {
                segment,
                wish,
                is_asked,
            });
            return Ok(());
        }
        env.counts.reads += 1;
        if copy.stamp == acquired.now {
            copy.confirmed_ns = sent_ns;
            copy.is_old = false;
        }
        history.check_floor("freshness", &copy.stamp, floor, slack(wish))
    }

    /// A client that listens watches each segment.
    pub(super) fn listen_on(&mut self, env: &Env) {
        let is_missed = |(segment, copy): &(usize, &crate::client::copy::Copy)| {
            !copy.is_subscribed && !env.history[*segment].is_damaged
        };
        let mut copies = self.copies.iter().enumerate().filter(|_| self.listens);
        if let Some((segment, _)) = copies.find(is_missed) {
            let watching = Watching::default();
            self.ops.push_front(Op::Subscribe { segment, watching });
        }
    }

    pub(super) fn ask_to_subscribe(&mut self, env: &mut Env, segment: usize, watching: Watching) {
        let body = Subscribe {
            segment: self.copies[segment].number.unwrap_or(0),
            have: self.copies[segment].stamp.clone(),
            model: watching.model,
            x: watching.x as f64,
            push: watching.push,
            push_bytes: watching.push_bytes,
        };
        let floor = env.history[segment].floor();
        let asked = Asked::Subscribe {
            segment,
            watching,
            floor,
            sent_ns: env.now_ns,
        };
        let what = (MessageType::Subscribe, asked);
        self.ask(env, segment, what, &body, Bytes::new());
    }

    pub(super) fn subscribed(
        &mut self,
        env: &mut Env,
        (segment, watching, floor): (usize, Watching, Floor),
        subscribed: &Subscribed,
    ) -> Checked<()> {
        self.doing = None;
        let history = &mut env.history[segment];
        history.see(&subscribed.now)?;
        history.check_floor("acknowledged is there", &subscribed.now, floor, 0)?;
        let copy = &mut self.copies[segment];
        copy.is_subscribed = true;
        copy.watching = watching;
        copy.owed_bytes = 0;
        copy.is_old = copy.stamp != subscribed.now;
        Ok(())
    }

    pub(super) fn unsubscribe(&mut self, env: &mut Env, segment: usize) {
        if !std::mem::take(&mut self.copies[segment].is_subscribed) {
            return;
        }
        if let Some(number) = self.copies[segment].number {
            let what = (MessageType::Unsubscribe, Asked::Anything);
            let body = Unsubscribe { segment: number };
            self.ask(env, segment, what, &body, Bytes::new());
        }
    }

    /// A diff came unasked.
    pub(super) fn pushed(
        &mut self,
        env: &mut Env,
        server: usize,
        push: &Push,
        diff: &Bytes,
    ) -> Checked<()> {
        let Some(segment) = self.segment_of(server, push.segment) else {
            return Ok(());
        };
        let copy = &mut self.copies[segment];
        let fits = copy.update(diff, &push.now, &mut env.history[segment])?;
        // The server counts on it, so that its silence means nothing any more.
        copy.is_old = !fits;
        copy.owed_bytes += diff.len() as u64;
        let fit = copy.watching.push_bytes;
        if copy.owed_bytes > fit {
            let text = format!("{} bytes came, {fit} fit", copy.owed_bytes);
            return violation("no more is pushed than fits", text);
        }
        let is_asking = matches!(&self.doing, Some(Doing::Subscribing { segment: of, is_asked, .. })
            if *of == segment && *is_asked);
        if self.random.one_in(2) && !is_asking {
            let body = Credit {
                segment: push.segment,
                bytes: std::mem::take(&mut self.copies[segment].owed_bytes),
            };
            let what = (MessageType::Credit, Asked::Anything);
            self.ask(env, segment, what, &body, Bytes::new());
        }
        Ok(())
    }

    /// Whether what the client watches is the newest, or it knows that it is not.
    pub fn has_heard_of_all(&self, env: &Env) -> Option<usize> {
        let watched = self.copies.iter().enumerate();
        let mut watched = watched.filter(|(_, copy)| copy.is_subscribed && !copy.is_old);
        let behind = watched.find(|(segment, copy)| {
            let history = &env.history[*segment];
            let slack = slack((copy.watching.model, copy.watching.x, false));
            history
                .check_floor("", &copy.stamp, history.floor(), slack)
                .is_err()
        });
        behind.map(|(segment, _)| segment)
    }

    /// A segment that the client does not listen to, or of which it knows less than the floor.
    pub fn is_deaf_to(&self, env: &Env, floors: &[Floor]) -> Option<usize> {
        let is_deaf = |segment: &usize| {
            let (copy, history) = (&self.copies[*segment], &env.history[*segment]);
            let slack = slack((copy.watching.model, copy.watching.x, false));
            let lacks = || history.check_floor("", &copy.stamp, floors[*segment], slack);
            !(copy.is_subscribed && (copy.is_old || lacks().is_ok()))
        };
        (0..self.copies.len()).find(is_deaf)
    }
}
