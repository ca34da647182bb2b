//! Names of the target languages: words split and joined in the language's style, and names that
//! the language keeps for itself given a trailing underscore.

use super::library_names::{NUMBERS, RECORDS, TYPES_OF_C};
use crate::ir::Primitive;

const RUST_WORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate",
    "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl",
    "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref",
    "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof",
    "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// Types that generated Rust itself uses, and which a type of that name would hide.
const RUST_TYPES: &[&str] = &[
    "Box", "Err", "None", "Ok", "Option", "Reader", "Result", "Self", "Some", "String", "Vec",
    "Xdr", "XdrError",
];

pub const JAVA_WORDS: &[&str] = &[
    "_",
    "abstract",
    "assert",
    "boolean",
    "break",
    "byte",
    "case",
    "catch",
    "char",
    "class",
    "const",
    "continue",
    "default",
    "do",
    "double",
    "else",
    "enum",
    "extends",
    "false",
    "final",
    "finally",
    "float",
    "for",
    "goto",
    "if",
    "implements",
    "import",
    "instanceof",
    "int",
    "interface",
    "long",
    "native",
    "new",
    "null",
    "package",
    "private",
    "protected",
    "public",
    "return",
    "short",
    "static",
    "strictfp",
    "super",
    "switch",
    "synchronized",
    "this",
    "throw",
    "throws",
    "transient",
    "true",
    "try",
    "void",
    "volatile",
    "while",
];

/// Types that generated Java itself uses, and which a nested type of that name would hide.
const JAVA_TYPES: &[&str] = &[
    "Boolean",
    "Byte",
    "Double",
    "Empty",
    "Enum",
    "Float",
    "Integer",
    "List",
    "Long",
    "Object",
    "Override",
    "Record",
    "Short",
    "String",
    "XdrCodec",
    "XdrException",
    "XdrReader",
    "XdrWriter",
];

/// A record cannot have components of these names, because every object has such methods.
const JAVA_METHODS: &[&str] = &[
    "clone",
    "finalize",
    "getClass",
    "hashCode",
    "notify",
    "notifyAll",
    "toString",
    "wait",
];

const C_WORDS: &[&str] = &[
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else",
    "enum", "extern", "float", "for", "goto", "if", "inline", "int", "long", "register",
    "restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch", "typedef",
    "union", "unsigned", "void", "volatile", "while", "asm", "typeof",
];

/// C++'s words besides C's. Generated C headers are included by C++ programs, so they are avoided
/// in C as well.
const CPP_WORDS: &[&str] = &[
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "bitand",
    "bitor",
    "bool",
    "catch",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "decltype",
    "delete",
    "dynamic_cast",
    "explicit",
    "export",
    "false",
    "friend",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "reinterpret_cast",
    "requires",
    "static_assert",
    "static_cast",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typeid",
    "typename",
    "using",
    "virtual",
    "wchar_t",
    "xor",
    "xor_eq",
];

/// Types and macros of the headers that every generated C file includes, macros of compilers, and
/// `errno`, which is a macro wherever <errno.h> is included.
const C_TAKEN: &[&str] = &[
    "NULL",
    "errno",
    "intmax_t",
    "intptr_t",
    "linux",
    "max_align_t",
    "offsetof",
    "ptrdiff_t",
    "size_t",
    "uintmax_t",
    "uintptr_t",
    "unix",
];

/// Names behind `IW_` that the library's headers use themselves, besides the generated
/// [`super::library_names`]. A test compares all of them with the headers.
const DESCRIPTORS_TAKEN: &[&str] = &[
    "API",
    "arm_def",
    "assign",
    "block",
    "block_t",
    "bool",
    "bool_t",
    "change_fn",
    "char",
    "check_extents",
    "check_types",
    "close_segment",
    "connection_fn",
    "describe_block",
    "dispatch",
    "double",
    "enum_member",
    "errno",
    "event_fd",
    "field_def",
    "find",
    "find_or_malloc",
    "find_or_malloc_array",
    "float",
    "free",
    "handle_t",
    "hyper",
    "int",
    "laid_out",
    "log_fn",
    "malloc",
    "malloc_array",
    "malloc_named",
    "mip_free",
    "mip_t",
    "mip_to_ptr",
    "next_block",
    "on_change",
    "on_connection",
    "open_segment",
    "open_segment_with",
    "pin",
    "pin_state",
    "pin_t",
    "ptr_to_mip",
    "recent_fn",
    "refresh",
    "register_types",
    "rl_acquire",
    "rl_acquire_for",
    "rl_release",
    "segment",
    "sequence",
    "sequence_t",
    "set_coherence",
    "set_coherence_fn",
    "set_log",
    "short",
    "staleness",
    "stats",
    "strerror",
    "type_def",
    "type_t",
    "uchar",
    "uhyper",
    "uint",
    "unpin",
    "ushort",
    "version",
    "wl_abort",
    "wl_acquire",
    "wl_acquire_for",
    "wl_drop",
    "wl_release",
];

