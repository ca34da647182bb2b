//! In which folders below --out the files generated in one run are.
//!
//! A file is included by a path, and what is generated of the one must find what is generated of
//! the other. So where a given file includes another given one by a path with folders, both keep
//! their folders, from the directory that this path begins at; the others are in --out itself.
//! Includes are written from where the including file is.

use crate::compile::CompileOptions;
use crate::diagnostics::Report;
use crate::frontend::{Include, Preprocessor};
use crate::source::SourceMap;
use std::collections::{BTreeSet, HashMap};
use std::path::{Component, Path, PathBuf};

/// The folder of each given file, by its real path.
#[derive(Debug, Default)]
pub struct Layout {
    folders: HashMap<PathBuf, PathBuf>,
}

impl Layout {
    /// Reads the given files for what they include; what is wrong with them is told when they are
    /// compiled.
    pub fn of(options: &CompileOptions) -> Layout {
        let real = |path: &PathBuf| path.canonicalize().ok();
        let given: BTreeSet<PathBuf> = options.files.iter().filter_map(real).collect();
        let mut bases = BTreeSet::new();
        for file in &options.files {
            let (mut sources, mut report) = (SourceMap::default(), Report::default());
            let (dirs, defines) = (&options.include_dirs, &options.defines);
            let mut preprocessor = Preprocessor::new(&mut sources, &mut report, dirs, defines);
            preprocessor.root(file);
            let (_, includes) = preprocessor.finish();
            let within = |include: &&Include| {
                let to = sources.path(include.to).canonicalize();
                has_folders(&include.written) && to.is_ok_and(|to| given.contains(&to))
            };
            let found = includes.iter().filter(within);
            bases.extend(found.filter_map(|include| real_folder(&include.base)));
        }
        let folders = given.into_iter().map(|file| {
            let folder = file.parent().unwrap_or(Path::new(""));
            let mut kept = bases
                .iter()
                .filter_map(|base| folder.strip_prefix(base).ok());
            // The outermost comes first.
            let kept = kept.next().unwrap_or(Path::new("")).to_path_buf();
            (file, kept)
        });
        Layout {
            folders: folders.collect(),
        }
    }

    /// The folder of what is generated of a file; None: the file is not among those given.
    pub fn folder(&self, file: &Path) -> Option<&Path> {
        let folder = self.folders.get(&file.canonicalize().ok()?)?;
        Some(folder)
    }
}

/// A path down from a directory, not one up or from the root.
fn has_folders(written: &str) -> bool {
    let mut parts = Path::new(written).components();
    let down = parts.all(|part| matches!(part, Component::Normal(_)));
    down && written.contains('/')
}

fn real_folder(folder: &Path) -> Option<PathBuf> {
    let here = folder.as_os_str().is_empty();
    let folder = if here { Path::new(".") } else { folder };
    folder.canonicalize().ok()
}

/// The way from one folder to a file in another, with slashes.
pub fn way(from: &Path, folder: &Path, file: &str) -> String {
    let (from, to): (Vec<_>, Vec<_>) = (from.iter().collect(), folder.iter().collect());
    let same = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let down = to[same..]
        .iter()
        .map(|part| part.to_string_lossy().into_owned());
    let up = from[same..].iter().map(|_| "..".to_string());
    let parts: Vec<String> = up.chain(down).chain([file.to_string()]).collect();
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_leads_up_and_down() {
        let way = |from: &str, to: &str| way(Path::new(from), Path::new(to), "x");
        assert_eq!(way("", ""), "x");
        assert_eq!(way("", "a/b"), "a/b/x");
        assert_eq!(way("a/b", "a/b"), "x");
        assert_eq!(way("a/b", "a/c"), "../c/x");
        assert_eq!(way("a/b", ""), "../../x");
    }
}
