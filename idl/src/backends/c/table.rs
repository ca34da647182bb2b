//! The tables: each type's descriptor as constant data, and their registration.

use super::header::int_literal;
use super::{Backend, Described, Registration};
use crate::backends::limits::MAX_STRING_BOUND;
use crate::backends::text::Text;
use crate::backends::{first_line, names, stem};
use crate::ir::{Arm, Case, Def, DefBody, DefId, Field, Member, Primitive, Type, Union};
use std::collections::{HashMap, HashSet};

pub fn text(backend: &Backend<'_>, registration: Registration) -> String {
    let mut text = Text::new("  ");
    text.line(format!("/* {} */", first_line(backend.unit, backend.file)));
    text.line("/* clang-format off */");
    text.line(format!(
        "#include \"{}.h\"",
        stem(backend.unit, backend.file)
    ));
    let mut writer = Writer {
        backend,
        text,
        unnamed: HashMap::new(),
        probed: HashSet::new(),
    };
    for &id in &backend.ordered {
        writer.definition(id);
    }
    writer.registration(registration);
    writer.text.finish()
}

struct Writer<'a> {
    backend: &'a Backend<'a>,
    text: Text,
    /// Descriptors without a name that stand in the file already, by their initialisers.
    unnamed: HashMap<String, String>,
    /// Structs of which the alignment is asked for already.
    probed: HashSet<DefId>,
}