/// The integer types of <stdint.h>, as XDR's.
const STANDARD_INTEGERS: [(&str, Primitive); 8] = [
    ("int8_t", Primitive::Char),
    ("uint8_t", Primitive::UChar),
    ("int16_t", Primitive::Short),
    ("uint16_t", Primitive::UShort),
    ("int32_t", Primitive::Int),
    ("uint32_t", Primitive::UInt),
    ("int64_t", Primitive::Hyper),
    ("uint64_t", Primitive::UHyper),
];

/// A name for C and C++.
pub fn c_name(name: &str) -> String {
    mangle(name, |name| {
        C_WORDS.contains(&name) || CPP_WORDS.contains(&name) || C_TAKEN.contains(&name)
    })
}

/// A name of the global scope for C and C++: of a type, a constant, or an enum's member. It must
/// not be a standard type's, nor that of the library's namespace.
pub fn c_global(name: &str) -> String {
    match standard_integer(name).is_some() || name == "iw" {
        true => format!("{name}_"),
        false => c_name(name),
    }
}

/// What <stdint.h> makes of a name.
pub fn standard_integer(name: &str) -> Option<Primitive> {
    let found = STANDARD_INTEGERS.iter().find(|(known, _)| *known == name);
    found.map(|(_, primitive)| *primitive)
}

/// The variable that names a type's descriptor: `IW_node_t`.
pub fn descriptor_name(name: &str) -> String {
    format!("IW_{}", mangle(name, is_library_name))
}

/// Whether `IW_` and the name is, or may become, a name of the library's headers.
fn is_library_name(name: &str) -> bool {
    let family = ["E", "KIND_", "PRIMITIVE_", "ALIGN_"]
        .iter()
        .any(|family| name.starts_with(family));
    let shouted = !name.contains(|c: char| c.is_ascii_lowercase());
    let object = name.starts_with("def_") || name.starts_with("align_");
    let is_taken = [DESCRIPTORS_TAKEN, NUMBERS, RECORDS, TYPES_OF_C]
        .iter()
        .any(|list| list.contains(&name));
    is_taken || object || (shouted && (family || name.ends_with("_DEF")))
}

/// A field or function of Rust: `block_name`.
pub fn rust_field(name: &str) -> String {
    let snake = words(name).join("_").to_lowercase();
    mangle(&snake, |name| RUST_WORDS.contains(&name))
}

/// A type or variant of Rust: `BlockName`.
pub fn rust_type(name: &str) -> String {
    mangle(&camel(name), |name| RUST_TYPES.contains(&name))
}

/// A variant of Rust, which is always written behind its type and so hides nothing.
pub fn rust_variant(name: &str) -> String {
    mangle(&camel(name), |name| name == "Self")
}

/// A constant of Rust: `BLOCK_NAME`.
pub fn rust_constant(name: &str) -> String {
    words(name).join("_").to_uppercase()
}

/// A field or record component of Java: `blockName`.
pub fn java_member(name: &str) -> String {
    let camel = camel(name);
    let (first, rest) = camel.split_at(1);
    let lower = first.to_ascii_lowercase() + rest;
    let taken = |name: &str| JAVA_WORDS.contains(&name) || JAVA_METHODS.contains(&name);
    mangle(&lower, taken)
}

/// A member of a Java enum, which also has a field `number`.
pub fn java_constant(name: &str) -> String {
    mangle(name, |name| {
        JAVA_WORDS.contains(&name) || name == "number" || name == "CODEC"
    })
}

