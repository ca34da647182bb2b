//! Moves segments, as `interweave move` and `interweave drain` do: it asks the servers one after
//! the other, and may hang up in the middle.

use super::client::link::Links;
use super::client::Asked;
use super::member::member_at;
use crate::client::{decoded, error_of};
use crate::env::{Env, Event, MS, SECOND};
use crate::history::{violation, Checked};
use crate::network::{Item, Side};
use crate::plan::moves::Order;
use crate::random::Random;
use bytes::Bytes;
use interweave_wire::fields::Fields;
use interweave_wire::protocol::*;
use interweave_wire::Message;
use std::collections::VecDeque;

/// So many orders wait at most.
const MOST_ORDERS: usize = 16;
/// It leaves a task that takes longer.
const PATIENCE_NS: u64 = 5 * SECOND;
/// It looks at its connections so often.
const LOOKS_NS: u64 = 20 * MS;
/// It is sent on so often at most [SPACE-10].
const MOST_HOPS: u32 = 3;

/// The next request of a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Follow,
    HandOver { member: u64 },
    FollowAgain,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Task {
    Move {
        segment: usize,
        from: usize,
        to: usize,
        wait_ms: u32,
        step: Step,
        hops: u32,
        /// Only from the first server that is asked.
        stays: bool,
    },
    Drain {
        server: usize,
        wait_ms: u32,
        servers: usize,
        segments: usize,
    },
}

impl Task {
    /// The server that is asked next.
    fn at(&self) -> usize {
        match self {
            Task::Move {
                from,
                step: Step::HandOver { .. },
                ..
            } => *from,
            Task::Move { to, .. } => *to,
            Task::Drain { server, .. } => *server,
        }
    }
}

pub struct Mover {
    pub number: usize,
    random: Random,
    lease_ns: u64,
    links: Links,
    tasks: VecDeque<Task>,
    /// It tries again what came to nothing.
    pub insists: bool,
    /// The present task, since when, and whether its request was sent.
    doing: Option<(Task, u64, bool)>,
}

impl Mover {
    pub fn new(number: usize, random: Random, lease_ns: u64) -> Mover {
        Mover {
            number,
            random,
            lease_ns,
            links: Links::default(),
            tasks: VecDeque::new(),
            insists: false,
            doing: None,
        }
    }

    pub fn is_idle(&self) -> bool {
        self.doing.is_none() && self.tasks.is_empty()
    }

    /// It leaves what it was to do.
    pub fn hang_up(&mut self, env: &mut Env) {
        self.tasks.clear();
        self.doing = None;
        for (server, _) in self.links.connections() {
            self.links.close(env, server);
            self.links.lost(env, server);
        }
    }

    /// It hangs up, and nothing that it has sent arrives any more: a drain that arrived after the
    /// faults would last for ever.
    pub fn fall_silent(&mut self, env: &mut Env) {
        for connection in env.net.connections_of(self.number) {
            env.break_connection(connection, &[Side::Server]);
        }
        self.hang_up(env);
    }

    pub fn order(
        &mut self,
        env: &mut Env,
        order: &Order,
        (servers, segments): (usize, usize),
    ) -> Checked<()> {
        let task = match order {
            Order::HangUp => {
                self.hang_up(env);
                return Ok(());
            }
            Order::Move {
                segment,
                from,
                to,
                wait_ms,
            } => Task::Move {
                segment: *segment,
                from: *from,
                to: *to,
                wait_ms: *wait_ms,
                step: Step::Follow,
                hops: 0,
                stays: false,
            },
            Order::Drain { server, wait_ms } => Task::Drain {
                server: *server,
                wait_ms: *wait_ms,
                servers,
                segments,
            },
        };
        if self.tasks.len() < MOST_ORDERS {
            self.tasks.push_back(task);
        }
        self.go_on(env);
        Ok(())
    }

