//! Constants and enum members: collected first, worked out when first asked for.
//!
//! A constant may name one that is defined later, so values are computed on demand; one that needs
//! itself is an error.

use super::names::{self, Names};
use crate::diagnostics::{Diagnostic, Report};
use crate::frontend::ast::{self, Path, Value};
use crate::source::Span;
use std::collections::HashMap;

/// Constants defined by constants defined by ... beyond this would exhaust the stack.
const MAX_CHAIN: usize = 200;

#[derive(Clone)]
enum State {
    Unknown,
    Visiting,
    Known(i128),
    /// Reported already; counts as 1 so that what uses it causes no errors of its own.
    Wrong,
}

/// Where a constant's value comes from.
#[derive(Clone, Copy)]
enum Origin<'a> {
    Value(&'a Value),
    /// One more than the member before, or 0.
    Next(Option<usize>),
    /// It is a text, which has no number.
    Text,
}

struct Entry<'a> {
    origin: Origin<'a>,
    namespace: &'a [String],
    span: Span,
    state: State,
    /// An enum's member, which must fit in 32 bits.
    member: bool,
}

/// All constants of a unit.
pub(super) struct Constants<'a> {
    entries: Vec<Entry<'a>>,
    names: Names<usize>,
    /// First entry of the enum whose first member stands at this span's start.
    enums: HashMap<(usize, usize), usize>,
    /// Whether files may repeat names of each other's enum members.
    members_per_file: bool,
}

impl<'a> Constants<'a> {
    pub fn new(members_per_file: bool) -> Self {
        Constants {
            entries: Vec::new(),
            names: Names::new(),
            enums: HashMap::new(),
            members_per_file,
        }
    }

    /// Adds a definition's constants: its own if it is one, and members of every enum in it.
    pub fn collect(&mut self, definition: &'a ast::Definition, report: &mut Report) {
        let namespace = definition.namespace.as_slice();
        match &definition.body {
            ast::Body::Const(value) => {
                let name = &definition.name;
                self.add(name, namespace, Origin::Value(value), false, report);
            }
            ast::Body::Text(_) => {
                self.add(&definition.name, namespace, Origin::Text, false, report);
            }
            ast::Body::Typedef(declaration) => self.in_declaration(declaration, namespace, report),
            ast::Body::Enum(members) => self.in_enum(members, namespace, report),
            ast::Body::Struct(fields) => {
                for field in fields {
                    self.in_declaration(field, namespace, report);
                }
            }
            ast::Body::Union(body) => self.in_union(body, namespace, report),
        }
    }

    fn in_declaration(
        &mut self,
        declaration: &'a ast::Declaration,
        namespace: &'a [String],
        report: &mut Report,
    ) {
        match &declaration.base {
            ast::Base::Enum(members) => self.in_enum(members, namespace, report),
            ast::Base::Struct(fields) => {
                for field in fields {
                    self.in_declaration(field, namespace, report);
                }
            }
            ast::Base::Union(body) => self.in_union(body, namespace, report),
            _ => {}
        }
    }

    fn in_union(&mut self, body: &'a ast::Union, namespace: &'a [String], report: &mut Report) {
        self.in_declaration(&body.discriminant, namespace, report);
        for arm in body.arms.iter().chain(&body.default) {
            if let Some(declaration) = &arm.declaration {
                self.in_declaration(declaration, namespace, report);
            }
        }
    }

    fn in_enum(
        &mut self,
        members: &'a [ast::Member],
        namespace: &'a [String],
        report: &mut Report,
    ) {
        let first = self.entries.len();
        if let Some(member) = members.first() {
            self.enums.insert(key(member), first);
        }
        for (index, member) in members.iter().enumerate() {
            let before = index.checked_sub(1).map(|before| first + before);
            let origin = match &member.value {
                Some(value) => Origin::Value(value),
                None => Origin::Next(before),
            };
            self.add(&member.name, namespace, origin, true, report);
        }
    }

    fn add(
        &mut self,
        name: &ast::Name,
        namespace: &'a [String],
        origin: Origin<'a>,
        member: bool,
        report: &mut Report,
    ) {
        let index = self.entries.len();
        self.entries.push(Entry {
            origin,
            namespace,
            span: name.span,
            state: State::Unknown,
            member,
        });
        let first = self.names.add(namespace, &name.text, index, name.span);
        let Some(first) = first else {
            return;
        };
        let elsewhere = first.file != name.span.file;
        if elsewhere && member && self.members_per_file {
            return;
        }
        let message = format!("the constant `{}` is defined twice", name.text);
        report.error(Diagnostic::new(name.span, message).related(first, "first defined here"));
    }

