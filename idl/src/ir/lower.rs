//! The syntax tree becomes the checked schema: names resolved, constants worked out, anonymous
//! bodies made definitions of their own.

use super::constants::Constants;
use super::names::{self, Names};
use super::{
    check, Arm, Case, Constant, Def, DefBody, DefId, Field, Member, Primitive, Schema, Type, Union,
};
use crate::diagnostics::{Diagnostic, Report};
use crate::frontend::ast::{self, Base, Body, Declaration, Path, Size, Value};
use crate::source::{FileId, Span};
use crate::suggest;
use std::collections::HashMap;

/// Rules that differ between a data file, whose names all meet in one C scope, and the protocol,
/// whose enums are scoped and whose files are compiled together.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rules {
    /// Enums in different files may have members of the same name.
    pub members_per_file: bool,
}

/// Types that C headers define, by name: each is what it is declared to be wherever it is used, so
/// that nothing of that name is generated.
pub type HeaderTypes = HashMap<String, Declaration>;

/// Builds the schema; errors go to the report, in which case the schema is of no use.
pub fn lower(
    definitions: &[ast::Definition],
    header_types: &HeaderTypes,
    rules: Rules,
    report: &mut Report,
) -> Schema {
    let mut constants = Constants::new(rules.members_per_file);
    let mut types = Names::new();
    for (index, definition) in definitions.iter().enumerate() {
        constants.collect(definition, report);
        if matches!(definition.body, Body::Const(_) | Body::Text(_)) {
            continue;
        }
        let name = &definition.name;
        let id = DefId(index);
        if let Some(first) = types.add(&definition.namespace, &name.text, id, name.span) {
            let message = format!("the type `{}` is defined twice", name.text);
            let error = Diagnostic::new(name.span, message).related(first, "first defined here");
            report.error(error);
        }
    }
    let mut lowering = Lowering {
        definitions,
        constants,
        types,
        header_types,
        within_header_type: false,
        report,
        nested: Vec::new(),
        first_nested: definitions.len(),
    };
    let mut defs: Vec<Def> = definitions.iter().map(|d| lowering.definition(d)).collect();
    defs.append(&mut lowering.nested);
    let schema = Schema { defs };
    check::check(&schema, report);
    schema
}

struct Lowering<'a, 'r> {
    definitions: &'a [ast::Definition],
    constants: Constants<'a>,
    types: Names<DefId>,
    header_types: &'a HeaderTypes,
    within_header_type: bool,
    report: &'r mut Report,
    /// Definitions made of anonymous bodies; their ids follow those of the file's.
    nested: Vec<Def>,
    first_nested: usize,
}

/// The definition inside which something stands.
struct Scope<'a> {
    namespace: &'a [String],
    file: FileId,
    /// The name so far: `Outer`, `Outer_field`.
    outer: String,
}

impl Lowering<'_, '_> {
    fn definition(&mut self, definition: &ast::Definition) -> Def {
        let scope = Scope {
            namespace: &definition.namespace,
            file: definition.file,
            outer: definition.name.text.clone(),
        };
        let body = match &definition.body {
            Body::Const(value) => {
                let number = self.constants.value(value, scope.namespace, self.report);
                DefBody::Const(Constant::Number(number))
            }
            Body::Text(text) => DefBody::Const(Constant::Text(text.clone())),
            Body::Typedef(declaration) => self.typedef(declaration, &scope),
            Body::Enum(members) => DefBody::Enum(self.members(members)),
            Body::Struct(fields) => DefBody::Struct(self.fields(fields, &scope)),
            Body::Union(body) => DefBody::Union(Box::new(self.union(body, &scope))),
        };
        Def {
            name: definition.name.text.clone(),
            namespace: definition.namespace.clone(),
            doc: definition.doc.clone(),
            file: definition.file,
            span: definition.name.span,
            held_in: definition.held_in,
            body,
        }
    }

    /// `typedef struct {...} name;` is another way to write `struct name {...};`. With a pointer or
    /// sizes, the body is a definition of its own.
    fn typedef(&mut self, declaration: &Declaration, scope: &Scope<'_>) -> DefBody {
        if declaration.pointer.is_none() && declaration.sizes.is_empty() {
            if let Some(body) = self.body(&declaration.base, scope) {
                return body;
            }
        }
        let inner = Scope {
            namespace: scope.namespace,
            file: scope.file,
            outer: format!("{}_body", scope.outer),
        };
        DefBody::Alias(self.declared_type(declaration, &inner))
    }

