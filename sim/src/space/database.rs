//! The database that the servers of a space share: a primary and a synchronous standby, with what
//! goes wrong there.
//!
//! A commit is reported as done although its wait for the standby was cancelled, or no standby is
//! named; a row that nobody acknowledged is seen after a start of the primary, and is gone after
//! the promotion of the standby; a transaction takes effect after its client is gone.

use super::locks::{Key, Mode};
use super::node::Node;
use super::tables::{Change, SegmentRow};
use super::work::{Found, Rollback, Work};
use crate::env::{Env, Event, MS, SECOND};
use crate::random::Random;
use interweave_store::{Identity, StoreError};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The connections of a server to the database, by their use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Line {
    Append,
    Save,
    Renew,
    Seek,
    Follow,
    Give,
    Join,
}

/// Something that happens in the database.
#[derive(Debug)]
pub enum Step {
    Connect {
        start: u64,
        line: Line,
    },
    Comes {
        session: u64,
        work: Box<Work>,
    },
    /// The transaction comes to its next row.
    Goes {
        transaction: u64,
    },
    Deadlock {
        transaction: u64,
    },
    Flush {
        node: usize,
        life: u64,
    },
    Shipped {
        node: usize,
        life: u64,
        to: u64,
    },
    Acked {
        node: usize,
        life: u64,
        to: u64,
    },
    /// The member and the database can reach each other again.
    Healed {
        member: usize,
    },
}

/// A server's connection hears something.
#[derive(Debug)]
pub struct Told {
    pub line: Line,
    pub heard: Heard,
}

#[derive(Debug)]
pub enum Heard {
    Connected {
        session: u64,
        timeline: u64,
    },
    NotConnected(StoreError),
    /// A transaction has ended. `warned`: with a notice.
    Ended {
        session: u64,
        result: Result<Found, Rollback>,
        warned: bool,
    },
    Broken {
        session: u64,
    },
}

/// A segment whose row was written.
#[derive(Debug)]
pub struct Owned {
    pub path: String,
    pub owner: u64,
    /// The owner before that.
    pub before: Option<u64>,
    pub incarnation: u64,
    /// By a give.
    pub is_given: bool,
}

#[derive(Debug)]
struct Session {
    start: u64,
    line: Line,
    node: usize,
    life: u64,
    /// Its client is gone.
    is_cut: bool,
}

#[derive(Debug)]
struct Transaction {
    session: u64,
    node: usize,
    work: Work,
    keys: Vec<(Key, Mode)>,
    taken: usize,
    was_owner: bool,
    begun_ns: u64,
    /// The number of its entry in the log, and what it writes and says.
    commit: Option<(u64, Arc<Vec<Change>>, Found)>,
}

/// Two that wait for each other are found after so long.
const DEADLOCK_NS: u64 = SECOND;
/// A session that stands still in a transaction for so long is ended.
const IDLE_NS: u64 = 10 * SECOND;

pub struct Database {
    random: Random,
    pub identity: Identity,
    nodes: Vec<Node>,
    sessions: BTreeMap<u64, Session>,
    transactions: BTreeMap<u64, Transaction>,
    last: u64,
    /// Servers that cannot reach it, and the messages that are held on both ways.
    apart: BTreeSet<usize>,
    /// The answer to the next give or removal comes so much later.
    late_ns: Option<u64>,
    held_steps: Vec<Step>,
    held: Vec<(u64, Told)>,
    /// When the last words to each connection arrive: they stay in their order.
    told_ns: BTreeMap<(u64, Line), u64>,
    /// Servers that stand still.
    pub paused: BTreeSet<usize>,
    /// The longest time that a part of the log takes to the standby; None: it does not arrive.
    pub lag_ns: Option<u64>,
    usual_lag_ns: u64,
    /// No standby is named: commits wait for none, and whoever looks sees that.
    names_nobody: bool,
    /// A standby is attached as soon as the primary is up again.
    is_standby_due: bool,
    /// The segments of which everybody sees that they are removed, and those of them that were not
    /// told yet, by their paths.
    removed: BTreeSet<u64>,
    untold: Vec<String>,
    /// Those of which the removal was lost.
    unremoved: Vec<String>,
    /// The segments whose rows were written.
    owned: Vec<Owned>,
}

