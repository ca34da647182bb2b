//! Text constants: what the escapes in them stand for.

/// The text that a quoted one means; else what is wrong with it.
pub fn decoded(inner: &str) -> Result<String, String> {
    let mut text = String::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(c) = characters.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        text.push(match characters.next() {
            Some('n') => '\n',
            Some('t') => '\t',
            Some('r') => '\r',
            Some(c @ ('\\' | '"' | '\'')) => c,
            other => {
                let escape = other.map(String::from).unwrap_or_default();
                return Err(format!(
                    "`\\{escape}` is not an escape of a text; \\n, \\t, \\r, \\\\ and \\\" are"
                ));
            }
        });
    }
    Ok(text)
}
