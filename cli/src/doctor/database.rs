//! A store on PostgreSQL: what the start of a server checks, asked for by `doctor`.

use interweave_store_postgres::{Checked, PostgresStore, Target};

use super::check::{Check, Finding};
use super::subject::Subject;

pub const CHECKS: &[Check] = &[
    Check {
        name: "database",
        looks_at: "whether the database lets this user in",
        run: database,
    },
    Check {
        name: "version",
        looks_at: "the version of PostgreSQL",
        run: |subject| checked(subject, "version"),
    },
    Check {
        name: "primary",
        looks_at: "whether it is a primary",
        run: |subject| checked(subject, "primary"),
    },
    Check {
        name: "fsync",
        looks_at: "fsync: without it a loss of power takes what was acknowledged",
        run: |subject| checked(subject, "fsync"),
    },
    Check {
        name: "full-page-writes",
        looks_at: "full_page_writes: without it a loss of power tears pages",
        run: |subject| checked(subject, "full-page-writes"),
    },
    Check {
        name: "data-checksums",
        looks_at: "data_checksums: without them damage is not noticed",
        run: |subject| checked(subject, "data-checksums"),
    },
    Check {
        name: "synchronous-commit",
        looks_at: "synchronous_commit: whether commits wait for the standby",
        run: |subject| checked(subject, "synchronous-commit"),
    },
    Check {
        name: "standby",
        looks_at: "whether a synchronous standby is attached",
        run: |subject| checked(subject, "standby"),
    },
    Check {
        name: "standby-names",
        looks_at: "whether synchronous_standby_names lets a program that copies the log count",
        run: |subject| checked(subject, "standby-names"),
    },
    Check {
        name: "read-write",
        looks_at: "default_transaction_read_only: whether this user may write",
        run: |subject| checked(subject, "read-write"),
    },
    Check {
        name: "pooler",
        looks_at: "whether a session keeps its process",
        run: |subject| checked(subject, "pooler"),
    },
    Check {
        name: "schema",
        looks_at: "the version of the store's tables",
        run: |subject| checked(subject, "schema"),
    },
    Check {
        name: "timeline",
        looks_at: "whether the database is older than what the store has seen",
        run: |subject| checked(subject, "timeline"),
    },
];

/// A database, and whether its store is to have one copy.
pub struct Database {
    pub url: String,
    pub is_alone: bool,
}

impl Database {
    /// Does all checks. An error says why none could be done.
    pub fn inspect(&self) -> Result<Vec<Checked>, String> {
        let target = Target::parse(&self.url)?;
        let inspected = PostgresStore::inspect(&target, self.is_alone);
        inspected.map_err(|error| format!("{}: {error}", target.name()))
    }
}

fn database(subject: &Subject) -> Finding {
    match subject.inspected() {
        None => Finding::skipped("the store is not a database"),
        Some(Ok(_)) => Finding::ok("it answers"),
        Some(Err(error)) => Finding::problem(
            error,
            "start the database, or name it as in --store postgres://USER@HOST/DATABASE; the \
             password stands in the file that PGPASSFILE names",
        ),
    }
}

fn checked(subject: &Subject, name: &str) -> Finding {
    let all = match subject.inspected() {
        None => return Finding::skipped("the store is not a database"),
        Some(Err(_)) => return Finding::skipped("the database does not answer"),
        Some(Ok(all)) => all,
    };
    match all.iter().find(|checked| checked.name == name) {
        None => Finding::skipped("another check has to be mended first"),
        Some(Checked {
            found,
            mend: Some(mend),
            ..
        }) => Finding::problem(found, mend),
        Some(Checked { found, .. }) => Finding::ok(found),
    }
}
