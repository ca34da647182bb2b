//! The places of a Rust source that are changed, and how.
//!
//! An operator becomes its neighbour, a negation goes, and a function returns a value at once. Left
//! alone is what a test sees only when it is compiled, or what is a test: constants, types,
//! patterns, macros (assertions among them), and all that stands under a `cfg`.

use std::ops::Range;

use quote::ToTokens;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, ExprBinary, ExprUnary, UnOp};

use crate::values;

/// A change of one place. Ranges are of the source's bytes.
#[derive(Debug)]
pub struct Change {
    pub line: usize,
    pub function: String,
    pub text: String,
    pub kind: Kind,
}

#[derive(Debug)]
pub enum Kind {
    /// The function whose body begins here returns the value.
    Returns { at: usize, value: String },
    /// `left OLD right` becomes `left NEW right`.
    Operator {
        left: Range<usize>,
        right: Range<usize>,
        new: &'static str,
    },
    /// `!operand` becomes `operand`.
    Negation {
        whole: Range<usize>,
        operand: Range<usize>,
    },
}

/// All changes, an outer one before those within it.
pub fn of(source: &str) -> syn::Result<Vec<Change>> {
    let file = syn::parse_file(source)?;
    let mut finder = Finder::default();
    finder.visit_file(&file);
    Ok(finder.changes)
}

#[derive(Default)]
struct Finder {
    changes: Vec<Change>,
    function: String,
}

impl Finder {
    fn add(&mut self, line: usize, text: String, kind: Kind) {
        let function = self.function.clone();
        self.changes.push(Change {
            line,
            function,
            text,
            kind,
        });
    }

    fn function(
        &mut self,
        attributes: &[syn::Attribute],
        signature: &syn::Signature,
        block: &syn::Block,
    ) {
        // A constant function may be called while the sources are compiled.
        if is_left_out(attributes) || signature.constness.is_some() {
            return;
        }
        let name = signature.ident.to_string();
        let outer = std::mem::replace(&mut self.function, name);
        let at = block.brace_token.span.open().byte_range().end;
        let line = signature.ident.span().start().line;
        let own = block.to_token_stream().to_string();
        for value in values::of(&signature.output) {
            if own == as_body(&value) {
                continue; // it does so already
            }
            let text = match value.as_str() {
                "" => "does nothing".to_owned(),
                value => format!("returns {value}"),
            };
            self.add(line, text, Kind::Returns { at, value });
        }
        visit::visit_block(self, block);
        self.function = outer;
    }
}

