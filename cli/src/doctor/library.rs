//! Shared libraries, as the loader would find them: LD_LIBRARY_PATH, the loader's cache, the
//! system's folders.

use std::path::{Path, PathBuf};

use super::check::Finding;
use super::subject::{variable, Subject};

const CACHE: &str = "/etc/ld.so.cache";
const FOLDERS: [&str; 4] = ["/lib64", "/usr/lib64", "/lib", "/usr/lib"];

pub fn openssl(_: &Subject) -> Finding {
    match find("libssl.so.3") {
        Some(file) => Finding::ok(file.display().to_string()),
        None => Finding::note(
            "libssl.so.3 is not found: iws:// is UNIMPLEMENTED in C, C++, Fortran and Python",
            "install OpenSSL 3 (Debian: libssl3), or name its folder in LD_LIBRARY_PATH",
        ),
    }
}

pub fn client_library(_: &Subject) -> Finding {
    let Some(file) = find("libinterweave.so.0") else {
        return Finding::skipped(
            "libinterweave.so.0 is not among the system's libraries; Python's package has its own",
        );
    };
    let own = env!("CARGO_PKG_VERSION");
    let text = file.display();
    match version_of(&file) {
        None => Finding::ok(format!("{text}, whose name does not say its version")),
        Some(version) if version == own => Finding::ok(format!("{text}, version {version}")),
        Some(version) => Finding::note(
            format!("{text} is of version {version}, and this program of {own}"),
            "install both from one release, or see docs/versions.md for what works together",
        ),
    }
}

/// The version in the name of the file behind the links: `libinterweave.so.0.1.0`.
fn version_of(file: &Path) -> Option<String> {
    let real = std::fs::canonicalize(file).ok()?;
    let name = real.file_name()?.to_str()?;
    let version = name.strip_prefix("libinterweave.so.")?;
    (version.matches('.').count() == 2).then(|| version.to_string())
}

fn find(name: &str) -> Option<PathBuf> {
    let named = variable("LD_LIBRARY_PATH").unwrap_or_default();
    let named = named.split(':').filter(|folder| !folder.is_empty());
    let in_named = named.map(|folder| Path::new(folder).join(name));
    let cache = std::fs::read(CACHE).unwrap_or_default();
    let in_cache = cached(&cache, name).into_iter();
    let in_folders = FOLDERS.map(|folder| Path::new(folder).join(name));
    let mut all = in_named.chain(in_cache).chain(in_folders);
    all.find(|file| file.exists())
}

/// The paths in the loader's cache that end with the name. The cache holds them as texts that end
/// with a zero byte.
fn cached(cache: &[u8], name: &str) -> Vec<PathBuf> {
    let texts = cache.split(|&byte| byte == 0);
    let paths = texts.filter_map(|text| std::str::from_utf8(text).ok());
    let wanted = format!("/{name}");
    let paths = paths.filter(|path| path.starts_with('/') && path.ends_with(&wanted));
    paths.map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loaders_cache_is_searched_for_whole_names() {
        let cache =
            b"\x01\xff\0libssl.so.3\0/usr/lib/libssl.so.3\0/x/notlibssl.so.3\0/l/libssl.so.30";
        let found = cached(cache, "libssl.so.3");
        assert_eq!(found, [PathBuf::from("/usr/lib/libssl.so.3")]);
        assert!(cached(b"", "libssl.so.3").is_empty());
    }
}
