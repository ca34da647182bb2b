//! RELOAD_ACCESS: an admin has the server read its tokens file and its rules file now [RULE-8].
//!
//! The shell has the files read, and says which requests the reading is for: those that came before
//! it began. The files' rules are set before the answer is given.

use super::effect::Effect;
use super::engine::Engine;
use super::message::{shortened, ServerMessage};
use super::wire::{At, Unanswered};
use interweave_wire::protocol::{AccessReloaded, FileRead, MessageType, MAX_READ_TEXT};
use interweave_wire::Rejection;
use std::collections::VecDeque;

/// The requests that wait for a reading, by number.
#[derive(Debug, Default)]
pub(super) struct Reloading {
    last: u64,
    waiting: VecDeque<(u64, At)>,
}

impl Engine {
    /// Asks for a reading of the files.
    pub(super) fn reload_access(&mut self, at: At) -> Result<(), Rejection> {
        self.wire.await_answer(at, Unanswered::Files)?;
        let reloading = &mut self.reloading;
        reloading.last += 1;
        reloading.waiting.push_back((reloading.last, at));
        let asked = reloading.last;
        self.wire.push_effect(Effect::ReadFiles { asked });
        Ok(())
    }

    /// The files were read, and what they say is set. Answers the requests up to that number.
    pub fn files_read(&mut self, now_ns: u64, asked: u64, files: Vec<FileRead>) {
        self.advance(now_ns);
        let files = files.into_iter().map(|file| FileRead {
            text: shortened(file.text, MAX_READ_TEXT as usize),
            ..file
        });
        let body = AccessReloaded {
            generation: self.permits.generation(),
            files: files.collect(),
        };
        while let Some(&(number, at)) = self.reloading.waiting.front() {
            if number > asked {
                break;
            }
            self.reloading.waiting.pop_front();
            if self.wire.answered(at.connection, at.stream).is_some() {
                let type_ = MessageType::AccessReloaded;
                let reply = ServerMessage::new(type_, at.stream, &body);
                self.wire.send(at.connection, reply);
            }
        }
        self.forget_closed();
    }
}
