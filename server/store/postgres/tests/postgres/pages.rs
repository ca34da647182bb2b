//! The catalogue of a space page by page, of very many segments (spec/space.md).

use crate::session::{keep, open, options};
use crate::space::{address, join, seek};
use interweave_postgres_cluster::Cluster;
use interweave_store::{Holder, Page, PageAsked, SegmentStore, StoreError};
use interweave_store_postgres::PostgresStore;
use interweave_store_suite::records::{create, small};
use interweave_wire::protocol::Durability::Synced;
use std::ops::Bound;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// The size of a page of a list whose client may read everything.
const MOST: u32 = 129;

fn page(store: &PostgresStore, prefix: &str, from: Bound<&str>) -> Result<Page, StoreError> {
    let asked = PageAsked {
        prefix: prefix.to_string(),
        from: from.map(str::to_string),
        most: MOST,
    };
    let (page, read) = channel();
    store.page(asked, Box::new(move |r| page.send(r).unwrap_or(())));
    read.recv().unwrap()
}

fn paths(page: &Page) -> Vec<&str> {
    page.segments.iter().map(|listed| &*listed.path).collect()
}

/// [SPACE-34] [SPACE-35] [SPACE-36]
#[test]
fn all_segments_are_listed_page_by_page() {
    let cluster = Cluster::start();
    pages_say_who_has_a_segment(&cluster);
    a_row_that_is_lost_is_damage(&cluster);
    very_many_segments_cost_no_page_more(&cluster);
}

fn pages_say_who_has_a_segment(cluster: &Cluster) {
    let [one, two, three] = ["a", "b", "c"].map(|name| join(cluster.sockets(), "pages", name));
    keep(&one, vec![create(1, Synced), create(12, Synced)]);
    keep(
        &two,
        vec![create(2, Synced), small(2, 1, 0), small(2, 2, 0)],
    );
    keep(&three, vec![create(3, Synced)]);
    Box::new(three).close(true).unwrap();
    let all = page(&one, "/", Bound::Unbounded).unwrap();
    assert!(all.is_last);
    let names = ["/segment/1", "/segment/12", "/segment/2", "/segment/3"];
    assert_eq!(paths(&all), names);
    let holders = all.segments.iter().map(|listed| &listed.holder);
    let other = Holder::Other(address("b"));
    let expected = [&Holder::Asked, &Holder::Asked, &other, &Holder::Nobody];
    assert_eq!(holders.collect::<Vec<_>>(), expected);
    assert_eq!(all.segments[2].version, 2);
    let part = page(&one, "/segment/1", Bound::Unbounded).unwrap();
    assert_eq!(paths(&part), names[..2]);
    let part = page(&one, "/segment/", Bound::Excluded(names[1])).unwrap();
    assert_eq!(paths(&part), names[2..]);
    let part = page(&one, "/segment/", Bound::Included(names[1])).unwrap();
    assert_eq!(paths(&part), names[1..]);
    assert!(page(&one, "/other", Bound::Unbounded)
        .unwrap()
        .segments
        .is_empty());
}

/// Also where PostgreSQL does not notice that a part of a table is gone. [SPACE-34]
fn a_row_that_is_lost_is_damage(cluster: &Cluster) {
    let lose = |schema: &str| {
        cluster.admin().run(&format!(
            "DELETE FROM {schema}.segment s USING {schema}.creation c
             WHERE c.segment = s.id AND c.path = convert_to('/segment/1', 'UTF8')"
        ));
    };
    let [one, two] = ["a", "b"].map(|name| join(cluster.sockets(), "lost_rows", name));
    keep(&one, vec![create(1, Synced), create(2, Synced)]);
    lose("lost_rows");
    let listed = page(&one, "/", Bound::Unbounded).map(|_| ());
    let sought = seek(&two, 1).map(|_| ());
    seek(&two, 2).unwrap();
    let (alone, _) = open(cluster, "lost_rows_alone");
    keep(&alone, vec![create(1, Synced)]);
    Box::new(alone).close(true).unwrap();
    lose("lost_rows_alone");
    let options = options(cluster.sockets(), "lost_rows_alone");
    let started = PostgresStore::open(options).map(|_| ());
    for found in [listed, sought, started] {
        let error = found.unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
        assert!(error.to_string().contains("/segment/1"), "{error}");
    }
}

