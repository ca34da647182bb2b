//! The XDR compiler of InterWeave.
//!
//! From `.x` files it makes either types for programs in a language, with descriptors that register
//! themselves ([`Output::Data`]), or the codecs of InterWeave's own protocol ([`Output::Codec`]).
//! The way of a file: `frontend` (text to syntax tree) - `ir` (names resolved, everything checked) -
//! one of the `backends` (text out). Nothing here touches a file that it was not given, nor writes
//! one: [`run`] returns the generated files and the caller writes them.

mod backends;
mod compile;
pub mod diagnostics;
pub mod frontend;
pub mod ir;
pub mod source;
mod suggest;

pub use backends::descriptor_limits;
pub use compile::{run, CodecLanguage, CompileOptions, DataLanguage, GeneratedFile, Output};
pub use diagnostics::{Diagnostic, Diagnostics};
