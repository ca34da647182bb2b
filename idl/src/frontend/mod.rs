//! From text to syntax tree.
//!
//! [`lexer`] makes tokens of a file, [`preprocessor`] follows `#` and `%` lines and expands macros,
//! [`parser`] builds the tree of [`ast`]. Names are not looked up here: that is `ir`.
//!
//! The language is XDR (RFC 4506, section 6) with what real files add: the rpcgen dialect (`%`
//! lines, `struct X` as a type, C's integer names, enum members without values, program blocks) and
//! the dialect with `//` comments, namespaces and nested anonymous bodies.

pub mod ast;
mod conditions;
pub mod header_types;
mod lexer;
mod parser;
mod preprocessor;
mod token;

pub use parser::parse;
pub use preprocessor::{Include, Preprocessor};
