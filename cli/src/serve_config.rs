//! The file of `interweave serve --config FILE`: an option a line, as `name = value`, without the
//! dashes; `#` begins a comment. Its lines become arguments in front of the given ones, so an
//! option means and is refused the same in both; what the command line gives wins.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The arguments of the program with those of the file, if it is a server and is given one.
pub fn with_file(mut arguments: Vec<OsString>) -> Result<Vec<OsString>, String> {
    let is_serve = arguments.get(1).is_some_and(|command| command == "serve");
    let Some(path) = file_in(&arguments).filter(|_| is_serve) else {
        return Ok(arguments);
    };
    let text = std::fs::read_to_string(&path);
    let text = text.map_err(|error| format!("--config {}: {error}", path.display()))?;
    let from_file = lines(&path, &text)?
        .into_iter()
        .filter(|(name, _)| !is_given(&arguments, name))
        .map(|(name, value)| OsString::from(format!("--{name}={value}")))
        .collect::<Vec<_>>();
    arguments.splice(2..2, from_file);
    Ok(arguments)
}

/// Whether a line of a config file gives an option this value unchanged.
pub fn can_say(value: &str) -> bool {
    let line = format!("store = {value}\n");
    lines(Path::new(""), &line).is_ok_and(|options| options == [("store", value)])
}

fn file_in(arguments: &[OsString]) -> Option<PathBuf> {
    let at = arguments.iter().position(|a| a == "--config");
    let follows = at.and_then(|at| arguments.get(at + 1)).cloned();
    let joined = || {
        let mut texts = arguments.iter().filter_map(|a| a.to_str());
        texts
            .find_map(|a| a.strip_prefix("--config="))
            .map(OsString::from)
    };
    follows.or_else(joined).map(PathBuf::from)
}

fn is_given(arguments: &[OsString], name: &str) -> bool {
    let option = format!("--{name}");
    let joined = format!("{option}=");
    let mut texts = arguments.iter().filter_map(|a| a.to_str());
    texts.any(|a| a == option || a.starts_with(&joined))
}

/// A comment begins with a `#` at the beginning of a word: a path may have one within.
fn without_comment(line: &str) -> &str {
    let begins = |&(at, _): &(usize, &str)| at == 0 || line[..at].ends_with([' ', '\t']);
    let comment = line.match_indices('#').find(begins);
    comment.map_or(line, |(at, _)| &line[..at])
}

/// Whether the text of a token begins within the line. Such a line is not shown [ACC-7].
fn has_token(line: &str) -> bool {
    line.match_indices("iw_").any(|(at, begin)| {
        let (id, rest) = line[at + begin.len()..].split_once('_').unwrap_or_default();
        let hex = |text: &str| text.bytes().take_while(u8::is_ascii_hexdigit).count();
        id.len() == 12 && hex(id) == 12 && hex(rest) >= 12
    })
}

/// Names and values.
fn lines<'a>(path: &Path, text: &'a str) -> Result<Vec<(&'a str, &'a str)>, String> {
    let mut options = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = without_comment(line).trim();
        if line.is_empty() {
            continue;
        }
        if has_token(line) {
            return Err(format!(
                "{}:{}: this line has a token's text; `tokens = FILE` names the file that \
                 `interweave token new` writes, and clients have the text",
                path.display(),
                index + 1
            ));
        }
        let option = line.split_once('=').map(|(a, b)| (a.trim(), b.trim()));
        match option.filter(|(name, _)| !name.is_empty() && *name != "config") {
            Some(option) => options.push(option),
            None => {
                return Err(format!(
                    "{}:{}: `{line}` is not an option; write `name = value`, as in `lease = 10`",
                    path.display(),
                    index + 1
                ))
            }
        }
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_options_and_anything_else_is_refused_by_its_line() {
        let text = "# of the lab\nlease = 5\n\nlayout=serial # to compare\nstore = /lab#1\n";
        let path = Path::new("lab.conf");
        let options = [("lease", "5"), ("layout", "serial"), ("store", "/lab#1")];
        assert_eq!(lines(path, text).as_deref(), Ok(&options[..]));
        let refusal = lines(path, "lease = 5\nfast\n").unwrap_err();
        assert!(refusal.starts_with("lab.conf:2: `fast`"), "{refusal}");
        assert!(lines(path, "config = other").is_err());
    }

    #[test]
    fn acc_7_a_token_in_the_wrong_place_is_not_shown() {
        let token = format!("iw_0123456789ab_{}", "c".repeat(64));
        for line in [
            "X",
            "tokens = X",
            "X = 5",
            "token=X",
            "\"X\"",
            "store = /iw_/X",
        ] {
            let line = line.replace('X', &token);
            let refusal = lines(Path::new("lab.conf"), &line).unwrap_err();
            assert!(refusal.starts_with("lab.conf:1: this line has a token's"));
            assert!(!refusal.contains("iw_"), "{refusal}");
        }
        for line in ["store = /iw_store", "store = /iw_0123456789ab_é23456789012"] {
            assert!(lines(Path::new("lab.conf"), line).is_ok(), "{line}");
        }
    }

    #[test]
    fn a_value_that_a_line_would_change_is_known() {
        for good in ["/lab", "/lab#1", "/my lab", "/a=b"] {
            assert!(can_say(good), "{good:?}");
        }
        for other in ["/my #1", "/lab\nlisten = 0.0.0.0:1", "/lab ", "/lab\r"] {
            assert!(!can_say(other), "{other:?}");
        }
    }

    #[test]
    fn the_file_is_found_in_either_form_and_given_options_are_known() {
        let arguments = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        for given in [
            "interweave serve --config a.conf",
            "interweave serve --config=a.conf",
        ] {
            assert_eq!(file_in(&arguments(given)), Some(PathBuf::from("a.conf")));
        }
        let given = arguments("interweave serve --lease=5 --quota 1G");
        assert!(is_given(&given, "lease") && is_given(&given, "quota"));
        assert!(!is_given(&given, "max-hold"));
        assert_eq!(with_file(given.clone()), Ok(given));
    }
}
