//! The paths of all rules, as one tree of components for each subject.
//!
//! A decision walks all trees of its subjects at once, component by component: `active` has the
//! nodes whose patterns match the path up to here. A node is there at most once at each component,
//! because it is reached from its only parent alone. A node of `**` that others follow stays active
//! up to the path's end; it is put into `deep` at most once. So a decision costs at most nodes
//! times components, whatever pattern and path are. It costs much less, because a node is left out
//! as soon as a rule of an earlier line than all rules below it is found.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::parse::Rule;
use super::{wildcard, SEGMENT_OPERATIONS};
use crate::Decision;

/// What a rule says, with its line. The smaller one of two is of the earlier line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Verdict(u32);

impl Verdict {
    /// No rule.
    pub const NONE: Verdict = Verdict(u32::MAX);

    pub fn of(rule: &Rule) -> Verdict {
        Verdict(rule.line << 1 | u32::from(rule.is_allow))
    }

    pub fn decision(self) -> Decision {
        let is_rule = self != Verdict::NONE;
        Decision {
            is_allowed: is_rule && self.0 & 1 == 1,
            line: is_rule.then_some(self.0 >> 1),
        }
    }
}

/// One verdict for each operation that is about a segment.
type Verdicts = [Verdict; SEGMENT_OPERATIONS];

/// The number of the component `**`.
const DEEP: u32 = 0;
/// The number of all components of a path that no rule has.
const UNKNOWN: u32 = u32::MAX;

struct Node {
    parent: u32,
    /// The first rules whose path ends here.
    here: Verdicts,
    /// The first rules whose path ends here or below.
    below: Verdicts,
    /// The child of `**`.
    deep: Option<u32>,
    /// Of a node of `**`: how many nodes of `**` stand before it.
    deep_before: u32,
    /// The children whose component has a `*`.
    wild: Option<Box<Wild>>,
    has_children: bool,
}

/// The children with a `*` to which a component may lead. A child is found by its anchor, which is
/// the longer one of the texts before its first and behind its last star.
#[derive(Default)]
struct Wild {
    /// How many bytes the anchors at a component's beginning and at its end have.
    lengths: [Vec<usize>; 2],
    /// The children without an anchor, with the number of their component.
    free: Vec<(u32, u32)>,
}

/// Where an anchor stands.
const BEGINNING: usize = 0;
const END: usize = 1;

pub struct Paths {
    nodes: Vec<Node>,
    /// The components of all rules' paths, by their number.
    components: Vec<Box<str>>,
    numbers: HashMap<Box<str>, u32>,
    children: Edges<u32>,
    anchors: HashMap<Box<str>, u32>,
    /// The children that have an anchor there.
    anchored: [Edges<Vec<(u32, u32)>>; 2],
    /// How many nodes of `**` there are.
    deep_nodes: u32,
}

impl Paths {
    /// Makes one empty tree for each subject. Node n is the root of subject n.
    pub fn new(subjects: usize) -> Paths {
        let deep: Box<str> = "**".into();
        Paths {
            nodes: (0..subjects as u32).map(Node::new).collect(),
            components: vec![deep.clone()],
            numbers: HashMap::from([(deep, DEEP)]),
            children: HashMap::default(),
            anchors: HashMap::new(),
            anchored: Default::default(),
            deep_nodes: 0,
        }
    }

    /// Adds a rule. `is_about`: whether it is about the operation of a number.
    pub fn add(
        &mut self,
        subject: u32,
        path: &str,
        is_about: impl Fn(usize) -> bool,
        verdict: Verdict,
    ) {
        let mut node = subject;
        let mut before = UNKNOWN;
        for component in components(path) {
            let number = self.number(component);
            // Two `**` in a row say what one says.
            if (number, before) != (DEEP, DEEP) {
                node = self.child(node, number);
            }
            before = number;
        }
        let here = &mut self.nodes[node as usize].here;
        for (operation, first) in here.iter_mut().enumerate() {
            if is_about(operation) {
                *first = verdict.min(*first);
            }
        }
    }

