//! Types as people write them.

use crate::protocol::{TypeBody, TypeDescriptor};
use crate::types::TypeTable;

/// The text of a type: "node_t", "int[10]", "node_t *", "string<16>", "int<>", "string<>". An
/// anonymous record is "struct", an anonymous union "union".
pub fn type_text(types: &TypeTable, type_serial: u32) -> String {
    let Some(ty) = types.get(type_serial) else {
        return "void".to_string();
    };
    if ty.descriptor.name.is_empty() {
        body_text(types, &ty.descriptor)
    } else {
        ty.descriptor.name.clone()
    }
}

/// The text of the type for which a name stands: for `typedef double plane[256][256]` it is
/// "double[256][256]".
pub fn body_text(types: &TypeTable, descriptor: &TypeDescriptor) -> String {
    let bounded = |bound: u32| match bound {
        0 => "<>".to_string(),
        bound => format!("<{bound}>"),
    };
    // Pointers may form a circle. The text therefore ends at a name, or one step behind a pointer.
    let target = |serial: u32| match types.get(serial).map(|ty| &ty.descriptor) {
        None => "void".to_string(),
        Some(target) if target.name.is_empty() && is_reference(&target.body) => "...".to_string(),
        Some(_) => type_text(types, serial),
    };
    match &descriptor.body {
        TypeBody::Enum(_) => "enum".to_string(),
        TypeBody::String(bound) => format!("string{}", bounded(*bound)),
        TypeBody::Array(array) => {
            // Dimensions read from the outside in: int[2][3].
            let element = type_text(types, array.element);
            let dimensions = element.find('[').filter(|_| element.ends_with(']'));
            let (name, inner) = element.split_at(dimensions.unwrap_or(element.len()));
            format!("{name}[{}]{inner}", array.count)
        }
        TypeBody::Record(_) => "struct".to_string(),
        TypeBody::Union(_) => "union".to_string(),
        TypeBody::Pointer(serial) => format!("{} *", target(*serial)),
        TypeBody::Sequence(body) => format!("{}{}", target(body.element), bounded(body.bound)),
        TypeBody::Text(bound) => format!("string{}", bounded(*bound)),
        TypeBody::Other(_) => "?".to_string(),
    }
}

fn is_reference(body: &TypeBody) -> bool {
    matches!(
        body,
        TypeBody::Pointer(_) | TypeBody::Sequence(_) | TypeBody::Array(_)
    )
}
