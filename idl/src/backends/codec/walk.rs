//! The walks that every codec needs, once: over the files, and over what a type is made of. A
//! language gives its syntax for the pieces. The walk over definitions is that of
//! [`crate::backends::definitions`], which programs' data shares.

use super::Encodings;
use crate::backends::{order, stem};
use crate::compile::{GeneratedFile, Unit};
use crate::diagnostics::{Diagnostic, Report};
use crate::ir::{Def, DefBody, DefId, Member, Primitive, Schema, Type, Union};
use crate::source::{FileId, Span};
use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

/// The runtime's module. Generated modules lie in the same folder.
pub const RUNTIME: &str = "xdr";

/// One .x file, of which a codec is made.
pub struct Module<'a> {
    pub unit: &'a Unit<'a>,
    pub schema: &'a Schema,
    pub encodings: &'a Encodings<'a>,
    pub file: FileId,
    pub stem: String,
}

/// The files of each module, as names and texts, each with the input it is made from.
pub fn files(
    unit: &Unit<'_>,
    mut texts: impl FnMut(&Module<'_>) -> Vec<(String, String)>,
) -> Vec<(PathBuf, GeneratedFile)> {
    let encodings = Encodings::new(unit.schema);
    let mut files = Vec::new();
    for &file in unit.roots {
        let module = Module {
            unit,
            schema: unit.schema,
            encodings: &encodings,
            file,
            stem: stem(unit, file),
        };
        for (name, text) in texts(&module) {
            let path = PathBuf::from(name);
            let input = unit.sources.path(file).to_path_buf();
            files.push((input, GeneratedFile { path, text }));
        }
    }
    files
}

/// The file that lists the modules. No single input makes it.
pub fn index(name: &str, text: String) -> (PathBuf, GeneratedFile) {
    let path = PathBuf::from(name);
    (path.clone(), GeneratedFile { path, text })
}

/// Refuses a file whose module would replace the runtime.
pub fn check_stems(unit: &Unit<'_>, module: impl Fn(&str) -> String, report: &mut Report) {
    let mut roots = unit.roots.iter();
    if roots.any(|&file| module(&stem(unit, file)) == RUNTIME) {
        let message = format!("the name `{RUNTIME}.x` is taken by the codec's runtime");
        report.error(Diagnostic::global(message));
    }
}

/// Names that differ in XDR may be one in the language's style, where all definitions meet.
pub fn check_names(
    schema: &Schema,
    language: &str,
    name: impl Fn(&Def) -> String,
    report: &mut Report,
) {
    let mut seen: HashMap<String, Span> = HashMap::new();
    for def in &schema.defs {
        let name = name(def);
        if let Some(first) = seen.insert(name.clone(), def.span) {
            let message = format!(
                "`{}` becomes `{name}` in {language}, which is taken",
                def.name
            );
            report.error(Diagnostic::new(def.span, message).related(first, "by this definition"));
        }
    }
}

impl Module<'_> {
    /// The file's definitions, what is held by value before its holder.
    pub fn held_first(&self) -> Vec<DefId> {
        order::definition_order(self.schema, self.file, &self.encodings.cycles)
    }

    /// The files that this one includes, as `shown` writes them.
    pub fn included(&self, shown: impl Fn(FileId) -> String) -> BTreeSet<String> {
        let own = self.unit.includes.iter();
        own.filter(|include| include.from == self.file && include.to != self.file)
            .map(|include| shown(include.to))
            .collect()
    }

    /// The definitions of other files that code of this one names. Code that sees through typedefs
    /// names what they stand for, which may be a third file's.
    pub fn foreign(&self, sees_through_typedefs: bool) -> Vec<DefId> {
        let mut foreign = Vec::new();
        for id in self.schema.of_file(self.file) {
            let mut mentioned = order::mentioned(self.schema.def(id));
            while let Some(id) = mentioned.pop() {
                let other = self.schema.def(id);
                if other.file != self.file {
                    foreign.push(id);
                }
                if sees_through_typedefs && matches!(other.body, DefBody::Alias(_)) {
                    mentioned.extend(order::mentioned(other));
                }
            }
        }
        foreign
    }

    /// Whether a definition's values may contain values of itself, so that decoders count depth.
    pub fn is_recursive(&self, id: DefId) -> bool {
        self.encodings.cycles.is_recursive(id)
    }

    pub fn spell(&self, spelling: &impl Spelling, ty: &Type) -> String {
        spell(self.encodings, spelling, ty)
    }

    /// Whether the file has a definition of some kind.
    pub fn has(&self, kind: impl Fn(&DefBody) -> bool) -> bool {
        let mut ids = self.schema.of_file(self.file);
        ids.any(|id| kind(&self.schema.def(id).body))
    }
}

