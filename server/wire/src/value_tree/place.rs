//! Where in a block a unit or a path lies.

use crate::protocol::{ErrorCode, TypeBody};
use crate::rejection::Rejection;
use crate::types::{Layout, Type, TypeTable};
use crate::value_tree::type_text;

/// A part of a block: one value of one type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub type_serial: u32,
    pub first_unit: u64,
    pub units: u64,
    pub byte: u64,
    pub bytes: u64,
    /// Like `[3].next`. In a block of one element the path has no index; "" is the element itself.
    pub path: String,
}

impl Place {
    fn element(layout: Layout<'_>, index: u64) -> Place {
        let ty = layout.ty;
        Place {
            type_serial: ty.descriptor.serial,
            first_unit: index * ty.units,
            units: ty.units,
            byte: index * ty.slot_bytes,
            bytes: ty.slot_bytes,
            path: match layout.count {
                1 => String::new(),
                _ => format!("[{index}]"),
            },
        }
    }

    fn enter(&mut self, ty: &Type, first_unit: u64, byte: u64, step: &str) {
        self.type_serial = ty.descriptor.serial;
        self.first_unit += first_unit;
        self.byte += byte;
        self.units = ty.units;
        self.bytes = ty.slot_bytes;
        self.path.push_str(step);
    }

    fn enter_array(&mut self, element: &Type, index: u64) {
        let (units, bytes) = (index * element.units, index * element.slot_bytes);
        self.enter(element, units, bytes, &format!("[{index}]"));
    }
}

fn embedded(types: &TypeTable, serial: u32) -> &Type {
    types
        .get(serial)
        .expect("a table's types embed known types")
}

/// The place of a unit in a block; None beyond its end.
pub fn place_of_unit(types: &TypeTable, layout: Layout<'_>, unit: u64) -> Option<Place> {
    descend(types, layout, unit, |_| false)
}

/// Whether a value of the type begins at the unit, as a pointer to the type requires.
pub fn is_begun_at(types: &TypeTable, layout: Layout<'_>, unit: u64, type_serial: u32) -> bool {
    let begins = |place: &Place| place.first_unit == unit && place.type_serial == type_serial;
    descend(types, layout, unit, begins).is_some_and(|place| begins(&place))
}

/// Goes through the parts in which a unit lies, from the outside in. Stops at the first part that
/// is looked for, or at the last one.
fn descend(
    types: &TypeTable,
    layout: Layout<'_>,
    unit: u64,
    is_found: impl Fn(&Place) -> bool,
) -> Option<Place> {
    if unit >= layout.units() {
        return None;
    }
    let mut place = Place::element(layout, unit / layout.ty.units);
    while !is_found(&place) {
        let within = unit - place.first_unit;
        match &embedded(types, place.type_serial).descriptor.body {
            TypeBody::Array(array) => {
                let element = embedded(types, array.element);
                place.enter_array(element, within / element.units);
            }
            TypeBody::Record(fields) => {
                let (mut first, mut byte) = (0, 0);
                for field in fields {
                    let ty = embedded(types, field.type_);
                    if within < first + ty.units {
                        place.enter(ty, first, byte, &format!(".{}", field.name));
                        break;
                    }
                    first += ty.units;
                    byte += ty.slot_bytes;
                }
            }
            _ => break,
        }
    }
    Some(place)
}

/// The place that a path like `[3].next` or `header.cfl` names. In a block of several elements the
/// path begins with an index. In a block of one element, "" is the element.
pub fn place_of_path(
    types: &TypeTable,
    layout: Layout<'_>,
    path: &str,
) -> Result<Place, Rejection> {
    let mut rest = path;
    let mut place = Place::element(layout, 0);
    if layout.count != 1 {
        let index = take_index(&mut rest, layout.count, path)?;
        place = Place::element(layout, index);
    }
    while !rest.is_empty() {
        let body = &embedded(types, place.type_serial).descriptor.body;
        match body {
            TypeBody::Array(array) => {
                let index = take_index(&mut rest, array.count.into(), path)?;
                place.enter_array(embedded(types, array.element), index);
            }
            TypeBody::Record(fields) => {
                let name = rest.strip_prefix('.').unwrap_or(rest);
                let end = name.find(['.', '[']).unwrap_or(name.len());
                let name = &name[..end];
                rest = &rest[rest.len() - (rest.strip_prefix('.').unwrap_or(rest).len() - end)..];
                let (mut first, mut byte) = (0, 0);
                let mut found = None;
                for field in fields {
                    let ty = embedded(types, field.type_);
                    if field.name == name {
                        found = Some(ty);
                        break;
                    }
                    first += ty.units;
                    byte += ty.slot_bytes;
                }
                let Some(ty) = found else {
                    let known: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
                    let asked = match name {
                        "" if rest.is_empty() => "ends where a field is due".to_string(),
                        "" => format!("has `{rest}` where a field is due"),
                        name => format!("has no field `{name}`"),
                    };
                    return wrong(path, &format!("{asked}; there are {}", known.join(", ")));
                };
                place.enter(ty, first, byte, &format!(".{name}"));
            }
            body => return wrong(path, &no_parts_text(types, body, &place)),
        }
    }
    Ok(place)
}

fn wrong<T>(path: &str, why: &str) -> Result<T, Rejection> {
    let text = format!("the path `{path}` {why}");
    Err(Rejection::new(ErrorCode::BadArgument, text))
}

/// Returns why a path cannot lead into a place.
fn no_parts_text(types: &TypeTable, body: &TypeBody, place: &Place) -> String {
    let into = match place.path.trim_start_matches('.') {
        "" => "the block".to_string(),
        within => format!("`{within}`"),
    };
    let why = match body {
        TypeBody::Union(_) => "which is read and set whole".to_string(),
        TypeBody::Pointer(_) | TypeBody::Sequence(_) | TypeBody::Text(_) => {
            "whose value lies in another block".to_string()
        }
        _ => format!("which is a single {}", type_text(types, place.type_serial)),
    };
    format!("goes into {into}, {why}")
}

/// Takes `[index]` off the front.
fn take_index(rest: &mut &str, count: u64, path: &str) -> Result<u64, Rejection> {
    let split = rest
        .strip_prefix('[')
        .and_then(|inner| inner.split_once(']'));
    let Some((digits, after)) = split else {
        return wrong(
            path,
            &format!("needs an index, [0] to [{}], at `{rest}`", count - 1),
        );
    };
    match digits.parse::<u64>() {
        Ok(index) if index < count => {
            *rest = after;
            Ok(index)
        }
        _ => wrong(
            path,
            &format!("has the index [{digits}]; [0] to [{}] exist", count - 1),
        ),
    }
}
