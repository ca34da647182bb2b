//! What a schema must satisfy before a backend sees it.

use super::{Def, DefBody, DefId, Field, Primitive, Schema, Type, Union};
use crate::diagnostics::{Diagnostic, Report};
use crate::source::Span;
use std::collections::HashMap;

/// How deep types may embed each other. Backends recurse along embedding, so
/// this bounds their stack.
pub const MAX_EMBEDDING: usize = 128;

/// Checks everything that needs the whole schema.
pub fn check(schema: &Schema, report: &mut Report) {
    for def in &schema.defs {
        match &def.body {
            DefBody::Struct(fields) => check_names(fields.iter(), "field", &def.name, report),
            DefBody::Union(union) => check_union(schema, def, union, report),
            DefBody::Const(_) | DefBody::Alias(_) | DefBody::Enum(_) => {}
        }
    }
    Aliases::new(schema).check(report);
    Embedding::new(schema).check(report);
}

fn check_names<'a>(
    fields: impl Iterator<Item = &'a Field>,
    kind: &str,
    owner: &str,
    report: &mut Report,
) {
    let mut seen: HashMap<&str, Span> = HashMap::new();
    for field in fields {
        if let Some(first) = seen.insert(&field.name, field.span) {
            let message = format!("`{owner}` has two {kind}s named `{}`", field.name);
            let error = Diagnostic::new(field.span, message).related(first, "the first");
            report.error(error);
        }
    }
}

fn check_union(schema: &Schema, def: &Def, union: &Union, report: &mut Report) {
    check_names(union.fields(), "member", &def.name, report);

    let mut seen: HashMap<i64, Span> = HashMap::new();
    for case in union.arms.iter().flat_map(|arm| &arm.cases) {
        if let Some(first) = seen.insert(case.value, case.span) {
            let message = format!("the case {} stands twice in `{}`", case.value, def.name);
            report.error(Diagnostic::new(case.span, message).related(first, "the first"));
        }
    }
    check_case_range(schema, union, report);
}

/// Every case must be a value of the discriminant.
fn check_case_range(schema: &Schema, union: &Union, report: &mut Report) {
    let discriminant = &union.discriminant;
    let ty = match alias_end(schema, &discriminant.ty) {
        Some(ty) => ty,
        None => return,
    };
    let allowed: Box<dyn Fn(i64) -> bool> = match ty {
        Type::Primitive(Primitive::Bool) => Box::new(|value| value == 0 || value == 1),
        Type::Primitive(Primitive::Int) => Box::new(|value| i32::try_from(value).is_ok()),
        Type::Primitive(Primitive::UInt) => Box::new(|value| u32::try_from(value).is_ok()),
        Type::Named(id) => match &schema.def(*id).body {
            DefBody::Enum(members) => {
                let values: Vec<i64> = members.iter().map(|m| i64::from(m.value)).collect();
                Box::new(move |value| values.contains(&value))
            }
            _ => return wrong_discriminant(discriminant, report),
        },
        _ => return wrong_discriminant(discriminant, report),
    };
    for case in union.arms.iter().flat_map(|arm| &arm.cases) {
        if !allowed(case.value) {
            let shown = case.name.clone().unwrap_or_else(|| case.value.to_string());
            let message = format!(
                "`{shown}` is not a value of the discriminant `{}`",
                discriminant.name
            );
            report.error(Diagnostic::new(case.span, message));
        }
    }
}

fn wrong_discriminant(discriminant: &Field, report: &mut Report) {
    let message = format!("`{}` cannot be a discriminant", discriminant.name);
    let hint = "a discriminant is an int, an unsigned int, a bool or an enum";
    report.error(Diagnostic::new(discriminant.span, message).hint(hint));
}

/// Like `Schema::resolve`, but ends on a circle of typedefs.
fn alias_end<'a>(schema: &'a Schema, mut ty: &'a Type) -> Option<&'a Type> {
    for _ in 0..=schema.defs.len() {
        match ty {
            Type::Named(id) => match &schema.def(*id).body {
                DefBody::Alias(target) => ty = target,
                _ => return Some(ty),
            },
            _ => return Some(ty),
        }
    }
    None
}