/// The number of the server in its space, of that start.
pub fn member_of(start: u64) -> usize {
    (start >> 32).saturating_sub(1) as usize
}

impl Database {
    pub fn new(mut random: Random, lag_ns: u64) -> Database {
        let identity = Identity {
            server: random.bytes(),
            space: random.bytes(),
        };
        let mut primary = Node::primary();
        let standby = primary.new_standby();
        primary.standby = Some(1);
        Database {
            random,
            identity,
            nodes: vec![primary, standby],
            sessions: BTreeMap::new(),
            transactions: BTreeMap::new(),
            last: 0,
            apart: BTreeSet::new(),
            late_ns: None,
            held_steps: Vec::new(),
            held: Vec::new(),
            told_ns: BTreeMap::new(),
            paused: BTreeSet::new(),
            lag_ns: Some(lag_ns),
            usual_lag_ns: lag_ns,
            names_nobody: false,
            is_standby_due: false,
            removed: BTreeSet::new(),
            untold: Vec::new(),
            unremoved: Vec::new(),
            owned: Vec::new(),
        }
    }

    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    fn tell(&mut self, env: &mut Env, start: u64, told: Told) {
        if self.apart.contains(&member_of(start)) {
            return self.held.push((start, told));
        }
        let at_ns = env.world_ns + self.random.skewed(20_000, 2 * MS);
        let last_ns = self.told_ns.entry((start, told.line)).or_insert(0);
        *last_ns = at_ns.max(*last_ns);
        let ns = *last_ns - env.world_ns;
        env.after(ns, Event::Told { start, told });
    }

    fn answer(
        &mut self,
        env: &mut Env,
        session: u64,
        result: Result<Found, Rollback>,
        warned: bool,
    ) {
        let Some(s) = self.sessions.get(&session).filter(|s| !s.is_cut) else {
            return;
        };
        let (start, line) = (s.start, s.line);
        let heard = Heard::Ended {
            session,
            result,
            warned,
        };
        self.tell(env, start, Told { line, heard });
    }

    pub fn take(&mut self, env: &mut Env, step: Step) {
        let from = match &step {
            Step::Connect { start, .. } => Some(*start),
            Step::Comes { session, .. } => self.sessions.get(session).map(|s| s.start),
            _ => None,
        };
        if from.is_some_and(|start| self.apart.contains(&member_of(start))) {
            return self.held_steps.push(step);
        }
        match step {
            Step::Connect { start, line } => self.connect(env, start, line),
            Step::Comes { session, work } => self.begin(env, session, *work),
            Step::Goes { transaction } => self.go(env, transaction),
            Step::Deadlock { transaction } => self.look_for_deadlock(env, transaction),
            Step::Flush { node, life } => self.flush(env, node, life),
            Step::Shipped { node, life, to } => self.shipped(env, (node, life), to),
            Step::Acked { node, life, to } => {
                if self.nodes[node].life == life {
                    let acked = &mut self.nodes[node].acked;
                    *acked = to.max(*acked);
                    let acked = *acked;
                    self.end_commits(env, (node, acked), self.names_nobody);
                }
            }
            Step::Healed { member } => self.heal(env, member),
        }
    }

    fn connect(&mut self, env: &mut Env, start: u64, line: Line) {
        let nodes = self.nodes.iter().enumerate();
        let open = nodes.filter(|(_, node)| node.is_up && node.is_primary);
        let open: Vec<usize> = open.map(|(number, _)| number).collect();
        let heard = if open.is_empty() {
            Heard::NotConnected(StoreError::Away("no primary takes connections".into()))
        } else {
            let node = *self.random.pick(&open);
            if self.names_nobody || self.nodes[node].standby.is_none() {
                let text = "no synchronous standby is attached".to_string();
                Heard::NotConnected(StoreError::Alone(text))
            } else {
                let session = self.next();
                let made = Session {
                    start,
                    line,
                    node,
                    life: self.nodes[node].life,
                    is_cut: false,
                };
                self.sessions.insert(session, made);
                let timeline = self.nodes[node].timeline;
                Heard::Connected { session, timeline }
            }
        };
        self.tell(env, start, Told { line, heard });
    }