impl Writer<'_> {
    /// The size and alignment of a struct. The compiler is asked through a struct that holds one.
    fn struct_measures(&mut self, id: DefId) -> String {
        let name = self.backend.name(id);
        if self.probed.insert(id) {
            self.text.blank();
            self.text.line(format!("IW_ALIGN_PROBE(t_{name}, {name});"));
        }
        format!("sizeof({name}), IW_ALIGN_OF(t_{name})")
    }

    fn definition(&mut self, id: DefId) {
        let backend = self.backend;
        let def = backend.schema.def(id);
        match backend.described(id) {
            Described::Not => return,
            Described::Other if backend.is_predeclared(id) => return,
            Described::Other => {
                let DefBody::Alias(ty) = &def.body else {
                    unreachable!("only typedefs share a descriptor");
                };
                let (variable, target) = (backend.variable(id), self.reference(ty));
                self.text.blank();
                return self
                    .text
                    .line(format!("const IW_type_t {variable} = {target};"));
            }
            Described::Own => {}
        }
        let initialiser = match &def.body {
            DefBody::Enum(members) => self.enumeration(id, def, members),
            DefBody::Struct(fields) => self.record(id, def, fields),
            DefBody::Union(union) => self.union(id, def, union),
            DefBody::Alias(ty) => {
                let initialiser = self.derived(ty, &def.full_name("::"));
                self.text.blank();
                initialiser
            }
            DefBody::Const(_) => unreachable!("constants have no descriptor"),
        };
        let object = backend.object(id);
        self.text.line(format!("const IW_type_def {object} ="));
        self.text.line(format!("    {initialiser};"));
        self.text.line(format!(
            "const IW_type_t {} = &{object};",
            backend.variable(id)
        ));
    }

    fn enumeration(&mut self, id: DefId, def: &Def, members: &[Member]) -> String {
        let name = self.backend.name(id);
        let check = format!("sizeof({name}) == sizeof(int) ? 1 : -1");
        self.text.blank();
        self.text
            .line(format!("typedef char iw_check_{name}[{check}];"));
        self.text.open(format!(
            "static const IW_enum_member iw_members_{name}[] = {{"
        ));
        for member in members {
            let value = int_literal(member.value.into());
            self.text.line(format!("{{\"{}\", {value}}},", member.name));
        }
        self.text.close("};");
        let full_name = def.full_name("::");
        format!(
            "IW_ENUM_DEF(\"{full_name}\", iw_members_{name}, {})",
            members.len()
        )
    }

    fn record(&mut self, id: DefId, def: &Def, fields: &[Field]) -> String {
        let name = self.backend.name(id);
        let line = |field: &Field| {
            let reference = self.reference(&field.ty);
            let member = names::c_name(&field.name);
            format!(
                "{{\"{}\", {reference}, offsetof({name}, {member})}},",
                field.name
            )
        };
        let lines: Vec<String> = fields.iter().map(line).collect();
        let measures = self.struct_measures(id);
        self.text.blank();
        self.text
            .open(format!("static const IW_field_def iw_fields_{name}[] = {{"));
        self.text.lines(lines);
        self.text.close("};");
        let full_name = def.full_name("::");
        format!(
            "IW_RECORD_DEF(\"{full_name}\", {measures}, iw_fields_{name}, {})",
            fields.len()
        )
    }

    fn union(&mut self, id: DefId, def: &Def, union: &Union) -> String {
        let name = self.backend.name(id);
        let reference = self.reference(&union.discriminant.ty);
        let discriminant = &union.discriminant.name;
        let member = names::c_name(discriminant);
        let mut values = Vec::new();
        let mut arms = Vec::new();
        for (index, arm) in union.arms.iter().enumerate() {
            let number = |case: &Case| int_literal(i128::from(case.value as i32));
            let numbers: Vec<String> = arm.cases.iter().map(number).collect();
            let table = format!("iw_values_{name}_{index}");
            values.push(format!(
                "static const int32_t {table}[] = {{{}}};",
                numbers.join(", ")
            ));
            arms.push(self.arm(def, &name, arm, &table));
        }
        let otherwise = union
            .default
            .as_ref()
            .map(|arm| self.arm(def, &name, arm, "NULL"));
        let measures = self.struct_measures(id);

        self.text.blank();
        self.text.line(format!(
            "static const IW_field_def iw_discriminant_{name} ="
        ));
        self.text.line(format!(
            "    {{\"{discriminant}\", {reference}, offsetof({name}, {member})}};"
        ));
        self.text.lines(values);
        self.text
            .open(format!("static const IW_arm_def iw_arms_{name}[] = {{"));
        self.text.lines(arms.iter().map(|arm| format!("{arm},")));
        self.text.close("};");
        let default = match otherwise {
            Some(arm) => {
                self.text.line(format!(
                    "static const IW_arm_def iw_otherwise_{name} = {arm};"
                ));
                format!("&iw_otherwise_{name}")
            }
            None => "NULL".into(),
        };
        let full_name = def.full_name("::");
        let count = arms.len();
        let discriminant = format!("&iw_discriminant_{name}");
        let arms = format!("iw_arms_{name}, {count}, {default}");
        format!("IW_UNION_DEF(\"{full_name}\", {measures}, {discriminant}, {arms})")
    }

    fn arm(&mut self, def: &Def, name: &str, arm: &Arm, values: &str) -> String {
        let count = arm.cases.len();
        match &arm.field {
            Some(field) => {
                let reference = self.reference(&field.ty);
                let member = self.backend.union_member(def);
                let place = format!("{member}.{}", names::c_name(&field.name));
                let offset = format!("offsetof({name}, {place})");
                format!(
                    "{{\"{}\", {reference}, {offset}, {values}, {count}}}",
                    field.name
                )
            }
            None => format!("{{\"\", NULL, 0, {values}, {count}}}"),
        }
    }

    /// An expression for the address of a type's descriptor. Types without a
    /// name are written first.
    fn reference(&mut self, ty: &Type) -> String {
        match ty {
            Type::Primitive(primitive) if *primitive != Primitive::Quadruple => {
                format!("&IW_def_{}", names::primitive_word(*primitive))
            }
            Type::Named(id) => match (
                self.backend.described(*id),
                &self.backend.schema.def(*id).body,
            ) {
                (Described::Other, DefBody::Alias(target)) => self.reference(target),
                _ => format!("&{}", self.backend.object(*id)),
            },
            _ => {
                let initialiser = self.derived(ty, "");
                if let Some(name) = self.unnamed.get(&initialiser) {
                    return format!("&{name}");
                }
                let name = format!("iw_unnamed_{}", self.unnamed.len() + 1);
                self.text.blank();
                self.text.line(format!("static const IW_type_def {name} ="));
                self.text.line(format!("    {initialiser};"));
                let reference = format!("&{name}");
                self.unnamed.insert(initialiser, name);
                reference
            }
        }
    }

    /// The initialiser of an array, string, pointer, sequence or text.
    fn derived(&mut self, ty: &Type, name: &str) -> String {
        let bytes = Type::Primitive(Primitive::UChar);
        match ty {
            Type::Array(element, count) => {
                let element = self.reference(element);
                let (size, align) = self.measures(ty);
                format!("IW_ARRAY_DEF(\"{name}\", {size}, {align}, {element}, {count}U)")
            }
            Type::Opaque(size) => self.derived(&Type::Array(Box::new(bytes), *size), name),
            Type::Primitive(_) => self.derived(&Type::Array(Box::new(bytes), 16), name),
            Type::Sequence(element, bound) => {
                let (element, bound) = (self.reference(element), bound.unwrap_or(0));
                format!("IW_SEQUENCE_DEF(\"{name}\", {element}, {bound}U)")
            }
            Type::OpaqueVar(bound) => self.derived(&Type::Sequence(Box::new(bytes), *bound), name),
            Type::AnyPointer => format!("IW_POINTER_DEF(\"{name}\", NULL)"),
            Type::Pointer(target) => {
                let target = self.reference(target);
                format!("IW_POINTER_DEF(\"{name}\", {target})")
            }
            Type::String(Some(bound)) if *bound <= MAX_STRING_BOUND => {
                format!("IW_STRING_DEF(\"{name}\", {bound}U)")
            }
            Type::String(bound) => format!("IW_TEXT_DEF(\"{name}\", {}U)", bound.unwrap_or(0)),
            Type::Named(_) => unreachable!("named types have descriptors of their own"),
        }
    }

    /// Expressions for the size and alignment of a type.
    fn measures(&mut self, ty: &Type) -> (String, String) {
        match ty {
            Type::Primitive(Primitive::Quadruple) => ("16U".into(), "IW_ALIGN_OF(char)".into()),
            Type::Primitive(primitive) => primitive_measures(*primitive),
            Type::Named(id) => {
                let backend = self.backend;
                match &backend.schema.def(*id).body {
                    DefBody::Alias(target) => self.measures(target),
                    DefBody::Enum(_) => ("sizeof(int)".into(), "IW_ALIGN_OF(int)".into()),
                    _ => {
                        self.struct_measures(*id);
                        let name = backend.name(*id);
                        (format!("sizeof({name})"), format!("IW_ALIGN_OF(t_{name})"))
                    }
                }
            }
            Type::Opaque(size) => (format!("{size}U"), "IW_ALIGN_OF(char)".into()),
            Type::Array(element, count) => {
                let (size, align) = self.measures(element);
                (format!("{size} * {count}U"), align)
            }
            Type::String(Some(bound)) if *bound <= MAX_STRING_BOUND => {
                (format!("{}U", bound + 1), "IW_ALIGN_OF(char)".into())
            }
            Type::String(_) | Type::Pointer(_) | Type::AnyPointer => {
                ("sizeof(void *)".into(), "IW_ALIGN_OF(pointer)".into())
            }
            Type::Sequence(..) | Type::OpaqueVar(_) => (
                "sizeof(IW_sequence_t)".into(),
                "IW_ALIGN_OF(sequence)".into(),
            ),
        }
    }

    fn registration(&mut self, registration: Registration) {
        let backend = self.backend;
        let own = |id: &&DefId| matches!(backend.described(**id), Described::Own);
        let objects: Vec<String> = backend
            .ordered
            .iter()
            .filter(own)
            .map(|id| format!("&{},", backend.object(*id)))
            .collect();
        if objects.is_empty() {
            return;
        }
        let count = objects.len();
        self.text.blank();
        self.text.open("static const IW_type_t iw_types[] = {");
        self.text.lines(objects);
        self.text.close("};");
        self.text.blank();
        match registration {
            Registration::Constructor => {
                self.text.line("__attribute__((constructor))");
                self.text.open("static void iw_register(void) {");
                self.text
                    .line(format!("(void)IW_register_types(iw_types, {count});"));
                self.text.close("}");
            }
            Registration::StaticInitialiser => {
                self.text
                    .line("[[maybe_unused]] static const int iw_registered =");
                self.text
                    .line(format!("    IW_register_types(iw_types, {count});"));
            }
        }
    }
}

