//! One component of a rule's path, in which `*` stands for any characters, also none.

/// Whether `text` is what `pattern` says. Each piece between two stars is looked for behind the
/// piece before it and never again, so that the time is that of one search for each piece.
pub fn matches(pattern: &str, text: &str) -> bool {
    let Some((before, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(text) = text.strip_prefix(before) else {
        return false;
    };
    let (pieces, behind) = rest.rsplit_once('*').unwrap_or(("", rest));
    let Some(mut text) = text.strip_suffix(behind) else {
        return false;
    };
    for piece in pieces.split('*').filter(|piece| !piece.is_empty()) {
        let Some(at) = text.find(piece) else {
            return false;
        };
        text = &text[at + piece.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters() {
        let good = [
            ("*", ""),
            ("*", "a"),
            ("a*", "a"),
            ("a*", "abc"),
            ("*c", "abc"),
            ("a*c", "ac"),
            ("a*b*c", "abbc"),
            ("a*b*c", "axbxc"),
            ("**", "x"),
            ("a**b", "ab"),
            ("*b*", "abc"),
            ("*ab*ab*", "abab"),
            ("\u{e4}*", "\u{e4}\u{f6}"),
            ("", ""),
            ("ab", "ab"),
        ];
        for (pattern, text) in good {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        let bad = [
            ("a*", "b"),
            ("a*a", "a"),
            ("ab*ba", "aba"),
            ("a*b*c", "acb"),
            ("*ab*ab*", "aba"),
            ("", "a"),
            ("a", ""),
            ("ab", "abc"),
            ("*b", "abc"),
            ("A*", "abc"),
            ("?*", "abc"),
        ];
        for (pattern, text) in bad {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }
}