    fn begin(&mut self, env: &mut Env, session: u64, work: Work) {
        let Some(s) = self.sessions.get(&session) else {
            return;
        };
        let node = &self.nodes[s.node];
        if node.life != s.life || s.is_cut && !work.is_sent_whole() {
            return;
        }
        let transaction = Transaction {
            session,
            node: s.node,
            keys: work.locks(&node.shown),
            was_owner: work.is_owner(&node.shown),
            work,
            taken: 0,
            begun_ns: env.world_ns,
            commit: None,
        };
        let number = self.next();
        self.transactions.insert(number, transaction);
        self.go_soon(env, number);
    }

    fn go_soon(&mut self, env: &mut Env, transaction: u64) {
        let ns = self.random.skewed(5_000, 500_000);
        env.after(ns, Event::Database(Step::Goes { transaction }));
    }

    fn go(&mut self, env: &mut Env, number: u64) {
        let Some(t) = self
            .transactions
            .get_mut(&number)
            .filter(|t| t.commit.is_none())
        else {
            return;
        };
        let number_of = t.session;
        let start = self.sessions.get(&number_of).map_or(0, |s| s.start);
        if self.paused.contains(&member_of(start)) && !t.work.is_sent_whole() {
            // Its next statement does not come.
            return match env.world_ns > t.begun_ns + IDLE_NS {
                true => self.break_session(env, number_of),
                false => env.after(
                    5 * MS,
                    Event::Database(Step::Goes {
                        transaction: number,
                    }),
                ),
            };
        }
        let Some((key, mode)) = t.keys.get(t.taken) else {
            return self.run(env, number);
        };
        t.taken += 1;
        let locks = &mut self.nodes[t.node].locks;
        match locks.take(key, number, *mode) {
            true => self.go_soon(env, number),
            false => {
                let transaction = number;
                env.after(DEADLOCK_NS, Event::Database(Step::Deadlock { transaction }));
            }
        }
    }

    fn look_for_deadlock(&mut self, env: &mut Env, number: u64) {
        let Some(t) = self
            .transactions
            .get(&number)
            .filter(|t| t.commit.is_none())
        else {
            return;
        };
        if self.nodes[t.node].locks.is_deadlocked(number) {
            let session = t.session;
            self.end(env, number);
            self.answer(env, session, Err(Rollback::Deadlock), false);
        }
    }

    /// It has all its locks.
    fn run(&mut self, env: &mut Env, number: u64) {
        let Some(t) = self.transactions.get_mut(&number) else {
            return;
        };
        let node = &mut self.nodes[t.node];
        let session = t.session;
        let ended = t.work.run(&node.shown, t.was_owner);
        let (changes, found) = match ended {
            Ok(ended) => ended,
            Err(rollback) => {
                self.end(env, number);
                return self.answer(env, session, Err(rollback), false);
            }
        };
        if changes.is_empty() {
            self.end(env, number);
            return self.answer(env, session, Ok(found), false);
        }
        let changes = Arc::new(changes);
        let entry = node.log(&changes);
        let (node, waits) = (t.node, t.work.waits());
        t.commit = Some((entry, changes, found));
        let flushes_ns = match waits {
            true => self.random.skewed(50_000, 4 * MS),
            false => self.random.skewed(MS, 200 * MS),
        };
        self.flush_after(env, node, flushes_ns);
        if !waits {
            self.committed(env, number, false);
        }
    }

    fn flush_after(&mut self, env: &mut Env, node: usize, ns: u64) {
        let at_ns = env.world_ns + ns;
        let n = &mut self.nodes[node];
        if n.flushes_ns.is_none_or(|planned| at_ns < planned) {
            n.flushes_ns = Some(at_ns);
            let life = n.life;
            env.after(ns, Event::Database(Step::Flush { node, life }));
        }
    }

