//! The models of spec/coherence.md and the subscriptions of spec/protocol/notify.x.

use super::*;

fn version(number: u64) -> Version {
    Version {
        incarnation: 1,
        number,
        chain: number * 7,
    }
}

fn newest(number: u64) -> Newest {
    Newest {
        stamp: version(number),
        units_changed: 100 * number,
        units: 1000,
    }
}

fn copy_of(number: u64) -> Known {
    Known::newest(&newest(number))
}

fn allows(model: CoherenceModel, x: f64, copy: u64, now: u64) -> bool {
    Bound { model, x }.allows(&copy_of(copy), &newest(now))
}

#[test]
fn coh_1_and_2_full_and_strict_want_the_newest() {
    for model in [CoherenceModel::Full, CoherenceModel::Strict] {
        assert!(allows(model, 0.0, 5, 5));
        assert!(!allows(model, 0.0, 4, 5));
    }
}

#[test]
fn coh_3_null_takes_any_copy_but_none() {
    assert!(allows(CoherenceModel::NullCoherence, 0.0, 1, 900));
    let bound = Bound {
        model: CoherenceModel::NullCoherence,
        x: 0.0,
    };
    assert!(!bound.allows(&Known::at(NO_COPY), &newest(3)));
}

#[test]
fn coh_4_delta_counts_versions() {
    assert!(allows(CoherenceModel::Delta, 2.0, 3, 5));
    assert!(!allows(CoherenceModel::Delta, 2.0, 2, 5));
    assert!(
        !allows(CoherenceModel::Delta, 0.5, 4, 5),
        "half a version does not count"
    );
}

#[test]
fn coh_5_temporal_asks_only_for_the_newest() {
    assert!(!allows(CoherenceModel::Temporal, 1000.0, 4, 5));
    assert!(allows(CoherenceModel::Temporal, 0.0, 5, 5));
}

#[test]
fn coh_6_diff_counts_changed_units_and_never_too_few() {
    // Each version changes 100 of 1000 units.
    assert!(allows(CoherenceModel::Diff, 20.0, 3, 5));
    assert!(!allows(CoherenceModel::Diff, 19.9, 3, 5));
    let bound = Bound {
        model: CoherenceModel::Diff,
        x: 100.0,
    };
    assert!(
        !bound.allows(&Known::at(version(4)), &newest(5)),
        "not known: too many"
    );
}

#[test]
fn coh_7_a_copy_of_another_incarnation_is_never_recent() {
    let other = Version {
        incarnation: 9,
        number: 5,
        chain: 35,
    };
    for (model, x) in [(CoherenceModel::Full, 0.0), (CoherenceModel::Delta, 9.0)] {
        assert!(!Bound { model, x }.allows(&Known::at(other), &newest(5)));
    }
    let lost_tail = Known::at(version(6));
    let bound = Bound {
        model: CoherenceModel::Delta,
        x: 9.0,
    };
    assert!(
        !bound.allows(&lost_tail, &newest(5)),
        "above the newest [SEG-1]"
    );
}

#[test]
fn a_bound_without_meaning_is_told_from_one_with() {
    for (model, x) in [
        (CoherenceModel::Delta, -1.0),
        (CoherenceModel::Diff, 101.0),
        (CoherenceModel::Temporal, f64::NAN),
    ] {
        assert!(!Bound { model, x }.is_valid(), "{model:?} {x}");
    }
    let any = Bound {
        model: CoherenceModel::Full,
        x: f64::NAN,
    };
    assert!(any.is_valid(), "x means nothing under Full");
}

#[test]
fn what_a_client_says_it_has_begins_its_counter_anew_only_when_it_must() {
    let mut known = copy_of(3);
    known.told(version(3), &newest(5));
    assert_eq!(
        known.units_changed,
        Some(300),
        "the counter continues from 3"
    );
    known.told(version(4), &newest(5));
    assert_eq!(known.units_changed, None, "not known what changed since 4");
    known.told(version(5), &newest(5));
    assert_eq!(known.units_changed, Some(500));
}

