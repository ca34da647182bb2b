//! The C++ codec: a header and a source per .x file, in namespace `iw::protocol`.

mod header;
mod source;
mod spelling;

use super::walk::{self, Module};
use crate::backends::first_line;
use crate::backends::names::c_name;
use crate::backends::text::Text;
use crate::compile::{GeneratedFile, Unit};
use crate::diagnostics::Report;
use crate::ir::{DefId, Schema, Type};
pub(super) use spelling::{constant, primitive_name};
use std::path::PathBuf;

pub fn generate(unit: &Unit<'_>, report: &mut Report) -> Vec<(PathBuf, GeneratedFile)> {
    let name = |def: &crate::ir::Def| c_name(&def.full_name("_"));
    walk::check_names(unit.schema, "C++", name, report);
    walk::files(unit, |module| {
        let stem = &module.stem;
        vec![
            (format!("{stem}.gen.h"), header::text(module)),
            (format!("{stem}.gen.cc"), source::text(module)),
        ]
    })
}

fn beginning(module: &Module<'_>) -> Text {
    let mut text = Text::new("  ");
    text.line(format!("// {}", first_line(module.unit, module.file)));
    text.line("// clang-format off");
    text.blank();
    text
}

/// The default of `==` compares pointers, and needs complete types.
fn has_own_equality(module: &Module<'_>, id: DefId) -> bool {
    let mut types = module.schema.def(id).types().into_iter();
    module.is_recursive(id) || types.any(|ty| holds_pointer(module.schema, ty))
}

fn holds_pointer(schema: &Schema, ty: &Type) -> bool {
    match schema.resolve(ty) {
        Type::Pointer(_) => true,
        Type::Array(element, _) | Type::Sequence(element, _) => holds_pointer(schema, element),
        _ => false,
    }
}