/// Depth-first search over definitions, without recursion on the machine's stack. `on_cycle` is
/// given each circle found, from its first definition to the one that leads back to it.
fn search(
    schema: &Schema,
    edges: impl Fn(DefId) -> Vec<DefId>,
    mut on_cycle: impl FnMut(&[DefId]),
) -> Vec<usize> {
    // The longest path below each definition; usize::MAX while it is not yet known.
    let mut depth = vec![usize::MAX; schema.defs.len()];
    let mut on_path = vec![false; schema.defs.len()];
    for start in (0..schema.defs.len()).map(DefId) {
        let mut stack = vec![(start, edges(start), 0usize)];
        while let Some((id, targets, next)) = stack.last_mut() {
            let id = *id;
            if depth[id.0] != usize::MAX {
                stack.pop();
                continue;
            }
            on_path[id.0] = true;
            let Some(&target) = targets.get(*next) else {
                let below = targets.iter().map(|t| depth[t.0].saturating_add(1));
                depth[id.0] = below.filter(|&d| d != usize::MAX).max().unwrap_or(0);
                on_path[id.0] = false;
                stack.pop();
                continue;
            };
            *next += 1;
            if on_path[target.0] {
                let path: Vec<DefId> = stack.iter().map(|(id, ..)| *id).collect();
                let first = path.iter().position(|&id| id == target).unwrap_or(0);
                on_cycle(&path[first..]);
            } else if depth[target.0] == usize::MAX {
                stack.push((target, edges(target), 0));
            }
        }
    }
    depth
}

/// Typedefs that are made of themselves.
struct Aliases<'a> {
    schema: &'a Schema,
}

impl<'a> Aliases<'a> {
    fn new(schema: &'a Schema) -> Self {
        Aliases { schema }
    }

    fn check(&self, report: &mut Report) {
        let edges = |id: DefId| {
            let mut targets = Vec::new();
            if let DefBody::Alias(ty) = &self.schema.def(id).body {
                mentioned(ty, &mut targets);
            }
            targets
        };
        search(self.schema, edges, |circle| {
            let def = self.schema.def(circle[0]);
            let message = format!("the typedef `{}` is made of itself", def.name);
            let hint = "put the pointer into a struct, which has a name of its own to point to";
            report.error(Diagnostic::new(def.span, message).hint(hint));
        });
    }
}

fn mentioned(ty: &Type, into: &mut Vec<DefId>) {
    match ty {
        Type::Named(id) => into.push(*id),
        Type::Array(inner, _) | Type::Sequence(inner, _) | Type::Pointer(inner) => {
            mentioned(inner, into);
        }
        _ => {}
    }
}

/// Types that hold themselves, or each other, by value.
struct Embedding<'a> {
    schema: &'a Schema,
}

impl<'a> Embedding<'a> {
    fn new(schema: &'a Schema) -> Self {
        Embedding { schema }
    }

    fn check(&self, report: &mut Report) {
        let edges = |id| embedded(self.schema, id);
        let mut cyclic = false;
        let depth = search(self.schema, edges, |circle| {
            cyclic = true;
            let def = self.schema.def(circle[0]);
            let others = circle[1..]
                .iter()
                .map(|id| self.schema.def(*id).name.as_str());
            let others: Vec<&str> = others.collect();
            let through = match others.is_empty() {
                true => String::new(),
                false => format!(" (through `{}`)", others.join("`, `")),
            };
            let name = &def.name;
            let message = format!("`{name}` holds itself{through}: it would be infinitely large");
            let hint = "hold it by pointer: `T *name;`";
            report.error(Diagnostic::new(def.span, message).hint(hint));
        });
        if cyclic {
            return;
        }
        if let Some(deep) = depth.iter().position(|&depth| depth > MAX_EMBEDDING) {
            let def = &self.schema.defs[deep];
            let message = format!(
                "`{}` holds types nested more than {MAX_EMBEDDING} deep",
                def.name
            );
            report.error(Diagnostic::new(def.span, message));
        }
    }
}

/// The definitions that one holds by value.
pub fn embedded(schema: &Schema, id: DefId) -> Vec<DefId> {
    let types = schema.def(id).types().into_iter();
    types.filter_map(embedded_name).collect()
}

fn embedded_name(mut ty: &Type) -> Option<DefId> {
    loop {
        match ty {
            Type::Named(id) => return Some(*id),
            Type::Array(inner, _) => ty = inner,
            _ => return None,
        }
    }
}
