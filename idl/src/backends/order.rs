//! The order in which C and C++ must define types: whatever is held by value comes first.

use crate::ir::{check, Def, DefBody, DefId, Schema, Type};
use crate::source::FileId;
use std::collections::HashSet;

/// Definitions of one file, in the order written except where one holds a later one by value.
/// A `T x<>` counts as held unless the two are made of each other.
pub fn definition_order(schema: &Schema, file: FileId, cycles: &Cycles) -> Vec<DefId> {
    let mut ordered = Vec::new();
    let mut done = HashSet::new();
    for id in schema.of_file(file) {
        visit(schema, id, cycles, &mut done, &mut ordered);
    }
    ordered.retain(|id| schema.def(*id).file == file);
    ordered
}

/// Recursion is as deep as embedding, which `ir::check` bounds, plus chains of sequences and
/// typedefs, which follow the file's own nesting of definitions.
fn visit(
    schema: &Schema,
    id: DefId,
    cycles: &Cycles,
    done: &mut HashSet<DefId>,
    ordered: &mut Vec<DefId>,
) {
    if !done.insert(id) {
        return;
    }
    let mut first = held(schema, id);
    let others = mentioned(schema.def(id)).into_iter();
    // Structs and unions can be declared before they are defined; typedefs cannot.
    let is_alias = |id: DefId| matches!(schema.def(id).body, DefBody::Alias(_));
    first.extend(others.filter(|&other| is_alias(other) || !cycles.reaches(other, id)));
    for other in first {
        visit(schema, other, cycles, done, ordered);
    }
    ordered.push(id);
}

/// The definitions that must be complete before one can be written: what it holds by value, also
/// under other names. Another name for a struct needs no more than the struct's declaration.
pub fn held(schema: &Schema, id: DefId) -> Vec<DefId> {
    if named_target(schema, id).is_some() {
        return Vec::new();
    }
    let mut held = Vec::new();
    for mut other in check::embedded(schema, id) {
        held.push(other);
        while let Some(target) = named_target(schema, other) {
            held.push(target);
            other = target;
        }
    }
    held
}

/// The definition that a typedef merely renames; None if the typedef says more.
fn named_target(schema: &Schema, id: DefId) -> Option<DefId> {
    match &schema.def(id).body {
        DefBody::Alias(Type::Named(target)) => Some(*target),
        _ => None,
    }
}

/// Which definitions lead back to themselves.
pub struct Cycles {
    /// The strongly connected component of each definition.
    component: Vec<usize>,
    recursive: Vec<bool>,
}

impl Cycles {
    pub fn of(schema: &Schema) -> Self {
        let count = schema.defs.len();
        let edges: Vec<Vec<DefId>> = schema.defs.iter().map(mentioned).collect();
        let mut reverse = vec![Vec::new(); count];
        for (from, targets) in edges.iter().enumerate() {
            targets
                .iter()
                .for_each(|to| reverse[to.0].push(DefId(from)));
        }
        let mut component = vec![usize::MAX; count];
        for &start in finished_last_first(&edges).iter() {
            flood(start, start.0, &reverse, &mut component);
        }
        let mut sizes = vec![0usize; count];
        component.iter().for_each(|&c| sizes[c] += 1);
        let recursive = (0..count)
            .map(|index| sizes[component[index]] > 1 || edges[index].contains(&DefId(index)))
            .collect();
        Cycles {
            component,
            recursive,
        }
    }

    /// Whether a definition's values may contain values of itself.
    pub fn is_recursive(&self, id: DefId) -> bool {
        self.recursive[id.0]
    }

    /// For definitions of which the second leads to the first: whether the first leads back.
    pub fn reaches(&self, from: DefId, to: DefId) -> bool {
        self.component[from.0] == self.component[to.0]
    }
}

/// Definitions in reverse order of leaving them in a depth-first walk (Kosaraju's first pass).
fn finished_last_first(edges: &[Vec<DefId>]) -> Vec<DefId> {
    let mut seen = vec![false; edges.len()];
    let mut finished = Vec::new();
    for start in 0..edges.len() {
        let mut stack = vec![(DefId(start), 0)];
        while let Some((id, next)) = stack.pop() {
            if next == 0 && std::mem::replace(&mut seen[id.0], true) {
                continue;
            }
            match edges[id.0].get(next) {
                Some(&target) => {
                    stack.push((id, next + 1));
                    stack.push((target, 0));
                }
                None => finished.push(id),
            }
        }
    }
    finished.reverse();
    finished
}

fn flood(start: DefId, label: usize, edges: &[Vec<DefId>], component: &mut [usize]) {
    let mut stack = vec![start];
    while let Some(id) = stack.pop() {
        if component[id.0] == usize::MAX {
            component[id.0] = label;
            stack.extend(&edges[id.0]);
        }
    }
}

/// The definitions that one names in any way.
pub fn mentioned(def: &Def) -> Vec<DefId> {
    let mut names = Vec::new();
    def.types()
        .into_iter()
        .for_each(|ty| in_type(ty, &mut names));
    names
}

fn in_type(ty: &Type, names: &mut Vec<DefId>) {
    match ty {
        Type::Named(id) => names.push(*id),
        Type::Array(inner, _) | Type::Sequence(inner, _) | Type::Pointer(inner) => {
            in_type(inner, names);
        }
        _ => {}
    }
}