    fn members(&mut self, members: &[ast::Member]) -> Vec<Member> {
        let values = self.constants.members(members, self.report);
        let member = |(member, value): (&ast::Member, i32)| Member {
            name: member.name.text.clone(),
            value,
            doc: member.doc.clone(),
            span: member.name.span,
        };
        members.iter().zip(values).map(member).collect()
    }

    fn fields(&mut self, fields: &[Declaration], scope: &Scope<'_>) -> Vec<Field> {
        fields
            .iter()
            .map(|field| self.field(field, scope))
            .collect()
    }

    fn field(&mut self, declaration: &Declaration, scope: &Scope<'_>) -> Field {
        let inner = Scope {
            namespace: scope.namespace,
            file: scope.file,
            outer: format!("{}_{}", scope.outer, declaration.name.text),
        };
        Field {
            name: declaration.name.text.clone(),
            ty: self.declared_type(declaration, &inner),
            doc: declaration.doc.clone(),
            span: declaration.name.span,
        }
    }

    fn union(&mut self, body: &ast::Union, scope: &Scope<'_>) -> Union {
        let discriminant = self.field(&body.discriminant, scope);
        let members = self.members_of(&discriminant.ty);
        let mut arm = |arm: &ast::Arm| {
            let case = |value| self.case(value, members.as_ref(), scope);
            Arm {
                cases: arm.cases.iter().map(case).collect(),
                field: arm
                    .declaration
                    .as_ref()
                    .map(|declaration| self.field(declaration, scope)),
                doc: arm.doc.clone(),
            }
        };
        let arms = body.arms.iter().map(&mut arm).collect();
        let default = body.default.as_ref().map(arm);
        Union {
            discriminant,
            arms,
            default,
        }
    }

    /// A case's value. Its name means a member of the discriminant's enum, whatever else has it.
    fn case(
        &mut self,
        value: &Value,
        members: Option<&HashMap<String, i32>>,
        scope: &Scope<'_>,
    ) -> Case {
        let span = span_of(value);
        let (Value::Named(path), Some(members)) = (value, members) else {
            let number = self.constants.value(value, scope.namespace, self.report);
            let number = i64::try_from(number).unwrap_or(i64::MAX);
            let written = match value {
                Value::Named(path) => path.parts.last().cloned(),
                Value::Int(..) => None,
            };
            let name = members
                .and_then(|members| name_of(members, number))
                .or(written);
            return Case {
                value: number,
                name,
                span,
            };
        };
        let name = path.parts.last().cloned().unwrap_or_default();
        if let Some(&value) = members.get(&name) {
            let value = i64::from(value);
            let name = Some(name);
            return Case { value, name, span };
        }
        if !self.constants.is_constant(path, scope.namespace) {
            let mut known: Vec<&str> = members.keys().map(String::as_str).collect();
            known.sort_unstable();
            let hint = suggest::nearest(&name, known);
            let hint = hint.map(|near| format!("did you mean `{near}`?"));
            let message = format!("`{name}` is not a member of the discriminant's enum");
            self.report
                .error(Diagnostic::new(span, message).hint_if(hint));
        }
        let number = self.constants.value(value, scope.namespace, self.report);
        let value = i64::try_from(number).unwrap_or(i64::MAX);
        let name = name_of(members, value).or(Some(name));
        Case { value, name, span }
    }

    /// The members of the enum that a type is, perhaps under other names.
    fn members_of(&mut self, ty: &Type) -> Option<HashMap<String, i32>> {
        let Type::Named(mut id) = *ty else {
            return None;
        };
        // As many steps as there are definitions, so that a circle of typedefs ends;
        // it is an error.
        for _ in 0..=self.definitions.len() {
            let Some(definition) = self.definitions.get(id.0) else {
                let nested = &self.nested[id.0 - self.first_nested];
                return match &nested.body {
                    DefBody::Enum(members) => Some(by_name(members)),
                    _ => None,
                };
            };
            match &definition.body {
                Body::Enum(members) => {
                    let members = self.members(members);
                    return Some(by_name(&members));
                }
                Body::Typedef(Declaration {
                    base: Base::Named(path),
                    pointer: None,
                    sizes,
                    ..
                }) if sizes.is_empty() => id = self.types.find(&definition.namespace, path)?,
                _ => return None,
            }
        }
        None
    }

