//! Reader locks, and copies that the server watches.

use super::copy::Copy;
use super::{decoded, Asked, Client, Doing, Op, Watching};
use crate::env::{Env, SECOND};
use crate::history::{name_of, violation, Checked, Floor};
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

impl Watching {
    fn slack(&self) -> u64 {
        slack((self.model, self.x, false))
    }

    /// Whether silence says that a copy is recent enough under the wish.
    fn covers(&self, (model, x, _): Wish) -> bool {
        match self.model {
            CoherenceModel::Full => true,
            watched => watched == model && self.x <= x,
        }
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
        let is_watched = is_watched && copy.watching.covers(wish);
        let history = &env.history[segment];
        let floor = match model {
            CoherenceModel::Diff if is_watched => {
                let floor = history.floor_at(self.heard_of_ns);
                env.counts.reads += 1;
                history.check_changed_by(&copy.stamp, floor, x)?;
                return Ok(true);
            }
            CoherenceModel::Full | CoherenceModel::Delta if is_watched => {
                history.floor_at(self.heard_of_ns)
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
        self.copies[segment].has_asked_strictly |= model == CoherenceModel::Strict;
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
        // The server counted on a pushed diff that did not fit. Now it knows better.
        let is_misjudged = !acquired.updated
            && copy.has_dropped
            && copy.stamp != acquired.now
            && model != CoherenceModel::NullCoherence;
        let is_taken = !acquired.updated || copy.update(&message.bulk, &acquired.now, history)?;
        if is_misjudged || !is_taken {
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
        if model == CoherenceModel::Diff && !acquired.updated {
            history.check_changed_to(&copy.stamp, name_of(&acquired.now), x)?;
        }
        // Under Null any copy will do, also one that the server lost.
        if fresh || model != CoherenceModel::NullCoherence {
            let slack = slack((model, x, fresh));
            history.check_floor("freshness", &copy.stamp, floor, slack)?;
        }
        if model == CoherenceModel::Strict {
            self.return_strict(env, segment);
        }
        Ok(())
    }

    /// Gives the Strict lock back.
    pub(super) fn return_strict(&mut self, env: &mut Env, segment: usize) {
        let copy = &mut self.copies[segment];
        copy.owes_strict = false;
        let body = ReleaseReader {
            segment: copy.number.unwrap_or(0),
        };
        let type_ = MessageType::ReleaseReader;
        self.ask(env, type_, &body, Bytes::new(), Asked::Anything);
    }

    /// A client that listens watches each segment that can be opened.
    pub(super) fn listen_on(&mut self, env: &Env) {
        let is_missed = |(segment, copy): &(usize, &Copy)| {
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
            segment: self.copies[segment].number.expect("it is open"),
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
        };
        self.ask(env, MessageType::Subscribe, &body, Bytes::new(), asked);
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
        copy.owed_bytes += diff.len() as u64;
        let fit = copy.watching.push_bytes;
        if copy.owed_bytes > fit {
            let text = format!("{} bytes came, {fit} fit", copy.owed_bytes);
            return violation("no more is pushed than fits", text);
        }
        // Some clients take their time until a diff is applied. Once it has subscribed anew, a
        // client gives nothing back: it would count for the new subscription.
        let is_asking = match &self.doing {
            Some(Doing::Subscribing {
                segment: of,
                is_asked,
                ..
            }) => *of == segment && *is_asked,
            _ => false,
        };
        if self.random.one_in(2) && !is_asking {
            let body = Credit {
                segment: push.segment,
                bytes: std::mem::take(&mut self.copies[segment].owed_bytes),
            };
            let none = Bytes::new();
            self.ask(env, MessageType::Credit, &body, none, Asked::Anything);
        }
        Ok(())
    }

    /// Whether what the client watches is the newest, or it knows that it is not.
    pub fn has_heard_of_all(&self, env: &Env) -> Option<usize> {
        let watched = self.copies.iter().enumerate();
        let mut watched = watched.filter(|(_, copy)| copy.is_subscribed && !copy.is_old);
        let behind = watched.find(|(segment, copy)| {
            let history = &env.history[*segment];
            let (floor, slack) = (history.floor(), copy.watching.slack());
            !history.is_damaged && history.check_floor("", &copy.stamp, floor, slack).is_err()
        });
        behind.map(|(segment, _)| segment)
    }

    /// A segment that the client does not listen to, or of which it knows less than the floor.
    pub fn is_deaf_to(&self, env: &Env, floors: &[Floor]) -> Option<usize> {
        let is_deaf = |segment: &usize| {
            let (copy, history) = (&self.copies[*segment], &env.history[*segment]);
            let slack = copy.watching.slack();
            let lacks = || history.check_floor("", &copy.stamp, floors[*segment], slack);
            let hears = copy.is_subscribed && (copy.is_old || lacks().is_ok());
            !hears && !history.is_damaged
        };
        (0..self.copies.len()).find(is_deaf)
    }
}
