//! The values that a function of a type returns instead of its own.

use syn::{GenericArgument, PathArguments, ReturnType, Type, TypePath, TypeReference};

/// The texts of the values, none for a type of which no value is known.
pub fn of(output: &ReturnType) -> Vec<String> {
    match output {
        ReturnType::Default => vec![String::new()],
        ReturnType::Type(_, output) => of_type(output),
    }
}

fn of_type(output: &Type) -> Vec<String> {
    match output {
        Type::Path(path) => of_path(path),
        Type::Reference(TypeReference {
            elem,
            mutability: None,
            ..
        }) => match &**elem {
            Type::Path(path) if path.path.is_ident("str") => texts(&["\"\""]),
            Type::Slice(_) => texts(&["&[]"]),
            _ => vec![],
        },
        Type::Tuple(tuple) if tuple.elems.is_empty() => texts(&["()"]),
        _ => vec![],
    }
}

fn of_path(path: &TypePath) -> Vec<String> {
    let Some(last) = path.path.segments.last() else {
        return vec![];
    };
    match last.ident.to_string().as_str() {
        "bool" => texts(&["true", "false"]),
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" | "i32" | "i64" => texts(&["0", "1"]),
        "f64" => texts(&["0.0", "1.0"]),
        "String" => texts(&["String::new()"]),
        "Vec" => texts(&["Vec::new()"]),
        "Option" => texts(&["None"]),
        "Result" => match &last.arguments {
            PathArguments::AngleBracketed(list) => match list.args.first() {
                Some(GenericArgument::Type(inner)) => of_type(inner)
                    .iter()
                    .map(|value| format!("Ok({value})"))
                    .collect(),
                _ => vec![],
            },
            _ => vec![],
        },
        _ => vec![],
    }
}

fn texts(values: &[&str]) -> Vec<String> {
    values.iter().map(|value| value.to_string()).collect()
}