    fn declared_type(&mut self, declaration: &Declaration, scope: &Scope<'_>) -> Type {
        if let Some(declared) = self.with_header_type(declaration, scope) {
            // Its parts are not looked up in headers again: two types that name each
            // other would not end.
            self.within_header_type = true;
            let ty = self.declared_type(&declared, scope);
            self.within_header_type = false;
            return ty;
        }
        let mut sizes = declaration.sizes.as_slice();
        let base = match &declaration.base {
            Base::Void => return self.sized(Type::AnyPointer, sizes, scope),
            Base::Opaque | Base::String => match self.bytes(declaration, &mut sizes, scope) {
                Some(ty) => ty,
                None => return Type::Primitive(Primitive::Int),
            },
            other => self.base(other, scope),
        };
        let base = match declaration.pointer {
            Some(_) => Type::Pointer(Box::new(base)),
            None => base,
        };
        self.sized(base, sizes, scope)
    }

    /// Adds the dimensions to an element's type, the last written being the innermost.
    fn sized(&mut self, element: Type, sizes: &[Size], scope: &Scope<'_>) -> Type {
        if let (Some(Size::Variable(_, span)), true) = (
            sizes.iter().find(|size| matches!(size, Size::Variable(..))),
            sizes.len() > 1,
        ) {
            let hint = "name the element with a typedef and declare an array of that";
            let message = "`<>` cannot be combined with other dimensions";
            self.report
                .error(Diagnostic::new(*span, message).hint(hint));
            return element;
        }
        let mut ty = element;
        for size in sizes.iter().rev() {
            ty = match size {
                Size::Fixed(value) => Type::Array(Box::new(ty), self.size(value, scope)),
                Size::Variable(bound, _) => {
                    let bound = bound.as_ref().map(|value| self.size(value, scope));
                    Type::Sequence(Box::new(ty), bound)
                }
            };
        }
        ty
    }

    /// `opaque x[n]`, `opaque x<n>`, `string x<n>`: the last size belongs to the bytes themselves.
    fn bytes(
        &mut self,
        declaration: &Declaration,
        sizes: &mut &[Size],
        scope: &Scope<'_>,
    ) -> Option<Type> {
        let name = &declaration.name.text;
        let string = matches!(declaration.base, Base::String);
        let Some((last, outer)) = sizes.split_last() else {
            let (kind, hint) = match string {
                true => (
                    "string",
                    format!("write `string {name}<>`, or a bound in the brackets"),
                ),
                false => (
                    "opaque",
                    format!("write `opaque {name}[n]` or `opaque {name}<n>`"),
                ),
            };
            let message = format!("`{kind}` needs a size");
            let error = Diagnostic::new(declaration.name.span, message);
            self.report.error(error.hint(hint));
            return None;
        };
        *sizes = outer;
        let plain = matches!((last, string), (Size::Fixed(_), false));
        if declaration.pointer.is_some() || !(plain || outer.is_empty()) {
            let message =
                "strings and opaque bytes are not combined with stars or other dimensions";
            let hint = "name the bytes with a typedef first";
            let error = Diagnostic::new(declaration.name.span, message);
            self.report.error(error.hint(hint));
            return None;
        }
        match (last, string) {
            (Size::Fixed(value), false) => Some(Type::Opaque(self.size(value, scope))),
            (Size::Fixed(value), true) => {
                let message = "a string has a bound, not a fixed length";
                let hint = format!("write `string {name}<n>`");
                self.report
                    .error(Diagnostic::new(span_of(value), message).hint(hint));
                None
            }
            (Size::Variable(bound, _), _) => {
                let bound = bound.as_ref().map(|value| self.size(value, scope));
                Some(match string {
                    true => Type::String(bound),
                    false => Type::OpaqueVar(bound),
                })
            }
        }
    }

