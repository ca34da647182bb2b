//! LIST_MEMBERS: the servers of the space, as this one sees them [SPACE-30..33].
//!
//! The store looks for them. Of a store that is not shared, the engine adds the row of this server.

use super::effect::Effect;
use super::engine::Engine;
use super::message::ServerMessage;
use super::storing;
use super::wire::{At, Unanswered};
use interweave_access::Operation;
use interweave_store::StoreError;
use interweave_wire::protocol::{
    ErrorCode, ListMembers, MemberInfo, MemberList, MemberState, MessageType, StoreState,
};
use interweave_wire::Rejection;
use std::collections::BTreeMap;

/// The requests that wait for a look of the store, by number, and whether their clients see all.
#[derive(Debug, Default)]
pub(super) struct Looks {
    last: u64,
    waiting: BTreeMap<u64, (At, bool)>,
}

/// The server's knowledge of the rules that the servers of the store share.
#[derive(Debug, Default)]
pub(super) struct SharedRules {
    /// The version that holds; 0: the store has none.
    version: u64,
    /// Why nobody may be let in [SPACE-44].
    pub unread: Option<Rejection>,
}

impl Engine {
    /// That version of the shared rules holds. `unread`: why nobody may be let in now.
    pub fn note_rules(&mut self, now_ns: u64, version: u64, unread: Option<String>) {
        self.advance(now_ns);
        self.shared_rules = SharedRules {
            version,
            unread: unread.map(|text| Rejection::new(ErrorCode::Stopping, text)),
        };
    }

    /// The version of the shared rules that holds; 0: the store has none.
    pub fn rules_version(&self) -> u64 {
        self.shared_rules.version
    }

    /// Whether this server lets nobody in, because it could not read the shared rules for a while
    /// [SPACE-44].
    pub fn lacks_rules(&self) -> bool {
        self.shared_rules.unread.is_some()
    }

    pub(super) fn list_members(&mut self, at: At, r: &ListMembers) -> Result<(), Rejection> {
        self.wire.await_answer(at, Unanswered::Store)?;
        let identity = &self.wire.asking(at).login.identity;
        let decision = self.permits.access.decide(identity, Operation::Metrics, "");
        let looks = &mut self.looks;
        looks.last += 1;
        looks.waiting.insert(looks.last, (at, decision.is_allowed));
        self.wire.push_effect(Effect::Members {
            asked: looks.last,
            after: r.after,
            tells_all: decision.is_allowed,
        });
        Ok(())
    }

    /// The store has looked for the request of that number.
    pub fn members_found(
        &mut self,
        now_ns: u64,
        asked: u64,
        found: Result<MemberList, StoreError>,
    ) {
        self.advance(now_ns);
        let Some((at, tells_all)) = self.looks.waiting.remove(&asked) else {
            return;
        };
        if self.wire.answered(at.connection, at.stream).is_some() {
            match found {
                Ok(list) => {
                    let list = self.as_told(list, tells_all);
                    let type_ = MessageType::MemberList;
                    let reply = ServerMessage::new(type_, at.stream, &list);
                    self.wire.send(at.connection, reply);
                }
                Err(error) => {
                    self.wire.counters.errors += 1;
                    let rejection = storing::rejection(&error);
                    self.wire.refuse(at.connection, at.stream, &rejection);
                }
            }
        }
        self.forget_closed();
    }

    /// Adds the only server of a store that is not shared, and leaves out what the client may not
    /// see [SPACE-32].
    fn as_told(&self, mut list: MemberList, tells_all: bool) -> MemberList {
        if !list.shares_store {
            list.members = vec![MemberInfo {
                number: self.config.first_fence >> 32,
                address: String::new(),
                tls_name: String::new(),
                lease_ms: 0,
                state: MemberState::Standing,
                is_asked: true,
                segments: self.segments.len() as u64,
                rules_version: 0,
            }];
        }
        // The store may be told of it later.
        for member in list.members.iter_mut().filter(|member| member.is_asked) {
            member.rules_version = self.shared_rules.version;
        }
        list.tells_all = tells_all;
        if !tells_all {
            list.unowned = 0;
            list.rules_version = 0;
            list.store = StoreState {
                kind: String::new(),
                primary: String::new(),
                timeline: 0,
                standbys: 0,
                wants_standby: false,
                trouble: String::new(),
            };
            for member in &mut list.members {
                member.segments = 0;
                member.rules_version = 0;
            }
        }
        list
    }
}
