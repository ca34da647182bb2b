//! Tokens to the syntax tree, by recursive descent.
//!
//! This file holds the token cursor and the file's outer level: definitions, namespaces, and what
//! is skipped (program blocks). `declaration` holds what stands inside definitions. After an error
//! the parser continues behind the definition, so that one run shows the errors of several.

mod declaration;
mod texts;

use super::ast::{Base, Body, Declaration, Definition, Name, Path, Value};
use super::token::{Tok, Token};
use crate::diagnostics::{Diagnostic, Report};
use crate::source::Span;
use crate::suggest;

/// Bodies within bodies beyond this would exhaust the stack.
const MAX_NESTING: usize = 64;

/// Words that cannot name anything: those of RFC 4506.
const RESERVED: [&str; 19] = [
    "bool",
    "case",
    "const",
    "default",
    "double",
    "quadruple",
    "enum",
    "float",
    "hyper",
    "int",
    "opaque",
    "string",
    "struct",
    "switch",
    "typedef",
    "union",
    "unsigned",
    "void",
    "namespace",
];

const DEFINITION_WORDS: [&str; 7] = [
    "typedef",
    "enum",
    "struct",
    "union",
    "const",
    "program",
    "namespace",
];

type Parsed<T> = Result<T, Diagnostic>;

/// Parses what `--type NAME=TYPE` says, which is `typedef TYPE NAME;`.
pub fn parse_type(tokens: &[Token]) -> Parsed<Declaration> {
    let mut parser = Parser {
        tokens,
        at: 0,
        nesting: 0,
    };
    let declaration = parser.declaration()?;
    let base = &declaration.base;
    if matches!(base, Base::Enum(_) | Base::Struct(_) | Base::Union(_)) {
        let message = "the type of a C header is a type with a name, or `opaque` or `string`";
        let hint = "define it in a .x file";
        return Err(Diagnostic::new(parser.peek().span, message).hint(hint));
    }
    match parser.peek().tok {
        Tok::End => Ok(declaration),
        _ => Err(parser.unexpected(parser.peek(), "the end of the type")),
    }
}

/// Parses the tokens of a whole unit; errors go to the report, the good definitions come back.
pub fn parse(tokens: &[Token], report: &mut Report) -> Vec<Definition> {
    let mut parser = Parser {
        tokens,
        at: 0,
        nesting: 0,
    };
    let mut definitions = Vec::new();
    let mut namespace = Vec::new();
    while parser.at < tokens.len() {
        parser.item(&mut definitions, &mut namespace, report);
    }
    definitions
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    nesting: usize,
}

impl<'a> Parser<'a> {
    fn item(
        &mut self,
        definitions: &mut Vec<Definition>,
        namespace: &mut Vec<(String, Span)>,
        report: &mut Report,
    ) {
        self.nesting = 0;
        let token = self.peek();
        if token.tok == Tok::End {
            // Files of a unit follow each other; a namespace does not cross from one to the next.
            let file = token.span.file;
            while let Some(open) = namespace.pop_if(|(_, span)| span.file == file) {
                let message = format!("namespace `{}` is not closed", open.0);
                report.error(Diagnostic::new(open.1, message));
            }
            self.at += 1;
        } else if token.is_symbol(";") {
            self.at += 1;
        } else if token.is_symbol("}") && !namespace.is_empty() {
            self.at += 1;
            namespace.pop();
        } else {
            let start = self.at;
            let outer: Vec<String> = namespace.iter().map(|(name, _)| name.clone()).collect();
            match self.definition(&outer, namespace) {
                Ok(found) => definitions.extend(found),
                Err(error) => {
                    report.error(error);
                    self.skip_definition(start);
                }
            }
        }
    }

