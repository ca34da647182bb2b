//! [ERR-1] The numbers of error codes, as the first version of the protocol gave them.

use interweave_wire::protocol::ErrorCode;

#[test]
fn err_1_numbers_are_never_used_for_something_else() {
    let first_version = [
        (0, ErrorCode::Ok),
        (1, ErrorCode::Unimplemented),
        (2, ErrorCode::Malformed),
        (3, ErrorCode::VersionMismatch),
        (4, ErrorCode::NotOpen),
        (5, ErrorCode::Denied),
        (6, ErrorCode::BadUrl),
        (7, ErrorCode::NoSegment),
        (8, ErrorCode::NoBlock),
        (9, ErrorCode::UnknownType),
        (10, ErrorCode::TypeConflict),
        (11, ErrorCode::BadName),
        (12, ErrorCode::NoLock),
        (13, ErrorCode::WouldDeadlock),
        (14, ErrorCode::TimedOut),
        (15, ErrorCode::Unreachable),
        (16, ErrorCode::Fenced),
        (17, ErrorCode::RolledBack),
        (18, ErrorCode::StoreFull),
        (19, ErrorCode::Quota),
        (20, ErrorCode::TooLarge),
        (21, ErrorCode::NoMemory),
    ];
    for (number, code) in first_version {
        assert_eq!(code as i32, number, "{code:?}");
        assert_eq!(ErrorCode::try_from(number), Ok(code));
    }
}
