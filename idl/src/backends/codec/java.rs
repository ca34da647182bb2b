//! The Java codec: a class for each .x file (`SessionCodec`), which holds its definitions.
//!
//! A struct becomes a record, an enum an enum with its numbers, a union a sealed interface with a
//! record for each arm (`OfFields`, and `Empty` for void). Each has a constant CODEC that encodes
//! and decodes it. Typedefs are seen through, because Java has none; their codecs are constants. An
//! unsigned int is a long, an unsigned hyper a long of the same bits. The text has no lambda,
//! because a program's first lambda costs it milliseconds.

use super::walk::{self, distinct, primitive_word, Discriminant, Element, Module, Spelling};
use crate::backends::definitions::{self, Definitions};
use crate::backends::names::{java_constant, java_member, java_type, rust_constant, rust_type};
use crate::backends::text::Text;
use crate::backends::{first_line, quoted, stem};
use crate::compile::{GeneratedFile, Unit};
use crate::diagnostics::{Diagnostic, Report};
use crate::ir::{Arm, Constant, Def, DefBody, DefId, Field, Member, Primitive, Type, Union};
use std::path::PathBuf;

const PACKAGE: &str = "org.interweave.wire.protocol";

pub fn generate(unit: &Unit<'_>, report: &mut Report) -> Vec<(PathBuf, GeneratedFile)> {
    walk::check_names(unit.schema, "Java", own_name, report);
    // `xdr.x` would make XdrCodec, which is the runtime's.
    walk::check_stems(unit, str::to_lowercase, report);
    check_classes(unit, report);
    walk::files(unit, |module| {
        let name = class_name(&module.stem);
        vec![(format!("{name}.java"), module_text(module, &name))]
    })
}

/// A class cannot have the name of the one around it.
fn check_classes(unit: &Unit<'_>, report: &mut Report) {
    let classes: Vec<String> = unit
        .roots
        .iter()
        .map(|&file| class_name(&stem(unit, file)))
        .collect();
    for def in &unit.schema.defs {
        if classes.contains(&own_name(def)) {
            let message = format!("`{}` becomes the name of a file's class in Java", def.name);
            report.error(Diagnostic::new(def.span, message));
        }
    }
}

fn class_name(stem: &str) -> String {
    format!("{}Codec", rust_type(stem))
}

fn own_name(def: &Def) -> String {
    match def.body {
        DefBody::Const(_) | DefBody::Alias(_) => rust_constant(&def.name),
        _ => java_type(&def.name),
    }
}

fn arm_name(field: &Field) -> String {
    format!("Of{}", rust_type(&field.name))
}

fn module_text(module: &Module<'_>, name: &str) -> String {
    let mut text = Text::new("  ");
    text.line(format!("// {}", first_line(module.unit, module.file)));
    text.line(format!("package {PACKAGE};"));
    text.blank();
    if module.has_list() {
        text.line("import java.util.List;");
        text.blank();
    }
    text.line(format!("/** The definitions of {}.x. */", module.stem));
    text.open(format!("public final class {name} {{"));
    text.line(format!("private {name}() {{}}"));
    let mut generator = Generator { module, text };
    definitions::write(module.schema, module.held_first(), &mut generator);
    generator.text.close("}");
    generator.text.finish()
}

impl Module<'_> {
    fn has_list(&self) -> bool {
        let mut ids = self.schema.of_file(self.file);
        let is_list = |ty: &Type| self.spell(&TypeName::of(self), ty).contains("List<");
        ids.any(|id| self.schema.def(id).types().into_iter().any(is_list))
    }
}

struct Generator<'a> {
    module: &'a Module<'a>,
    text: Text,
}