/// A type of Java: `BlockName`.
pub fn java_type(name: &str) -> String {
    mangle(&camel(name), |name| JAVA_TYPES.contains(&name))
}

/// What the library calls a primitive type.
pub fn primitive_word(primitive: Primitive) -> &'static str {
    match primitive {
        Primitive::Char => "char",
        Primitive::UChar => "uchar",
        Primitive::Short => "short",
        Primitive::UShort => "ushort",
        Primitive::Int => "int",
        Primitive::UInt => "uint",
        Primitive::Hyper => "hyper",
        Primitive::UHyper => "uhyper",
        Primitive::Float => "float",
        Primitive::Double => "double",
        Primitive::Bool => "bool",
        Primitive::Quadruple => unreachable!("described as an array of bytes"),
    }
}

fn mangle(name: &str, taken: impl Fn(&str) -> bool) -> String {
    match taken(name) {
        true => format!("{name}_"),
        false => name.to_string(),
    }
}

fn camel(name: &str) -> String {
    let capital = |word: String| {
        let mut letters = word.chars();
        let first = letters.next().map(|c| c.to_ascii_uppercase());
        first
            .into_iter()
            .chain(letters.map(|c| c.to_ascii_lowercase()))
            .collect::<String>()
    };
    words(name).into_iter().map(capital).collect()
}

/// `block_name`, `blockName` and `BLOCK_NAME` are two words, `XDRFile` is `XDR` and `File`.
fn words(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    for (index, &c) in letters.iter().enumerate() {
        let before = index.checked_sub(1).map(|i| letters[i]);
        let next_is_lower = letters
            .get(index + 1)
            .is_some_and(|c| c.is_ascii_lowercase());
        let begins = match before {
            Some(b) if c.is_ascii_uppercase() => {
                b.is_ascii_lowercase() || (b.is_ascii_uppercase() && next_is_lower)
            }
            _ => false,
        };
        if (c == '_' || begins) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if c != '_' {
            word.push(c);
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// How many bytes of prefix, ending in `_`, all of an enum's members share. Something is left of
/// every member, and it begins with a letter. A lone member's prefix is its enum's name.
pub fn common_prefix(owner: &str, members: &[&str]) -> usize {
    let candidates: Vec<usize> = match members {
        [] => return 0,
        [only] => {
            let prefix = format!("{}_", owner.to_uppercase());
            only.starts_with(&prefix)
                .then_some(prefix.len())
                .into_iter()
                .collect()
        }
        [first, ..] => first
            .match_indices('_')
            .map(|(at, _)| at + 1)
            .rev()
            .collect(),
    };
    let fits = |length: usize| {
        let prefix = &members[0][..length];
        members.iter().all(|member| {
            let rest = member.strip_prefix(prefix);
            rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()))
        })
    };
    candidates
        .into_iter()
        .find(|&length| fits(length))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_put_into_each_language_style() {
        assert_eq!(rust_type("version_stamp"), "VersionStamp");
        assert_eq!(rust_type("XDRFile"), "XdrFile");
        assert_eq!(rust_type("option"), "Option_");
        assert_eq!(rust_field("blockName"), "block_name");
        assert_eq!(rust_field("type"), "type_");
        assert_eq!(rust_constant("maxPath"), "MAX_PATH");
        assert_eq!(rust_variant("NULL_COHERENCE"), "NullCoherence");
        assert_eq!(java_member("bytes_sent"), "bytesSent");
        assert_eq!(java_member("Native"), "native_");
        assert_eq!(c_name("class"), "class_");
        assert_eq!(c_name("klass"), "klass");
    }

    #[test]
    fn a_prefix_is_shared_up_to_an_underscore_and_leaves_names() {
        assert_eq!(common_prefix("log_kind", &["LOG_CREATE", "LOG_RELEASE"]), 4);
        assert_eq!(common_prefix("x", &["LOG_CREATE", "LOG_CREATED"]), 4);
        assert_eq!(common_prefix("x", &["READ", "READ_ALL"]), 0);
        assert_eq!(common_prefix("x", &["V_1", "V_2"]), 0);
        assert_eq!(common_prefix("mode", &["MODE_ON"]), 5);
        assert_eq!(common_prefix("mode", &["ON"]), 0);
    }
}