    /// Takes an event that is the mover's.
    pub fn take(&mut self, env: &mut Env, event: Event) -> Checked<()> {
        match event {
            Event::Arrives {
                connection,
                item,
                sent_ns,
                ..
            } => {
                if let Some(server) = self.links.with(connection) {
                    match item {
                        Item::Bytes(bytes) => self.received(env, server, (&bytes, sent_ns))?,
                        Item::Close => self.lost(env, server),
                        Item::Open => {}
                    }
                }
            }
            Event::Lost { connection, .. } => {
                if let Some(server) = self.links.with(connection) {
                    self.lost(env, server);
                }
            }
            Event::Client { .. } => self.on_time(env),
            _ => {}
        }
        self.go_on(env);
        Ok(())
    }

    fn on_time(&mut self, env: &mut Env) {
        for server in self.links.silent(env.now_ns, self.lease_ns) {
            self.give_up(env, server);
        }
        self.links.ping(env, self.lease_ns);
        let is_late = |since_ns: &u64| env.now_ns > since_ns + PATIENCE_NS;
        if self
            .doing
            .as_ref()
            .is_some_and(|(_, since_ns, _)| is_late(since_ns))
        {
            self.fail(env, "it takes too long");
            // A hand-over that is left ends with its connection.
            let tasks = std::mem::take(&mut self.tasks);
            self.hang_up(env);
            self.tasks = tasks;
        }
        if !self.is_idle() {
            self.wake(env);
        }
    }

    fn wake(&self, env: &mut Env) {
        let (client, timer) = (self.number, 0);
        env.at(env.now_ns + LOOKS_NS, Event::Client { client, timer });
    }

    fn give_up(&mut self, env: &mut Env, server: usize) {
        self.links.close(env, server);
        self.lost(env, server);
    }

    /// It begins anew, or leaves, a task that a lost connection has ended.
    fn lost(&mut self, env: &mut Env, server: usize) {
        self.links.lost(env, server);
        let begins_anew = self.random.one_in(2);
        let Some((task, _, is_sent)) = &mut self.doing else {
            return;
        };
        if !*is_sent || task.at() != server {
            return;
        }
        *is_sent = false;
        if let Task::Move { step, .. } = task {
            *step = Step::Follow;
        }
        if !begins_anew {
            self.fail(env, "its connection is lost");
        }
    }

    fn end(&mut self, env: &mut Env, how: &str) {
        if let Some((task, _, _)) = self.doing.take() {
            env.say(|| format!("mover: {task:?}: {how}"));
        }
    }

    /// It came to nothing, and may succeed later.
    fn fail(&mut self, env: &mut Env, how: &str) {
        if let (true, Some((mut task, _, _))) = (self.insists, self.doing.clone()) {
            if let Task::Move { step, hops, .. } = &mut task {
                (*step, *hops) = (Step::Follow, 0);
            }
            self.tasks.push_back(task);
        }
        self.end(env, how);
    }

    /// Sends the next request, if the last one was answered.
    fn go_on(&mut self, env: &mut Env) {
        if self.doing.is_none() {
            let Some(task) = self.tasks.pop_front() else {
                return;
            };
            self.doing = Some((task, env.now_ns, false));
            self.wake(env);
        }
        let Some((task, _, is_sent)) = &mut self.doing else {
            return;
        };
        if *is_sent {
            return;
        }
        let at = task.at();
        let Some(link) = self.links.greeted(at) else {
            self.links.connect(env, (self.number, at), self.lease_ns);
            return;
        };
        *is_sent = true;
        match task {
            Task::Drain { .. } => {
                let what = (MessageType::Drain, Asked::Step);
                link.ask_bare(env, what);
            }
            Task::Move {
                segment,
                wait_ms,
                step,
                ..
            } => {
                let path = env.history[*segment].path.clone();
                match step {
                    Step::Follow | Step::FollowAgain => {
                        let what = (MessageType::FollowSegment, Asked::Step);
                        link.ask(env, what, &FollowSegment { path }, Bytes::new());
                    }
                    Step::HandOver { member } => {
                        let body = HandOver {
                            path,
                            member: *member,
                            deadline_ms: *wait_ms,
                        };
                        let what = (MessageType::HandOver, Asked::Step);
                        link.ask(env, what, &body, Bytes::new());
                    }
                }
            }
        }
    }

