//! A schema of the cluster as a place of a store.

use crate::proxy::{Faults, Proxy};
use interweave_postgres_cluster::{Cluster, USER};
use interweave_store::StoreError;
use interweave_store_postgres::{Options, PostgresStore, Target};
use interweave_store_suite::place::Opened;
use interweave_store_suite::{Ability, Cancel, Crash, Place};
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

const TABLES: [&str; 9] = [
    "store", "owner", "segment", "creation", "log_0", "log_1", "log_2", "log_3", "piece",
];
/// The log's tables take turns often.
const LOG_TABLE_BYTES: u64 = 1 << 10;
/// Commits that change where a segment ends fail while the sequence is below a limit. A sequence
/// is not rolled back.
const FAULT: &str = "
CREATE SEQUENCE {s}.failed;
CREATE TABLE {s}.fault (until bigint, code text);
INSERT INTO {s}.fault VALUES (0, '');
CREATE FUNCTION {s}.fail() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE due {s}.fault;
BEGIN
  SELECT * INTO due FROM {s}.fault;
  IF due.until > 0 AND nextval('{s}.failed') <= due.until THEN
    RAISE EXCEPTION 'the commit fails' USING ERRCODE = due.code;
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER fail_insert AFTER INSERT ON {s}.segment
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION {s}.fail();
CREATE CONSTRAINT TRIGGER fail_update AFTER UPDATE ON {s}.segment
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.head <> OLD.head)
  EXECUTE FUNCTION {s}.fail();
";

pub struct PostgresPlace {
    cluster: Arc<Mutex<Cluster>>,
    can_lose_power: bool,
    schema: String,
    faults: Faults,
    /// The proxies of the owners that live.
    proxies: RefCell<Vec<Proxy>>,
    has_faults: Cell<bool>,
    is_faulty: Cell<bool>,
}

impl PostgresPlace {
    pub fn new(cluster: Arc<Mutex<Cluster>>, can_lose_power: bool) -> PostgresPlace {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        PostgresPlace {
            cluster,
            can_lose_power,
            schema: format!("place_{}", NUMBER.fetch_add(1, Ordering::Relaxed)),
            faults: Faults::default(),
            proxies: RefCell::default(),
            has_faults: Cell::new(false),
            is_faulty: Cell::new(false),
        }
    }

    fn cluster(&self) -> MutexGuard<'_, Cluster> {
        self.cluster.lock().unwrap()
    }

    fn run(&self, statements: &str) {
        let statements = statements.replace("{s}", &self.schema);
        self.cluster().admin().run(&statements);
    }

    fn set_faults(&self, count: u64, code: &str) {
        if count == 0 && !self.is_faulty.get() {
            return;
        }
        if !self.has_faults.replace(true) {
            self.run(FAULT);
        }
        self.is_faulty.set(count > 0);
        self.run(&format!(
            "SELECT setval('{{s}}.failed', 1, false); \
             UPDATE {{s}}.fault SET until = {count}, code = '{code}'"
        ));
    }
}

impl Place for PostgresPlace {
    fn can(&self, ability: Ability) -> bool {
        ability != Ability::LosePower || self.can_lose_power
    }

    fn open(&self) -> Result<Opened, StoreError> {
        let proxy = Proxy::begin(self.faults.clone(), Arc::clone(&self.cluster));
        let url = format!(
            "postgres://{USER}@127.0.0.1:{}/postgres?schema={}",
            proxy.port, self.schema
        );
        self.proxies.borrow_mut().push(proxy);
        let mut options = Options::new(Target::parse(&url).map_err(StoreError::Io)?);
        options.log_table_bytes = LOG_TABLE_BYTES;
        let (store, segments) = PostgresStore::open(options)?;
        Ok(Opened {
            store: Box::new(store),
            segments,
        })
    }

    fn crash(&self, crash: Crash) {
        for proxy in self.proxies.take() {
            proxy.end();
        }
        match crash {
            Crash::Process => {
                self.set_faults(0, "");
                self.cluster().resume_standby();
            }
            Crash::Power(which) => {
                self.faults.forget();
                // Even: all that the standby does not have is lost.
                self.cluster().lose_power(which % 2 == 0);
                self.set_faults(0, "");
            }
        }
    }

    fn steps(&self) -> u32 {
        2
    }

    fn hold(&self, step: u32) {
        self.faults.hold(step);
    }

    fn is_held(&self) -> bool {
        self.faults.is_held()
    }

    fn let_go(&self) {
        self.faults.let_go();
    }

    fn fail(&self, commits: u32) {
        if commits > 0 && self.faults.fail_held() {
            return;
        }
        self.set_faults(commits.into(), "58030");
    }

    fn fill(&self, is_full: bool) {
        self.set_faults(if is_full { u32::MAX.into() } else { 0 }, "53100");
    }

    fn cancel(&self, cancel: Cancel) {
        self.faults.cancel(cancel);
    }

    fn take(&self, segments: &[u64]) {
        let ids: Vec<String> = segments.iter().map(u64::to_string).collect();
        self.run(&format!(
            "WITH next AS \
             (UPDATE {{s}}.store SET last_epoch = last_epoch + 1 RETURNING last_epoch) \
             UPDATE {{s}}.segment SET epoch = last_epoch, owner = last_epoch FROM next \
             WHERE id IN ({})",
            ids.join(", ")
        ));
    }

    fn damage(&self, bytes: &[u8]) {
        let middle = (bytes.len() / 2) as i32;
        let flip = |table: &str| -> i64 {
            let flip = format!(
                "WITH found AS (UPDATE {}.{table} \
                 SET bytes = set_byte(bytes, $2, get_byte(bytes, $2) # 1) \
                 WHERE bytes = $1 RETURNING 1) SELECT count(*) FROM found",
                self.schema
            );
            self.cluster().admin().rows(&flip, &[&bytes, &middle])[0].get(0)
        };
        let logs = TABLES.iter().filter(|table| table.starts_with("log"));
        let flipped: i64 = logs.map(|table| flip(table)).sum();
        assert_eq!(flipped, 1, "the bytes lie in one row");
    }

    fn copy(&self) {
        self.run("CREATE SCHEMA {s}_copy");
        for table in TABLES {
            self.run(&format!(
                "CREATE TABLE {{s}}_copy.{table} AS TABLE {{s}}.{table}"
            ));
        }
    }

    fn put_copy_back(&self) {
        for table in TABLES {
            self.run(&format!(
                "TRUNCATE {{s}}.{table}; INSERT INTO {{s}}.{table} SELECT * FROM {{s}}_copy.{table}"
            ));
        }
    }
}
