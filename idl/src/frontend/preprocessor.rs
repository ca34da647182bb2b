//! Directives, macros and includes: from files to one list of tokens.
//!
//! `#if` and its kin, `#define NAME tokens` and `#include "other.x"` work as in C, with two
//! differences: a file is included once, like a module, so that its definitions belong to it and
//! not to the file that asked; and a header that is not an .x file is looked for under its .x name
//! and otherwise ignored, because it holds C. `%` lines are C text of rpcgen's output, and ignored
//! likewise, except for the includes and constants in them, which the definitions may need.

use super::conditions;
use super::lexer::Lexer;
use super::token::{Tok, Token};
use crate::diagnostics::{Diagnostic, Report};
use crate::source::{FileId, SourceMap, Span};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// A file deep in includes of includes is one that includes itself under other names.
const MAX_INCLUDE_DEPTH: usize = 64;
/// Tokens that one unit may expand to; macros that double each other could
/// otherwise fill the memory.
const MAX_TOKENS: usize = 4_000_000;

const DIRECTIVES: [&str; 9] = [
    "if", "ifdef", "ifndef", "elif", "else", "endif", "define", "undef", "include",
];

/// One file asking for another.
#[derive(Clone, Debug)]
pub struct Include {
    pub from: FileId,
    pub to: FileId,
    /// The path as written, which generated includes keep where the other file
    /// is not generated, too.
    pub written: String,
    /// The directory from which it is written.
    pub base: PathBuf,
}

#[derive(Clone)]
pub(super) struct Macro {
    pub body: Vec<Token>,
    takes_arguments: bool,
}

struct Condition {
    span: Span,
    active: bool,
    /// Some branch was active already, so the later ones are not.
    taken: bool,
    outer: bool,
    in_else: bool,
}

/// Reads root files and all that they include.
pub struct Preprocessor<'a> {
    pub sources: &'a mut SourceMap,
    pub report: &'a mut Report,
    pub includes: Vec<Include>,
    include_dirs: &'a [PathBuf],
    macros: HashMap<String, Macro>,
    read: HashMap<PathBuf, FileId>,
    depth: usize,
    tokens: Vec<Token>,
}

impl<'a> Preprocessor<'a> {
    /// `defines` are `NAME` or `NAME=VALUE`, as after -D.
    pub fn new(
        sources: &'a mut SourceMap,
        report: &'a mut Report,
        include_dirs: &'a [PathBuf],
        defines: &[String],
    ) -> Self {
        let mut preprocessor = Preprocessor {
            sources,
            report,
            includes: Vec::new(),
            include_dirs,
            macros: HashMap::new(),
            read: HashMap::new(),
            depth: 0,
            tokens: Vec::new(),
        };
        // rpcgen defines RPC_HDR while it makes the header, which is the part that has the types.
        for define in ["RPC_HDR", "INTERWEAVE"] {
            preprocessor.define_from_command_line(define);
        }
        for define in defines {
            preprocessor.define_from_command_line(define);
        }
        preprocessor
    }

    fn define_from_command_line(&mut self, define: &str) {
        let (name, value) = define.split_once('=').unwrap_or((define, "1"));
        let path = PathBuf::from(format!("-D{define}"));
        let file = self.sources.add(path, format!("{name} {value}"));
        let end = self.sources.file(file).text.len();
        self.define(Span {
            file,
            start: 0,
            end,
        });
    }

    /// Reads a file given on the command line; its id, unless it cannot be read.
    pub fn root(&mut self, path: &Path) -> Option<FileId> {
        if let Some(&id) = path
            .canonicalize()
            .ok()
            .and_then(|real| self.read.get(&real))
        {
            return Some(id);
        }
        match self.load(path) {
            Ok(id) => {
                self.process(id);
                Some(id)
            }
            Err(error) => {
                let message = format!("cannot read {}: {error}", path.display());
                self.report.error(Diagnostic::global(message));
                None
            }
        }
    }

    /// The tokens of all files read, in order, with an end token of the last.
    pub fn finish(mut self) -> (Vec<Token>, Vec<Include>) {
        let file = self
            .tokens
            .last()
            .map_or(FileId(0), |token| token.span.file);
        self.push_end(file);
        (self.tokens, self.includes)
    }