    fn received(
        &mut self,
        env: &mut Env,
        server: usize,
        (bytes, sent_ns): (&[u8], u64),
    ) -> Checked<()> {
        self.links.heard(env, server, bytes, sent_ns);
        while let Some(message) = self.links.next_message(server)? {
            self.message(env, server, &message)?;
        }
        Ok(())
    }

    fn message(&mut self, env: &mut Env, server: usize, message: &Message) -> Checked<()> {
        let stream = message.envelope.stream;
        let Some(type_) = message.kind() else {
            return violation("messages", format!("type {}", message.envelope.type_));
        };
        env.trace.note(env.now_ns, &[server as u64, type_ as u64]);
        env.say(|| format!("mover: {} on {stream} of {server}", type_.name()));
        if stream == 0 || type_ == MessageType::Goodbye {
            self.give_up(env, server);
            return Ok(());
        }
        if stream >= 1 << 31 {
            return Ok(());
        }
        let link = self.links.connected(server);
        match link.and_then(|link| link.answered(stream)) {
            Some(Asked::Hello) if type_ == MessageType::Welcome => {
                self.welcomed(env, server, &decoded(message)?)
            }
            Some(Asked::Hello) => {
                self.give_up(env, server);
                Ok(())
            }
            Some(Asked::Step) => self.answered(env, type_, message),
            _ => Ok(()),
        }
    }

    fn welcomed(&mut self, env: &mut Env, server: usize, welcome: &Welcome) -> Checked<()> {
        let fields = Fields::of(&welcome.fields);
        let space = fields.and_then(|fields| fields.get::<IdField>(FieldKey::SpaceId));
        let Ok(Some(IdField { id })) = space else {
            return violation("messages", "WELCOME names the space");
        };
        self.links.welcomed(env, server, (id, welcome));
        Ok(())
    }

    fn answered(&mut self, env: &mut Env, type_: MessageType, message: &Message) -> Checked<()> {
        let Some((task, _, is_sent)) = &mut self.doing else {
            return Ok(());
        };
        *is_sent = false;
        match (task, type_) {
            (_, MessageType::Error) => return self.refused(env, message),
            (Task::Move { step, .. }, MessageType::SegmentFollowed) => {
                let followed: SegmentFollowed = decoded(message)?;
                let member = followed.member;
                match step {
                    _ if followed.owned => self.end(env, "it is there"),
                    Step::Follow => *step = Step::HandOver { member },
                    _ => self.fail(env, "somebody else has it"),
                }
            }
            (Task::Move { step, .. }, MessageType::Done) => *step = Step::FollowAgain,
            (
                Task::Drain {
                    server,
                    wait_ms,
                    servers,
                    segments,
                },
                MessageType::Done,
            ) => {
                let (from, wait_ms, servers) = (*server, *wait_ms, *servers);
                for segment in 0..*segments {
                    self.tasks.push_front(Task::Move {
                        segment,
                        from,
                        to: (from + 1 + segment % (servers - 1)) % servers,
                        wait_ms,
                        step: Step::Follow,
                        hops: 0,
                        stays: true,
                    });
                }
                self.end(env, "it is drained");
            }
            (task, other) => {
                let text = format!("{} answers {task:?}", other.name());
                return violation("answers", text);
            }
        }
        Ok(())
    }

    fn refused(&mut self, env: &mut Env, message: &Message) -> Checked<()> {
        let (code, text) = error_of(message)?;
        let Some((
            Task::Move {
                from, hops, stays, ..
            },
            _,
            _,
        )) = &mut self.doing
        else {
            self.end(env, &text);
            return Ok(());
        };
        if code == ErrorCode::Redirected && *hops < MOST_HOPS && !*stays {
            let reply: ErrorReply = decoded(message)?;
            let fields = Fields::of(&reply.fields);
            let to = fields.and_then(|fields| fields.get::<RedirectField>(FieldKey::Redirect));
            if let Some(next) = to.ok().flatten().and_then(|to| member_at(&to.address)) {
                *hops += 1;
                *from = next;
                return Ok(());
            }
        }
        match code {
            ErrorCode::NoSegment | ErrorCode::Damaged => self.end(env, &text),
            _ => self.fail(env, &text),
        }
        Ok(())
    }
}
