//! The checks of a reader lock that the engine gives.

use super::engine::Done;
use super::{NativeClient, Op, Step};
use crate::client::reading::slack;
use crate::env::{Env, SECOND};
use crate::history::{name_of, violation, Checked, Floor};
use interweave_wire::protocol::CoherenceModel;

impl NativeClient {
    pub(super) fn read(&mut self, env: &mut Env, done: &Done) -> Checked<()> {
        let segment = done.segment;
        self.check_version(done)?;
        env.counts.reads += 1;
        let Some(doing) = &mut self.doing else {
            return Ok(());
        };
        let Op::Read {
            model, x, fresh, ..
        } = doing.op
        else {
            return Ok(());
        };
        // Most readers look for a moment only.
        let ns = match self.random.one_in(10) {
            true => self.random.skewed(1_000, self.lease_ns),
            false => 0,
        };
        doing.step = Step::Reads {
            until_ns: env.now_ns + if self.insists { 0 } else { ns },
        };
        if model == CoherenceModel::NullCoherence && !fresh {
            return Ok(());
        }
        if (fresh || model == CoherenceModel::Strict) && !done.is_asked {
            return violation("freshness", format!("s{segment}: the server was not asked"));
        }
        let floor = match (done.is_asked, self.tap.read[segment]) {
            (false, _) => self.floor_unasked(env, segment, (model, x), done.is_promised)?,
            (true, Some((floor, _))) => floor,
            (true, None) => {
                return violation("answers", format!("s{segment}: no question was answered"))
            }
        };
        let checker = match done.is_asked {
            true => "freshness",
            false => "freshness without asking",
        };
        let (stamp, history) = (&self.copies[segment].stamp, &env.history[segment]);
        if model == CoherenceModel::Diff {
            match (done.is_asked, self.tap.read[segment]) {
                (true, Some((_, newest))) => history.check_changed_to(stamp, newest, x)?,
                _ => history.check_changed_by(stamp, floor, x)?,
            }
        }
        history.check_floor(checker, stamp, floor, slack((model, x, fresh)))
    }

    /// The floor of a copy that is read without a message [FRESH-3] [COH-5].
    fn floor_unasked(
        &self,
        env: &Env,
        segment: usize,
        (model, x): (CoherenceModel, u64),
        is_promised: bool,
    ) -> Checked<Floor> {
        let history = &env.history[segment];
        let heard_of_ns = self.tap.heard_of_ns;
        if model == CoherenceModel::Temporal {
            let old_ns = env.world_at(env.now_ns.saturating_sub(x * SECOND));
            let at_ns = if is_promised {
                old_ns.min(heard_of_ns)
            } else {
                old_ns
            };
            return Ok(history.floor_at(at_ns));
        }
        let silent_ns = env.now_ns - self.tap.heard_ns;
        if !is_promised || silent_ns > 2 * (self.lease_ns / 5) {
            let text = format!("s{segment}: {model:?} was read on no promise of the server's");
            return violation("freshness without asking", text);
        }
        Ok(history.floor_at(heard_of_ns))
    }

    /// The engine counts the copy as the version that it is.
    pub(super) fn check_version(&mut self, done: &Done) -> Checked<()> {
        let copy = &mut self.copies[done.segment];
        if done.version.number == 0 {
            // The empty segment needs no diff to be a copy of it.
            copy.stamp = done.version.clone();
        }
        if name_of(&copy.stamp) == name_of(&done.version) {
            return Ok(());
        }
        let text = format!(
            "s{}: the copy is {:?}, and counts as {:?}",
            done.segment, copy.stamp, done.version
        );
        violation("updates fit", text)
    }
}