    fn flush(&mut self, env: &mut Env, node: usize, life: u64) {
        let n = &mut self.nodes[node];
        let is_due = n.flushes_ns.is_some_and(|at_ns| at_ns <= env.world_ns);
        if n.life == life && is_due {
            n.flushes_ns = None;
            n.flush();
            self.ship(env, node);
            if self.names_nobody {
                let flushed = self.nodes[node].flushed();
                self.end_commits(env, (node, flushed), true);
            }
        }
    }

    /// Sends the standby what it lacks.
    fn ship(&mut self, env: &mut Env, node: usize) {
        let Some(lag_ns) = self.lag_ns else {
            return;
        };
        let ns = self.random.skewed(50_000, lag_ns);
        let n = &mut self.nodes[node];
        n.shipped_ns = n.shipped_ns.max(env.world_ns + ns);
        let (life, to) = (n.life, n.flushed());
        let ns = n.shipped_ns - env.world_ns;
        env.after(ns, Event::Database(Step::Shipped { node, life, to }));
    }

    fn shipped(&mut self, env: &mut Env, (node, life): (usize, u64), to: u64) {
        let n = &self.nodes[node];
        let Some(standby) = n
            .standby
            .filter(|_| n.life == life && self.lag_ns.is_some())
        else {
            return;
        };
        let part = n.after(self.nodes[standby].flushed(), to);
        self.nodes[standby].receive(&part);
        let has = self.nodes[standby].flushed();
        self.nodes[node].trim(has);
        let ns = self.random.skewed(20_000, MS);
        env.after(ns, Event::Database(Step::Acked { node, life, to }));
    }

    /// Commits of the node up to that entry are seen by everybody: the standby has them, or, where
    /// that is in doubt, does not keep them waiting.
    fn end_commits(&mut self, env: &mut Env, (node, to): (usize, u64), is_doubted: bool) {
        let ends = |t: &Transaction| {
            let entry = t.commit.as_ref().map(|(entry, _, _)| *entry);
            t.node == node && entry.is_some_and(|entry| entry <= to)
        };
        let ended = self.transactions.iter().filter(|(_, t)| ends(t));
        let ended: Vec<u64> = ended.map(|(number, _)| *number).collect();
        for number in ended {
            self.committed(env, number, is_doubted);
        }
    }

    fn committed(&mut self, env: &mut Env, number: u64, warned: bool) {
        let Some(t) = self.transactions.get(&number) else {
            return;
        };
        let Some((_, changes, found)) = t.commit.clone() else {
            return;
        };
        let (session, node) = (t.session, t.node);
        let is_given = matches!(t.work, Work::Give { .. });
        let owner = |id: &u64| Some(self.nodes[node].shown.segments.get(id)?.owner);
        let before = changes.iter().map(|change| match change {
            Change::Segment(id, _) => owner(id),
            _ => None,
        });
        let before: Vec<Option<u64>> = before.collect();
        self.nodes[node].shown.apply(&changes);
        // Rows that are written to a primary that was cut off are lost with that primary.
        let is_newest = self.primary() == Some(node);
        for (change, before) in changes.iter().zip(before).filter(|_| is_newest) {
            if let Change::Segment(id, row) = change {
                self.note_removal(*id, row);
                self.owned.push(Owned {
                    path: row.path().to_string(),
                    owner: row.owner,
                    before,
                    incarnation: row.incarnation,
                    is_given,
                });
            }
        }
        self.end(env, number);
        let removes = |change: &Change| matches!(change, Change::Segment(_, row) if row.is_removed);
        if is_given || changes.iter().any(removes) {
            self.hold_answer(env, session);
        }
        self.answer(env, session, Ok(found), warned);
    }

    /// If it is to be late, the session's server hears nothing for a while.
    fn hold_answer(&mut self, env: &mut Env, session: u64) {
        let Some(start) = self.sessions.get(&session).map(|s| s.start) else {
            return;
        };
        if let Some(ns) = self.late_ns.take() {
            let member = member_of(start);
            self.part(member);
            env.after(ns, Event::Database(Step::Healed { member }));
        }
    }

    fn note_removal(&mut self, id: u64, row: &SegmentRow) {
        if row.is_removed && self.removed.insert(id) {
            self.untold.push(row.path().to_string());
        }
    }

