//! The syntax tree: what the file says, with places, before any name is looked up.

use crate::source::{FileId, Span};

/// A name in the file.
#[derive(Clone, Debug)]
pub struct Name {
    pub text: String,
    pub span: Span,
}

/// A constant, or the name of one (`a::b` in the dialect with namespaces).
#[derive(Clone, Debug)]
pub enum Value {
    Int(i128, Span),
    Named(Path),
}

/// One or more names joined by `::`.
#[derive(Clone, Debug)]
pub struct Path {
    pub parts: Vec<String>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Definition {
    pub name: Name,
    pub namespace: Vec<String>,
    pub doc: Option<String>,
    pub file: FileId,
    /// `enum NAME : TYPE`, which C23 has, too: the integer that holds the enum's members.
    pub held_in: Option<Primitive>,
    pub body: Body,
}

#[derive(Clone, Debug)]
pub enum Body {
    Const(Value),
    /// `const NAME = "text"`, of rpcgen's dialect.
    Text(String),
    Typedef(Declaration),
    Enum(Vec<Member>),
    Struct(Vec<Declaration>),
    Union(Box<Union>),
}

/// A member of an enum; without a value it is one more than the member before.
#[derive(Clone, Debug)]
pub struct Member {
    pub name: Name,
    pub value: Option<Value>,
    pub doc: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Union {
    pub discriminant: Declaration,
    pub arms: Vec<Arm>,
    pub default: Option<Arm>,
}

/// The cases of one arm and its declaration; none for `void`.
#[derive(Clone, Debug)]
pub struct Arm {
    pub cases: Vec<Value>,
    pub declaration: Option<Declaration>,
    pub span: Span,
    pub doc: Option<String>,
}

/// A typed name: a field, an arm, or what a typedef defines.
#[derive(Clone, Debug)]
pub struct Declaration {
    pub base: Base,
    pub pointer: Option<Span>,
    pub name: Name,
    pub sizes: Vec<Size>,
    pub doc: Option<String>,
}

/// `[n]`, or `<n>` and `<>`.
#[derive(Clone, Debug)]
pub enum Size {
    Fixed(Value),
    Variable(Option<Value>, Span),
}

/// The type before the declared name.
#[derive(Clone, Debug)]
pub enum Base {
    Primitive(Primitive),
    /// Only before a star.
    Void,
    Opaque,
    String,
    Named(Path),
    Enum(Vec<Member>),
    Struct(Vec<Declaration>),
    Union(Box<Union>),
}

/// The types that need no definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Primitive {
    Char,
    UChar,
    Short,
    UShort,
    Int,
    UInt,
    Hyper,
    UHyper,
    Float,
    Double,
    Quadruple,
    Bool,
}