    fn number(&mut self, component: &str) -> u32 {
        if let Some(&number) = self.numbers.get(component) {
            return number;
        }
        let number = self.components.len() as u32;
        self.components.push(component.into());
        self.numbers.insert(component.into(), number);
        number
    }

    /// A component of a segment's path may have a `*`. It is not a rule's component then, even if
    /// one has the same text.
    fn number_in_path(&self, component: &str) -> u32 {
        match self.numbers.get(component) {
            Some(&number) if !component.contains('*') => number,
            _ => UNKNOWN,
        }
    }

    fn child(&mut self, node: u32, number: u32) -> u32 {
        let new = self.nodes.len() as u32;
        let child = *self.children.entry(Edge::new(node, number)).or_insert(new);
        if child == new {
            self.nodes.push(Node::new(node));
            let parent = &mut self.nodes[node as usize];
            parent.has_children = true;
            if number == DEEP {
                parent.deep = Some(child);
                self.nodes[child as usize].deep_before = self.deep_nodes;
                self.deep_nodes += 1;
            } else if self.components[number as usize].contains('*') {
                self.add_wild(node, number, child);
            }
        }
        child
    }

    fn add_wild(&mut self, node: u32, number: u32, child: u32) {
        let wild = self.nodes[node as usize].wild.get_or_insert_default();
        let component = &*self.components[number as usize];
        let before = component.split('*').next().unwrap_or_default();
        let behind = component.rsplit('*').next().unwrap_or_default();
        let (place, anchor) = match before.len() >= behind.len() {
            true => (BEGINNING, before),
            false => (END, behind),
        };
        if anchor.is_empty() {
            wild.free.push((number, child));
            return;
        }
        let lengths = &mut wild.lengths[place];
        if !lengths.contains(&anchor.len()) {
            lengths.push(anchor.len());
        }
        let new = self.anchors.len() as u32;
        let anchor = *self.anchors.entry(anchor.into()).or_insert(new);
        let children = self.anchored[place]
            .entry(Edge::new(node, anchor))
            .or_default();
        children.push((number, child));
    }

    /// To be called when all rules are there.
    pub fn finish(&mut self) {
        // A child stands behind its parent.
        for at in (0..self.nodes.len()).rev() {
            let node = &mut self.nodes[at];
            for (below, here) in node.below.iter_mut().zip(node.here) {
                *below = here.min(*below);
            }
            let (parent, below) = (node.parent as usize, node.below);
            for (above, below) in self.nodes[parent].below.iter_mut().zip(below) {
                *above = below.min(*above);
            }
        }
    }

    /// Returns the first rule of these subjects that is about the operation and matches the path.
    /// Also returns the beginning of the path, up to and with a '/', such that the same rule is the
    /// first for all paths that begin so. None: it may be the first for this path alone.
    pub fn first_match<'a>(
        &self,
        subjects: &[u32],
        operation: usize,
        path: &'a str,
    ) -> (Verdict, Option<&'a str>) {
        let mut walk = Walk {
            paths: self,
            operation,
            best: Verdict::NONE,
            next: Vec::with_capacity(2 * subjects.len()),
            deep: Vec::new(),
            seen: Vec::new(),
        };
        for &root in subjects {
            walk.enter(root);
        }
        let mut active = Vec::with_capacity(2 * subjects.len());
        for component in components(path) {
            std::mem::swap(&mut active, &mut walk.next);
            walk.next.clear();
            let deep = walk.deep.len();
            if !active.iter().chain(&walk.deep).any(|&at| walk.leads_on(at)) {
                let at = component.as_ptr() as usize - path.as_ptr() as usize;
                return (walk.best, path.get(..at));
            }
            let number = self.number_in_path(component);
            for &node in &active {
                walk.step(node, number, component);
            }
            for at in 0..deep {
                walk.step(walk.deep[at], number, component);
            }
        }
        let here = |&node: &u32| self.nodes[node as usize].here[operation];
        let first = walk.next.iter().map(here).fold(walk.best, Verdict::min);
        (first, None)
    }
}

/// Splits a path, which begins with '/', into its components.
fn components(path: &str) -> impl Iterator<Item = &str> {
    path.strip_prefix('/').unwrap_or(path).split('/')
}

