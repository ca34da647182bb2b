//! Java for a program's own data: a class for each struct, union, enum and named array of a file,
//! and one for the file (`list_x`) with its constants and the words that describe its types.
//!
//! A class has public fields, getters and setters that tell the library of a write, and one method
//! that carries all fields between the object and the block's memory, in either direction. Two more
//! methods carry numbers directly, one for each direction. Structs within structs are flattened:
//! the fields of `moment start` are `start_seconds` and `start_day`. Offsets are constants, because
//! the client lays memory out in one way on every machine.
//!
//! For each type there is an entry of the index, a resource that names the class of its file: so a
//! program finds the classes of a segment that another program made (objects/Index.java).

mod layout;
mod names;
mod spelling;
mod table;

use super::text::Text;
use super::{first_line, shown_path};
use crate::compile::{GeneratedFile, Unit};
use crate::diagnostics::{Diagnostic, Report};
use crate::ir::{
    Arm, Constant, Def, DefBody, DefId, Field, Member, Primitive, Schema, Type, Union,
};
use crate::source::FileId;
use names::{member_name, type_name};
use spelling::Value;
use std::collections::HashSet;
use std::path::PathBuf;

/// Longer methods may exceed the 65,535 bytes of one.
const FIELDS_OF_A_METHOD: usize = 500;
const MAX_BYTES: u128 = i32::MAX as u128 - 8;

pub fn generate(unit: &Unit<'_>, report: &mut Report) -> Vec<(PathBuf, GeneratedFile)> {
    names::check(unit, report);
    let mut files = Vec::new();
    for &file in unit.roots {
        let mut texts = vec![(names::file_class(unit, file), file_text(unit, file))];
        for id in unit.schema.of_file(file).filter(|&id| has_class(unit, id)) {
            let name = type_name(unit.schema.def(id));
            let text = Class::new(unit, file, report).text(id);
            texts.push((name, text));
        }
        let source = unit.sources.path(file).to_path_buf();
        files.extend(table::index(unit, file).map(|entry| (source.clone(), entry)));
        let folder: PathBuf = unit
            .package
            .split('.')
            .filter(|part| !part.is_empty())
            .collect();
        for (name, text) in texts {
            let path = folder.join(format!("{name}.java"));
            files.push((source.clone(), GeneratedFile { path, text }));
        }
    }
    files
}

/// Whether a definition becomes a class.
pub fn has_class(unit: &Unit<'_>, id: DefId) -> bool {
    match &unit.schema.def(id).body {
        DefBody::Enum(_) | DefBody::Struct(_) | DefBody::Union(_) => true,
        DefBody::Alias(Type::Array(..) | Type::Opaque(_)) => true,
        DefBody::Alias(_) | DefBody::Const(_) => false,
    }
}

/// The struct, union or named array that a pointer leads to.
fn is_class_target<'a>(schema: &'a Schema, mut target: &'a Type) -> Option<DefId> {
    while let Type::Named(id) = target {
        match &schema.def(*id).body {
            DefBody::Alias(inner @ Type::Named(_)) => target = inner,
            DefBody::Struct(_) | DefBody::Union(_) => return Some(*id),
            DefBody::Alias(Type::Array(..) | Type::Opaque(_)) => return Some(*id),
            _ => return None,
        }
    }
    None
}

/// Whether fields of the type lie among those of another object, so that a pointer to one need not
/// lead to an object.
fn flattened(schema: &Schema, id: DefId) -> bool {
    let is_union = matches!(schema.def(id).body, DefBody::Union(_));
    let holds = |ty: &Type| is_class_target(schema, ty) == Some(id);
    !is_union
        && schema
            .defs
            .iter()
            .any(|def| def.fields().iter().any(|field| holds(&field.ty)))
}

/// The meanings of the parts of an object's modification word.
#[derive(Clone, Copy)]
enum Marks {
    Fields,
    Elements,
}

/// The class of the numbers in an array in its place; None if it holds something else.
fn number_of_row(value: &Value) -> Option<&str> {
    match value.call.starts_with("row(") {
        true => value.class.strip_suffix("[]"),
        false => None,
    }
}

fn package_line(unit: &Unit<'_>, text: &mut Text) {
    if !unit.package.is_empty() {
        text.line(format!("package {};", unit.package));
        text.blank();
    }
}

