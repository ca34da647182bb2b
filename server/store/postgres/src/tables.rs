//! The tables of the log, which take turns [STORE-9].
//!
//! Appends go into one table until it is full, and then into one that is empty. A table is emptied
//! as a whole once no record in it is needed. The count of needed records here says when to try;
//! the database's own rows decide, under a lock that no append passes. So an owner that was fenced
//! meanwhile takes nothing from the newer one.

use crate::connection::Connection;
use crate::outcome;
use crate::segments::Uncovered;
use interweave_store::StoreError;
use std::collections::BTreeMap;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;

/// The number of tables, which the schema has.
pub const COUNT: usize = 4;

/// So many rows are moved by one transaction. Each has 256 KiB at most.
const MOVED_ROWS: u64 = 100;

/// A table with so many bytes is full, unless the store is opened with another bound.
pub const FULL_BYTES: u64 = 256 << 20;

#[derive(Debug, Default)]
struct Table {
    /// The bytes of the records that were appended since it was emptied, as far as it is known.
    bytes: u64,
    /// The number of needed records of each segment that has some.
    needed: BTreeMap<u64, u64>,
    /// It has no row.
    is_empty: bool,
}

#[derive(Debug)]
pub struct Tables {
    all: [Table; COUNT],
    /// The tables by their last turn. The last one takes the appends.
    turns: Vec<usize>,
    full_bytes: u64,
}

impl Default for Tables {
    fn default() -> Tables {
        Tables {
            all: Default::default(),
            turns: (1..COUNT).chain([0]).collect(),
            full_bytes: FULL_BYTES,
        }
    }
}

impl Tables {
    /// Begins with what was found. The fewer records of a table are needed, the longer ago its
    /// turn was.
    pub fn begin(&mut self, full_bytes: u64) {
        self.full_bytes = full_bytes;
        let all = &self.all;
        self.turns.sort_by_key(|&table| all[table].bytes);
    }

    /// The table that takes the appends.
    pub fn current(&self) -> usize {
        self.turns[COUNT - 1]
    }

    fn others(&self) -> impl Iterator<Item = usize> + '_ {
        self.turns[..COUNT - 1].iter().copied()
    }

    /// Takes note of records that no checkpoint covers.
    pub fn need<'a>(&mut self, segment: u64, records: impl Iterator<Item = &'a Uncovered>) {
        for record in records {
            let table = &mut self.all[record.table];
            table.bytes += record.bytes;
            table.is_empty = false;
            *table.needed.entry(segment).or_default() += 1;
        }
    }

    /// Takes note of a record that is needed no more.
    pub fn spare(&mut self, segment: u64, record: &Uncovered) {
        let needed = &mut self.all[record.table].needed;
        if let Some(count) = needed.get_mut(&segment) {
            *count -= 1;
            if *count == 0 {
                needed.remove(&segment);
            }
        }
    }

    /// Gives the turn to an empty table, where the current one is full. Returns whether it did.
    pub fn turn(&mut self) -> bool {
        if self.all[self.current()].bytes < self.full_bytes {
            return false;
        }
        let found = self.others().position(|table| self.all[table].is_empty);
        if let Some(index) = found {
            let table = self.turns.remove(index);
            self.turns.push(table);
            self.all[table].is_empty = false;
        }
        found.is_some()
    }

    /// The tables that have rows of which none is needed.
    pub fn spared(&self) -> Vec<usize> {
        let is_spared = |table: &usize| {
            let table = &self.all[*table];
            !table.is_empty && table.needed.is_empty()
        };
        self.others().filter(is_spared).collect()
    }

    /// The tables that nothing but damaged segments keeps from being emptied, as far as is known.
    pub fn stuck(&self, is_damaged: impl Fn(&u64) -> bool) -> Vec<usize> {
        let is_stuck = |table: &usize| {
            let table = &self.all[*table];
            !table.is_empty && table.needed.keys().all(&is_damaged)
        };
        self.others().filter(is_stuck).collect()
    }

    /// Records of the segment lie in another table now.
    pub fn moved(&mut self, segment: u64, from: usize, into: usize) {
        if let Some(count) = self.all[from].needed.remove(&segment) {
            *self.all[into].needed.entry(segment).or_default() += count;
        }
    }

    /// So many bytes were added to the table.
    pub fn add(&mut self, table: usize, bytes: u64) {
        self.all[table].bytes += bytes;
        self.all[table].is_empty = false;
    }

    /// Damaged records of more bytes are not moved, because that would be much work for each turn.
    pub fn most_moved_bytes(&self) -> u64 {
        self.full_bytes / 2
    }

    /// Where the next turn needs a table and none is empty: those of which this owner needs
    /// nothing, by their last turn. Records of other owners' segments may be there.
    pub fn needed_by_others(&self) -> Vec<usize> {
        let is_soon = self.all[self.current()].bytes >= self.full_bytes / 2;
        match is_soon && !self.others().any(|table| self.all[table].is_empty) {
            true => self.spared(),
            false => Vec::new(),
        }
    }

    /// Others' records of more bytes are not moved. Where no table becomes free, the current one
    /// grows until the work is worth it.
    pub fn most_moved_of_others(&self) -> u64 {
        self.full_bytes.max(self.all[self.current()].bytes) / 2
    }

    pub fn emptied(&mut self, table: usize) {
        self.all[table].is_empty = true;
        self.all[table].bytes = 0;
    }

    /// Returns the segments that keep the oldest table from being emptied, where the next turn
    /// needs it. A table with a segment that cannot be saved is left out.
    pub fn pinning(&self, can_be_saved: impl Fn(&u64) -> bool) -> Vec<u64> {
        let is_soon = self.all[self.current()].bytes >= self.full_bytes / 2;
        if !is_soon || self.others().any(|t| self.all[t].needed.is_empty()) {
            return Vec::new();
        }
        let mut segments = self.others().map(|table| self.all[table].needed.keys());
        let found = segments.find(|keys| keys.clone().all(&can_be_saved));
        found.into_iter().flatten().copied().collect()
    }
}

