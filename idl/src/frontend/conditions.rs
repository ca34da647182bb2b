//! The conditions of `#if` and `#elif`, and constant expressions: C's integer operators.

use super::preprocessor::Macro;
use super::token::{Tok, Token};
use std::collections::HashMap;

/// Nested parentheses and macros beyond this are a mistake.
const MAX_DEPTH: usize = 64;

/// Binary operators by precedence, weakest first.
const LEVELS: [&[&str]; 9] = [
    &["||"],
    &["&&"],
    &["|"],
    &["&"],
    &["==", "!="],
    &["<", ">", "<=", ">="],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

/// The value of a condition. As in C, a word that is not a macro counts as 0.
pub(super) fn evaluate(tokens: &[Token], macros: &HashMap<String, Macro>) -> Result<i128, String> {
    evaluate_nested(tokens, macros, 0)
}

fn evaluate_nested(
    tokens: &[Token],
    macros: &HashMap<String, Macro>,
    depth: usize,
) -> Result<i128, String> {
    let mut reader = Reader {
        tokens,
        at: 0,
        macros,
        depth,
    };
    let value = reader.binary(0)?;
    match reader.peek() {
        None => Ok(value),
        Some(_) => Err("the condition does not end where it should".into()),
    }
}

struct Reader<'a> {
    tokens: &'a [Token],
    at: usize,
    macros: &'a HashMap<String, Macro>,
    depth: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<&Tok> {
        self.tokens.get(self.at).map(|token| &token.tok)
    }

    fn accept(&mut self, symbol: &str) -> bool {
        let found = matches!(self.peek(), Some(Tok::Symbol(s)) if *s == symbol);
        self.at += usize::from(found);
        found
    }

    fn binary(&mut self, level: usize) -> Result<i128, String> {
        let Some(operators) = LEVELS.get(level) else {
            return self.unary();
        };
        let mut left = self.binary(level + 1)?;
        while let Some(operator) = operators.iter().find(|operator| self.accept(operator)) {
            let right = self.binary(level + 1)?;
            left = apply(operator, left, right)?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<i128, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("the condition is nested too deeply".into());
        }
        let value = if self.accept("!") {
            i128::from(self.unary()? == 0)
        } else if self.accept("-") {
            -self.unary()?
        } else if self.accept("+") {
            self.unary()?
        } else if self.accept("(") {
            let value = self.binary(0)?;
            if !self.accept(")") {
                return Err("the condition lacks a `)`".into());
            }
            value
        } else {
            self.primary()?
        };
        self.depth -= 1;
        Ok(value)
    }

    fn primary(&mut self) -> Result<i128, String> {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        match token.map(|token| token.tok) {
            Some(Tok::Int(value)) => Ok(value),
            Some(Tok::Word(word)) if word == "defined" => self.defined(),
            Some(Tok::Word(word)) => match self.macros.get(&word) {
                Some(found) => evaluate_nested(&found.body, self.macros, self.depth),
                None => Ok(0),
            },
            Some(_) | None => Err("the condition lacks a value".into()),
        }
    }

    fn defined(&mut self) -> Result<i128, String> {
        let parenthesis = self.accept("(");
        let Some(Tok::Word(name)) = self.peek() else {
            return Err("`defined` wants a name".into());
        };
        let found = self.macros.contains_key(name);
        self.at += 1;
        if parenthesis && !self.accept(")") {
            return Err("`defined` lacks a `)`".into());
        }
        Ok(i128::from(found))
    }
}

fn apply(operator: &str, left: i128, right: i128) -> Result<i128, String> {
    let overflow = || format!("`{operator}` overflows");
    let truth = |value: bool| Ok(i128::from(value));
    match operator {
        "||" => truth(left != 0 || right != 0),
        "&&" => truth(left != 0 && right != 0),
        "|" => Ok(left | right),
        "&" => Ok(left & right),
        "==" => truth(left == right),
        "!=" => truth(left != right),
        "<" => truth(left < right),
        ">" => truth(left > right),
        "<=" => truth(left <= right),
        ">=" => truth(left >= right),
        "<<" if (0..64).contains(&right) => left.checked_mul(1 << right).ok_or_else(overflow),
        ">>" if (0..64).contains(&right) => Ok(left >> right),
        "+" => left.checked_add(right).ok_or_else(overflow),
        "-" => left.checked_sub(right).ok_or_else(overflow),
        "*" => left.checked_mul(right).ok_or_else(overflow),
        "/" if right != 0 => Ok(left / right),
        "%" if right != 0 => Ok(left % right),
        _ => Err(format!("cannot compute `{operator}` of {left} and {right}")),
    }
}
