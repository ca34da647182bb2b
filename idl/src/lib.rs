//! The XDR compiler of InterWeave.
//!
//! From `.x` files it makes either types for programs in a language, with descriptors that register
//! themselves ([`Output::Data`]), the codecs of InterWeave's own protocol ([`Output::Codec`]),
//! or the numbers of its C interface in each language ([`Output::Interface`]).
//! The way of a file: `frontend` (text to syntax tree) - `ir` (names resolved, everything
//! checked) - one of the backends (text out). Nothing here reads a file that it was not given or
//! that is not included by one, nor writes one: [`compile`] returns the generated files and the
//! caller writes them with [`write_files`].
//!
//! # The language
//! RFC 4506, and what real files add to it:
//! - rpcgen's dialect: `%` lines (ignored, but for includes and numeric constants), `struct X` as a
//!   type, `char`, `short`, `long` (32 bits), `u_int`, `uint32_t` and their kin, bare `unsigned`,
//!   enum
//!   members without values, `#if`, `#ifdef`, `#define NAME value`, `#include`, program blocks
//!   (accepted, and of no effect), `const NAME = "text"` (a `#define` in C);
//! - `netobj` of RPC's headers, which is `opaque<1024>`, and types of C headers that are given as
//!   `--type NAME=TYPE`: a field of one is what TYPE says, in every language, and nothing of that
//!   name
//!   is generated. A file's own definition of the name goes before it;
//! - `//` comments, `namespace a { ... }`, bodies without a name inside other bodies, which become
//!   types named after their place (`outer_field`);
//! - `double a[256][256]`, `T *x[8]`, `T *x<>` and `void *x`, and definitions in any order.
//!
//! Given files that include each other by paths with folders keep these folders below --out, and
//! what is generated includes or imports by the way from one to the other.
//!
//! A comment directly before a definition, or beside a field, becomes the documentation of what is
//! generated.
//!
//! # What it becomes in a program's data
//! | XDR | C and C++ | descriptor |
//! |---|---|---|
//! | `int`, `unsigned hyper`, `bool` | `int`, `uint64_t`, `IW_bool_t` | primitive |
//! | `enum e {...}` | `enum e`, four bytes | enum |
//! | `struct s {...}` | `struct s` | record |
//! | `union u switch (D d) {...}` | `struct u { D d; union {...} u_u; }` | union |
//! | `T *x` | `T *x`, a pointer to a block, perhaps of another segment | pointer |
//! | `T x[N]`, `opaque x[N]`, `quadruple` | arrays | array |
//! | `string s<N>`, N at most 4096 | `char s[N + 1]` | string |
//! | `string s<>`, or a larger bound | `char *s`, to a block that the field owns | text |
//! | `T x<N>`, `opaque x<N>` | `struct { unsigned int x_len; T *x_val; } x` | sequence |
//!
//! In Fortran it is a module of `bind(C)` types of C's layout: docs/fortran.md says how.
//!
//! In a codec `T *x` is the optional data of the standard, and the values are those of the
//! language: `String`, `Vec<T>`,
//! `Option<Box<T>>`; `std::string`, `std::vector<T>`, `std::unique_ptr<T>`.

mod backends;
mod compile;
pub mod diagnostics;
mod frontend;
mod ir;
mod layout;
pub mod source;
mod suggest;

pub use backends::descriptor_limits;
pub use compile::{
    compile, run, write_files, CodecLanguage, CompileOptions, Compiled, DataLanguage,
    GeneratedFile, InterfaceLanguage, Output,
};
pub use diagnostics::{Diagnostic, Diagnostics};
