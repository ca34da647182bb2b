//! The walk over definitions that most backends share. A backend says what its language writes of
//! each kind of definition; the walk says which comes next and where empty lines stand.

use crate::ir::{Constant, DefBody, DefId, Field, Member, Schema, Type, Union};

/// What a language writes of each kind of definition.
pub trait Definitions {
    /// What stands between two definitions: an empty line, in most languages.
    fn separator(&mut self);
    /// The definition's comment in the .x file.
    fn comment(&mut self, doc: &Option<String>);
    fn constant(&mut self, id: DefId, value: &Constant);
    fn alias(&mut self, id: DefId, target: &Type);
    fn enumeration(&mut self, id: DefId, members: &[Member]);
    fn structure(&mut self, id: DefId, fields: &[Field]);
    fn union(&mut self, id: DefId, union: &Union);
}

/// Writes definitions in the order given. Constants that follow each other are not separated.
pub fn write(
    schema: &Schema,
    ids: impl IntoIterator<Item = DefId>,
    language: &mut impl Definitions,
) {
    let mut after_constant = false;
    for id in ids {
        let def = schema.def(id);
        let is_constant = matches!(def.body, DefBody::Const(_));
        if !(is_constant && after_constant) {
            language.separator();
        }
        after_constant = is_constant;
        language.comment(&def.doc);
        match &def.body {
            DefBody::Const(value) => language.constant(id, value),
            DefBody::Alias(target) => language.alias(id, target),
            DefBody::Enum(members) => language.enumeration(id, members),
            DefBody::Struct(fields) => language.structure(id, fields),
            DefBody::Union(union) => language.union(id, union),
        }
    }
}