    fn load(&mut self, path: &Path) -> std::io::Result<FileId> {
        let bytes = std::fs::read(path)?;
        let real = path.canonicalize()?;
        // Old files have Latin-1 in their comments; outside comments the lexer will complain.
        let text = String::from_utf8_lossy(&bytes);
        // Some editors begin UTF-8 with a byte order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text).to_string();
        let id = self.sources.add(path.to_path_buf(), text);
        self.read.insert(real, id);
        Ok(id)
    }

    fn process(&mut self, file: FileId) {
        let text = self.sources.file(file).text.clone();
        let mut lexer = Lexer::new(&text, file);
        let mut conditions: Vec<Condition> = Vec::new();
        loop {
            let token = lexer.next_token();
            let active = conditions.last().is_none_or(|c| c.active);
            match &token.tok {
                Tok::End => break,
                Tok::Directive => self.directive(token.span, active, &mut conditions),
                Tok::PassThrough if active => self.pass_through(token.span),
                Tok::PassThrough => {}
                // More of it would say nothing more.
                Tok::Binary if active => {
                    let message =
                        "this file is not text: a control character, or no UTF-8, is here";
                    self.report.error(Diagnostic::new(token.span, message));
                    // The parser will complain of it too, which is not told twice.
                    self.push(token);
                    return self.push_end(file);
                }
                // The parser will complain of it too, but of one place one error is reported.
                Tok::Bad(message) if active => {
                    self.report
                        .error(Diagnostic::new(token.span, message.clone()));
                    self.push(token);
                }
                _ if active => self.expand(token, &mut HashSet::new()),
                _ => {}
            }
        }
        if let Some(open) = conditions.last() {
            let message = "this condition has no `#endif`";
            self.report.error(Diagnostic::new(open.span, message));
        }
        self.push_end(file);
    }

    /// Marks a file's end, so that a definition cannot run on into the next file unnoticed.
    fn push_end(&mut self, file: FileId) {
        let end = self.sources.file(file).text.len();
        self.tokens.push(Token {
            tok: Tok::End,
            span: Span {
                file,
                start: end,
                end,
            },
            doc: None,
            remark: None,
        });
    }

    fn directive(&mut self, span: Span, active: bool, conditions: &mut Vec<Condition>) {
        let (name, rest) = self.split_directive(Span {
            start: span.start + 1,
            ..span
        });
        match name.as_str() {
            "if" | "ifdef" | "ifndef" => {
                let truth = active && self.condition(&name, rest);
                conditions.push(Condition {
                    span,
                    active: truth,
                    taken: truth,
                    outer: active,
                    in_else: false,
                });
            }
            "elif" | "else" => self.next_branch(&name, rest, span, conditions),
            "endif" => {
                if conditions.pop().is_none() {
                    let message = "`#endif` without a condition";
                    self.report.error(Diagnostic::new(span, message));
                }
            }
            _ if !active => {}
            "define" => self.define(rest),
            "undef" => {
                if let Some(Tok::Word(word)) = self.tokens_of(rest).first().map(|t| &t.tok) {
                    self.macros.remove(word);
                }
            }
            "include" => self.include(rest),
            "error" => {
                let message = format!("#error {}", self.text_of(rest).trim());
                self.report.error(Diagnostic::new(span, message));
            }
            // A name is missing where a number follows: the line markers that cpp leaves behind.
            "" | "pragma" | "ident" | "line" | "warning" => {}
            other => {
                let hint = crate::suggest::nearest(other, DIRECTIVES);
                let hint = hint.map(|name| format!("did you mean `#{name}`?"));
                let message = format!("unknown directive `#{other}`");
                self.report
                    .error(Diagnostic::new(span, message).hint_if(hint));
            }
        }
    }

    /// A directive's name, and the range behind it.
    fn split_directive(&self, span: Span) -> (String, Span) {
        match self.tokens_of(span).first() {
            Some(Token {
                tok: Tok::Word(word),
                span: name,
                ..
            }) => {
                let behind = &self.sources.file(span.file).text[name.end..span.end];
                let start = span.end - behind.trim_start().len();
                (word.clone(), Span { start, ..span })
            }
            _ => (String::new(), span),
        }
    }

