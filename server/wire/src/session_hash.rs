//! What is kept of a session's id, because whoever holds the id is the session [SES-6].

use crate::protocol::{SessionHash, SessionId};
use sha2::{Digest, Sha256};

/// The first half of the id's SHA-256.
pub fn session_hash(id: &SessionId) -> SessionHash {
    let whole: [u8; 32] = Sha256::digest(id).into();
    std::array::from_fn(|i| whole[i])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ses_6_the_hash_of_an_id_is_the_beginning_of_its_sha_256() {
        // sha256sum of 16 zeros
        let expected = "374708fff7719dd5979ec875d56cd228";
        let shown: String = session_hash(&[0; 16])
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect();
        assert_eq!(shown, expected);
        assert_ne!(session_hash(&[1; 16]), session_hash(&[0; 16]));
    }
}
