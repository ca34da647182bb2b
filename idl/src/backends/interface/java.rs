//! `Interface.java`: the interface's numbers in Java 17, as enums and records of one class.

use super::{Group, Interface, Kind, Numbers, Record};
use crate::backends::names::{java_member, rust_type};
use crate::backends::text::Text;
use crate::ir::Member;

const PACKAGE: &str = "org.interweave";

pub fn text(interface: &Interface<'_>) -> String {
    let mut text = Text::new("  ");
    text.line(format!("// {}", interface.first_line));
    text.line(format!("package {PACKAGE};"));
    text.blank();
    text.line("/** The numbers and statistics of the C interface. */");
    text.open("public final class Interface {");
    text.line("private Interface() {}");
    text.blank();
    text.line("/** A failed call, by the negative number that functions of C return. */");
    let errors = interface.errors.iter().map(|error| (*error, -error.value));
    enumeration(&mut text, "Error", errors.collect());
    for group in interface.groups_to_read() {
        match group {
            Group::Enum(numbers) => named(&mut text, numbers),
            Group::Struct(record) => structure(&mut text, record),
        }
    }
    text.close("}");
    text.finish()
}

fn named(text: &mut Text, numbers: &Numbers<'_>) {
    text.blank();
    text.doc_comment(&numbers.def.doc);
    let members = numbers.members.iter().map(|member| (member, member.value));
    let name = rust_type(&numbers.def.name);
    enumeration(text, &name, members.collect());
}

/// A Java enum counts its members from 0, so that the number is a field.
fn enumeration(text: &mut Text, name: &str, members: Vec<(&Member, i32)>) {
    text.open(format!("public enum {name} {{"));
    let last = members.len() - 1;
    for (at, (member, number)) in members.into_iter().enumerate() {
        text.doc_comment(&member.doc);
        let end = if at < last { "," } else { ";" };
        text.line(format!("{}({number}){end}", member.name));
    }
    text.blank();
    text.line("public final int number;");
    text.blank();
    text.open(format!("{name}(int number) {{"));
    text.line("this.number = number;");
    text.close("}");
    text.blank();
    text.line("/** The member with a number; null if no member has it. */");
    text.open(format!("public static {name} of(int number) {{"));
    text.open(format!("for ({name} one : values()) {{"));
    text.line("if (one.number == number) return one;");
    text.close("}");
    text.line("return null;");
    text.close("}");
    text.close("}");
}

fn structure(text: &mut Text, record: &Record<'_>) {
    let name = rust_type(record.def.name.trim_end_matches("_t"));
    text.blank();
    text.doc_comment(&record.def.doc);
    text.open(format!("public record {name}("));
    let last = record.fields.len() - 1;
    for (at, (field, kind)) in record.fields.iter().enumerate() {
        text.doc_comment(&field.doc);
        let end = if at < last { "," } else { ") {}" };
        let (ty, member) = (type_name(*kind), java_member(&field.name));
        text.line(format!("{ty} {member}{end}"));
    }
    text.outdent();
}

/// Counts are unsigned numbers of 64 bits, and no count gets as far as a long's sign.
fn type_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Int => "int",
        Kind::Unsigned | Kind::Count => "long",
        Kind::Real => "double",
        Kind::Flag => "boolean",
        Kind::Text => "String",
    }
}