    /// A definition; none for a program block or the head of a namespace.
    fn definition(
        &mut self,
        outer: &[String],
        namespace: &mut Vec<(String, Span)>,
    ) -> Parsed<Option<Definition>> {
        let first = self.next();
        let word = match &first.tok {
            Tok::Word(word) => word.as_str(),
            _ => return Err(not_a_definition(first)),
        };
        let mut held_in = None;
        let (name, body) = match word {
            "const" => self.constant()?,
            "typedef" => self.typedef()?,
            "enum" => {
                let name = self.name("the enum's name")?;
                held_in = self.held_in()?;
                (name, Body::Enum(self.enum_body()?))
            }
            "struct" => (
                self.name("the struct's name")?,
                Body::Struct(self.struct_body()?),
            ),
            "union" => (
                self.name("the union's name")?,
                Body::Union(self.union_body()?),
            ),
            "program" => {
                self.name("the program's name")?;
                self.skip_program()?;
                return Ok(None);
            }
            "namespace" => {
                let path = self.path("the namespace's name")?;
                self.expect("{", "after the namespace's name")?;
                namespace.push((path.parts.join("::"), path.span));
                return Ok(None);
            }
            _ => return Err(not_a_definition(first)),
        };
        self.end_of_statement(&format!("the definition of `{}`", name.text))?;
        Ok(Some(Definition {
            name,
            namespace: outer.to_vec(),
            doc: first.doc.clone(),
            file: first.span.file,
            held_in,
            body,
        }))
    }

    fn constant(&mut self) -> Parsed<(Name, Body)> {
        let name = self.name("the constant's name")?;
        self.expect("=", "after the constant's name")?;
        let token = self.peek();
        if let Tok::Text(inner) = &token.tok {
            self.at += 1;
            let text = texts::decoded(inner);
            let text = text.map_err(|message| Diagnostic::new(token.span, message))?;
            return Ok((name, Body::Text(text)));
        }
        let value = self.value()?;
        Ok((name, Body::Const(value)))
    }

    fn typedef(&mut self) -> Parsed<(Name, Body)> {
        let declaration = self.declaration()?;
        Ok((declaration.name.clone(), Body::Typedef(declaration)))
    }

    /// `{ version V { procedures } = n; } = n`: remote procedures are no data, so only the shape of
    /// the block is checked.
    fn skip_program(&mut self) -> Parsed<()> {
        let open = self.expect("{", "after the program's name")?;
        let mut depth = 1;
        while depth > 0 {
            let token = self.next();
            match token.tok {
                Tok::Symbol("{") => depth += 1,
                Tok::Symbol("}") => depth -= 1,
                Tok::End => {
                    self.at -= 1;
                    return Err(Diagnostic::new(
                        open.span,
                        "this program block is not closed",
                    ));
                }
                _ => {}
            }
        }
        self.expect("=", "after the program block")?;
        self.value()?;
        Ok(())
    }

