//! The shell's part for checkpoints in pieces.

use super::{say, Server, Stored};
use crate::env::Env;
use interweave_store::StoreError;
use interweave_wire::protocol::CheckpointHead;
use std::sync::Arc;

impl Server {
    pub(super) fn save_in_pieces(&mut self, env: &mut Env, ticket: u64, head: CheckpointHead) {
        self.hand_over(env);
        let done = self.done(ticket);
        let said = Arc::clone(&self.said);
        let want = Box::new(move || say(&said, Stored::Wants(ticket)));
        match &self.store {
            Some(store) => store.checkpoint_in_pieces(head, want, done),
            None => done(Err(StoreError::Closed)),
        }
        self.plan_writing(env);
    }
}