/// Moves the rows of these segments from a table of the log to another one. Returns their bytes;
/// None: there are more, and they stay.
pub async fn move_rows(
    connection: &Connection,
    (from, into): (usize, usize),
    segments: &[u64],
    most_bytes: u64,
) -> Result<Option<u64>, StoreError> {
    connection.run("BEGIN").await?;
    let moved = move_in_transaction(connection, (from, into), segments, most_bytes).await;
    let is_done = matches!(moved, Ok(Some(_)));
    let end = if is_done { "COMMIT" } else { "ROLLBACK" };
    connection.run(end).await.and(moved)
}

async fn move_in_transaction(
    connection: &Connection,
    (from, into): (usize, usize),
    segments: &[u64],
    most_bytes: u64,
) -> Result<Option<u64>, StoreError> {
    let ids: Vec<i64> = segments.iter().map(|&id| id as i64).collect();
    let rows = format!("{{s}}.log_{from} l WHERE segment = ANY($1)");
    let bytes = bytes_of(connection, &rows, &[&ids]).await?;
    if bytes > most_bytes {
        return Ok(None);
    }
    let copy = format!(
        "INSERT INTO {{s}}.log_{into} SELECT * FROM {{s}}.log_{from} WHERE segment = ANY($1)"
    );
    connection.execute(&copy, &[&ids]).await?;
    let delete = format!("DELETE FROM {{s}}.log_{from} WHERE segment = ANY($1)");
    connection.execute(&delete, &[&ids]).await?;
    Ok(Some(bytes))
}

/// The bytes of those rows of a table of the log, which `rows` calls `l`.
async fn bytes_of(
    connection: &Connection,
    rows: &str,
    of: &[&(dyn ToSql + Sync)],
) -> Result<u64, StoreError> {
    let sum = format!(
        "SELECT coalesce(sum(octet_length(l.bytes) + octet_length(l.header)), 0)::bigint \
         FROM {rows}"
    );
    let row = connection.one(&sum, of).await?;
    Ok(row.get::<_, i64>(0) as u64)
}

/// The rows of a table that are needed.
const NEEDED: &str = "{s}.log_{n} l JOIN {s}.segment s ON s.id = l.segment
  WHERE l.number > s.saved AND NOT s.is_removed";

/// Moves the needed rows of a table of the log to another one, whoever owns their segments. Returns
/// their bytes; None: there are more, and they stay. It does so a few rows at a time, and holds
/// nobody up. A row that somebody else moves meanwhile is moved once.
pub async fn move_needed(
    connection: &Connection,
    (from, into): (usize, usize),
    most_bytes: u64,
) -> Result<Option<u64>, StoreError> {
    let needed = NEEDED.replace("{n}", &from.to_string());
    let bytes = bytes_of(connection, &needed, &[]).await?;
    if bytes > most_bytes {
        return Ok(None);
    }
    let some = format!(
        "WITH moved AS (
           DELETE FROM {{s}}.log_{from}
           WHERE ctid = ANY(ARRAY(SELECT l.ctid FROM {needed} LIMIT {MOVED_ROWS}))
           RETURNING *)
         INSERT INTO {{s}}.log_{into} SELECT * FROM moved"
    );
    while connection.execute(&some, &[]).await? == MOVED_ROWS {}
    Ok(Some(bytes))
}