    /// Takes note of the removals that a start of the node shows.
    fn note_removals(&mut self, node: usize) {
        let rows = self.nodes[node].shown.segments.clone();
        for (id, row) in &rows {
            self.note_removal(*id, row);
            if !row.is_removed && self.removed.remove(id) {
                self.unremoved.push(row.path().to_string());
            }
        }
    }

    /// The paths of segments that are back: their removals were seen, and are lost.
    pub fn take_unremoved(&mut self) -> Vec<String> {
        std::mem::take(&mut self.unremoved)
    }

    /// The segments whose rows were written since the last call.
    pub fn take_owned(&mut self) -> Vec<Owned> {
        std::mem::take(&mut self.owned)
    }

    /// The paths of segments that were removed since the last call.
    pub fn take_removed(&mut self) -> Vec<String> {
        std::mem::take(&mut self.untold)
    }

    /// The transaction lets its locks go.
    fn end(&mut self, env: &mut Env, number: u64) {
        if let Some(t) = self.transactions.remove(&number) {
            for next in self.nodes[t.node].locks.end(number) {
                self.go_soon(env, next);
            }
        }
    }

    /// The session is ended by the database.
    fn break_session(&mut self, env: &mut Env, session: u64) {
        let of_it = |t: &Transaction| t.session == session;
        let transactions = self.transactions.iter().filter(|(_, t)| of_it(t));
        let transactions: Vec<u64> = transactions.map(|(number, _)| *number).collect();
        for number in transactions {
            self.end(env, number);
        }
        if let Some(s) = self.sessions.remove(&session).filter(|s| !s.is_cut) {
            let heard = Heard::Broken { session };
            self.tell(
                env,
                s.start,
                Told {
                    line: s.line,
                    heard,
                },
            );
        }
    }

    /// The connections of that start break. Messages on them may still come, and a commit that
    /// has begun ends. `is_told`: the server lives, and is told.
    pub fn cut(&mut self, env: &mut Env, start: u64, is_told: bool) {
        let of_it = self.sessions.iter_mut().filter(|(_, s)| s.start == start);
        let mut told = Vec::new();
        for (session, s) in of_it.filter(|(_, s)| !s.is_cut) {
            s.is_cut = true;
            told.push((*session, s.line));
        }
        let is_open = |t: &Transaction| t.commit.is_none() && !t.work.is_sent_whole();
        let open = self.transactions.iter();
        let open = open.filter(|(_, t)| is_open(t) && told.iter().any(|(s, _)| *s == t.session));
        let open: Vec<u64> = open.map(|(number, _)| *number).collect();
        for number in open {
            self.end(env, number);
        }
        for (session, line) in told.into_iter().filter(|_| is_told) {
            let heard = Heard::Broken { session };
            self.tell(env, start, Told { line, heard });
        }
    }

    fn primary(&self) -> Option<usize> {
        // The last one that was promoted.
        self.nodes.iter().rposition(|node| node.is_primary)
    }

    fn crash_node(&mut self, env: &mut Env, node: usize) {
        let of_it = self.sessions.iter().filter(|(_, s)| s.node == node);
        let sessions: Vec<u64> = of_it.map(|(session, _)| *session).collect();
        for session in sessions {
            self.break_session(env, session);
        }
        self.transactions.retain(|_, t| t.node != node);
        self.nodes[node].crash();
    }

    /// The primary ends at once.
    pub fn crash(&mut self, env: &mut Env) {
        if let Some(primary) = self.primary().filter(|n| self.nodes[*n].is_up) {
            env.database_has_lost = true;
            self.crash_node(env, primary);
        }
    }

    /// The primary starts again, if it does not run.
    pub fn restart(&mut self, env: &mut Env) {
        if let Some(primary) = self.primary().filter(|n| !self.nodes[*n].is_up) {
            self.nodes[primary].start();
            self.note_removals(primary);
            self.ship(env, primary);
            if self.is_standby_due {
                self.attach(env);
            }
        }
    }