/// One decision on its way.
struct Walk<'a> {
    paths: &'a Paths,
    operation: usize,
    best: Verdict,
    /// The nodes that match up to and with the component.
    next: Vec<u32>,
    /// The nodes of `**` that were met and that other components follow.
    deep: Vec<u32>,
    /// A bit for each node of `**`: whether it is in `deep`. Empty while none is.
    seen: Vec<u64>,
}

impl Walk<'_> {
    fn enter(&mut self, node: u32) {
        let found = &self.paths.nodes[node as usize];
        if found.below[self.operation] >= self.best {
            return;
        }
        self.next.push(node);
        let Some(deep) = found.deep else {
            return;
        };
        let after = &self.paths.nodes[deep as usize];
        // Whatever follows in the path, it is what `**` stands for.
        self.best = self.best.min(after.here[self.operation]);
        let may_match = after.has_children && after.below[self.operation] < self.best;
        if may_match && self.is_new(after.deep_before as usize) {
            self.deep.push(deep);
        }
    }

    fn is_new(&mut self, deep: usize) -> bool {
        if self.seen.is_empty() {
            self.seen = vec![0; self.paths.deep_nodes.div_ceil(64) as usize];
        }
        let (word, bit) = (&mut self.seen[deep / 64], 1 << (deep % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// Whether a rule below the node may be of an earlier line than the best.
    fn leads_on(&self, node: u32) -> bool {
        let found = &self.paths.nodes[node as usize];
        found.has_children && found.below[self.operation] < self.best
    }

    /// Goes from a node that matches up to the component to those that match with it.
    fn step(&mut self, node: u32, number: u32, component: &str) {
        if !self.leads_on(node) {
            return;
        }
        let found = &self.paths.nodes[node as usize];
        if let Some(&child) = self.paths.children.get(&Edge::new(node, number)) {
            self.enter(child);
        }
        if let Some(wild) = &found.wild {
            self.step_by_stars(node, wild, component);
        }
    }

    fn step_by_stars(&mut self, node: u32, wild: &Wild, component: &str) {
        let paths = self.paths;
        self.enter_matching(&wild.free, component);
        for place in [BEGINNING, END] {
            for &length in &wild.lengths[place] {
                let anchor = match place {
                    BEGINNING => component.get(..length),
                    _ => component
                        .len()
                        .checked_sub(length)
                        .and_then(|at| component.get(at..)),
                };
                let number = anchor.and_then(|anchor| paths.anchors.get(anchor));
                let edge = number.map(|&number| Edge::new(node, number));
                if let Some(children) = edge.and_then(|edge| paths.anchored[place].get(&edge)) {
                    self.enter_matching(children, component);
                }
            }
        }
    }

    fn enter_matching(&mut self, children: &[(u32, u32)], component: &str) {
        for &(pattern, child) in children {
            let pattern = &self.paths.components[pattern as usize];
            let is_better = self.paths.nodes[child as usize].below[self.operation] < self.best;
            if is_better && wildcard::matches(pattern, component) {
                self.enter(child);
            }
        }
    }
}

impl Node {
    fn new(parent: u32) -> Node {
        Node {
            parent,
            here: [Verdict::NONE; SEGMENT_OPERATIONS],
            below: [Verdict::NONE; SEGMENT_OPERATIONS],
            deep: None,
            deep_before: 0,
            wild: None,
            has_children: false,
        }
    }
}

type Edges<T> = HashMap<Edge, T, BuildHasherDefault<EdgeHasher>>;

/// From a node by the number of a component or of an anchor.
#[derive(PartialEq, Eq)]
struct Edge(u64);

impl Edge {
    fn new(node: u32, number: u32) -> Edge {
        Edge(u64::from(node) << 32 | u64::from(number))
    }
}

impl std::hash::Hash for Edge {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0);
    }
}

/// Numbers that this program gave need no hash that withstands an attacker.
#[derive(Default)]
struct EdgeHasher(u64);

impl Hasher for EdgeHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        let mixed = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ mixed >> 32;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
