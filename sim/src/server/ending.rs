//! How a server ends: in order, or because its store is lost.

use super::{Server, Stopping, Works};
use crate::env::Env;
use interweave_store::StoreError;

impl Server {
    /// Stops in order.
    pub fn stop(&mut self, env: &mut Env) {
        if self.stopping == Stopping::Not && !self.is_paused {
            self.stopping = Stopping::Idle;
            self.event(env, |engine, now_ns| engine.stop(now_ns));
            self.go_on_stopping(env);
        }
    }

    pub(super) fn go_on_stopping(&mut self, env: &mut Env) {
        let is_idle = |server: &Server| server.engine.borrow().is_idle();
        if self.stopping == Stopping::Idle && is_idle(self) {
            self.stopping = Stopping::Saving;
            self.event(env, |engine, now_ns| engine.save_and_part(now_ns));
        }
        if self.stopping == Stopping::Saving && is_idle(self) {
            let is_clean = self.engine.borrow().is_saved();
            if let Some(store) = self.store.take() {
                let closed = store.close(is_clean);
                env.say(|| format!("server: the store is closed: {closed:?}"));
                if let Works::Member(member) = &mut self.works {
                    member.begin(env, self.start);
                }
            }
        }
    }

    pub fn is_stopping(&self) -> bool {
        self.stopping != Stopping::Not
    }

    /// It has stopped in order. Says whether everything was saved.
    pub fn has_stopped(&self) -> Option<bool> {
        let is_saved = || self.engine.borrow().is_saved();
        let is_closed = match &self.works {
            Works::Embedded(_) => true,
            Works::Member(member) => member.is_closed(),
        };
        (self.store.is_none() && is_closed).then(is_saved)
    }

    /// The store is lost for good, so a server would end.
    pub fn has_lost_store(&self) -> bool {
        self.engine.borrow().lost_store().is_some()
    }

    /// The reason for which the store takes nothing more. The server still answers readers.
    pub fn has_stopped_store(&self) -> Option<StoreError> {
        self.store.as_ref()?.stopped()
    }
}