    /// The standby becomes the primary. The primary before ends for ever, unless it is cut off and
    /// does not know. False: it has none.
    pub fn promote(&mut self, env: &mut Env, old_lives: bool) -> bool {
        let Some(old) = self.primary() else {
            return false;
        };
        let Some(standby) = self.nodes[old].standby.take() else {
            return false;
        };
        env.database_has_lost = true;
        match old_lives && self.nodes[old].is_up {
            true => self.nodes[old].is_primary = true,
            false => self.retire(env, old),
        }
        let timeline = self.nodes[old].timeline;
        let new = &mut self.nodes[standby];
        new.timeline = timeline;
        new.promote();
        self.note_removals(standby);
        true
    }

    fn retire(&mut self, env: &mut Env, node: usize) {
        if self.nodes[node].is_up {
            self.crash_node(env, node);
        }
        self.nodes[node].is_primary = false;
    }

    /// Primaries of earlier timelines end.
    pub fn retire_old(&mut self, env: &mut Env) {
        let newest = self.primary();
        for node in 0..self.nodes.len() {
            if self.nodes[node].is_primary && Some(node) != newest {
                self.retire(env, node);
            }
        }
    }

    /// A new standby is attached to a primary that has none, or will be when the primary is up.
    pub fn attach(&mut self, env: &mut Env) {
        let primary = self.primary().filter(|n| self.nodes[*n].is_up);
        self.is_standby_due = primary.is_none();
        let Some(primary) = primary else {
            return;
        };
        if self.nodes[primary].standby.is_none() {
            let standby = self.nodes[primary].new_standby();
            let has = standby.flushed();
            self.nodes.push(standby);
            let number = self.nodes.len() - 1;
            self.nodes[primary].standby = Some(number);
            self.nodes[primary].acked = has;
            self.end_commits(env, (primary, has), self.names_nobody);
            self.ship(env, primary);
        }
    }

    /// From now on nothing arrives at the standby, or late. None: as usual.
    pub fn set_lag(&mut self, env: &mut Env, lag_ns: Option<Option<u64>>) {
        self.lag_ns = lag_ns.unwrap_or(Some(self.usual_lag_ns));
        if let Some(primary) = self.primary().filter(|n| self.nodes[*n].is_up) {
            self.ship(env, primary);
        }
    }

    /// Somebody empties the list of standbys for which commits wait.
    pub fn name_nobody(&mut self, env: &mut Env) {
        self.names_nobody = true;
        if let Some(primary) = self.primary().filter(|n| self.nodes[*n].is_up) {
            let flushed = self.nodes[primary].flushed();
            self.end_commits(env, (primary, flushed), true);
        }
    }

    /// The list is as it was.
    pub fn name_somebody(&mut self) {
        self.names_nobody = false;
    }

    /// Somebody cancels the waits for the standby. Returns how many.
    pub fn cancel(&mut self, env: &mut Env) -> usize {
        let waiting = self.transactions.iter();
        let waiting = waiting.filter(|(_, t)| t.commit.is_some());
        let waiting: Vec<u64> = waiting.map(|(number, _)| *number).collect();
        for number in &waiting {
            self.committed(env, *number, true);
        }
        waiting.len()
    }

    /// The answer to the next give or removal comes so much later, as everything that the database
    /// tells that server.
    pub fn be_late(&mut self, ns: u64) {
        self.late_ns = Some(ns);
    }

    /// The server and the database cannot reach each other.
    pub fn part(&mut self, member: usize) {
        self.apart.insert(member);
    }

    pub fn heal(&mut self, env: &mut Env, member: usize) {
        self.apart.remove(&member);
        for step in std::mem::take(&mut self.held_steps) {
            self.take(env, step);
        }
        for (start, told) in std::mem::take(&mut self.held) {
            self.tell(env, start, told);
        }
    }

    /// All faults have ended.
    pub fn calm(&mut self, env: &mut Env) {
        for member in std::mem::take(&mut self.apart) {
            self.heal(env, member);
        }
        self.late_ns = None;
        self.name_somebody();
        self.paused.clear();
        self.retire_old(env);
        self.restart(env);
        self.attach(env);
        self.set_lag(env, None);
    }
}