impl Definitions for Generator<'_> {
    fn separator(&mut self) {
        self.text.blank();
    }

    fn comment(&mut self, doc: &Option<String>) {
        self.text.doc_comment(doc);
    }

    fn constant(&mut self, id: DefId, value: &Constant) {
        let name = own_name(self.module.schema.def(id));
        let (ty, literal) = match value {
            Constant::Text(text) => ("String", quoted(text)),
            Constant::Number(value) => match i32::try_from(*value) {
                Ok(value) => ("int", value.to_string()),
                Err(_) => ("long", format!("{}L", *value as i64)),
            },
        };
        self.text
            .line(format!("public static final {ty} {name} = {literal};"));
    }

    fn alias(&mut self, id: DefId, target: &Type) {
        let name = own_name(self.module.schema.def(id));
        let codec = self.code(Form::Codec, target);
        let boxed = self
            .module
            .spell(&TypeName::of(self.module).inner(), target);
        self.text.line(format!(
            "public static final XdrCodec<{boxed}> {name} = {codec};"
        ));
    }

    fn enumeration(&mut self, id: DefId, members: &[Member]) {
        let name = own_name(self.module.schema.def(id));
        let (own, repeated) = distinct(members);
        self.text.open(format!("public enum {name} {{"));
        for (at, member) in own.iter().enumerate() {
            self.text.doc_comment(&member.doc);
            let end = if at + 1 < own.len() { "," } else { ";" };
            let constant = java_constant(&member.name);
            self.text.line(format!("{constant}({}){end}", member.value));
        }
        self.text.blank();
        for member in repeated {
            let first = own.iter().find(|other| other.value == member.value);
            let first = java_constant(&first.expect("a repeated value").name);
            let constant = java_constant(&member.name);
            self.text
                .line(format!("public static final {name} {constant} = {first};"));
        }
        self.text.line("public final int number;");
        self.text.blank();
        self.text.open(format!("{name}(int number) {{"));
        self.text.line("this.number = number;");
        self.text.close("}");
        self.text.blank();
        self.find_member(&name, &own);
        self.codec(
            "public static final ",
            &name,
            &[
                format!("{name} value = of(r.i32());"),
                "if (value == null) throw XdrException.notMember();".into(),
                "return value;".into(),
            ],
            &["w.i32(value.number);".into()],
        );
        self.text.close("}");
    }

    fn structure(&mut self, id: DefId, fields: &[Field]) {
        let name = own_name(self.module.schema.def(id));
        self.record(&format!("public record {name}("), fields, ") {");
        let reads: Vec<String> = fields
            .iter()
            .map(|f| self.code(Form::Read, &f.ty))
            .collect();
        let mut decode = Vec::new();
        let (begin, end) = match self.module.is_recursive(id) {
            true => ("r.enter();", "r.leave();"),
            false => ("", ""),
        };
        let value = match begin {
            "" => format!("return new {name}("),
            _ => format!("{name} value = new {name}("),
        };
        decode.extend((!begin.is_empty()).then(|| begin.to_string()));
        decode.push(value);
        decode.push(format!("    {});", reads.join(",\n    ")));
        if !end.is_empty() {
            decode.extend([end.to_string(), "return value;".to_string()]);
        }
        let encode: Vec<String> = fields.iter().map(|f| self.write("value", f)).collect();
        self.codec("public static final ", &name, &decode, &encode);
        self.text.close("}");
    }

    fn union(&mut self, id: DefId, union: &Union) {
        let name = own_name(self.module.schema.def(id));
        let discriminant = &union.discriminant;
        let selector = java_member(&discriminant.name);
        let shown = self.shown(&discriminant.ty);
        self.text.open(format!("public sealed interface {name} {{"));
        self.text.line(format!("{shown} {selector}();"));
        self.text.blank();
        for arm in union.every_arm() {
            if let Some(field) = &arm.field {
                let fields = [discriminant.clone(), field.clone()];
                let head = format!("record {}(", arm_name(field));
                self.record(&head, &fields, &format!(") implements {name} {{}}"));
                self.text.outdent();
                self.text.blank();
            }
        }
        if union.every_arm().any(|arm| arm.field.is_none()) {
            self.text.line("/** An arm that is void. */");
            self.text.line(format!(
                "record Empty({shown} {selector}) implements {name} {{}}"
            ));
            self.text.blank();
        }
        let (mut decode, mut encode) = (Vec::new(), Vec::new());
        let chosen = self.chosen(union);
        if self.module.is_recursive(id) {
            decode.push("r.enter();".into());
        }
        let read = self.code(Form::Read, &discriminant.ty);
        decode.push(format!("{shown} selector = {read};"));
        decode.push(format!("{name} value = switch ({}) {{", chosen("selector")));
        let accessor = format!("value.{selector}()");
        encode.push(self.code(Form::Write(accessor.clone()), &discriminant.ty) + ";");
        encode.push(format!("switch ({}) {{", chosen(&accessor)));
        for arm in union.every_arm() {
            let label = self.label(union, arm);
            decode.push(match &arm.field {
                Some(field) => {
                    let read = self.code(Form::Read, &field.ty);
                    format!("  {label} -> new {}(selector, {read});", arm_name(field))
                }
                None => format!("  {label} -> new Empty(selector);"),
            });
            encode.push(match &arm.field {
                Some(field) => {
                    let value = format!("(({}) value)", arm_name(field));
                    format!("  {label} -> {}", self.write(&value, field))
                }
                None => format!("  {label} -> {{ }}"),
            });
        }
        if union.default.is_none() {
            decode.push("  default -> throw XdrException.noArm();".into());
            encode.push("  default -> throw XdrWriter.noArm();".into());
        }
        decode.push("};".into());
        encode.push("}".into());
        if self.module.is_recursive(id) {
            decode.push("r.leave();".into());
        }
        decode.push("return value;".into());
        self.codec("", &name, &decode, &encode);
        self.text.close("}");
    }
}