fn watch(push_bytes: u64) -> Watch {
    let bound = Bound {
        model: CoherenceModel::Full,
        x: 0.0,
    };
    Watch::new(bound, true, push_bytes)
}

#[test]
fn not_1_one_announcement_until_the_copy_moves_on() {
    let mut watch = watch(0);
    let known = copy_of(1);
    assert!(!watch.is_due(&known, &newest(1)));
    assert!(watch.is_due(&known, &newest(2)));
    assert!(watch.announce());
    assert!(!watch.announce(), "it was told before");
    assert!(!watch.is_due(&known, &newest(3)));
    watch.moved_on();
    assert!(watch.is_due(&known, &newest(3)));
}

#[test]
fn coh_11_a_copy_of_another_history_is_recent_under_no_model_that_asks() {
    let other = Known::at(OTHER_HISTORY);
    for (model, x) in [
        (CoherenceModel::Full, 0.0),
        (CoherenceModel::Delta, 1e9),
        (CoherenceModel::Diff, 100.0),
        (CoherenceModel::Temporal, 1e9),
    ] {
        assert!(!Bound { model, x }.allows(&other, &newest(1)), "{model:?}");
    }
    assert!(watch(0).is_due(&other, &newest(0)), "an empty one is news");
}

#[test]
fn not_1_an_empty_segment_is_no_news_to_who_has_no_copy() {
    let watch = watch(0);
    assert!(!watch.is_due(&Known::at(NO_COPY), &newest(0)));
    assert!(watch.is_due(&Known::at(NO_COPY), &newest(1)));
    let of_another_incarnation = Version {
        incarnation: 7,
        number: 3,
        chain: 21,
    };
    assert!(watch.is_due(&Known::at(of_another_incarnation), &newest(0)));
}

#[test]
fn not_3_pushed_bytes_never_exceed_the_credit() {
    let mut watch = watch(100);
    assert!(watch.can_push(100));
    watch.pushed(60);
    assert!(watch.can_push(40));
    assert!(!watch.can_push(41));
    watch.credited(30);
    assert!(watch.can_push(70));
    watch.credited(u64::MAX);
    assert!(watch.can_push(100));
    assert!(!watch.can_push(101), "never above what was declared");
}

#[test]
fn a_watch_without_push_is_pushed_nothing() {
    let bound = Bound {
        model: CoherenceModel::Full,
        x: 0.0,
    };
    assert!(!Watch::new(bound, false, 100).can_push(1));
}

#[test]
fn versions_are_the_same_in_messages() {
    let version = Version {
        incarnation: 3,
        number: 4,
        chain: 5,
    };
    let stamp = VersionStamp::from(version);
    assert_eq!((stamp.incarnation, stamp.number, stamp.chain), (3, 4, 5));
    assert_eq!(Version::from(&stamp), version);
}

#[test]
fn a_bound_has_meaning_to_its_ends() {
    for (model, x, is_valid) in [
        (CoherenceModel::Delta, 0.0, true),
        (CoherenceModel::Temporal, 0.0, true),
        (CoherenceModel::Temporal, -0.1, false),
        (CoherenceModel::Diff, 0.0, true),
        (CoherenceModel::Diff, 100.0, true),
        (CoherenceModel::Diff, -0.1, false),
    ] {
        assert_eq!(Bound { model, x }.is_valid(), is_valid, "{model:?} {x}");
    }
}

#[test]
fn coh_7_diff_is_not_asked_of_a_copy_of_another_incarnation_or_above_the_newest() {
    let bound = Bound {
        model: CoherenceModel::Diff,
        x: 100.0,
    };
    let mut other = copy_of(5);
    other.stamp.incarnation = 9;
    assert!(!bound.allows(&other, &newest(6)));
    assert!(!bound.allows(&copy_of(6), &newest(5)));
}
