//! Records all that happens to one native client, and all that its engine says, as a trace
//! (spec/vectors/traces/README.md has the format).

use super::engine::{Action, Done, Kind, Outcome};
use crate::client::bytes_of;
use crate::env::MS;
use crate::plan::Traced;
use interweave_wire::protocol::*;
use interweave_wire::{FrameDecoder, Message};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Ticks after which nothing is sent are recorded this seldom.
const SELDOM_NS: u64 = 100 * MS;

#[derive(Debug)]
struct Line {
    at_ns: u64,
    text: String,
    /// Of an action: its program's patience ended then.
    until_ns: Option<u64>,
}

#[derive(Debug)]
pub struct Recorder {
    head: String,
    lines: Vec<Line>,
    /// The number of the line of each request that is not answered, by its stream.
    asked: BTreeMap<u32, usize>,
    /// The line of the action under way.
    begun: Option<usize>,
    /// A tick that has not brought anything yet, and the last one that is recorded.
    tick_ns: Option<u64>,
    ticked_ns: u64,
    /// An ERROR came then: it is the reason of what ends at that moment.
    refused_ns: Option<u64>,
    /// A message was completed by the bytes that come now.
    is_complete: bool,
    pub keeps_grants: bool,
}

impl Recorder {
    pub fn new(seed: u64, traced: Traced, durable: Durability) -> Recorder {
        let keeps_grants = traced.keeps_grants;
        let durability = durable.name();
        let mut head = format!(r#"{{"trace":1,"seed":{seed},"keeps_grants":{keeps_grants}"#);
        put(
            &mut head,
            format_args!(r#","path":"/s0","durability":"{durability}"}}"#),
        );
        Recorder {
            head,
            lines: Vec::new(),
            asked: BTreeMap::new(),
            begun: None,
            tick_ns: None,
            ticked_ns: 0,
            refused_ns: None,
            is_complete: false,
            keeps_grants,
        }
    }

    /// The trace, line by line.
    pub fn text(&self) -> Vec<String> {
        let first_ns = self.lines.first().map_or(0, |line| line.at_ns);
        let shown = |line: &Line| {
            let at = line.at_ns - first_ns;
            let until = line.until_ns.map(|until| until - first_ns);
            let until = until.map_or(String::new(), |until| format!(r#","until":{until}"#));
            format!(r#"{{"at":{at},{}{until}}}"#, line.text)
        };
        let head = std::iter::once(self.head.clone());
        head.chain(self.lines.iter().map(shown)).collect()
    }

    /// Gives the number that the line has in the file, where the head is line 1.
    fn add(&mut self, at_ns: u64, text: String) -> usize {
        self.lines.push(Line {
            at_ns,
            text,
            until_ns: None,
        });
        self.lines.len() + 1
    }

    fn flush_tick(&mut self) {
        if let Some(at_ns) = self.tick_ns.take() {
            self.ticked_ns = at_ns;
            self.add(at_ns, r#""is":"tick""#.to_string());
        }
    }

    // ---- what goes in ----

    pub fn begins(&mut self, now_ns: u64, action: &Action) {
        self.flush_tick();
        let mut text = format!(r#""is":"begins","action":"{}""#, name_of(action.kind));
        let (model, x, fresh) = action.wish;
        match action.kind {
            Kind::Read => put(
                &mut text,
                format_args!(r#","model":"{}","x":{x},"fresh":{fresh}"#, model.name()),
            ),
            Kind::Release if !action.diff.is_empty() => {
                put(&mut text, format_args!(r#","diff":"{}""#, hex(action.diff)));
            }
            _ => {}
        }
        let number = self.add(now_ns, text);
        self.begun = Some(number);
    }

    pub fn connected(&mut self, now_ns: u64) {
        self.flush_tick();
        self.asked.clear();
        self.add(now_ns, r#""is":"connected""#.to_string());
    }

    pub fn disconnected(&mut self, now_ns: u64) {
        self.add(now_ns, r#""is":"disconnected""#.to_string());
    }

    pub fn ticks(&mut self, now_ns: u64) {
        self.tick_ns = Some(now_ns);
        if now_ns >= self.ticked_ns + SELDOM_NS {
            self.flush_tick();
        }
    }

    /// The tick brought nothing.
    pub fn has_ticked(&mut self) {
        self.tick_ns = None;
    }

    pub fn heard(&mut self, now_ns: u64, type_: MessageType, message: &Message) {
        self.is_complete = true;
        if type_ == MessageType::Error {
            self.refused_ns = Some(now_ns);
        }
        let stream = message.envelope.stream;
        let to = match stream {
            0 => r#","to":0"#.to_string(),
            _ => match self.asked.remove(&stream) {
                Some(line) => format!(r#","to":{line}"#),
                None => String::new(),
            },
        };
        let text = format!(
            r#""is":"heard","message":"{}"{to}{}"#,
            type_.name(),
            content(message)
        );
        self.add(now_ns, text);
    }

    /// All of the bytes that came were read.
    pub fn has_heard(&mut self, now_ns: u64) {
        if !std::mem::take(&mut self.is_complete) {
            self.add(now_ns, r#""is":"bytes""#.to_string());
        }
    }

    // ---- what comes out ----

    pub fn sends(&mut self, now_ns: u64, type_: MessageType, message: &Message) {
        self.flush_tick();
        let text = format!(
            r#""is":"sends","message":"{}"{}"#,
            type_.name(),
            content(message)
        );
        let number = self.add(now_ns, text);
        self.asked.insert(message.envelope.stream, number);
    }

    pub fn hangs_up(&mut self, now_ns: u64) {
        self.flush_tick();
        self.add(now_ns, r#""is":"hangs_up""#.to_string());
    }

    pub fn done(&mut self, now_ns: u64, done: &Done) {
        self.flush_tick();
        let code = done.error.unwrap_or(ErrorCode::Ok);
        let ran_out = matches!(code, ErrorCode::TimedOut | ErrorCode::Unreachable);
        if let Some(number) = self.begun.take() {
            // Line 2 of the file is the first.
            let line = self.lines.get_mut(number.wrapping_sub(2));
            if let (Some(line), true) = (line, ran_out && self.refused_ns != Some(now_ns)) {
                line.until_ns = Some(now_ns);
            }
        }
        let mut text = format!(
            r#""is":"done","action":"{}","code":"{}""#,
            name_of(done.kind),
            code.name()
        );
        let VersionStamp {
            incarnation,
            number,
            chain,
        } = done.version;
        put(
            &mut text,
            format_args!(r#","version":["{incarnation}","{number}","{chain}"]"#),
        );
        if let Some(outcome) = done.outcome {
            put(
                &mut text,
                format_args!(r#","outcome":"{}""#, outcome_name(outcome)),
            );
        }
        if done.kind == Kind::Write && done.error.is_none() {
            let (fence, resumed) = (done.fence, done.is_resumed);
            put(
                &mut text,
                format_args!(r#","fence":"{fence}","resumed":{resumed}"#),
            );
        }
        self.add(now_ns, text);
    }
}

fn put(text: &mut String, more: std::fmt::Arguments) {
    // Writing to a String does not fail.
    let _ = text.write_fmt(more);
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn content(message: &Message) -> String {
    let mut text = format!(r#","body":"{}""#, hex(&message.body));
    if !message.bulk.is_empty() {
        put(
            &mut text,
            format_args!(r#","bulk":"{}""#, hex(&message.bulk)),
        );
    }
    text
}

fn name_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Read => "READ",
        Kind::EndRead => "END_READ",
        Kind::Write => "WRITE",
        Kind::Release => "RELEASE",
        Kind::Abort => "ABORT",
        Kind::Serials => "SERIALS",
        Kind::Listen => "LISTEN",
        Kind::Ignore => "IGNORE",
        Kind::Close => "CLOSE",
    }
}

fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Committed => "COMMITTED",
        Outcome::Unsaid => "UNSAID",
        Outcome::Held | Outcome::Unsent => "HELD",
        Outcome::RolledBack => "ROLLED_BACK",
        Outcome::Unknown => "UNKNOWN",
    }
}

/// The bytes of a HELLO as a client says it that keeps no grants [LOCK-13].
pub fn without_keeping(bytes: &[u8]) -> Vec<u8> {
    let mut decoder = FrameDecoder::new(0);
    decoder.push(bytes);
    let Ok(Some(message)) = decoder.next_message() else {
        return bytes.to_vec();
    };
    let Ok(mut hello) = message.decode::<Hello>() else {
        return bytes.to_vec();
    };
    hello
        .fields
        .retain(|field| field.key != FieldKey::Keeping as u32);
    let stream = message.envelope.stream;
    bytes_of(Message::new(
        MessageType::Hello,
        stream,
        &hello,
        message.bulk,
    ))
}
