//! A segment remembers releases, so that a release is applied at most once and its sender can learn
//! what became of it. It remembers the last release of each living session, and of the 64 sessions
//! that ended last.
//!
//! Invariants: a session occurs once. The release of a living session is never forgotten, so "not
//! remembered" means "not committed" for it. `forgot` is set before the first release is forgotten.
//! Memory is bounded by the number of living sessions. Implements [LOCK-8] and [LOCK-9].

use interweave_wire::protocol::{CommittedRelease, SessionHash};
use interweave_wire::{Rare, Resting};
use std::collections::{BTreeMap, HashMap, VecDeque};

/// How many sessions that ended are remembered.
pub const ENDED_SESSIONS: usize = 64;
/// `checkpoint_head.releases` has no more.
const SAVED_RELEASES: usize = 1024;

/// The fate of a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is the version of that number and chain.
    Committed(u64, u64),
    NotCommitted,
    /// The segment does not remember enough to tell.
    Unknown,
}

#[derive(Debug, Default)]
pub struct Remembered {
    sessions: Rare<Sessions>,
    /// Releases of sessions of the server before this one, oldest first. These sessions count as
    /// living for a while.
    recovered: Vec<CommittedRelease>,
    recovered_until_ns: u64,
    forgot: bool,
}

/// Sessions of this server.
#[derive(Debug)]
struct Sessions {
    living: BTreeMap<SessionHash, CommittedRelease>,
    /// Oldest first.
    ended: VecDeque<CommittedRelease>,
}

impl Resting for Sessions {
    const REST: Self = Sessions {
        living: BTreeMap::new(),
        ended: VecDeque::new(),
    };
    const AT_REST: &'static Self = &Self::REST;
}

impl Remembered {
    /// Takes over the releases of a checkpoint and those logged after it. Their sessions may still
    /// ask until `until_ns`.
    pub fn recover(
        &mut self,
        saved: &[CommittedRelease],
        logged: impl Iterator<Item = CommittedRelease>,
        until_ns: u64,
    ) {
        // A segment that forgot a release had so many left.
        self.forgot |= saved.len() >= ENDED_SESSIONS;
        self.recovered_until_ns = until_ns;
        let mut last = HashMap::new();
        for (order, release) in saved.iter().cloned().chain(logged).enumerate() {
            last.insert(release.session, (order, release));
        }
        let mut last: Vec<_> = last.into_values().collect();
        last.sort_unstable_by_key(|(order, _)| *order);
        self.recovered = last.into_iter().map(|(_, release)| release).collect();
        self.recovered.shrink_to_fit();
    }

    /// Returns the last release of the session, if it is remembered.
    pub fn last_of(&self, session: &SessionHash) -> Option<&CommittedRelease> {
        let ended = || self.sessions.ended.iter().chain(&self.recovered);
        let living = self.sessions.living.get(session);
        living.or_else(|| ended().find(|r| r.session == *session))
    }

    /// Adds a committed release. `lives`: its session has not ended meanwhile.
    pub fn add(&mut self, release: CommittedRelease, lives: bool, now_ns: u64) {
        if lives {
            self.sessions.living.insert(release.session, release);
            return;
        }
        self.sessions.living.remove(&release.session);
        self.sessions.ended.retain(|r| r.session != release.session);
        self.sessions.ended.push_back(release);
        self.forget_oldest(now_ns);
    }

    /// Whether it remembers a release of that session, which has not ended.
    pub fn lives(&self, session: &SessionHash) -> bool {
        self.sessions.living.contains_key(session)
    }

    pub fn session_ended(&mut self, session: &SessionHash, now_ns: u64) {
        let sessions = self.sessions.awake();
        if let Some(release) = sessions.and_then(|all| all.living.remove(session)) {
            self.sessions.ended.push_back(release);
            self.forget_oldest(now_ns);
        }
    }