impl<'a> Visit<'a> for Finder {
    fn visit_item_mod(&mut self, item: &'a syn::ItemMod) {
        if !is_left_out(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }
    fn visit_item_impl(&mut self, item: &'a syn::ItemImpl) {
        if !is_left_out(&item.attrs) {
            visit::visit_item_impl(self, item);
        }
    }
    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        self.function(&item.attrs, &item.sig, &item.block);
    }
    fn visit_impl_item_fn(&mut self, item: &'a syn::ImplItemFn) {
        self.function(&item.attrs, &item.sig, &item.block);
    }
    fn visit_trait_item_fn(&mut self, item: &'a syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(&item.attrs, &item.sig, block);
        }
    }
    fn visit_local(&mut self, local: &'a syn::Local) {
        if !is_left_out(&local.attrs) {
            visit::visit_local(self, local);
        }
    }
    fn visit_expr_block(&mut self, block: &'a syn::ExprBlock) {
        if !is_left_out(&block.attrs) {
            visit::visit_expr_block(self, block);
        }
    }
    // These are computed when the sources are compiled.
    fn visit_item_const(&mut self, _: &'a syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'a syn::ItemStatic) {}
    fn visit_impl_item_const(&mut self, _: &'a syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'a syn::TraitItemConst) {}
    fn visit_item_enum(&mut self, _: &'a syn::ItemEnum) {}
    fn visit_expr_const(&mut self, _: &'a syn::ExprConst) {}
    fn visit_type(&mut self, _: &'a syn::Type) {}
    fn visit_pat(&mut self, _: &'a syn::Pat) {}
    fn visit_generic_argument(&mut self, _: &'a syn::GenericArgument) {}
    fn visit_expr_repeat(&mut self, repeat: &'a syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
    }

    fn visit_expr_unary(&mut self, unary: &'a ExprUnary) {
        if let UnOp::Not(not) = unary.op {
            let kind = Kind::Negation {
                whole: range(unary),
                operand: range(&*unary.expr),
            };
            self.add(not.span.start().line, "! is gone".to_owned(), kind);
        }
        visit::visit_expr_unary(self, unary);
    }

    fn visit_expr_binary(&mut self, binary: &'a ExprBinary) {
        let has_let = binds(&binary.left) || binds(&binary.right);
        if let Some((old, new)) = neighbour(&binary.op).filter(|_| !has_let) {
            let kind = Kind::Operator {
                left: range(&*binary.left),
                right: range(&*binary.right),
                new,
            };
            let line = binary.op.span().start().line;
            self.add(line, format!("{old} became {new}"), kind);
        }
        visit::visit_expr_binary(self, binary);
    }
}

/// The tokens of a body that is only this value.
fn as_body(value: &str) -> String {
    let body: Result<proc_macro2::TokenStream, _> = format!("{{ {value} }}").parse();
    body.map(|body| body.to_string()).unwrap_or_default()
}

fn range(node: &impl Spanned) -> Range<usize> {
    node.span().byte_range()
}

/// `cfg(test)`, another configuration that is not compiled, or a test.
fn is_left_out(attributes: &[syn::Attribute]) -> bool {
    attributes
        .iter()
        .any(|attribute| attribute.path().is_ident("cfg") || attribute.path().is_ident("test"))
}

/// `a && let b = c` is a condition, not a value.
fn binds(expression: &Expr) -> bool {
    match expression {
        Expr::Let(_) => true,
        Expr::Binary(binary) => binds(&binary.left) || binds(&binary.right),
        _ => false,
    }
}

fn neighbour(operator: &BinOp) -> Option<(&'static str, &'static str)> {
    Some(match operator {
        BinOp::Eq(_) => ("==", "!="),
        BinOp::Ne(_) => ("!=", "=="),
        BinOp::Lt(_) => ("<", "<="),
        BinOp::Gt(_) => (">", ">="),
        BinOp::Le(_) => ("<=", "<"),
        BinOp::Ge(_) => (">=", ">"),
        BinOp::And(_) => ("&&", "||"),
        BinOp::Or(_) => ("||", "&&"),
        BinOp::Add(_) => ("+", "-"),
        BinOp::Sub(_) => ("-", "+"),
        BinOp::Mul(_) => ("*", "+"),
        BinOp::Div(_) => ("/", "*"),
        BinOp::Rem(_) => ("%", "/"),
        BinOp::Shl(_) => ("<<", ">>"),
        BinOp::Shr(_) => (">>", "<<"),
        BinOp::BitAnd(_) => ("&", "|"),
        BinOp::BitOr(_) => ("|", "&"),
        BinOp::AddAssign(_) => ("+=", "-="),
        BinOp::SubAssign(_) => ("-=", "+="),
        BinOp::BitOrAssign(_) => ("|=", "&="),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = r#"
//! a == b
const FIRST: u64 = 1 + 2;
fn is_less(a: &T, b: u64) -> bool {
    assert!(a == b);
    if !a.done && b < 3 {
        return [0; 2 * 4];
    }
    matches!(a, 1 | 2)
}
impl T {
    const fn one() -> u64 { 2 - 1 }
    #[cfg(test)]
    fn seen(&self) -> u64 { 3 - 1 }
    fn take(&mut self) { self.count += 1; }
    fn read(&self) -> io::Result<Option<u64>> { self.file }
    fn close(&self) {}
    fn all(&self) -> Vec<u64> { Vec::new() }
}
#[cfg(test)]
mod tests {
    fn f() -> bool { 1 < 2 }
}
"#;

    #[test]
    fn each_is_one_place_of_code_that_runs() {
        let found: Vec<_> = of(SOURCE)
            .unwrap()
            .into_iter()
            .map(|change| format!("{}: {}: {}", change.line, change.function, change.text))
            .collect();
        assert_eq!(
            found,
            [
                "4: is_less: returns true",
                "4: is_less: returns false",
                "6: is_less: && became ||",
                "6: is_less: ! is gone",
                "6: is_less: < became <=",
                "15: take: does nothing",
                "15: take: += became -=",
                "16: read: returns Ok(None)",
            ]
        );
    }
}