/// A comment of the .x file, which is not HTML, and in which `\u` would be read as a letter.
fn comment(text: &mut Text, doc: &Option<String>) {
    let shown = doc.as_ref().map(|doc| {
        let escaped = doc
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;");
        escaped.replace('@', "&#64;").replace('\\', "&#92;")
    });
    text.doc_comment(&shown);
}

fn literal(value: &Constant) -> (&'static str, String) {
    match value {
        Constant::Text(text) => ("String", quoted(text)),
        Constant::Number(value) => match i32::try_from(*value) {
            Ok(value) => ("int", value.to_string()),
            Err(_) => ("long", format!("{}L", *value as i64)),
        },
    }
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\\' | '"' => quoted.extend(['\\', c]),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

/// The class of a file.
fn file_text(unit: &Unit<'_>, file: FileId) -> String {
    let schema = unit.schema;
    let mut text = Text::new("  ");
    text.line(format!("// {}", first_line(unit, file)));
    package_line(unit, &mut text);
    text.line("import org.interweave.IW_Types;");
    text.blank();
    let name = names::file_class(unit, file);
    text.line(format!(
        "/** Constants and types of {}. */",
        shown_path(unit, file)
    ));
    text.open(format!("public final class {name} {{"));
    text.line(format!("private {name}() {{}}"));
    for id in schema.of_file(file) {
        let def = schema.def(id);
        if let DefBody::Const(value) = &def.body {
            let (ty, literal) = literal(value);
            let name = names::constant_name(def);
            comment(&mut text, &def.doc);
            text.line(format!("public static final {ty} {name} = {literal};"));
        }
    }
    text.blank();
    text.line("/** The descriptors, from which the library makes those of a segment. */");
    text.line("public static final IW_Types iw_types =");
    text.indent();
    text.indent();
    text.line("new IW_Types()");
    text.indent();
    text.indent();
    table::write(unit, file, &mut text);
    text.line(".register();");
    for _ in 0..4 {
        text.outdent();
    }
    text.close("}");
    text.finish()
}

/// A field of a class, of which several may come from one struct that is flattened.
struct Slot<'a> {
    name: String,
    doc: &'a Option<String>,
    ty: &'a Type,
    at: u128,
}

struct Class<'a> {
    unit: &'a Unit<'a>,
    file: FileId,
    report: &'a mut Report,
    text: Text,
    scope: names::Scope,
}

impl<'a> Class<'a> {
    fn new(unit: &'a Unit<'a>, file: FileId, report: &'a mut Report) -> Self {
        Class {
            unit,
            file,
            report,
            text: Text::new("  "),
            scope: names::Scope::default(),
        }
    }

    fn text(mut self, id: DefId) -> String {
        let def = self.unit.schema.def(id);
        self.measure(id);
        self.text
            .line(format!("// {}", first_line(self.unit, self.file)));
        package_line(self.unit, &mut self.text);
        match &def.body {
            DefBody::Enum(members) => self.enumeration(def, members),
            DefBody::Struct(fields) => self.structure(def, fields),
            DefBody::Union(union) => self.union(def, union),
            DefBody::Alias(ty) => self.array(def, ty),
            DefBody::Const(_) => unreachable!("constants are in the file's class"),
        }
        self.text.finish()
    }

    /// Numbers, because memory may hold one that is not a member.
    fn enumeration(&mut self, def: &Def, members: &[Member]) {
        let name = type_name(def);
        comment(&mut self.text, &def.doc);
        self.text.open(format!("public final class {name} {{"));
        self.text.line(format!("private {name}() {{}}"));
        self.text.blank();
        for member in members {
            comment(&mut self.text, &member.doc);
            let (constant, number) = (member_name(&member.name), member.value);
            self.text
                .line(format!("public static final int {constant} = {number};"));
        }
        self.text.close("}");
    }

    fn structure(&mut self, def: &Def, fields: &'a [Field]) {
        let mut slots = Vec::new();
        self.flatten(fields, "", 0, None, &mut slots);
        let mut calls = Vec::new();
        let values = self.values(&slots, &mut calls);
        self.head(def, &slots, &values, "IW_Object");
        self.members(def, &slots, &values, Marks::Fields);
        self.transfer(&calls);
        self.direct(&slots, &values);
        self.text.close("}");
    }

