//! The source: the functions that the header declares.

use super::spelling::{name_of, number, Decode, Encode};
use super::{beginning, has_own_equality};
use crate::backends::codec::walk::{distinct, Discriminant, Module};
use crate::backends::definitions::{self, Definitions};
use crate::backends::names::c_name;
use crate::backends::text::Text;
use crate::ir::{Arm, Constant, DefId, Field, Member, Type, Union};

pub fn text(module: &Module<'_>) -> String {
    let mut text = beginning(module);
    text.line(format!("#include \"{}.gen.h\"", module.stem));
    text.blank();
    text.line("namespace iw::protocol {");
    let mut source = Source { module, text };
    definitions::write(module.schema, module.held_first(), &mut source);
    source.text.blank();
    source.text.line("}  // namespace iw::protocol");
    source.text.finish()
}

struct Source<'a> {
    module: &'a Module<'a>,
    text: Text,
}

/// Each function has an empty line before it.
impl Definitions for Source<'_> {
    fn separator(&mut self) {}

    fn comment(&mut self, _doc: &Option<String>) {}

    fn constant(&mut self, _id: DefId, _value: &Constant) {}

    fn alias(&mut self, _id: DefId, _target: &Type) {}

    fn enumeration(&mut self, id: DefId, members: &[Member]) {
        let name = self.name(id);
        let (distinct, _) = distinct(members);
        self.open_encode(&name);
        self.text.line("w.i32(static_cast<std::int32_t>(v));");
        self.text.close("}");
        self.open_decode(&name);
        self.text.line("std::int32_t word = 0;");
        self.text.line("if (!r.i32(word)) return false;");
        self.text.open("switch (word) {");
        for member in &distinct {
            self.text.line(format!("case {}:", number(member.value)));
        }
        self.text.line(format!("  v = static_cast<{name}>(word);"));
        self.text.line("  return true;");
        self.text.line("default:");
        self.text
            .line("  return r.fail(\"a number is not a member of its enum\");");
        self.text.close("}");
        self.text.close("}");
        self.open(format!("const char* name_of({name} v) {{"));
        self.text.open("switch (v) {");
        for member in &distinct {
            let case = format!("case {name}::{}:", c_name(&member.name));
            self.text
                .line(format!("{case} return \"{}\";", member.name));
        }
        self.text.close("}");
        self.text.line("return \"?\";");
        self.text.close("}");
    }

    fn structure(&mut self, id: DefId, fields: &[Field]) {
        self.equality(id, fields.iter().collect());
        let name = self.name(id);
        self.open_encode(&name);
        for field in fields {
            let statement = format!("{};", self.encode(field));
            self.text.broken_line(statement, "[](");
        }
        self.text.close("}");
        self.open_decode(&name);
        self.enter(id);
        let terms: Vec<String> = fields.iter().map(|field| self.decode(field)).collect();
        let separator = format!(" &&\n{}", " ".repeat(6));
        let line = self.leave(id, terms.join(&separator));
        self.text.line(line);
        self.text.close("}");
    }

    fn union(&mut self, id: DefId, union: &Union) {
        self.equality(id, union.fields().collect());
        let name = self.name(id);
        self.open_encode(&name);
        let statement = self.encode(&union.discriminant);
        self.text.line(format!("{statement};"));
        self.switch(union, |source, arm| match arm.and_then(Arm::field) {
            Some(field) => vec![format!("{};", source.encode(field)), "return;".into()],
            None => vec!["return;".into()],
        });
        self.text.close("}");
        self.open_decode(&name);
        self.text.line(format!("v = {name}{{}};"));
        let read = self.decode(&union.discriminant);
        self.text.line(format!("if (!{read}) return false;"));
        self.enter(id);
        self.switch(union, |source, arm| {
            let value = match arm.map(Arm::field) {
                Some(Some(field)) => source.decode(field),
                Some(None) => "true".into(),
                None => "r.fail(\"a discriminant selects no arm\")".into(),
            };
            vec![source.leave(id, value)]
        });
        self.text.close("}");
    }
}

impl Source<'_> {
    fn name(&self, id: DefId) -> String {
        name_of(self.module.schema, id)
    }

    fn encode(&self, field: &Field) -> String {
        let place = format!("v.{}", c_name(&field.name));
        self.module.spell(&Encode::place(place), &field.ty)
    }

    fn decode(&self, field: &Field) -> String {
        let place = format!("v.{}", c_name(&field.name));
        self.module.spell(&Decode::place(place), &field.ty)
    }

    fn open(&mut self, line: String) {
        self.text.blank();
        self.text.open(line);
    }

    fn open_encode(&mut self, name: &str) {
        self.open(format!("void encode(xdr::Writer& w, const {name}& v) {{"));
    }

    fn open_decode(&mut self, name: &str) {
        self.open(format!("bool decode(xdr::Reader& r, {name}& v) {{"));
    }

    /// A recursive type's decoder runs within the reader's depth limit.
    fn enter(&mut self, id: DefId) {
        if self.module.is_recursive(id) {
            self.text.line("if (!r.enter()) return false;");
        }
    }

    /// The statement that ends a decoder.
    fn leave(&self, id: DefId, value: String) -> String {
        match self.module.is_recursive(id) {
            true => format!("return r.leave({value});"),
            false => format!("return {value};"),
        }
    }

    fn equality(&mut self, id: DefId, fields: Vec<&Field>) {
        if !has_own_equality(self.module, id) {
            return;
        }
        let name = self.name(id);
        let equal = |field: &&Field| {
            let member = c_name(&field.name);
            format!("xdr::same({member}, other.{member})")
        };
        let terms: Vec<String> = fields.iter().map(equal).collect();
        self.open(format!(
            "bool {name}::operator==(const {name}& other) const {{"
        ));
        let line = format!("return {};", terms.join(" && "));
        self.text.broken_line(line, "xdr::same");
        self.text.close("}");
    }

    /// A switch over the arms. `lines` gives what is done in an arm, and without one for a value
    /// that selects none.
    fn switch(&mut self, union: &Union, lines: impl Fn(&Self, Option<&Arm>) -> Vec<String>) {
        // A switch over a bool would be an oddity; one over an enum must not
        // complain of missing cases.
        let is_unsigned = matches!(
            Discriminant::of(self.module.schema, union),
            Discriminant::Unsigned
        );
        let place = format!("v.{}", c_name(&union.discriminant.name));
        let switched = match is_unsigned {
            true => place,
            false => format!("static_cast<std::int32_t>({place})"),
        };
        self.text.open(format!("switch ({switched}) {{"));
        for arm in &union.arms {
            for case in &arm.cases {
                let label = match is_unsigned {
                    true => format!("{}U", case.value),
                    false => number(case.value as i32),
                };
                self.text.line(format!("case {label}:"));
            }
            let done = lines(self, Some(arm));
            self.indented(done);
        }
        self.text.line("default:");
        let done = lines(self, union.default.as_ref());
        self.indented(done);
        self.text.close("}");
    }

    fn indented(&mut self, lines: Vec<String>) {
        let lines = lines.iter().map(|line| format!("  {line}"));
        self.text.lines(lines);
    }
}
