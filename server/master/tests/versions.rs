//! Whatever a writer does, every reader ends equal to the master after one diff from its version,
//! whichever that is: held to a model that shares no code with the rooms but the type table.

mod model;

use interweave_master::Segment;
use model::{Model, Random};

/// A copy at some version, and how eager its reader is.
struct Reader {
    copy: Segment,
    one_in: u64,
}

fn run(seed: u64, releases: u64) {
    let mut random = Random::new(seed);
    let mut model = Model::new();
    let mut master = Segment::new(0);
    let reader = |one_in| Reader {
        copy: Segment::new(0),
        one_in,
    };
    let mut readers: Vec<Reader> = [1, 2, 5, 15, 40].map(reader).into();
    for _ in 0..releases {
        let before = master.next_serial();
        let base = model.version;
        let diff = model.release(&mut random);
        let checked = master.check(&diff, base, &[(before, 1 << 20)]).unwrap();
        assert_eq!(master.commit(checked), model.version);
        model.assert_is(&master, "the master");
        for (index, reader) in readers.iter_mut().enumerate() {
            if random.one_in(reader.one_in) {
                let have = reader.copy.newest();
                reader.copy.apply(&master.collect(have)).unwrap();
                model.assert_is(&reader.copy, &format!("reader {index} from {have}"));
            }
        }
        if random.one_in(20) {
            master = Segment::restore(&master.checkpoint(), 0).unwrap();
            model.assert_is(&master, "the restored master");
        }
    }
    let mut newcomer = Segment::new(0);
    newcomer.apply(&master.collect(u64::MAX)).unwrap();
    model.assert_is(&newcomer, "a newcomer");
}

#[test]
fn readers_of_any_version_end_equal_to_the_master() {
    let seeds: Vec<u64> = match std::env::var("IW_SEED") {
        Ok(seed) => vec![seed.parse().expect("IW_SEED is a number")],
        Err(_) => (1..=8).collect(),
    };
    for seed in seeds {
        // Shown when the test fails: run it again with IW_SEED.
        println!("IW_SEED={seed}");
        run(seed, 120);
    }
}
