//! Values as trees: a block's slot form and its types become JSON for people and programs, and JSON
//! becomes slot form. Also: where in a block a unit or a path like `[3].next` lies.

mod parse;
mod place;
mod render;
mod type_text;

pub use parse::Reader;
pub use place::{is_begun_at, place_of_path, place_of_unit, Place};
pub use render::Renderer;
pub use type_text::{body_text, type_text};

#[cfg(test)]
mod tests;