impl Backend<'_> {
    /// The member that holds a union's arms.
    pub fn union_member(&self, def: &Def) -> String {
        let wanted = format!("{}_u", def.name);
        match &def.body {
            DefBody::Union(union) if union.discriminant.name == wanted => format!("{wanted}_"),
            _ => wanted,
        }
    }

    /// An enum's member, which C puts into the scope of the file.
    pub fn member_name(&self, def: &Def, member: &str) -> String {
        let mut parts: Vec<&str> = def.namespace.iter().flat_map(|n| n.split("::")).collect();
        parts.push(member);
        names::c_global(&parts.join("_"))
    }
}

fn primitive_measures(primitive: Primitive) -> (String, String) {
    let (size, probe) = match primitive {
        Primitive::Char | Primitive::UChar => ("sizeof(char)", "char"),
        Primitive::Short | Primitive::UShort => ("sizeof(short)", "short"),
        Primitive::Int | Primitive::UInt | Primitive::Bool => ("sizeof(int)", "int"),
        Primitive::Hyper | Primitive::UHyper => ("sizeof(int64_t)", "hyper"),
        Primitive::Float => ("sizeof(float)", "float"),
        Primitive::Double => ("sizeof(double)", "double"),
        Primitive::Quadruple => unreachable!("described as an array of bytes"),
    };
    (size.into(), format!("IW_ALIGN_OF({probe})"))
}