impl Generator<'_> {
    /// The members of an enum by their numbers.
    fn find_member(&mut self, name: &str, members: &[&Member]) {
        self.text
            .line("/** The member with a number; null if no member has it. */");
        self.text
            .open(format!("public static {name} of(int number) {{"));
        self.text.open("return switch (number) {");
        for member in members {
            let constant = java_constant(&member.name);
            self.text
                .line(format!("case {} -> {constant};", member.value));
        }
        self.text.line("default -> null;");
        self.text.close("};");
        self.text.close("}");
        self.text.blank();
    }

    /// A record's head, a component a line; what follows is one level deeper.
    fn record(&mut self, head: &str, fields: &[Field], end: &str) {
        self.text.open(head);
        self.text.indent();
        let last = fields.len() - 1;
        for (at, field) in fields.iter().enumerate() {
            self.text.doc_comment(&field.doc);
            let (ty, name) = (self.shown(&field.ty), java_member(&field.name));
            let end = if at < last { "," } else { end };
            self.text.line(format!("{ty} {name}{end}"));
        }
        self.text.outdent();
    }

    /// The constant that encodes and decodes a definition's values.
    fn codec(&mut self, modifiers: &str, name: &str, decode: &[String], encode: &[String]) {
        self.text.open(format!(
            "{modifiers}XdrCodec<{name}> CODEC = new XdrCodec<>() {{"
        ));
        self.text.line("@Override");
        self.text
            .open(format!("public {name} decode(XdrReader r) {{"));
        self.text.lines(decode.iter().flat_map(|text| text.lines()));
        self.text.close("}");
        self.text.blank();
        self.text.line("@Override");
        self.text
            .open(format!("public void encode(XdrWriter w, {name} value) {{"));
        self.text.lines(encode);
        self.text.close("}");
        self.text.close("};");
    }

    fn shown(&self, ty: &Type) -> String {
        self.module.spell(&TypeName::of(self.module), ty)
    }

    fn code(&self, form: Form, ty: &Type) -> String {
        let module = self.module;
        self.module.spell(&Code { module, form }, ty)
    }

    /// The statement that encodes a field of a value.
    fn write(&self, value: &str, field: &Field) -> String {
        let place = format!("{value}.{}()", java_member(&field.name));
        self.code(Form::Write(place), &field.ty) + ";"
    }

    /// What a switch of Java takes, which cannot be a long or a boolean.
    fn chosen(&self, union: &Union) -> impl Fn(&str) -> String {
        let (before, after) = match Discriminant::of(self.module.schema, union) {
            Discriminant::Unsigned => ("(int) ", ""),
            Discriminant::Bool => ("", " ? 1 : 0"),
            Discriminant::Signed | Discriminant::Enum(..) => ("", ""),
        };
        move |selector| format!("{before}{selector}{after}")
    }

    fn label(&self, union: &Union, arm: &Arm) -> String {
        if arm.cases.is_empty() {
            return "default".into();
        }
        let label = |value: i64| match Discriminant::of(self.module.schema, union) {
            Discriminant::Enum(_, members) => {
                let member = members.iter().find(|m| i64::from(m.value) == value);
                java_constant(&member.expect("a case is a member").name)
            }
            // The bits of an unsigned number as an int.
            _ => (value as i32).to_string(),
        };
        let labels: Vec<String> = arm.cases.iter().map(|case| label(case.value)).collect();
        format!("case {}", labels.join(", "))
    }
}

/// The class of a definition, from within a file's class.
fn place(module: &Module<'_>, id: DefId) -> String {
    let def = module.schema.def(id);
    let name = own_name(def);
    match def.file == module.file {
        true => name,
        false => format!("{}.{name}", class_name(&stem(module.unit, def.file))),
    }
}

