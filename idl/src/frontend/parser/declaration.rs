//! Declarations, types, and the bodies of enums, structs and unions.

use super::{Parsed, Parser, MAX_NESTING, RESERVED};
use crate::diagnostics::Diagnostic;
use crate::frontend::ast::{Arm, Base, Declaration, Member, Primitive, Size, Union, Value};
use crate::frontend::token::Tok;
use crate::source::Span;
use crate::suggest;

/// The primitive types that are words of the language or of C. Other dialect names (`u_int`,
/// `uint32_t`) may be defined by the file itself, so they are looked up later,
/// behind its own names.
const PRIMITIVE_WORDS: [(&str, Primitive); 8] = [
    ("int", Primitive::Int),
    ("hyper", Primitive::Hyper),
    ("float", Primitive::Float),
    ("double", Primitive::Double),
    ("quadruple", Primitive::Quadruple),
    ("bool", Primitive::Bool),
    ("char", Primitive::Char),
    ("short", Primitive::Short),
];

impl Parser<'_> {
    /// `type name`, with a star before the name or sizes behind it; the caller takes the `;`.
    pub(super) fn declaration(&mut self) -> Parsed<Declaration> {
        let first = self.peek();
        let base = self.base()?;
        let base_span = first.span.to(self.tokens[self.at - 1].span);
        self.check_behind_type(&base, base_span)?;
        let star = self.peek().span;
        let pointer = self.accept("*").then_some(star);
        if pointer.is_some() && self.peek().is_symbol("*") {
            let hint = "name the inner pointer with a typedef and point to that";
            let message = "a pointer to a pointer has no form of its own";
            return Err(Diagnostic::new(self.peek().span, message).hint(hint));
        }
        let name = self.name("the declared name")?;
        let mut sizes = Vec::new();
        while let Some(size) = self.size()? {
            sizes.push(size);
        }
        Ok(Declaration {
            base,
            pointer,
            name,
            sizes,
            doc: first.doc.clone(),
        })
    }

    /// Catches what would else be called a wrong name: a misspelt first word, a body with a name.
    fn check_behind_type(&self, base: &Base, span: Span) -> Parsed<()> {
        let Base::Named(path) = base else {
            return Ok(());
        };
        let next = self.peek();
        if next.is_symbol("{") {
            let message = format!(
                "a body with a name, `{}`, inside another",
                path.parts.join("::")
            );
            let hint = "write `struct { ... } name;`, or close the definition before this one";
            return Err(Diagnostic::new(span, message).hint(hint));
        }
        let reserved = matches!(&next.tok, Tok::Word(word) if RESERVED.contains(&word.as_str()));
        if reserved {
            let name = path.parts.join("::");
            let hint = suggest::nearest(&name, RESERVED.into_iter().chain(["long", "signed"]));
            let hint = hint.map(|known| format!("did you mean `{known}`?"));
            let message = format!("unknown type `{name}`");
            return Err(Diagnostic::new(path.span, message).hint_if(hint));
        }
        Ok(())
    }

    fn size(&mut self) -> Parsed<Option<Size>> {
        let open = self.peek().span;
        if self.accept("[") {
            if self.peek().is_symbol("]") {
                let hint = "write [n] for n elements, or <> for any number";
                let message = "an array in brackets needs a size";
                return Err(Diagnostic::new(self.peek().span, message).hint(hint));
            }
            let value = self.value()?;
            self.expect("]", "after the size")?;
            return Ok(Some(Size::Fixed(value)));
        }
        if self.accept("<") {
            let bound = match self.peek().is_symbol(">") {
                true => None,
                false => Some(self.value()?),
            };
            let close = self.expect(">", "after the bound")?;
            return Ok(Some(Size::Variable(bound, open.to(close.span))));
        }
        Ok(None)
    }

    fn base(&mut self) -> Parsed<Base> {
        let token = self.next();
        let Tok::Word(word) = &token.tok else {
            return Err(self.unexpected(token, "a type"));
        };
        if let Some((_, primitive)) = PRIMITIVE_WORDS.iter().find(|(name, _)| name == word) {
            self.accept_second_word(*primitive);
            return Ok(Base::Primitive(*primitive));
        }
        match word.as_str() {
            "unsigned" => Ok(Base::Primitive(self.integer(true))),
            "signed" | "long" => {
                self.at -= usize::from(word == "long");
                Ok(Base::Primitive(self.integer(false)))
            }
            "opaque" => Ok(Base::Opaque),
            "string" => Ok(Base::String),
            "void" if self.peek().is_symbol("*") => Ok(Base::Void),
            "void" => {
                let hint = "`void` stands alone, and only in a union's arm; `void *` is a type";
                Err(Diagnostic::new(token.span, "`void` cannot be a name's type").hint(hint))
            }
            "enum" if self.peek().is_symbol("{") => Ok(Base::Enum(self.enum_body()?)),
            "struct" if self.peek().is_symbol("{") => Ok(Base::Struct(self.struct_body()?)),
            "union" if self.peek().is_word("switch") => Ok(Base::Union(self.union_body()?)),
            "enum" | "struct" | "union" => Ok(Base::Named(self.path("the type's name")?)),
            _ => {
                self.at -= 1;
                Ok(Base::Named(self.path("a type")?))
            }
        }
    }

    /// `short int` is C's longer spelling of `short`.
    fn accept_second_word(&mut self, primitive: Primitive) {
        if primitive == Primitive::Short {
            self.accept_word("int");
        }
    }

    /// What follows `unsigned` or `signed`, if anything: `char`, `short`, `long`, `hyper`, `int`.
    fn integer(&mut self, unsigned: bool) -> Primitive {
        let signed = if self.accept_word("char") {
            Primitive::Char
        } else if self.accept_word("short") {
            self.accept_word("int");
            Primitive::Short
        } else if self.accept_word("hyper") {
            Primitive::Hyper
        } else if self.accept_word("long") {
            // `long` is 32 bits in XDR; C's `long long` is 64 everywhere.
            let long = self.accept_word("long");
            self.accept_word("int");
            if long {
                Primitive::Hyper
            } else {
                Primitive::Int
            }
        } else {
            self.accept_word("int");
            Primitive::Int
        };
        match (unsigned, signed) {
            (false, same) => same,
            (true, Primitive::Char) => Primitive::UChar,
            (true, Primitive::Short) => Primitive::UShort,
            (true, Primitive::Hyper) => Primitive::UHyper,
            (true, _) => Primitive::UInt,
        }
    }

    /// `: TYPE` behind an enum's name.
    pub(super) fn held_in(&mut self) -> Parsed<Option<Primitive>> {
        if !self.accept(":") {
            return Ok(None);
        }
        let place = self.peek().span;
        match self.base()? {
            Base::Primitive(primitive) => Ok(Some(primitive)),
            _ => Err(Diagnostic::new(place, "an enum is held in an integer")),
        }
    }

    /// `{ NAME = value, ... }`; the comma after the last member is the dialects' freedom.
    pub(super) fn enum_body(&mut self) -> Parsed<Vec<Member>> {
        let open = self.expect("{", "before the enum's members")?;
        let mut members: Vec<Member> = Vec::new();
        while !self.peek().is_symbol("}") {
            let doc = self.peek().doc.clone();
            let name = self.name("a member's name")?;
            let value = match self.accept("=") {
                true => Some(self.value()?),
                false => None,
            };
            let more = self.accept(",");
            let remark = self.peek().remark.clone();
            members.push(Member {
                name,
                value,
                doc: join_docs(doc, remark),
            });
            if !more && !self.peek().is_symbol("}") {
                return Err(self.unexpected(self.peek(), "`,` or `}` behind the enum's member"));
            }
        }
        self.expect("}", "after the enum's members")?;
        if members.is_empty() {
            return Err(Diagnostic::new(
                open.span,
                "an enum needs at least one member",
            ));
        }
        Ok(members)
    }

    /// `{ declaration; ... }`
    pub(super) fn struct_body(&mut self) -> Parsed<Vec<Declaration>> {
        let open = self.expect("{", "before the struct's fields")?;
        self.enter(open.span)?;
        let mut fields = Vec::new();
        while !self.peek().is_symbol("}") {
            fields.push(self.member_declaration("field")?);
        }
        self.expect("}", "after the struct's fields")?;
        self.nesting -= 1;
        if fields.is_empty() {
            return Err(Diagnostic::new(
                open.span,
                "a struct needs at least one field",
            ));
        }
        Ok(fields)
    }

    fn member_declaration(&mut self, kind: &str) -> Parsed<Declaration> {
        let mut declaration = self.declaration()?;
        self.end_of_statement(&format!("the {kind} `{}`", declaration.name.text))?;
        let remark = self.peek().remark.clone();
        declaration.doc = join_docs(declaration.doc.take(), remark);
        Ok(declaration)
    }

    /// `switch (declaration) { case value: ... default: ... }`
    pub(super) fn union_body(&mut self) -> Parsed<Box<Union>> {
        if !self.accept_word("switch") {
            let found = self.peek();
            let hint = "a union of XDR is `union NAME switch (TYPE NAME) { case VALUE: ...; }`";
            return Err(self.unexpected(found, "`switch`").hint(hint));
        }
        self.expect("(", "after `switch`")?;
        let discriminant = self.declaration()?;
        self.expect(")", "after the discriminant")?;
        let open = self.expect("{", "before the union's arms")?;
        self.enter(open.span)?;
        let mut arms = Vec::new();
        let mut default: Option<Arm> = None;
        while !self.peek().is_symbol("}") {
            let word = self.peek();
            if !self.accept_word("default") {
                arms.push(self.case_arm()?);
                continue;
            }
            self.expect(":", "after `default`")?;
            let arm = self.arm(Vec::new(), word.span)?;
            if let Some(first) = &default {
                let message = "a union has one `default` at most";
                return Err(Diagnostic::new(word.span, message).related(first.span, "the first"));
            }
            default = Some(arm);
        }
        self.expect("}", "after the union's arms")?;
        self.nesting -= 1;
        if arms.is_empty() {
            return Err(Diagnostic::new(
                open.span,
                "a union needs at least one `case`",
            ));
        }
        Ok(Box::new(Union {
            discriminant,
            arms,
            default,
        }))
    }

    fn case_arm(&mut self) -> Parsed<Arm> {
        let start = self.peek();
        let mut cases = Vec::new();
        while self.accept_word("case") {
            cases.push(self.value()?);
            self.expect(":", "after the case's value")?;
        }
        if cases.is_empty() {
            let hint = match &start.tok {
                Tok::Word(word) => suggest::nearest(word, ["case", "default"]),
                _ => None,
            };
            let hint = hint.map(|known| format!("did you mean `{known}`?"));
            return Err(self.unexpected(start, "`case` or `default`").hint_if(hint));
        }
        self.arm(cases, start.span)
    }

    fn arm(&mut self, cases: Vec<Value>, span: Span) -> Parsed<Arm> {
        let doc = self.peek().doc.clone();
        let before = self.tokens[self.at - 1].span;
        let declaration = if self.accept_word("void") {
            self.end_of_statement("`void`")?;
            None
        } else {
            Some(self.member_declaration("arm")?)
        };
        Ok(Arm {
            cases,
            declaration,
            span: span.to(before),
            doc,
        })
    }

    fn enter(&mut self, span: Span) -> Parsed<()> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return Err(Diagnostic::new(span, "bodies are nested too deeply"));
        }
        Ok(())
    }
}

fn join_docs(before: Option<String>, behind: Option<String>) -> Option<String> {
    match (before, behind) {
        (Some(before), Some(behind)) => Some(format!("{before}\n{behind}")),
        (before, behind) => before.or(behind),
    }
}