    /// Writes methods that carry numbers directly between fields and bytes, and the other fields as
    /// `iw_transfer` does. A class with rows in their places has no such methods, because a release
    /// looks at the parts of a large row one by one.
    fn direct(&mut self, slots: &[Slot<'_>], values: &[Value]) {
        let numbers: Vec<_> = slots
            .iter()
            .zip(values)
            .map(|(slot, value)| value.number(&slot.name, slot.at))
            .collect();
        let count = numbers.iter().flatten().count();
        let has_rows = values.iter().any(|value| number_of_row(value).is_some());
        if count == 0 || has_rows || slots.len() > FIELDS_OF_A_METHOD / 2 {
            return;
        }
        let fields = slots.iter().zip(values).zip(&numbers);
        let (mut loads, mut stores) = (Vec::new(), Vec::new());
        for ((slot, value), number) in fields {
            let call = value.call.replace("{}", &slot.name);
            let call = format!("{} = iw_m.{call};", slot.name);
            let (load, store) = number.clone().unwrap_or((call.clone(), call));
            loads.push(load);
            stores.push(store);
        }
        self.text.blank();
        self.text.line("@Override");
        self.text.open("public int iw_direct() {");
        let kind = if count == slots.len() { 2 } else { 1 };
        self.text.line(format!("return {kind};"));
        self.text.close("}");
        for (name, lines) in [("iw_load", loads), ("iw_store", stores)] {
            self.text.blank();
            self.text.line("@Override");
            self.text.open(format!(
                "public void {name}(IW_Memory iw_m, byte[] iw_bytes, int iw_at) {{"
            ));
            self.text.lines(&lines);
            self.text.close("}");
        }
    }

    /// The named array of the paper: `length`, and the values as `array`.
    fn array(&mut self, def: &'a Def, ty: &'a Type) {
        let slots = [Slot {
            name: "array".into(),
            doc: &None,
            ty,
            at: 0,
        }];
        let mut calls = Vec::new();
        let mut values = self.values(&slots, &mut calls);
        let length = values[0].length.take().expect("an array has a length");
        self.head(def, &slots, &values, "IW_Array");
        self.text
            .line(format!("public static final int length = {length};"));
        match number_of_row(&values[0]) {
            Some(number) => {
                self.members(def, &slots, &values, Marks::Elements);
                self.elements(number);
            }
            None => self.members(def, &slots, &values, Marks::Fields),
        }
        self.transfer(&calls);
        self.text.close("}");
    }

    /// The fields of every arm; only those of the selected arm mean anything.
    fn union(&mut self, def: &Def, union: &'a Union) {
        let schema = self.unit.schema;
        let at = layout::arms_at(schema, union);
        let mut slots = Vec::new();
        let discriminant = std::slice::from_ref(&union.discriminant);
        self.flatten(discriminant, "", 0, None, &mut slots);
        let mut ends = Vec::new();
        for arm in union.every_arm() {
            if let Some(field) = &arm.field {
                let inner = arm.doc.as_ref().map(|_| &arm.doc);
                self.flatten(std::slice::from_ref(field), "", at, inner, &mut slots);
            }
            ends.push(slots.len());
        }
        let mut calls = Vec::new();
        let values = self.values(&slots, &mut calls);
        self.head(def, &slots, &values, "IW_Object");
        self.members(def, &slots, &values, Marks::Fields);
        self.union_transfer(union, &slots[0], &calls, &ends);
        self.text.close("}");
    }

    /// Appends the slots of fields, those of structs within them by the names of both.
    fn flatten(
        &mut self,
        fields: &'a [Field],
        prefix: &str,
        base: u128,
        doc: Option<&'a Option<String>>,
        slots: &mut Vec<Slot<'a>>,
    ) {
        let schema = self.unit.schema;
        for (field, at) in fields.iter().zip(layout::offsets(schema, fields)) {
            let name = format!("{prefix}{}", field.name);
            let at = base + at;
            let inner = match schema.resolve(&field.ty) {
                Type::Named(id) => match &schema.def(*id).body {
                    DefBody::Struct(inner) => Some(inner),
                    _ => None,
                },
                _ => None,
            };
            match inner {
                Some(inner) => {
                    self.flatten(inner, &format!("{name}_"), at, None, slots);
                }
                None => {
                    let mut name = member_name(&name);
                    // A field of that name would hide the file's class.
                    if name == names::file_class(self.unit, self.file) {
                        name.push('_');
                    }
                    self.scope.add(name.clone(), field.span, self.report);
                    slots.push(Slot {
                        name,
                        doc: doc.unwrap_or(&field.doc),
                        ty: &field.ty,
                        at,
                    });
                }
            }
        }
    }

    fn measure(&mut self, id: DefId) {
        let schema = self.unit.schema;
        let size = layout::extent(schema, &Type::Named(id)).size;
        if size > MAX_BYTES {
            let def = schema.def(id);
            let name = def.full_name("::");
            let message =
                format!("`{name}` takes {size} bytes; an array of Java has at most 2^31-9");
            let hint = "hold the parts by pointer, in blocks of their own";
            self.report
                .error(Diagnostic::new(def.span, message).hint(hint));
        }
    }

    fn values(&self, slots: &[Slot<'_>], calls: &mut Vec<String>) -> Vec<Value> {
        let spelt = slots.iter().map(|slot| {
            let value = spelling::spell(self.unit, slot.ty, slot.at);
            let call = value.call.replace("{}", &slot.name);
            calls.push(format!("{} = iw_m.{call};", slot.name));
            value
        });
        spelt.collect()
    }

    fn head(&mut self, def: &Def, slots: &[Slot<'_>], values: &[Value], base: &str) {
        let mut imports: HashSet<&str> = HashSet::from([base, "IW_Memory", "IW_Place", "IW_Space"]);
        if !slots.is_empty() {
            imports.insert("IW_Field");
        }
        for value in values {
            for name in ["IW_Ref", "IW_Elements"] {
                if value.class.starts_with(name) {
                    imports.insert(name);
                }
            }
        }
        let mut imports: Vec<&str> = imports.into_iter().collect();
        imports.sort_unstable();
        for name in imports {
            self.text.line(format!("import org.interweave.{name};"));
        }
        self.text.blank();
        let name = type_name(def);
        comment(&mut self.text, &def.doc);
        self.text
            .open(format!("public class {name} extends {base} {{"));
        let class = names::file_class(self.unit, self.file);
        self.text.open("static {");
        self.text.line(format!("{class}.iw_types.load();"));
        self.text.close("}");
        self.text.blank();
    }

    fn members(&mut self, def: &Def, slots: &[Slot<'_>], values: &[Value], marks: Marks) {
        let mut taken: HashSet<String> = slots.iter().map(|slot| slot.name.clone()).collect();
        for (order, (slot, value)) in slots.iter().zip(values).enumerate() {
            comment(&mut self.text, slot.doc);
            let (name, class) = (&slot.name, &value.class);
            let bound = self.bound(slot.ty);
            let annotation = format!("@IW_Field(order = {order}, at = {}{bound})", slot.at);
            self.text
                .line(format!("{annotation} public {class} {name};"));
            if let Some(length) = value.length {
                let constant = names::free_name(format!("{name}_length"), &mut taken);
                self.text
                    .line(format!("public static final int {constant} = {length};"));
            }
        }
        self.text.blank();
        self.text
            .line("/** A new block of the segment; the name may be null. */");
        let name = type_name(def);
        self.text.open(format!(
            "public {name}(IW_Space iw_space, String iw_name) {{"
        ));
        self.text.line("super(iw_space, iw_name);");
        self.text.close("}");
        self.text.blank();
        self.text
            .line("/** For the library: the object of a block that is there. */");
        self.text
            .open(format!("public {name}(IW_Place iw_place) {{"));
        self.text.line("super(iw_place);");
        self.text.close("}");
        self.text.blank();
        self.text.line("@Override");
        self.text.open("protected int iw_fields() {");
        self.text.line(match marks {
            Marks::Fields => format!("return {};", slots.len()),
            Marks::Elements => "return length;".into(),
        });
        self.text.close("}");
        for (order, (slot, value)) in slots.iter().zip(values).enumerate() {
            let mark = match marks {
                Marks::Fields => format!("iw_modified({order});"),
                Marks::Elements => "iw_modifiedAll();".into(),
            };
            self.accessors(&mark, slot, value);
        }
    }

    /// `get` and `set` of a row of numbers, whose parts have marks.
    fn elements(&mut self, number: &str) {
        self.text.blank();
        self.text
            .open(format!("public {number} get(int iw_index) {{"));
        self.text.line("iw_read();");
        self.text.line("return array[iw_index];");
        self.text.close("}");
        self.text.blank();
        self.text.open(format!(
            "public void set(int iw_index, {number} iw_value) {{"
        ));
        self.text.line("iw_modified(iw_index);");
        self.text.line("array[iw_index] = iw_value;");
        self.text.close("}");
    }

    fn bound(&self, ty: &Type) -> String {
        match self.unit.schema.resolve(ty) {
            Type::String(Some(bound)) | Type::OpaqueVar(Some(bound)) => {
                format!(", bound = {bound}L")
            }
            Type::Sequence(_, Some(bound)) => format!(", bound = {bound}L"),
            _ => String::new(),
        }
    }

    fn accessors(&mut self, mark: &str, slot: &Slot<'_>, value: &Value) {
        let name = &slot.name;
        let (class, shown, stored) = match value.wide {
            None => (value.class.as_str(), name.clone(), "iw_value".to_string()),
            Some((wide, bits)) => (
                wide,
                format!("iw_u{bits}({name})"),
                format!("iw_bits{bits}(iw_value)"),
            ),
        };
        self.text.blank();
        self.text.open(format!("public {class} get_{name}() {{"));
        self.text.line("iw_read();");
        self.text.line(format!("return {shown};"));
        self.text.close("}");
        self.text.blank();
        self.text
            .open(format!("public void set_{name}({class} iw_value) {{"));
        self.text.line(mark);
        self.text.line(format!("{name} = {stored};"));
        self.text.close("}");
    }

    fn transfer(&mut self, calls: &[String]) {
        self.text.blank();
        self.text.line("@Override");
        self.text.open("public void iw_transfer(IW_Memory iw_m) {");
        if calls.len() <= FIELDS_OF_A_METHOD {
            self.text.lines(calls);
            return self.text.close("}");
        }
        let parts: Vec<&[String]> = calls.chunks(FIELDS_OF_A_METHOD).collect();
        for part in 0..parts.len() {
            self.text.line(format!("iw_transfer{part}(iw_m);"));
        }
        self.text.close("}");
        for (index, part) in parts.into_iter().enumerate() {
            self.text.blank();
            self.text.open(format!(
                "private void iw_transfer{index}(IW_Memory iw_m) {{"
            ));
            self.text.lines(part);
            self.text.close("}");
        }
    }

    /// `ends` is where the slots of each arm end.
    fn union_transfer(
        &mut self,
        union: &Union,
        first: &Slot<'_>,
        calls: &[String],
        ends: &[usize],
    ) {
        let schema = self.unit.schema;
        let is_bool = schema.resolve(&union.discriminant.ty) == &Type::Primitive(Primitive::Bool);
        let name = &first.name;
        let number = match is_bool {
            true => format!("({name} ? 1 : 0)"),
            false => name.clone(),
        };
        self.text.blank();
        self.text.line("@Override");
        self.text.open("public void iw_transfer(IW_Memory iw_m) {");
        self.text.line(format!("iw_m.select({number});"));
        self.text.line(&calls[0]);
        self.text.open(format!("switch ({number}) {{"));
        let mut begin = 1;
        for (arm, &end) in union.every_arm().zip(ends) {
            self.arm(arm, &calls[begin..end]);
            begin = end;
        }
        if union.default.is_none() {
            self.text.line("default: break;");
        }
        self.text.close("}");
        self.text.close("}");
    }

    fn arm(&mut self, arm: &Arm, calls: &[String]) {
        for case in &arm.cases {
            self.text.line(format!("case {}:", case.value as i32));
        }
        if arm.cases.is_empty() {
            self.text.line("default:");
        }
        self.text.indent();
        self.text.lines(calls);
        self.text.line("break;");
        self.text.outdent();
    }
}
