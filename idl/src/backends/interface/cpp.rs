//! `interface.hpp`: errors and statistics as tables with their names, for front ends in C++.

use super::{Interface, STATISTICS};
use crate::backends::text::Text;

pub fn text(interface: &Interface<'_>) -> String {
    let mut text = Text::new("  ");
    text.line(format!("// {}", interface.first_line));
    text.lines([
        "// clang-format off",
        "// Errors and statistics of <interweave.h> with their names, for front ends and logs.",
        "#ifndef INTERWEAVE_INTERFACE_HPP",
        "#define INTERWEAVE_INTERFACE_HPP",
        "",
        "#include <cstdint>",
        "",
        "#include \"interweave/interface.h\"",
        "",
        "namespace iw {",
        "",
        "// The name of IW_EBAD_URL is \"BAD_URL\".",
        "struct NamedError {",
        "  int code;",
        "  const char* name;",
        "};",
        "",
        "// In the order of their codes, from -1 down.",
    ]);
    text.open("inline constexpr NamedError named_errors[] = {");
    for error in &interface.errors {
        text.line(format!("{{IW_E{0}, \"{0}\"}},", error.name));
    }
    text.close("};");
    statistics(&mut text, interface);
    text.lines([
        "",
        "}  // namespace iw",
        "",
        "#endif  // INTERWEAVE_INTERFACE_HPP",
    ]);
    text.finish()
}

fn statistics(text: &mut Text, interface: &Interface<'_>) {
    let found = interface.structs().find(|one| one.def.name == STATISTICS);
    let Some(record) = found else {
        return;
    };
    text.lines([
        "",
        "struct NamedStatistic {",
        "  const char* name;",
        "  std::uint64_t IW_stats_t::*value;",
        "};",
        "",
    ]);
    text.open("inline constexpr NamedStatistic named_statistics[] = {");
    for (field, _) in &record.fields {
        text.line(format!("{{\"{0}\", &IW_{STATISTICS}::{0}}},", field.name));
    }
    text.close("};");
}