/// How a language spells a type, or the code that encodes or decodes a value of it: a text for each
/// kind of type. [`Module::spell`] asks for them from the inside out.
pub trait Spelling {
    /// Whether a typedef is spelt as what it stands for, and not by its name.
    const SEES_THROUGH_TYPEDEFS: bool;

    /// A number or a bool. Quadruples are fixed bytes.
    fn primitive(&self, primitive: Primitive) -> String;
    fn named(&self, id: DefId) -> String;
    /// `opaque x[size]`
    fn fixed(&self, size: u32) -> String;
    /// `opaque x<bound>`
    fn bytes(&self, bound: Option<u32>) -> String;
    /// `string x<bound>`
    fn text(&self, bound: Option<u32>) -> String;
    /// `T x[count]`
    fn elements(&self, count: u32, each: &Element<'_>) -> String;
    /// `T x<bound>`
    fn array(&self, bound: Option<u32>, each: &Element<'_>) -> String;
    /// `T *x`
    fn optional(&self, each: &Element<'_>) -> String;
    /// What spells the type of elements, or of the value that is optional.
    fn inner(&self) -> Self;
}

/// The type of an array's elements or of an optional value.
pub struct Element<'a> {
    pub ty: &'a Type,
    /// As [`Spelling::inner`] spells it.
    pub text: String,
    /// The fewest bytes of one, as [`Encodings::least_bytes`] says.
    pub least: u64,
}

fn spell<S: Spelling>(encodings: &Encodings<'_>, spelling: &S, ty: &Type) -> String {
    let ty = match S::SEES_THROUGH_TYPEDEFS {
        true => encodings.schema.resolve(ty),
        false => ty,
    };
    let element = |ty| Element {
        ty,
        text: spell(encodings, &spelling.inner(), ty),
        least: encodings.least_bytes(ty),
    };
    match ty {
        Type::Primitive(Primitive::Quadruple) => spelling.fixed(16),
        Type::Primitive(primitive) => spelling.primitive(*primitive),
        Type::Named(id) => spelling.named(*id),
        Type::Opaque(size) => spelling.fixed(*size),
        Type::OpaqueVar(bound) => spelling.bytes(*bound),
        Type::String(bound) => spelling.text(*bound),
        Type::Array(inner, count) => spelling.elements(*count, &element(inner)),
        Type::Sequence(inner, bound) => spelling.array(*bound, &element(inner)),
        Type::Pointer(target) => spelling.optional(&element(target)),
        Type::AnyPointer => unreachable!("refused by check()"),
    }
}

/// What the runtimes call a number or a bool.
pub fn primitive_word(primitive: Primitive) -> &'static str {
    match primitive {
        Primitive::Char => "i8",
        Primitive::UChar => "u8",
        Primitive::Short => "i16",
        Primitive::UShort => "u16",
        Primitive::Int => "i32",
        Primitive::UInt => "u32",
        Primitive::Hyper => "i64",
        Primitive::UHyper => "u64",
        Primitive::Float => "f32",
        Primitive::Double => "f64",
        Primitive::Bool => "bool",
        Primitive::Quadruple => unreachable!("spelt as fixed bytes"),
    }
}

/// What selects a union's arm.
pub enum Discriminant<'a> {
    Signed,
    Unsigned,
    Bool,
    Enum(DefId, &'a [Member]),
}

impl<'a> Discriminant<'a> {
    pub fn of(schema: &'a Schema, union: &Union) -> Self {
        match schema.resolve(&union.discriminant.ty) {
            Type::Primitive(Primitive::UInt) => Discriminant::Unsigned,
            Type::Primitive(Primitive::Bool) => Discriminant::Bool,
            Type::Named(id) => match &schema.def(*id).body {
                DefBody::Enum(members) => Discriminant::Enum(*id, members),
                _ => unreachable!("a discriminant is a number, a bool or an enum"),
            },
            _ => Discriminant::Signed,
        }
    }
}

/// The members with a value of their own, and those that repeat an earlier one's.
pub fn distinct(members: &[Member]) -> (Vec<&Member>, Vec<&Member>) {
    let mut seen = BTreeSet::new();
    members.iter().partition(|member| seen.insert(member.value))
}