/// Empties a table of the log, if no record in it is needed. False: one is, or others use it.
pub async fn empty(connection: &Connection, table: usize) -> Result<bool, StoreError> {
    let lock = format!("BEGIN; LOCK TABLE {{s}}.log_{table} IN ACCESS EXCLUSIVE MODE NOWAIT");
    let lock = connection.sql(&lock);
    let done = match connection.client.batch_execute(&lock).await {
        Ok(()) => empty_locked(connection, table).await,
        Err(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => Ok(false),
        Err(error) => Err(outcome::failed(&error)),
    };
    let is_done = done.as_ref().is_ok_and(|done| *done);
    let end = if is_done { "COMMIT" } else { "ROLLBACK" };
    connection.run(end).await.and(done)
}

async fn empty_locked(connection: &Connection, table: usize) -> Result<bool, StoreError> {
    let needed = NEEDED.replace("{n}", &table.to_string());
    let select =
        format!("SELECT EXISTS (SELECT FROM {{s}}.log_{table}), EXISTS (SELECT FROM {needed})");
    let found = connection.one(&select, &[]).await?;
    match (found.get(0), found.get(1)) {
        (_, true) => Ok(false),
        (false, _) => Ok(true),
        (true, false) => {
            let truncate = format!("TRUNCATE {{s}}.log_{table}");
            connection.run(&truncate).await.map(|()| true)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segments::Effect;

    fn record(number: u64, table: usize) -> Uncovered {
        Uncovered {
            number,
            crc: 0,
            bytes: 10,
            effect: Effect::Other,
            table,
        }
    }

    fn begun() -> Tables {
        let mut tables = Tables::default();
        tables.begin(20);
        for table in 1..COUNT {
            tables.emptied(table);
        }
        tables
    }

    /// Appends until each table has had a turn, with a segment of its own each.
    fn filled() -> Tables {
        let mut tables = begun();
        for segment in 0..COUNT as u64 {
            tables.need(segment, [record(1, tables.current())].iter());
            assert!(!tables.turn(), "half of it is free");
            tables.need(segment, [record(2, tables.current())].iter());
            tables.turn();
        }
        tables
    }

    #[test]
    fn appends_turn_to_an_empty_table_when_theirs_is_full() {
        let mut tables = filled();
        assert_eq!(tables.turns, [0, 1, 2, 3]);
        assert!(!tables.turn(), "no table is empty");
        let spare = |tables: &mut Tables, number| tables.spare(1, &record(number, 1));
        spare(&mut tables, 1);
        assert!(tables.spared().is_empty());
        spare(&mut tables, 2);
        assert_eq!(tables.spared(), [1]);
        assert!(!tables.turn(), "it is not empty yet");
        tables.emptied(1);
        assert!(tables.spared().is_empty());
        assert!(tables.turn());
        assert_eq!((tables.current(), tables.all[1].bytes), (1, 0));
    }

    #[test]
    fn the_segments_that_pin_the_oldest_table_are_named_before_the_next_turn() {
        let mut tables = filled();
        assert_eq!(tables.pinning(|_| true), [0]);
        assert_eq!(tables.pinning(|segment| *segment != 0), [1]);
        tables.spare(2, &record(1, 2));
        tables.spare(2, &record(2, 2));
        let none: [u64; 0] = [];
        assert_eq!(tables.pinning(|_| true), none, "table 2 will be emptied");
        assert_eq!(begun().pinning(|_| true), none);
    }

    #[test]
    fn others_need_a_table_where_none_is_empty_and_the_next_turn_is_soon() {
        let none: [usize; 0] = [];
        let mut tables = filled();
        assert_eq!(tables.needed_by_others(), none, "this owner needs all");
        tables.spare(1, &record(1, 1));
        tables.spare(1, &record(2, 1));
        assert_eq!(tables.needed_by_others(), [1]);
        assert_eq!(tables.most_moved_of_others(), 10);
        tables.add(tables.current(), 20);
        assert_eq!(tables.most_moved_of_others(), 20, "half of what it has");
        tables.emptied(1);
        assert_eq!(tables.needed_by_others(), none, "one is empty");
        assert_eq!(begun().needed_by_others(), none);
    }

    #[test]
    fn a_start_continues_with_the_table_that_has_most() {
        let mut tables = Tables::default();
        tables.need(7, [record(1, 1), record(2, 2), record(3, 2)].iter());
        tables.begin(FULL_BYTES);
        assert_eq!(tables.turns, [3, 0, 1, 2]);
        assert_eq!(tables.spared(), [3, 0]);
    }
}