    /// A use of a C header's type, with what the type is declared to be in its place; None: the
    /// name is not such a type, or the file defines it itself.
    fn with_header_type(&mut self, used: &Declaration, scope: &Scope<'_>) -> Option<Declaration> {
        let Base::Named(path) = &used.base else {
            return None;
        };
        let [name] = path.parts.as_slice() else {
            return None;
        };
        let known = self.header_types.get(name)?;
        if self.within_header_type || self.types.find(scope.namespace, path).is_some() {
            return None;
        }
        let plain = known.pointer.is_none() && known.sizes.is_empty();
        if plain {
            let base = known.base.clone();
            return Some(Declaration {
                base,
                ..used.clone()
            });
        }
        if used.pointer.is_some() || !used.sizes.is_empty() {
            let message = format!("`{name}` is not combined with stars or other dimensions");
            let hint = format!("name it first: `typedef {name} my_{name};`");
            let error = Diagnostic::new(used.name.span, message);
            self.report.error(error.hint(hint));
        }
        let name = used.name.clone();
        Some(Declaration {
            name,
            ..known.clone()
        })
    }

    fn size(&mut self, value: &Value, scope: &Scope<'_>) -> u32 {
        if let Value::Named(path) = value {
            if self.types.find(scope.namespace, path).is_some()
                && !self.constants.is_constant(path, scope.namespace)
            {
                let name = path.parts.join("::");
                let message = format!("`{name}` is a type; a size must be a constant");
                self.report.error(Diagnostic::new(path.span, message));
                return 1;
            }
        }
        let number = self.constants.value(value, scope.namespace, self.report);
        match u32::try_from(number) {
            Ok(size) if size > 0 => size,
            _ => {
                let message = format!("the size {number} is out of range");
                let hint = "a size is from 1 to 4294967295";
                self.report
                    .error(Diagnostic::new(span_of(value), message).hint(hint));
                1
            }
        }
    }

    fn body(&mut self, base: &Base, scope: &Scope<'_>) -> Option<DefBody> {
        match base {
            Base::Enum(members) => Some(DefBody::Enum(self.members(members))),
            Base::Struct(fields) => Some(DefBody::Struct(self.fields(fields, scope))),
            Base::Union(body) => Some(DefBody::Union(Box::new(self.union(body, scope)))),
            _ => None,
        }
    }

    fn base(&mut self, base: &Base, scope: &Scope<'_>) -> Type {
        match base {
            Base::Primitive(primitive) => return Type::Primitive(*primitive),
            Base::Named(path) => return self.named(path, scope),
            _ => {}
        }
        let Some(body) = self.body(base, scope) else {
            unreachable!("bytes() takes opaque and string");
        };
        let span = body_span(&body);
        let id = DefId(self.first_nested + self.nested.len());
        let clash = self.types.add(scope.namespace, &scope.outer, id, span);
        if let Some(first) = clash {
            let message = format!(
                "the body here would be named `{}`, which is taken",
                scope.outer
            );
            let error = Diagnostic::new(span, message).related(first, "by this definition");
            self.report.error(error);
        }
        self.nested.push(Def {
            name: scope.outer.clone(),
            namespace: scope.namespace.to_vec(),
            doc: None,
            file: scope.file,
            span,
            held_in: None,
            body,
        });
        Type::Named(id)
    }

    fn named(&mut self, path: &Path, scope: &Scope<'_>) -> Type {
        if let Some(id) = self.types.find(scope.namespace, path) {
            return Type::Named(id);
        }
        if let Some(primitive) = names::other_name(path) {
            return Type::Primitive(primitive);
        }
        let error = if self.constants.is_constant(path, scope.namespace) {
            let message = format!("`{}` is a constant, not a type", path.parts.join("::"));
            Diagnostic::new(path.span, message)
        } else {
            names::unknown_type(path, &self.types)
        };
        self.report.error(error);
        Type::Primitive(Primitive::Int)
    }
}

fn by_name(members: &[Member]) -> HashMap<String, i32> {
    members
        .iter()
        .map(|member| (member.name.clone(), member.value))
        .collect()
}

/// The first name of a value, in the order of the names so that it is always the same.
fn name_of(members: &HashMap<String, i32>, value: i64) -> Option<String> {
    let same = members
        .iter()
        .filter(|(_, &number)| i64::from(number) == value);
    same.map(|(name, _)| name.clone()).min()
}

fn span_of(value: &Value) -> Span {
    match value {
        Value::Int(_, span) => *span,
        Value::Named(path) => path.span,
    }
}

/// A scope inside an anonymous body: its first name.
fn body_span(body: &DefBody) -> Span {
    match body {
        DefBody::Enum(members) => members[0].span,
        DefBody::Struct(fields) => fields[0].span,
        DefBody::Union(union) => union.discriminant.span,
        DefBody::Const(_) | DefBody::Alias(_) => unreachable!("no anonymous body"),
    }
}
