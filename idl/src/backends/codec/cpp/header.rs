//! The header: types in the order C++ needs, and the functions that code them.

use super::spelling::{constant, name_of, number, TypeName};
use super::{beginning, has_own_equality};
use crate::backends::codec::walk::Module;
use crate::backends::definitions::{self, Definitions};
use crate::backends::names::c_name;
use crate::backends::text::Text;
use crate::backends::{quoted, stem};
use crate::ir::{Constant, DefBody, DefId, Field, Member, Type, Union};
use std::collections::BTreeSet;

pub fn text(module: &Module<'_>) -> String {
    let mut text = beginning(module);
    text.line("#pragma once");
    text.blank();
    let standard = ["array", "cstdint", "memory", "string", "vector"];
    text.lines(standard.map(|name| format!("#include <{name}>")));
    text.blank();
    let include = |file| format!("#include \"{}.gen.h\"", stem(module.unit, file));
    text.lines(module.included(include));
    text.line("#include \"xdr.h\"");
    text.blank();
    text.line("namespace iw::protocol {");
    let mut header = Header { module, text };
    let ordered = module.held_first();
    header.forward_declarations(&ordered);
    definitions::write(module.schema, ordered, &mut header);
    header.text.blank();
    header.text.line("}  // namespace iw::protocol");
    header.text.finish()
}

struct Header<'a> {
    module: &'a Module<'a>,
    text: Text,
}

impl Definitions for Header<'_> {
    fn separator(&mut self) {
        self.text.blank();
    }

    fn comment(&mut self, doc: &Option<String>) {
        self.text.comment("//", doc);
    }

    fn constant(&mut self, id: DefId, value: &Constant) {
        let name = self.name(id);
        self.text.line(match value {
            Constant::Text(text) => {
                format!("inline constexpr char {name}[] = {};", quoted(text))
            }
            Constant::Number(value) => {
                let (ty, value) = constant(*value);
                format!("inline constexpr {ty} {name} = {value};")
            }
        });
    }

    fn alias(&mut self, id: DefId, target: &Type) {
        let target = self.type_name(target, &BTreeSet::new());
        let name = self.name(id);
        self.text.line(format!("using {name} = {target};"));
    }

    fn enumeration(&mut self, id: DefId, members: &[Member]) {
        let name = self.name(id);
        self.text
            .open(format!("enum class {name} : std::int32_t {{"));
        for member in members {
            self.text.comment("//", &member.doc);
            let (name, value) = (c_name(&member.name), number(member.value));
            self.text.line(format!("{name} = {value},"));
        }
        self.text.close("};");
        self.codec(&name);
        self.text
            .line("// The name in the .x file; \"?\" for a number that is not a member.");
        self.text
            .line(format!("[[nodiscard]] const char* name_of({name} v);"));
    }

    fn structure(&mut self, id: DefId, fields: &[Field]) {
        self.members(id, fields.iter().collect());
    }

    fn union(&mut self, id: DefId, union: &Union) {
        self.members(id, union.fields().collect());
    }
}

impl Header<'_> {
    fn name(&self, id: DefId) -> String {
        name_of(self.module.schema, id)
    }

    fn type_name(&self, ty: &Type, members: &BTreeSet<String>) -> String {
        let schema = self.module.schema;
        self.module.spell(&TypeName { schema, members }, ty)
    }

    /// Types that a pointer may name before they are defined.
    fn forward_declarations(&mut self, ordered: &[DefId]) {
        let schema = self.module.schema;
        let structs = ordered.iter().filter(|id| {
            let body = &schema.def(**id).body;
            let is_struct = matches!(body, DefBody::Struct(_) | DefBody::Union(_));
            is_struct && self.module.is_recursive(**id)
        });
        let lines: Vec<String> = structs
            .map(|id| format!("struct {};", self.name(*id)))
            .collect();
        if !lines.is_empty() {
            self.text.blank();
            self.text.lines(lines);
        }
    }

    /// A struct. A member may have the name of its own type.
    fn members(&mut self, id: DefId, fields: Vec<&Field>) {
        let name = self.name(id);
        self.text.open(format!("struct {name} {{"));
        let names: BTreeSet<String> = fields.iter().map(|field| c_name(&field.name)).collect();
        for field in fields {
            self.text.comment("//", &field.doc);
            let member = c_name(&field.name);
            let ty = self.type_name(&field.ty, &names);
            let initial = match self.is_initialised(&field.ty) {
                true => self.initial(&field.ty),
                false => String::new(),
            };
            self.text.line(format!("{ty} {member}{initial};"));
        }
        self.text.blank();
        let own_equality = has_own_equality(self.module, id);
        let rest = if own_equality { "" } else { " = default" };
        self.text
            .line(format!("bool operator==(const {name}& other) const{rest};"));
        self.text.close("};");
        self.codec(&name);
    }

    fn codec(&mut self, name: &str) {
        self.text
            .line(format!("void encode(xdr::Writer& w, const {name}& v);"));
        self.text.line(format!(
            "[[nodiscard]] bool decode(xdr::Reader& r, {name}& v);"
        ));
    }

    /// Containers of types that may still be incomplete get no initialiser: it
    /// would need their size.
    fn is_initialised(&self, ty: &Type) -> bool {
        let schema = self.module.schema;
        match schema.resolve(ty) {
            Type::Pointer(_) => false,
            Type::Array(element, _) | Type::Sequence(element, _) => {
                let recursive = match schema.resolve(element) {
                    Type::Named(id) => self.module.is_recursive(*id),
                    _ => false,
                };
                !recursive && self.is_initialised(element)
            }
            _ => true,
        }
    }

    /// Zero, or an enum's first member, so that a value not filled in can still be encoded.
    fn initial(&self, ty: &Type) -> String {
        let schema = self.module.schema;
        let Type::Named(id) = schema.resolve(ty) else {
            return "{}".into();
        };
        match &schema.def(*id).body {
            DefBody::Enum(members) => {
                format!(" = {}::{}", self.name(*id), c_name(&members[0].name))
            }
            _ => "{}".into(),
        }
    }
}
