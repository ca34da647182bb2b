//! C++ types for a program's own data: the C header, and over it the namespaces of the .x file and
//! the trait by which `iw::make<T>` and its kin find a type's descriptor.

use super::c::{self, Backend, Registration};
use super::text::Text;
use super::{first_line, included_paths, names, output_path, stem};
use crate::compile::{GeneratedFile, Unit};
use crate::diagnostics::Report;
use crate::ir::{DefBody, DefId};
use crate::source::FileId;
use std::path::PathBuf;

pub fn generate(unit: &Unit<'_>, report: &mut Report) -> Vec<(PathBuf, GeneratedFile)> {
    let mut files = c::generate_as(unit, "cpp", Registration::StaticInitialiser, report);
    for &file in unit.roots {
        let input = unit.sources.path(file).to_path_buf();
        let path = output_path(unit, file, "hpp");
        let text = header(unit, file);
        files.push((input, GeneratedFile { path, text }));
    }
    files
}

fn header(unit: &Unit<'_>, file: FileId) -> String {
    let backend = Backend::new(unit, file);
    let mut text = Text::new("  ");
    text.line(format!("// {}", first_line(unit, file)));
    text.line("// clang-format off");
    text.line("#pragma once");
    text.blank();
    text.line(format!("#include \"{}.h\"", stem(unit, file)));
    for included in included_paths(unit, file) {
        text.line(format!("#include \"{included}.hpp\""));
    }
    namespaces(&backend, &mut text);
    for &id in &backend.ordered {
        type_of(&backend, id, &mut text);
    }
    text.finish()
}

/// `geo::point` for what C calls `geo_point`, and an enum's members beside it.
fn namespaces(backend: &Backend<'_>, text: &mut Text) {
    let mut open: Option<String> = None;
    for &id in &backend.ordered {
        let def = backend.schema.def(id);
        let parts = def.namespace.iter().flat_map(|n| n.split("::"));
        let wanted: Vec<String> = parts.map(names::c_name).collect();
        let wanted = Some(wanted.join("::")).filter(|name| !name.is_empty());
        if wanted != open {
            close_namespace(&open, text);
            if let Some(name) = &wanted {
                text.blank();
                text.line(format!("namespace {name} {{"));
            }
            open = wanted;
        }
        if open.is_some() {
            aliases(backend, id, text);
        }
    }
    close_namespace(&open, text);
}

fn close_namespace(open: &Option<String>, text: &mut Text) {
    if let Some(name) = open {
        text.line(format!("}}  // namespace {name}"));
    }
}

fn aliases(backend: &Backend<'_>, id: DefId, text: &mut Text) {
    let def = backend.schema.def(id);
    let name = names::c_name(&def.name);
    let global = backend.name(id);
    match &def.body {
        // A macro stands for a literal.
        DefBody::Const(_) if c::checks::is_macro(def) => {
            text.line(format!("inline constexpr auto {name} = {global};"));
        }
        DefBody::Const(_) => text.line(format!("inline constexpr auto {name} = ::{global};")),
        DefBody::Enum(members) => {
            text.line(format!("using {name} = ::{global};"));
            for member in members {
                let own = names::c_name(&member.name);
                let global = backend.member_name(def, &member.name);
                text.line(format!("inline constexpr auto {own} = ::{global};"));
            }
        }
        _ => text.line(format!("using {name} = ::{global};")),
    }
}

/// Only for types that are C++'s own as well: two typedefs may stand for one and the same array.
fn type_of(backend: &Backend<'_>, id: DefId, text: &mut Text) {
    let body = &backend.schema.def(id).body;
    if !matches!(
        body,
        DefBody::Enum(_) | DefBody::Struct(_) | DefBody::Union(_)
    ) {
        return;
    }
    text.blank();
    text.line("template <>");
    text.open(format!("struct iw::type_of<::{}> {{", backend.name(id)));
    text.line(format!(
        "static IW_type_t get() {{ return ::{}; }}",
        backend.variable(id)
    ));
    text.close("};");
}
