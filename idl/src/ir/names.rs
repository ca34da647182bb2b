//! Names of types and constants, and how they are looked up from inside a namespace.

use super::Primitive;
use crate::diagnostics::Diagnostic;
use crate::frontend::ast::Path;
use crate::source::Span;
use crate::suggest;
use std::collections::HashMap;

/// Types that the dialects know by other names; a file may define any of them itself.
const OTHER_NAMES: [(&str, Primitive); 22] = [
    ("bool_t", Primitive::Bool),
    ("u_char", Primitive::UChar),
    ("u_short", Primitive::UShort),
    ("u_int", Primitive::UInt),
    ("u_long", Primitive::UInt),
    ("u_hyper", Primitive::UHyper),
    ("quad_t", Primitive::Hyper),
    ("u_quad_t", Primitive::UHyper),
    ("longlong_t", Primitive::Hyper),
    ("u_longlong_t", Primitive::UHyper),
    ("int8_t", Primitive::Char),
    ("uint8_t", Primitive::UChar),
    ("int16_t", Primitive::Short),
    ("uint16_t", Primitive::UShort),
    ("int32_t", Primitive::Int),
    ("uint32_t", Primitive::UInt),
    ("int64_t", Primitive::Hyper),
    ("uint64_t", Primitive::UHyper),
    ("u_int8_t", Primitive::UChar),
    ("u_int16_t", Primitive::UShort),
    ("u_int32_t", Primitive::UInt),
    ("u_int64_t", Primitive::UHyper),
];

/// Things of one kind by full name (`a::b::name`).
pub(super) struct Names<T> {
    names: HashMap<String, (T, Span)>,
}

impl<T: Copy> Names<T> {
    pub fn new() -> Self {
        Names {
            names: HashMap::new(),
        }
    }

    /// Adds a name; where it stands already, if it does.
    pub fn add(&mut self, namespace: &[String], name: &str, thing: T, span: Span) -> Option<Span> {
        let key = join(namespace, &[name.to_string()]);
        if let Some((_, first)) = self.names.get(&key) {
            return Some(*first);
        }
        self.names.insert(key, (thing, span));
        None
    }

    /// Looks a name up from inside a namespace, outwards.
    pub fn find(&self, namespace: &[String], path: &Path) -> Option<T> {
        (0..=namespace.len()).rev().find_map(|depth| {
            let key = join(&namespace[..depth], &path.parts);
            self.names.get(&key).map(|(thing, _)| *thing)
        })
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.keys().map(String::as_str)
    }
}

fn join(namespace: &[String], parts: &[String]) -> String {
    let all: Vec<&str> = namespace.iter().chain(parts).map(String::as_str).collect();
    all.join("::")
}

/// The primitive type that a dialect's name stands for.
pub(super) fn other_name(path: &Path) -> Option<Primitive> {
    let [name] = path.parts.as_slice() else {
        return None;
    };
    let found = OTHER_NAMES.iter().find(|(other, _)| other == name);
    found.map(|(_, primitive)| *primitive)
}

/// "unknown type" with the nearest name that is one.
pub(super) fn unknown_type<T: Copy>(path: &Path, types: &Names<T>) -> Diagnostic {
    let name = path.parts.join("::");
    let language = [
        "int",
        "hyper",
        "float",
        "double",
        "quadruple",
        "bool",
        "char",
        "short",
        "opaque",
        "string",
        "unsigned",
        "struct",
        "enum",
        "union",
        "void",
    ];
    let others = OTHER_NAMES.iter().map(|(other, _)| *other);
    let mut known: Vec<&str> = types.names().chain(language).chain(others).collect();
    known.sort_unstable();
    let hint = match suggest::nearest(&name, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!(
            "define it, or include the .x file that does; if it comes from a C header, give --type \
             {name}=TYPE"
        ),
    };
    Diagnostic::new(path.span, format!("unknown type `{name}`")).hint(hint)
}

/// "unknown constant" with the nearest name that is one.
pub(super) fn unknown_constant<T: Copy>(path: &Path, constants: &Names<T>) -> Diagnostic {
    let name = path.parts.join("::");
    let mut known: Vec<&str> = constants.names().collect();
    known.sort_unstable();
    let hint = match suggest::nearest(&name, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!(
            "define it with `const {name} = ...;`; if it comes from a C header, give \
             -D {name}=VALUE"
        ),
    };
    Diagnostic::new(path.span, format!("unknown constant `{name}`")).hint(hint)
}