    fn next_branch(&mut self, name: &str, rest: Span, span: Span, conditions: &mut [Condition]) {
        let (outer, taken) = match conditions.last() {
            Some(condition) if !condition.in_else => (condition.outer, condition.taken),
            _ => {
                let message = format!("`#{name}` without a condition");
                return self.report.error(Diagnostic::new(span, message));
            }
        };
        let open = outer && !taken;
        let truth = open && (name == "else" || self.condition("if", rest));
        if let Some(condition) = conditions.last_mut() {
            condition.active = truth;
            condition.taken |= truth;
            condition.in_else = name == "else";
        }
    }

    fn condition(&mut self, kind: &str, rest: Span) -> bool {
        let tokens = self.tokens_of(rest);
        if kind != "if" {
            return match tokens.first().map(|token| &token.tok) {
                Some(Tok::Word(name)) => self.macros.contains_key(name) == (kind == "ifdef"),
                _ => {
                    let message = format!("`#{kind}` wants a name");
                    self.report.error(Diagnostic::new(rest, message));
                    false
                }
            };
        }
        match conditions::evaluate(&tokens, &self.macros) {
            Ok(value) => value != 0,
            Err(message) => {
                self.report.error(Diagnostic::new(rest, message));
                false
            }
        }
    }

    fn text_of(&self, span: Span) -> &str {
        &self.sources.file(span.file).text[span.start..span.end]
    }

    fn tokens_of(&self, span: Span) -> Vec<Token> {
        let mut lexer = Lexer::part(&self.sources.file(span.file).text, span);
        let mut tokens = Vec::new();
        loop {
            let token = lexer.next_token();
            if token.tok == Tok::End {
                return tokens;
            }
            tokens.push(token);
        }
    }

    /// `NAME tokens...`, or `NAME(arguments) ...`, which is remembered only to be refused in use.
    fn define(&mut self, span: Span) {
        let mut tokens = self.tokens_of(span);
        let Some(Tok::Word(word)) = tokens.first().map(|token| token.tok.clone()) else {
            let message = "`#define` wants a name";
            return self.report.error(Diagnostic::new(span, message));
        };
        let name = tokens.remove(0);
        let takes_arguments = tokens
            .first()
            .is_some_and(|next| next.is_symbol("(") && next.span.start == name.span.end);
        let body = tokens;
        self.macros.insert(
            word,
            Macro {
                body,
                takes_arguments,
            },
        );
    }

    /// Adds a token, or what the macro it names stands for. Tokens of a macro are shown at its use.
    fn expand(&mut self, token: Token, within: &mut HashSet<String>) {
        let (Tok::Word(word), true) = (&token.tok, self.tokens.len() < MAX_TOKENS) else {
            return self.push(token);
        };
        let Some(found) = self.macros.get(word).filter(|_| !within.contains(word)) else {
            return self.push(token);
        };
        if found.takes_arguments {
            let message = format!("`{word}` is a macro with arguments, which .x files cannot use");
            let tok = Tok::Bad(message.clone());
            self.report.error(Diagnostic::new(token.span, message));
            return self.push(Token { tok, ..token });
        }
        let body = found.body.clone();
        let word = word.clone();
        within.insert(word.clone());
        for (index, part) in body.into_iter().enumerate() {
            let first = index == 0;
            let replaced = Token {
                tok: part.tok,
                span: token.span,
                doc: token.doc.clone().filter(|_| first),
                remark: token.remark.clone().filter(|_| first),
            };
            self.expand(replaced, within);
        }
        within.remove(&word);
    }

    fn push(&mut self, token: Token) {
        if self.tokens.len() == MAX_TOKENS {
            let message = "the file is too large once its macros are expanded";
            self.report.error(Diagnostic::new(token.span, message));
        }
        if self.tokens.len() <= MAX_TOKENS {
            self.tokens.push(token);
        }
    }

