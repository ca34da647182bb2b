//! Where a client runs, as the fields of its hello say. People use it to find the client.

use interweave_wire::fields::{readable, Fields};
use interweave_wire::protocol::{FieldKey, LabelField, PidField};
use interweave_wire::Rejection;

/// None: the client did not say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Origin {
    pub program: Option<String>,
    pub host: Option<String>,
    pub pid: Option<u64>,
}

impl Origin {
    /// MALFORMED if a value cannot be read [FIELD-5]. Texts are bounded by the protocol.
    pub fn of(fields: Fields) -> Result<Origin, Rejection> {
        let label = |key| {
            let found = fields.get::<LabelField>(key)?;
            Ok::<_, Rejection>(found.map(|field| readable(&field.label)))
        };
        let pid: Option<PidField> = fields.get(FieldKey::Pid)?;
        Ok(Origin {
            program: label(FieldKey::Program)?,
            host: label(FieldKey::Host)?,
            pid: pid.map(|field| field.pid),
        })
    }
}
