//! Types that C headers define and .x files use: given as `NAME=TYPE`, after --type.

use super::ast::Declaration;
use super::lexer::Lexer;
use super::parser;
use super::token::{Tok, Token};
use crate::diagnostics::{Diagnostic, Report};
use crate::source::{SourceMap, Span};
use std::collections::HashMap;
use std::path::PathBuf;

/// What the headers of RPC itself define, which interface files use without saying so.
const OF_RPC: [&str; 1] = ["netobj=opaque<1024>"];

/// The given types, and those of RPC unless they are given otherwise, by name.
pub fn parse(
    given: &[String],
    sources: &mut SourceMap,
    report: &mut Report,
) -> HashMap<String, Declaration> {
    let mut types = HashMap::new();
    for text in OF_RPC
        .iter()
        .copied()
        .chain(given.iter().map(String::as_str))
    {
        match parse_one(text, sources) {
            Ok(declaration) => drop(types.insert(declaration.name.text.clone(), declaration)),
            Err(error) => report.error(error),
        }
    }
    types
}

/// A declaration as the language has it: the sizes stand behind the name.
fn parse_one(given: &str, sources: &mut SourceMap) -> Result<Declaration, Diagnostic> {
    let Some((name, ty)) = given.split_once('=') else {
        let hint = "write NAME=TYPE, as in --type time_t=hyper or --type 'uuid_t=opaque[16]'";
        return Err(Diagnostic::global(format!("--type {given} names no type")).hint(hint));
    };
    let (base, sizes) = ty.split_at(ty.find(['[', '<']).unwrap_or(ty.len()));
    let text = format!("{base} {name}{sizes}");
    let file = sources.add(PathBuf::from(format!("--type {given}")), text.clone());
    let whole = Span {
        file,
        start: 0,
        end: text.len(),
    };
    let mut lexer = Lexer::part(&text, whole);
    let mut tokens: Vec<Token> = Vec::new();
    while tokens.last().is_none_or(|token| token.tok != Tok::End) {
        tokens.push(lexer.next_token());
    }
    parser::parse_type(&tokens)
}