    /// The value of each member of an enum.
    pub fn members(&mut self, members: &[ast::Member], report: &mut Report) -> Vec<i32> {
        let first = members
            .first()
            .and_then(|member| self.enums.get(&key(member)));
        let Some(&first) = first else {
            return Vec::new();
        };
        (first..first + members.len())
            .map(|index| self.entry(index, 0, report) as i32)
            .collect()
    }

    /// The number that a value in the file stands for.
    pub fn value(&mut self, value: &Value, namespace: &[String], report: &mut Report) -> i128 {
        self.evaluate(value, namespace, 0, report).unwrap_or(1)
    }

    /// Whether a name is a constant's: for messages about one in the place of a type.
    pub fn is_constant(&self, path: &Path, namespace: &[String]) -> bool {
        self.names.find(namespace, path).is_some()
    }

    fn evaluate(
        &mut self,
        value: &Value,
        namespace: &[String],
        chain: usize,
        report: &mut Report,
    ) -> Option<i128> {
        match value {
            Value::Int(number, _) => Some(*number),
            Value::Named(path) => match self.names.find(namespace, path) {
                Some(index) if matches!(self.entries[index].origin, Origin::Text) => {
                    let name = path.parts.join("::");
                    let message = format!("`{name}` is a text; a number is needed here");
                    report.error(Diagnostic::new(path.span, message));
                    None
                }
                Some(index) => Some(self.entry(index, chain + 1, report)),
                None => {
                    report.error(names::unknown_constant(path, &self.names));
                    None
                }
            },
        }
    }

    fn entry(&mut self, index: usize, chain: usize, report: &mut Report) -> i128 {
        match self.entries[index].state {
            State::Known(value) => return value,
            State::Wrong => return 1,
            State::Visiting | State::Unknown => {}
        }
        let cycle = matches!(self.entries[index].state, State::Visiting);
        if cycle || chain > MAX_CHAIN {
            let message = match cycle {
                true => "this constant is defined by itself",
                false => "this constant is at the end of too long a chain of constants",
            };
            report.error(Diagnostic::new(self.entries[index].span, message));
            self.entries[index].state = State::Wrong;
            return 1;
        }
        self.entries[index].state = State::Visiting;
        let value = self.compute(index, chain, report);
        let state = match value {
            Some(value) if self.fits(index, value, report) => State::Known(value),
            _ => State::Wrong,
        };
        self.entries[index].state = state;
        value.unwrap_or(1)
    }

    fn compute(&mut self, index: usize, chain: usize, report: &mut Report) -> Option<i128> {
        let namespace = self.entries[index].namespace;
        match self.entries[index].origin {
            Origin::Value(value) => self.evaluate(value, namespace, chain, report),
            Origin::Text => None,
            Origin::Next(None) => Some(0),
            Origin::Next(Some(before)) => {
                self.settle_members_before(before, chain, report);
                Some(self.entry(before, chain, report) + 1)
            }
        }
    }

    /// Works out a run of members without values from its start, not from its end by recursion.
    fn settle_members_before(&mut self, last: usize, chain: usize, report: &mut Report) {
        let mut first = last;
        while let (Origin::Next(Some(before)), State::Unknown) =
            (&self.entries[first].origin, &self.entries[first].state)
        {
            first = *before;
        }
        for index in first..last {
            self.entry(index, chain, report);
        }
    }

    fn fits(&self, index: usize, value: i128, report: &mut Report) -> bool {
        let entry = &self.entries[index];
        let range = match entry.member {
            true => i32::MIN as i128..=i32::MAX as i128,
            false => i64::MIN as i128..=u64::MAX as i128,
        };
        if range.contains(&value) {
            return true;
        }
        let what = match entry.member {
            true => "an enum's value must fit in 32 bits, signed",
            false => "a constant must fit in 64 bits",
        };
        report.error(Diagnostic::new(
            entry.span,
            format!("{what}; this is {value}"),
        ));
        false
    }
}

fn key(member: &ast::Member) -> (usize, usize) {
    (member.name.span.file.0, member.name.span.start)
}