    /// C text for rpcgen's output; only includes and constants in it matter here.
    fn pass_through(&mut self, span: Span) {
        let inner = Span {
            start: span.start + 1,
            ..span
        };
        let Some(mark) = self.text_of(inner).find(|c: char| !c.is_whitespace()) else {
            return;
        };
        if !self.text_of(inner)[mark..].starts_with('#') {
            return;
        }
        let (name, rest) = self.split_directive(Span {
            start: inner.start + mark + 1,
            ..inner
        });
        if name == "include" {
            self.include_if_present(rest);
        } else if name == "define" {
            let tokens = self.tokens_of(rest);
            let numeric = |t: &Token| {
                matches!(t.tok, Tok::Int(_)) || matches!(t.tok, Tok::Symbol("(" | ")" | "-"))
            };
            if tokens.len() > 1 && tokens[1..].iter().all(numeric) {
                self.define(rest);
            }
        }
    }

    fn include(&mut self, rest: Span) {
        let Some(written) = included_name(self.text_of(rest)).map(str::to_string) else {
            let message = "`#include` wants \"file.x\" or <file.x>";
            return self.report.error(Diagnostic::new(rest, message));
        };
        if self.include_if_present(rest) {
            return;
        }
        let message = format!("cannot find the included file `{written}`");
        let hint =
            "it is looked for in the folder of the including file and in the folders after -I";
        if written.ends_with(".x") {
            self.report.error(Diagnostic::new(rest, message).hint(hint));
        } else if self.text_of(rest).starts_with('"') && self.find(rest, &written).is_none() {
            let hint = format!("{hint}, as it is written and under its .x name");
            self.report.warn(Diagnostic::new(rest, message).hint(hint));
        }
    }

    /// The directory in which it is there: the including file's own, or one of those after -I.
    fn find(&self, from: Span, written: &str) -> Option<PathBuf> {
        let beside = self.sources.path(from.file).parent();
        let beside = beside.unwrap_or(Path::new(""));
        let mut bases =
            std::iter::once(beside).chain(self.include_dirs.iter().map(PathBuf::as_path));
        let base = bases.find(|base| base.join(written).is_file())?;
        Some(base.to_path_buf())
    }

    /// Follows an include if its .x file exists; says whether it did.
    fn include_if_present(&mut self, rest: Span) -> bool {
        let Some(written) = included_name(self.text_of(rest)) else {
            return false;
        };
        let written = match written.strip_suffix(".h") {
            Some(stem) => format!("{stem}.x"),
            None => written.to_string(),
        };
        let Some(base) = self.find(rest, &written) else {
            return false;
        };
        let path = base.join(&written);
        // A C header with another suffix than .h is not XDR either.
        if path.extension().is_none_or(|extension| extension != "x") {
            return false;
        }
        self.follow(&path, base, written, rest);
        true
    }

    fn follow(&mut self, path: &Path, base: PathBuf, written: String, span: Span) {
        let known = path
            .canonicalize()
            .ok()
            .and_then(|real| self.read.get(&real));
        if let Some(&to) = known {
            return self.included(to, base, written, span);
        }
        if self.depth == MAX_INCLUDE_DEPTH {
            let message = "includes are nested too deeply";
            return self.report.error(Diagnostic::new(span, message));
        }
        match self.load(path) {
            Ok(to) => {
                self.included(to, base, written, span);
                self.depth += 1;
                self.process(to);
                self.depth -= 1;
            }
            Err(error) => {
                let message = format!("cannot read {}: {error}", path.display());
                self.report.error(Diagnostic::new(span, message));
            }
        }
    }

    fn included(&mut self, to: FileId, base: PathBuf, written: String, span: Span) {
        self.includes.push(Include {
            from: span.file,
            to,
            written,
            base,
        });
    }
}

/// The name in `"name"` or `<name>`.
fn included_name(rest: &str) -> Option<&str> {
    let rest = rest.trim();
    if let Some(inner) = rest.strip_prefix('"') {
        return inner.split_once('"').map(|(name, _)| name);
    }
    let inner = rest.strip_prefix('<')?;
    inner.split_once('>').map(|(name, _)| name)
}