    fn forget_oldest(&mut self, now_ns: u64) {
        if now_ns >= self.recovered_until_ns {
            for release in std::mem::take(&mut self.recovered).into_iter().rev() {
                self.sessions.ended.push_front(release);
            }
        }
        while self.sessions.ended.len() > ENDED_SESSIONS {
            self.forgot = true;
            self.sessions.ended.pop_front();
        }
    }

    /// Returns what became of a release. `lives`: the session that sent it has not ended.
    pub fn fate(&self, session: &SessionHash, sequence: u64, lives: bool) -> Fate {
        match self.last_of(session) {
            Some(last) if last.sequence == sequence => Fate::Committed(last.version, last.chain),
            Some(last) if last.sequence > sequence => Fate::Unknown,
            None if self.forgot && !lives => Fate::Unknown,
            _ => Fate::NotCommitted,
        }
    }

    /// Returns the releases that a checkpoint saves. Those of living sessions come last, because
    /// these sessions may still ask.
    pub fn iter(&self) -> impl Iterator<Item = &CommittedRelease> {
        let mut living: Vec<_> = self.sessions.living.values().collect();
        living.sort_unstable_by_key(|release| release.version);
        let ended = self.sessions.ended.iter().chain(&self.recovered);
        let all: Vec<_> = ended.chain(living).collect();
        let surplus = all.len().saturating_sub(SAVED_RELEASES);
        all.into_iter().skip(surplus)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(session: u8, sequence: u64) -> CommittedRelease {
        CommittedRelease {
            session: [session; 16],
            sequence,
            version: sequence + 100,
            chain: sequence + 200,
        }
    }

    #[test]
    fn lock_8_recovered_sessions_count_as_living_for_a_while() {
        let mut remembered = Remembered::default();
        let saved: Vec<_> = (1..=3).map(|s| release(s, 1)).collect();
        remembered.recover(&saved, [release(1, 2)].into_iter(), 50);
        for session in 10..=100 {
            remembered.add(release(session, 1), false, 49);
        }
        assert_eq!(
            remembered.fate(&[1; 16], 2, false),
            Fate::Committed(102, 202)
        );
        assert_eq!(
            remembered.fate(&[2; 16], 1, false),
            Fate::Committed(101, 201)
        );
        remembered.add(release(101, 1), false, 50);
        assert_eq!(remembered.fate(&[1; 16], 2, false), Fate::Unknown);
    }

    #[test]
    fn lock_9_a_server_that_forgot_says_so_also_after_a_restart() {
        let mut before = Remembered::default();
        for session in 1..=65 {
            before.add(release(session, 1), false, 0);
        }
        let saved: Vec<_> = before.iter().cloned().collect();
        let mut after = Remembered::default();
        after.recover(&saved, std::iter::empty(), 0);
        for remembered in [before, after] {
            assert_eq!(remembered.fate(&[1; 16], 1, false), Fate::Unknown);
            assert_eq!(
                remembered.fate(&[2; 16], 1, false),
                Fate::Committed(101, 201)
            );
            assert_eq!(remembered.fate(&[2; 16], 2, false), Fate::NotCommitted);
        }
    }

    #[test]
    fn lock_9_a_release_before_the_last_of_its_session_is_not_told_apart() {
        let mut remembered = Remembered::default();
        remembered.add(release(1, 5), true, 0);
        assert_eq!(remembered.fate(&[1; 16], 4, true), Fate::Unknown);
    }

    #[test]
    fn a_checkpoint_is_given_no_more_than_it_holds_and_the_living_first_of_all() {
        let mut remembered = Remembered::default();
        for session in 0..64 {
            remembered.add(release(session, 1), false, 0);
        }
        for number in 0..1000_u64 {
            let mut session = [0xFF; 16];
            session[..8].copy_from_slice(&number.to_be_bytes());
            let living = CommittedRelease {
                session,
                ..release(0, 7)
            };
            remembered.add(living, true, 0);
        }
        let living = |r: &&CommittedRelease| r.sequence == 7;
        assert_eq!(remembered.iter().count(), SAVED_RELEASES);
        assert_eq!(remembered.iter().filter(living).count(), 1000);
    }
}