/// As many as IW_SEGMENTS says (make/test_postgres.sh has no need of more than the default).
fn very_many_segments_cost_no_page_more(cluster: &Cluster) {
    let count = std::env::var("IW_SEGMENTS").ok();
    let count: u64 = count.map_or(20_000, |count| count.parse().unwrap());
    let [one, two] = ["a", "b"].map(|name| join(cluster.sockets(), "many", name));
    // The standby follows later than the primary recycles its log.
    cluster.set("wal_keep_size", "'8GB'");
    let admin = cluster.admin();
    // Every third segment is that of the server that is asked.
    admin.run(&format!(
        "INSERT INTO many.segment (id, epoch, owner, head, crc, version, incarnation,
           serials_below, is_removed)
         SELECT n, 1, CASE n % 3 WHEN 0 THEN {} ELSE {} END, 1, 0, n, 1, 1, false
         FROM generate_series(1, {count}) n;
         INSERT INTO many.creation (segment, path)
         SELECT n, convert_to('/lab/' || (n % 97) || '/run/' || n, 'UTF8')
         FROM generate_series(1, {count}) n;",
        one.owner_epoch(),
        two.owner_epoch()
    ));
    let before = resident_kilobytes();
    let begun = Instant::now();
    let (mut found, mut pages) = (0, 0);
    let (mut first, mut worst) = (Duration::ZERO, Duration::ZERO);
    let mut last = String::new();
    loop {
        let asked = Instant::now();
        let page = page(&one, "/", Bound::Excluded(&*last)).unwrap();
        let took = asked.elapsed();
        first = if pages == 0 { took } else { first };
        worst = worst.max(took);
        pages += 1;
        assert!(page.segments.len() <= MOST as usize);
        assert!(paths(&page).is_sorted() && paths(&page).first().is_none_or(|path| **path > *last));
        found += page.segments.len() as u64;
        match page.segments.last() {
            Some(listed) if !page.is_last => last = listed.path.clone(),
            _ => break,
        }
    }
    let all = begun.elapsed();
    assert_eq!(found, count);
    let after = resident_kilobytes();
    println!(
        "{count} segments: {pages} pages, the first {} us, the slowest {} us, all {} ms, \
         memory grew by {} KiB",
        first.as_micros(),
        worst.as_micros(),
        all.as_millis(),
        after.saturating_sub(before)
    );
    // Statistics of the tables do not decide how a page is read.
    for statistics in ["", "ANALYZE many.creation; ANALYZE many.segment;"] {
        admin.run(statistics);
        let plan = plan_of_a_page(cluster);
        assert!(plan.contains("creation_path"), "{plan}");
        assert!(!plan.contains("Seq Scan on creation"), "{plan}");
    }
    let begun = Instant::now();
    let (members, heard) = channel();
    one.members(0, true, Box::new(move |r| members.send(r).unwrap_or(())));
    let list = heard.recv().unwrap().unwrap();
    println!("counted by server in {} ms", begun.elapsed().as_millis());
    let counts = list.members.iter().map(|member| member.segments);
    assert_eq!(counts.sum::<u64>(), count);
}

fn plan_of_a_page(cluster: &Cluster) -> String {
    let sql = interweave_store_postgres::PAGE.replace("{s}", "many");
    let admin = cluster.admin();
    let explain = format!(
        "EXPLAIN {}",
        sql.replace("$1", "'\\x2f'::bytea")
            .replace("$2", "'\\x30'::bytea")
            .replace("$3", "129")
    );
    let rows = admin.rows(&explain, &[]);
    let lines: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    lines.join("\n")
}

fn resident_kilobytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.unwrap().trim().trim_end_matches(" kB");
    number.parse().unwrap()
}
