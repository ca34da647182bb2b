//! Patterns of segments' paths, as rules have them [RULE-4]: `*` stands for any characters but `/`,
//! and a component `**` for any number of components.

/// Whether a path is a pattern.
pub fn is_pattern(path: &str) -> bool {
    path.contains('*')
}

/// The beginning that all paths have which the pattern matches.
pub fn fixed_part(pattern: &str) -> &str {
    let end = pattern.find('*').unwrap_or(pattern.len());
    let fixed = &pattern[..end];
    // `/lab/**` also matches /lab.
    match pattern[end..].starts_with("**") && fixed.len() > 1 {
        true => fixed.strip_suffix('/').unwrap_or(fixed),
        false => fixed,
    }
}

pub fn matches(pattern: &str, path: &str) -> bool {
    let pattern: Vec<&str> = pattern.split('/').collect();
    let path: Vec<&str> = path.split('/').collect();
    // fits[j]: the components of the pattern so far match the first j of the path.
    let mut fits = vec![false; path.len() + 1];
    fits[0] = true;
    for part in pattern {
        let mut next = vec![false; path.len() + 1];
        if part == "**" {
            let first = fits.iter().position(|&fit| fit).unwrap_or(next.len());
            next[first..].fill(true);
        } else {
            for (at, component) in path.iter().enumerate() {
                next[at + 1] = fits[at] && component_matches(part, component);
            }
        }
        fits = next;
    }
    fits[path.len()]
}

fn component_matches(pattern: &str, text: &str) -> bool {
    let Some((begin, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(mut text) = text.strip_prefix(begin) else {
        return false;
    };
    let parts: Vec<&str> = rest.split('*').collect();
    let (last, middle) = parts.split_last().expect("a split has a part");
    for part in middle {
        let Some(at) = text.find(part) else {
            return false;
        };
        text = &text[at + part.len()..];
    }
    text.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stays_within_a_component_and_two_do_not() {
        for (pattern, path, expected) in [
            ("/a", "/a", true),
            ("/a", "/ab", false),
            ("/a*", "/ab", true),
            ("/a*", "/a", true),
            ("/a*", "/a/b", false),
            ("/*/b", "/a/b", true),
            ("/*/b", "/b", false),
            ("/a/**", "/a", true),
            ("/a/**", "/a/b/c", true),
            ("/a/**", "/ab", false),
            ("/**/c", "/a/b/c", true),
            ("/**/c", "/c", true),
            ("/**/c/**", "/a/c/d/e", true),
            ("/**", "/", true),
            ("/*a*b*", "/xaybz", true),
            ("/*a*b*", "/xbya", false),
            ("/a*a", "/a", false),
            ("/a**b", "/axb", true),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn every_match_begins_with_the_fixed_part() {
        for (pattern, fixed) in [
            ("/a/*", "/a/"),
            ("/a/**", "/a"),
            ("/**", "/"),
            ("/fleet*", "/fleet"),
            ("/a**", "/a"),
        ] {
            assert_eq!(fixed_part(pattern), fixed);
        }
    }

    #[test]
    fn many_stars_take_no_long_time() {
        let pattern = "/*a".repeat(100) + &"/**".repeat(100) + &"*a".repeat(200);
        assert!(!matches(
            &pattern,
            &("/".to_string() + &"a/".repeat(400) + &"a".repeat(800) + "b")
        ));
    }
}
