//! For whom each rule and limit is: their subjects, and the subjects of each identity.

use std::collections::HashMap;

use super::parse::{Statements, Who};
use crate::{FileError, Identity};

/// A decision walks the paths of each subject, so that an identity must not have too many.
const MAX_GROUPS_OF_ONE: usize = 32;

/// An identity, a group or `*`, if a rule or a limit is for it: numbers from 0.
pub struct Subjects {
    pub of_rules: Vec<u32>,
    pub of_limits: Vec<u32>,
    pub of_identities: HashMap<Identity, Box<[u32]>>,
    /// Of identities that the file does not name.
    pub of_others: Box<[u32]>,
    pub count: usize,
}

pub fn subjects(statements: &Statements) -> Result<Subjects, FileError> {
    let mut count = 0;
    let mut next = || {
        count += 1;
        count - 1
    };
    let mut everybody = None;
    let mut groups: Vec<Option<u32>> = vec![None; statements.groups.len()];
    let mut identities: HashMap<Identity, u32> = HashMap::new();
    let mut subject_of = |who: &Who| match who {
        Who::Everybody => *everybody.get_or_insert_with(&mut next),
        Who::Group(group) => *groups[*group].get_or_insert_with(&mut next),
        Who::Identity(identity) => match identities.get(identity) {
            Some(&subject) => subject,
            None => *identities.entry(identity.clone()).or_insert_with(&mut next),
        },
    };
    let rules = statements.rules.iter();
    let of_rules = rules.map(|rule| subject_of(&rule.who)).collect();
    let limits = statements.limits.iter();
    let of_limits = limits.map(|(who, _)| subject_of(who)).collect();
    let mut of_identities: HashMap<Identity, Vec<u32>> = HashMap::new();
    for (place, subject) in groups.iter().enumerate() {
        if let Some(subject) = *subject {
            add_members(statements, place, subject, &mut of_identities)?;
        }
    }
    for (identity, subject) in identities {
        of_identities.entry(identity).or_default().push(subject);
    }
    let with_everybody = |(identity, mut subjects): (Identity, Vec<u32>)| {
        subjects.extend(everybody);
        (identity, subjects.into_boxed_slice())
    };
    Ok(Subjects {
        of_rules,
        of_limits,
        of_identities: of_identities.into_iter().map(with_everybody).collect(),
        of_others: everybody.into_iter().collect(),
        count: count as usize,
    })
}

/// Gives the subject to each identity of the group and of the groups in it.
///
/// All groups of a file together cost little: each word of a group is visited for at most
/// MAX_GROUPS_OF_ONE subjects, because the identities below it get a subject at each visit.
fn add_members(
    statements: &Statements,
    group: usize,
    subject: u32,
    of_identities: &mut HashMap<Identity, Vec<u32>>,
) -> Result<(), FileError> {
    let mut seen = std::collections::HashSet::from([group]);
    let mut open = vec![group];
    while let Some(at) = open.pop() {
        for identity in &statements.groups[at].identities {
            if !of_identities.contains_key(identity) {
                of_identities.insert(identity.clone(), Vec::new());
            }
            let Some(subjects) = of_identities.get_mut(identity) else {
                continue;
            };
            if subjects.last() == Some(&subject) {
                continue;
            }
            if subjects.len() == MAX_GROUPS_OF_ONE {
                let text = format!(
                    "`{identity}` is in more than {MAX_GROUPS_OF_ONE} groups that rules are for; \
                     write rules for fewer groups"
                );
                return Err(FileError::at(statements.groups[group].line, b"", 0, text));
            }
            subjects.push(subject);
        }
        open.extend(
            statements.groups[at]
                .groups
                .iter()
                .filter(|&&inner| seen.insert(inner)),
        );
    }
    Ok(())
}