/// The type of a value. Elements and optional values are objects.
struct TypeName<'a> {
    module: &'a Module<'a>,
    is_object: bool,
}

impl<'a> TypeName<'a> {
    fn of(module: &'a Module<'a>) -> Self {
        TypeName {
            module,
            is_object: false,
        }
    }
}

impl Spelling for TypeName<'_> {
    const SEES_THROUGH_TYPEDEFS: bool = true;

    fn primitive(&self, primitive: Primitive) -> String {
        let (plain, object) = match primitive {
            Primitive::Char => ("byte", "Byte"),
            Primitive::Short => ("short", "Short"),
            Primitive::UChar | Primitive::UShort | Primitive::Int => ("int", "Integer"),
            Primitive::UInt | Primitive::Hyper | Primitive::UHyper => ("long", "Long"),
            Primitive::Float => ("float", "Float"),
            Primitive::Double => ("double", "Double"),
            Primitive::Bool => ("boolean", "Boolean"),
            Primitive::Quadruple => unreachable!("spelt as fixed bytes"),
        };
        if self.is_object { object } else { plain }.into()
    }

    fn named(&self, id: DefId) -> String {
        place(self.module, id)
    }

    fn fixed(&self, _size: u32) -> String {
        "byte[]".into()
    }

    fn bytes(&self, _bound: Option<u32>) -> String {
        "byte[]".into()
    }

    fn text(&self, _bound: Option<u32>) -> String {
        "String".into()
    }

    fn elements(&self, _count: u32, each: &Element<'_>) -> String {
        format!("List<{}>", each.text)
    }

    fn array(&self, _bound: Option<u32>, each: &Element<'_>) -> String {
        format!("List<{}>", each.text)
    }

    fn optional(&self, each: &Element<'_>) -> String {
        each.text.clone()
    }

    fn inner(&self) -> Self {
        TypeName {
            module: self.module,
            is_object: true,
        }
    }
}

enum Form {
    /// An expression that decodes a value from `r`.
    Read,
    /// One that encodes this value to `w`.
    Write(String),
    /// One that is an XdrCodec.
    Codec,
}

struct Code<'a> {
    module: &'a Module<'a>,
    form: Form,
}

impl Code<'_> {
    fn call(&self, word: &str, arguments: &str) -> String {
        match &self.form {
            Form::Read => format!("r.{word}({arguments})"),
            Form::Write(value) if arguments.is_empty() => format!("w.{word}({value})"),
            Form::Write(value) => format!("w.{word}({value}, {arguments})"),
            Form::Codec => format!("XdrCodec.{word}({arguments})"),
        }
    }
}

impl Spelling for Code<'_> {
    const SEES_THROUGH_TYPEDEFS: bool = true;

    fn primitive(&self, primitive: Primitive) -> String {
        let word = primitive_word(primitive);
        match self.form {
            Form::Codec => format!("XdrCodec.{}", word.to_uppercase()),
            _ => self.call(word, ""),
        }
    }

    fn named(&self, id: DefId) -> String {
        let name = place(self.module, id);
        match &self.form {
            Form::Read => format!("{name}.CODEC.decode(r)"),
            Form::Write(value) => format!("{name}.CODEC.encode(w, {value})"),
            Form::Codec => format!("{name}.CODEC"),
        }
    }

    fn fixed(&self, size: u32) -> String {
        self.call("fixed", &size.to_string())
    }

    fn bytes(&self, bound: Option<u32>) -> String {
        self.call("opaque", &limit(bound))
    }

    fn text(&self, bound: Option<u32>) -> String {
        self.call("string", &limit(bound))
    }

    fn elements(&self, count: u32, each: &Element<'_>) -> String {
        let arguments = format!("{count}L, {}L, {}", each.least, each.text);
        self.call("elements", &arguments)
    }

    fn array(&self, bound: Option<u32>, each: &Element<'_>) -> String {
        let arguments = format!("{}, {}L, {}", limit(bound), each.least, each.text);
        self.call("list", &arguments)
    }

    fn optional(&self, each: &Element<'_>) -> String {
        self.call("optional", &each.text)
    }

    fn inner(&self) -> Self {
        Code {
            module: self.module,
            form: Form::Codec,
        }
    }
}

fn limit(bound: Option<u32>) -> String {
    format!("{}L", bound.unwrap_or(u32::MAX))
}
