//! The file of passwords that PGPASSFILE names, in the form that all clients of PostgreSQL read.

use std::path::{Path, PathBuf};

/// A user, and the database that the user connects to.
#[derive(Debug, Clone, Copy)]
pub struct Login<'a> {
    pub host: &'a str,
    pub port: u16,
    pub database: &'a str,
    pub user: &'a str,
}

/// Returns the password of the first line that fits. None: no line fits.
pub fn password_in(text: &str, login: &Login<'_>) -> Option<String> {
    let port = login.port.to_string();
    let wanted = [login.host, &port, login.database, login.user];
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(fields).find_map(|mut fields| {
        let fits = fields.len() == 5
            && fields
                .iter()
                .zip(wanted)
                .all(|(field, wanted)| field == "*" || field == wanted);
        fits.then(|| fields.pop()).flatten()
    })
}

/// Splits a line at its colons. A backslash takes the next character as it is.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        let last = fields.len() - 1;
        match character {
            ':' if fields.len() < 5 => fields.push(String::new()),
            '\\' => fields[last].extend(characters.next()),
            other => fields[last].push(other),
        }
    }
    fields
}

/// The file that PGPASSFILE names, or ~/.pgpass.
fn path() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let home = || set("HOME").map(|home| PathBuf::from(home).join(".pgpass"));
    set("PGPASSFILE").map(PathBuf::from).or_else(home)
}

/// Looks the password up. None: the file is missing, or none of its lines fits.
pub fn look_up(login: &Login<'_>) -> Result<Option<String>, String> {
    let Some(path) = path() else {
        return Ok(None);
    };
    match std::fs::read_to_string(&path) {
        Ok(text) => {
            check_mode(&path)?;
            Ok(password_in(&text, login))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

/// Refuses a file that other users can read.
fn check_mode(path: &Path) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt;
    let metadata = std::fs::metadata(path);
    let mode = metadata.map_err(|error| format!("{}: {error}", path.display()))?;
    match mode.permissions().mode() & 0o077 {
        0 => Ok(()),
        _ => Err(format!(
            "other users may read the passwords in {0}; run chmod 600 {0}",
            path.display()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOGIN: Login<'_> = Login {
        host: "db.example",
        port: 5432,
        database: "iw",
        user: "server",
    };

    #[test]
    fn the_first_line_that_fits_has_the_password() {
        let text = "# db.example:5432:iw:server:comment\n\
                    other:5432:iw:server:no\n\
                    db.example:*:iw:server:first\n\
                    *:*:*:*:second\n";
        assert_eq!(password_in(text, &LOGIN).as_deref(), Some("first"));
        let elsewhere = Login {
            host: "elsewhere",
            ..LOGIN
        };
        assert_eq!(password_in(text, &elsewhere).as_deref(), Some("second"));
        assert_eq!(password_in("*:*:*:somebody:x\n", &LOGIN), None);
        assert_eq!(password_in("too:short\n\n", &LOGIN), None);
    }

    #[test]
    fn a_backslash_takes_the_next_character_as_it_is() {
        let password = |line| password_in(line, &LOGIN);
        assert_eq!(password(r"*:*:*:*:a\:b\\c").as_deref(), Some(r"a:b\c"));
        assert_eq!(password("*:*:*:*:a:b").as_deref(), Some("a:b"));
        assert_eq!(password(r"*:*:*:*:\").as_deref(), Some(""));
    }
}
