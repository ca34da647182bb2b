//! The checked schema: what backends read.
//!
//! Every name is resolved to a [`DefId`], every constant to its number, every anonymous body has
//! become a definition named after its place (`Outer_field`). [`lower`] builds it from the syntax
//! tree, [`check`] refuses what no backend could express. Backends may rely on: sizes are 1 to
//! 2^32-1; enum values fit in 32 bits; names are unique in their scope; no type embeds itself;
//! embedding is at most [`check::MAX_EMBEDDING`] deep.

pub mod check;
mod constants;
pub mod lower;
mod names;

pub use crate::frontend::ast::Primitive;
use crate::source::{FileId, Span};

/// A definition, as an index into its [`Schema`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DefId(pub usize);

/// All definitions of a unit: those of its files and of what they include, in order.
#[derive(Debug, Default)]
pub struct Schema {
    pub defs: Vec<Def>,
}

#[derive(Debug)]
pub struct Def {
    pub name: String,
    pub namespace: Vec<String>,
    pub doc: Option<String>,
    pub file: FileId,
    pub span: Span,
    /// The integer that holds an enum's members, if the file says one. Only the cluster's dialect
    /// has it.
    pub held_in: Option<Primitive>,
    pub body: DefBody,
}

#[derive(Debug)]
pub enum DefBody {
    Const(Constant),
    Alias(Type),
    Enum(Vec<Member>),
    Struct(Vec<Field>),
    Union(Box<Union>),
}

#[derive(Clone, Debug)]
pub enum Constant {
    Number(i128),
    Text(String),
}

#[derive(Clone, Debug)]
pub struct Member {
    pub name: String,
    pub value: i32,
    pub doc: Option<String>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Field {
    pub name: String,
    pub ty: Type,
    pub doc: Option<String>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Union {
    pub discriminant: Field,
    pub arms: Vec<Arm>,
    pub default: Option<Arm>,
}

/// One arm; without a field it is void. The default arm has no cases.
#[derive(Clone, Debug)]
pub struct Arm {
    pub cases: Vec<Case>,
    pub field: Option<Field>,
    pub doc: Option<String>,
}

/// A case's value, and the name by which the file gives it, if any.
#[derive(Clone, Debug)]
pub struct Case {
    pub value: i64,
    pub name: Option<String>,
    pub span: Span,
}

/// A type in use. Bounds are `None` where the file gives none.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    Primitive(Primitive),
    Named(DefId),
    Opaque(u32),
    OpaqueVar(Option<u32>),
    String(Option<u32>),
    Array(Box<Type>, u32),
    Sequence(Box<Type>, Option<u32>),
    Pointer(Box<Type>),
    /// `void *`, which may point at any block. Only programs' data has it.
    AnyPointer,
}

impl Schema {
    pub fn def(&self, id: DefId) -> &Def {
        &self.defs[id.0]
    }

    /// Definitions of one file, in order.
    pub fn of_file(&self, file: FileId) -> impl Iterator<Item = DefId> + '_ {
        let ids = (0..self.defs.len()).map(DefId);
        ids.filter(move |&id| self.def(id).file == file)
    }

    /// The type behind typedefs.
    pub fn resolve<'a>(&'a self, mut ty: &'a Type) -> &'a Type {
        while let Type::Named(id) = ty {
            match &self.def(*id).body {
                DefBody::Alias(target) => ty = target,
                _ => break,
            }
        }
        ty
    }
}

impl Union {
    /// The arms, the default one last.
    pub fn every_arm(&self) -> impl Iterator<Item = &Arm> {
        self.arms.iter().chain(&self.default)
    }

    /// What the arms hold.
    pub fn arm_fields(&self) -> impl Iterator<Item = &Field> {
        self.every_arm().filter_map(Arm::field)
    }

    /// The discriminant and what the arms hold.
    pub fn fields(&self) -> impl Iterator<Item = &Field> {
        std::iter::once(&self.discriminant).chain(self.arm_fields())
    }
}

impl Arm {
    pub fn field(&self) -> Option<&Field> {
        self.field.as_ref()
    }
}

impl Def {
    /// The fields of a struct; the discriminant and the arms' fields of a union.
    pub fn fields(&self) -> Vec<&Field> {
        match &self.body {
            DefBody::Const(_) | DefBody::Alias(_) | DefBody::Enum(_) => Vec::new(),
            DefBody::Struct(fields) => fields.iter().collect(),
            DefBody::Union(union) => union.fields().collect(),
        }
    }

    /// The types of its fields, or what a typedef stands for.
    pub fn types(&self) -> Vec<&Type> {
        match &self.body {
            DefBody::Alias(ty) => vec![ty],
            _ => self.fields().iter().map(|field| &field.ty).collect(),
        }
    }

    /// The name with its namespaces, joined by `separator`.
    pub fn full_name(&self, separator: &str) -> String {
        let mut parts: Vec<&str> = self.namespace.iter().flat_map(|n| n.split("::")).collect();
        parts.push(&self.name);
        parts.join(separator)
    }
}
