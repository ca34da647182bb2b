//! Pointers on the wire: 16 bytes, slot:u16 serial:u48 offset:u64, little-endian [WIRE-5].

/// The largest serial of a block: 48 bits.
pub const MAX_SERIAL: u64 = (1 << 48) - 1;

/// The size of a pointer. Sequences and texts have the same size, because their unit is a pointer
/// to the owned block [WIRE-7].
pub const POINTER_BYTES: usize = 16;

/// Slot 0 is the segment itself; all zeros is NULL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pointer {
    pub slot: u16,
    pub serial: u64,
    pub offset: u64,
}

impl Pointer {
    pub const NULL: Pointer = Pointer {
        slot: 0,
        serial: 0,
        offset: 0,
    };

    pub fn is_null(&self) -> bool {
        *self == Self::NULL
    }

    pub fn from_bytes(bytes: &[u8; POINTER_BYTES]) -> Self {
        let number = u128::from_le_bytes(*bytes);
        Pointer {
            slot: number as u16,
            serial: (number >> 16) as u64 & MAX_SERIAL,
            offset: (number >> 64) as u64,
        }
    }

    /// The serial must be at most `MAX_SERIAL`.
    pub fn to_bytes(self) -> [u8; POINTER_BYTES] {
        assert!(self.serial <= MAX_SERIAL, "a serial has 48 bits");
        let head = u64::from(self.slot) | self.serial << 16;
        (u128::from(head) | u128::from(self.offset) << 64).to_le_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_are_those_of_the_specification() {
        let pointer = Pointer {
            slot: 0,
            serial: 7,
            offset: 2,
        };
        let bytes = [0, 0, 7, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(pointer.to_bytes(), bytes);
        assert_eq!(Pointer::from_bytes(&bytes), pointer);
    }

    #[test]
    fn the_extremes_come_back() {
        let pointer = Pointer {
            slot: u16::MAX,
            serial: MAX_SERIAL,
            offset: u64::MAX,
        };
        assert_eq!(pointer.to_bytes(), [0xff; 16]);
        assert_eq!(Pointer::from_bytes(&[0xff; 16]), pointer);
        assert!(Pointer::from_bytes(&[0; 16]).is_null());
    }
}