    /// Goes to the next place where a definition can begin: behind `;` outside braces, or before a
    /// word at the start of a line that begins definitions.
    fn skip_definition(&mut self, start: usize) {
        self.at = start + 1;
        let mut depth = 0usize;
        loop {
            let token = self.peek();
            match &token.tok {
                Tok::End => return,
                Tok::Symbol("{") => depth += 1,
                Tok::Symbol("}") => depth = depth.saturating_sub(1),
                Tok::Symbol(";") if depth == 0 => {
                    self.at += 1;
                    return;
                }
                Tok::Word(word) if DEFINITION_WORDS.contains(&word.as_str()) => {
                    let within_typedef = self.tokens[self.at - 1].is_word("typedef");
                    let unmistakable = matches!(word.as_str(), "typedef" | "const");
                    let elsewhere = self.at > start + 1;
                    if elsewhere && (unmistakable || (depth == 0 && !within_typedef)) {
                        return;
                    }
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    fn value(&mut self) -> Parsed<Value> {
        let token = self.next();
        match &token.tok {
            Tok::Int(value) => Ok(Value::Int(*value, token.span)),
            Tok::Symbol("-") => match self.next() {
                Token {
                    tok: Tok::Int(value),
                    span,
                    ..
                } => Ok(Value::Int(-value, token.span.to(*span))),
                other => Err(self.unexpected(other, "a number after `-`")),
            },
            Tok::Symbol("(") => {
                let value = self.value()?;
                self.expect(")", "after the value")?;
                Ok(value)
            }
            Tok::Word(word) if word == "TRUE" => Ok(Value::Int(1, token.span)),
            Tok::Word(word) if word == "FALSE" => Ok(Value::Int(0, token.span)),
            Tok::Word(_) => {
                self.at -= 1;
                Ok(Value::Named(self.path("a constant")?))
            }
            _ => Err(self.unexpected(token, "a number or the name of a constant")),
        }
    }

    fn path(&mut self, what: &str) -> Parsed<Path> {
        let first = self.name(what)?;
        let mut path = Path {
            parts: vec![first.text],
            span: first.span,
        };
        while self.accept("::") {
            let part = self.name("a name after `::`")?;
            path.span = path.span.to(part.span);
            path.parts.push(part.text);
        }
        Ok(path)
    }

    fn name(&mut self, what: &str) -> Parsed<Name> {
        let token = self.next();
        match &token.tok {
            Tok::Word(word) if !RESERVED.contains(&word.as_str()) => Ok(Name {
                text: word.clone(),
                span: token.span,
            }),
            Tok::Word(word) => {
                let message = format!("`{word}` is a word of the language; {what} must be another");
                Err(Diagnostic::new(token.span, message))
            }
            _ => Err(self.unexpected(token, what)),
        }
    }

    /// The `;` behind a declaration or definition. A missing one is shown where it belongs.
    fn end_of_statement(&mut self, what: &str) -> Parsed<()> {
        if self.accept(";") {
            return Ok(());
        }
        let before = self.tokens[self.at - 1].span.after();
        let found = self.peek();
        if found.is_symbol(",") {
            let message = format!("expected `;` behind {what}, found `,`");
            let hint = "XDR declares one name at a time: repeat the type for the next name";
            return Err(Diagnostic::new(found.span, message).hint(hint));
        }
        let message = format!("expected `;` behind {what}, found {}", found.describe());
        Err(Diagnostic::new(before, message).hint("a semicolon is missing here"))
    }

    fn expect(&mut self, symbol: &str, place: &str) -> Parsed<&'a Token> {
        let token = self.next();
        if token.is_symbol(symbol) {
            return Ok(token);
        }
        Err(self.unexpected(token, &format!("`{symbol}` {place}")))
    }

    fn unexpected(&self, token: &Token, wanted: &str) -> Diagnostic {
        let message = format!("expected {wanted}, found {}", token.describe());
        Diagnostic::new(token.span, message)
    }

    fn accept(&mut self, symbol: &str) -> bool {
        let found = self.peek().is_symbol(symbol);
        self.at += usize::from(found);
        found
    }

    fn accept_word(&mut self, word: &str) -> bool {
        let found = self.peek().is_word(word);
        self.at += usize::from(found);
        found
    }

    /// The token ahead; the last token of a unit is `Tok::End` and stays ahead.
    fn peek(&self) -> &'a Token {
        &self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn next(&mut self) -> &'a Token {
        let token = self.peek();
        if token.tok != Tok::End {
            self.at += 1;
        }
        token
    }
}

fn not_a_definition(token: &Token) -> Diagnostic {
    let message = format!("expected a definition, found {}", token.describe());
    let hint = match &token.tok {
        Tok::Word(word) => match suggest::nearest(word, DEFINITION_WORDS) {
            Some(known) => format!("did you mean `{known}`?"),
            None => "a definition begins with typedef, enum, struct, union or const".into(),
        },
        _ => "a definition begins with typedef, enum, struct, union or const".into(),
    };
    Diagnostic::new(token.span, message).hint(hint)
}
