//! The checks of the engine's writer lock, and of its conclusions about the fate of a release.

use super::engine::{Done, Kind, Outcome};
use super::tap::Part;
use super::{NativeClient, Op, Step, AGAIN_NS};
use crate::client::Ending;
use crate::content::Content;
use crate::env::Env;
use crate::history::{name_of, violation, Checked};
use bytes::Bytes;
use interweave_wire::chain;
use interweave_wire::protocol::*;
use std::cell::Cell;
use std::rc::Rc;

/// A release that is held is tried again at most this often.
const MOST_TRIES: u32 = 5;

/// The program has the writer lock.
#[derive(Debug)]
pub struct Section {
    fence: u64,
    base: VersionStamp,
}

impl NativeClient {
    pub(super) fn locked(&mut self, env: &mut Env, done: &Done) -> Checked<()> {
        self.check_version(done)?;
        let segment = done.segment;
        match &self.tap.grants[segment] {
            Some((fence, _)) if *fence != done.fence => {
                let text = format!("s{segment}: fence {} is not the last, {fence}", done.fence);
                return violation("one effective writer", text);
            }
            Some((_, now)) if !done.is_resumed && name_of(now) != name_of(&done.version) => {
                let text = format!("s{segment}: a writer's copy is not the newest");
                return violation("writers have the newest", text);
            }
            Some(_) => {}
            None => return violation("one effective writer", format!("s{segment}: no grant")),
        }
        if done.serials.1 > 0 {
            let end = done.serials.0 + done.serials.1;
            let next = if self.makes_many(done.fence) {
                end
            } else {
                done.serials.0
            };
            self.serials[segment] = (next, end);
        }
        let Some(doing) = &mut self.doing else {
            return Ok(());
        };
        let hold_ns = match doing.op {
            Op::Write { hold_ns, .. } => hold_ns,
            _ => 0,
        };
        doing.section = Some(Section {
            fence: done.fence,
            base: done.version.clone(),
        });
        doing.step = Step::Writes {
            until_ns: env.now_ns + hold_ns,
        };
        Ok(())
    }

    /// A program that is recorded uses up all serials of some grants, because its run is too short
    /// to come to MORE_SERIALS otherwise.
    fn makes_many(&self, fence: u64) -> bool {
        self.tap.recorder.is_some() && fence.is_multiple_of(4)
    }

    /// The section ends.
    pub(super) fn finish(&mut self, env: &mut Env) -> Checked<()> {
        let Some(doing) = &self.doing else {
            return Ok(());
        };
        let segment = doing.segment;
        let ending = match doing.op {
            Op::Write { ending, .. } => ending,
            _ => Ending::Nothing,
        };
        let (next, end) = self.serials[segment];
        if ending == Ending::Abort {
            self.act(env, Kind::Abort);
        } else if ending == Ending::Release && next == end {
            self.act(env, Kind::Serials);
        } else {
            let part = self.part(env, segment, ending == Ending::Release)?;
            if let Some(doing) = &mut self.doing {
                doing.part = Some(Rc::new(part));
            }
            self.act(env, Kind::Release);
        }
        Ok(())
    }

    fn part(&mut self, env: &mut Env, segment: usize, changes: bool) -> Checked<Part> {
        let section = self.doing.as_ref().and_then(|doing| doing.section.as_ref());
        let Some(Section { fence, base }) = section else {
            return violation("simulator", "a release without a lock");
        };
        env.counts.releases += 1;
        let name = name_of(base);
        let Some(content) = env.history[segment].content(name) else {
            return violation("history", format!("s{segment}: {name:?} has no content"));
        };
        let mut part = Part {
            segment,
            fence: *fence,
            base: base.clone(),
            name: None,
            content,
            diff: Bytes::new(),
            was_sent: Cell::new(false),
            is_acknowledged: Cell::new(false),
        };
        if changes {
            let mut content = Content::clone(&part.content);
            let mark = env.counts.releases << 8 | self.number as u64;
            let serial = self.serials[segment].0;
            self.serials[segment].0 += 1;
            part.diff = content.change(name.0, mark, serial, &mut self.random);
            part.content = Rc::new(content);
            part.name = Some((name.0 + 1, chain::next(name.1, &part.diff)));
        }
        Ok(part)
    }

    /// Whether the section ended otherwise than the op wants.
    pub(super) fn is_unfinished(&self) -> bool {
        let op = self.doing.as_ref().map(|doing| &doing.op);
        !matches!(
            op,
            Some(Op::Write {
                ending: Ending::Abort,
                ..
            })
        )
    }

    pub(super) fn released(&mut self, env: &mut Env, done: &Done) -> Checked<()> {
        let part = self.doing.as_ref().and_then(|doing| doing.part.clone());
        let (Some(part), Some(outcome)) = (part, done.outcome) else {
            return violation("simulator", "the end of no release");
        };
        match outcome {
            Outcome::Committed => self.committed(env, &part, done),
            Outcome::Unsaid if part.name.is_none() => {
                self.doing = None;
                self.check_version(done)
            }
            Outcome::Unsaid => violation("applied once", "changes were not sent"),
            Outcome::Held | Outcome::Unsent => {
                if let (Outcome::Held, true) = (outcome, part.was_sent.get()) {
                    refused(env, &part)?;
                }
                self.release_again(env);
                Ok(())
            }
            Outcome::Unknown => {
                self.insist_or_end(env);
                Ok(())
            }
            Outcome::RolledBack => self.rolled_back(env, &part, done),
        }
    }

    fn committed(&mut self, env: &mut Env, part: &Part, done: &Done) -> Checked<()> {
        let segment = done.segment;
        if !part.is_acknowledged.get() {
            let text = format!("s{segment}: a release counts as committed that is not");
            return violation("applied once", text);
        }
        if part.name.is_some() {
            let history = &mut env.history[segment];
            if !self.copies[segment].update(&part.diff, &done.version, history)? {
                let text = format!("s{segment}: the release does not fit the copy");
                return violation("updates fit", text);
            }
        }
        self.doing = None;
        self.check_version(done)
    }

    /// The lock is still held.
    fn release_again(&mut self, env: &mut Env) {
        let Some(doing) = &mut self.doing else {
            return;
        };
        doing.tries += 1;
        if doing.tries > MOST_TRIES {
            self.act(env, Kind::Abort);
            return;
        }
        doing.step = Step::Pauses {
            until_ns: env.now_ns + 15 * AGAIN_NS,
            releases: true,
        };
    }

    /// The engine counts the changes as undone: nobody may see them.
    fn rolled_back(&mut self, env: &mut Env, part: &Part, done: &Done) -> Checked<()> {
        if part.is_acknowledged.get() {
            let text = format!("s{}: a release was undone that is committed", done.segment);
            return violation("applied once", text);
        }
        let code = done.error.unwrap_or(ErrorCode::Ok);
        // The error does not say whether the release was committed before.
        let says_nothing = matches!(
            code,
            ErrorCode::Damaged
                | ErrorCode::NotOpen
                | ErrorCode::NoSegment
                | ErrorCode::SegmentLost
                | ErrorCode::Removed
        );
        if part.was_sent.get() && !says_nothing {
            refused(env, part)?;
        }
        self.failed(env, done.segment, code)
    }
}

fn refused(env: &mut Env, part: &Part) -> Checked<()> {
    match part.name {
        Some(name) => env.history[part.segment].refused(name),
        None => Ok(()),
    }
}
