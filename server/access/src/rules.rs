//! The rules file: who may do what to which segments [RULE-1] [RULE-2] [RULE-3].
//!
//! A rule is for a subject: one identity, a group, or everybody. Each subject has a tree of its
//! rules' paths (paths.rs), and each identity of the file has the list of its subjects. So a
//! decision looks at no rule of other identities, and walks a path once.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::{Decision, FileError, Identity, Limits, Operation};
use parse::{Rule, Statements};
use paths::{Paths, Verdict};

mod groups;
mod parse;
mod paths;
mod wildcard;

pub use parse::MAX_RULES_FILE_BYTES;

/// The operations that are about a segment: their numbers come first.
const SEGMENT_OPERATIONS: usize = 5;

/// A whole rules file. A clone costs nothing.
#[derive(Clone)]
pub struct Rules {
    file: Arc<File>,
}

struct File {
    paths: Paths,
    /// The subjects whose rules are for an identity; `*` is among them.
    subjects: HashMap<Identity, Box<[u32]>>,
    /// The subjects of all other identities: `*`, or none.
    of_others: Box<[u32]>,
    /// What each subject's rules say of Metrics and Admin.
    of_server: Vec<[Verdict; 2]>,
    /// What each subject's limits are. Empty: the file has no limit.
    limits: Vec<Limits>,
    lets_anyone_in: bool,
    rules: usize,
}

impl Rules {
    pub fn parse(file: impl AsRef<[u8]>) -> Result<Rules, FileError> {
        let statements = parse::parse(file.as_ref())?;
        let file = Arc::new(File::new(&statements)?);
        Ok(Rules { file })
    }

    /// Returns how many rules there are.
    pub fn count(&self) -> usize {
        self.file.rules
    }

    /// Whether a client that shows nothing may have a session [ACC-4].
    pub fn lets_anyone_in(&self) -> bool {
        self.file.lets_anyone_in
    }

    /// Returns the limits of an identity.
    pub fn limits(&self, identity: &Identity) -> Limits {
        let file = &*self.file;
        let mut limits = Limits::default();
        if file.limits.is_empty() {
            return limits;
        }
        for subject in file.subjects_of(identity) {
            limits.add_all(&file.limits[*subject as usize]);
        }
        limits
    }

    /// Whether the file has a limit of what happens in a second.
    pub fn slow_down(&self) -> bool {
        self.file.limits.iter().any(Limits::slow_down)
    }

    /// Finds the first rule that matches [RULE-1]. `path` is "" for Metrics and Admin.
    pub fn decide(&self, identity: &Identity, operation: Operation, path: &str) -> Decision {
        if !operation.is_of_server() {
            return self.decide_with_reach(identity, operation, path).0;
        }
        let file = &*self.file;
        let number = operation as usize - SEGMENT_OPERATIONS;
        let of = |&subject: &u32| file.of_server[subject as usize][number];
        let verdicts = file.subjects_of(identity).iter().map(of);
        verdicts.min().unwrap_or(Verdict::NONE).decision()
    }

    /// As [`Access::decide_with_reach`](crate::Access::decide_with_reach).
    pub fn decide_with_reach<'a>(
        &self,
        identity: &Identity,
        operation: Operation,
        path: &'a str,
    ) -> (Decision, Option<&'a str>) {
        let file = &*self.file;
        let subjects = file.subjects_of(identity);
        let (verdict, reach) = file.paths.first_match(subjects, operation as usize, path);
        (verdict.decision(), reach)
    }
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rules({} rules)", self.file.rules)
    }
}

impl File {
    fn subjects_of(&self, identity: &Identity) -> &[u32] {
        self.subjects.get(identity).unwrap_or(&self.of_others)
    }

    fn new(statements: &Statements) -> Result<File, FileError> {
        let groups::Subjects {
            of_rules,
            of_limits,
            of_identities,
            of_others,
            count,
        } = groups::subjects(statements)?;
        let mut paths = Paths::new(count);
        let mut of_server = vec![[Verdict::NONE; 2]; count];
        for (rule, &subject) in statements.rules.iter().zip(&of_rules) {
            let verdict = Verdict::of(rule);
            for (place, operation) in [Operation::Metrics, Operation::Admin].iter().enumerate() {
                if rule.is_about(*operation) {
                    let first = &mut of_server[subject as usize][place];
                    *first = verdict.min(*first);
                }
            }
            if let Some(path) = rule.path {
                paths.add(
                    subject,
                    path,
                    |number| rule.is_about(Operation::ALL[number]),
                    verdict,
                );
            }
        }
        paths.finish();
        let mut limits = match statements.limits.is_empty() {
            true => Vec::new(),
            false => vec![Limits::default(); count],
        };
        for ((_, limit), &subject) in statements.limits.iter().zip(&of_limits) {
            limits[subject as usize].add(*limit);
        }
        let anyone = of_identities.get(&Identity::Anyone).unwrap_or(&of_others);
        let is_for_anyone =
            |(rule, subject): (&Rule, &u32)| rule.is_allow && anyone.contains(subject);
        let lets_anyone_in = statements.rules.iter().zip(&of_rules).any(is_for_anyone);
        Ok(File {
            paths,
            subjects: of_identities,
            of_others,
            of_server,
            limits,
            lets_anyone_in,
            rules: statements.rules.len(),
        })
    }
}

#[cfg(test)]
mod random_tests;
#[cfg(test)]
mod tests;
