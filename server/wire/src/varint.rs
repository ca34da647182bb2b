//! Varints (LEB128 in the shortest form, at most 10 bytes) and the zigzag of signed numbers
//! (spec/format/diff.md). Also the cursor by which diffs are parsed.

use crate::rejection::Rejection;

pub fn put(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// How many bytes `put` appends.
pub fn length(value: u64) -> usize {
    (70 - (value | 1).leading_zeros() as usize) / 7
}

pub fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

pub fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// A position in bytes that are parsed. It moves forward only, and never beyond the end.
#[derive(Debug, Clone, Copy)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Cursor { bytes, at: 0 }
    }

    pub fn at(&self) -> usize {
        self.at
    }

    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub fn is_empty(&self) -> bool {
        self.remaining() == 0
    }

    pub fn take(&mut self, count: u64) -> Result<&'a [u8], Rejection> {
        if count > self.remaining() as u64 {
            return Err(truncated());
        }
        let taken = &self.bytes[self.at..self.at + count as usize];
        self.at += count as usize;
        Ok(taken)
    }

    pub fn byte(&mut self) -> Result<u8, Rejection> {
        let byte = *self.bytes.get(self.at).ok_or_else(truncated)?;
        self.at += 1;
        Ok(byte)
    }

    #[inline]
    pub fn varint(&mut self) -> Result<u64, Rejection> {
        match self.bytes.get(self.at) {
            Some(&byte) if byte < 0x80 => {
                self.at += 1;
                Ok(byte.into())
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Result<u64, Rejection> {
        let mut value = 0u64;
        for shift in (0..70).step_by(7) {
            let byte = self.byte()?;
            if shift == 63 && byte > 1 || shift > 0 && byte == 0 {
                return Err(Rejection::malformed(
                    "a number of the diff is not a varint in its shortest form",
                ));
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Rejection::malformed("a varint has more than 10 bytes"))
    }

    /// The number that is `zigzag` after `previous`; serials are 48 bits and not 0.
    pub fn serial_after(&mut self, previous: u64) -> Result<u64, Rejection> {
        let delta = unzigzag(self.varint()?);
        previous
            .checked_add_signed(delta)
            .filter(|&serial| serial > 0 && serial <= crate::pointer::MAX_SERIAL)
            .ok_or_else(|| Rejection::malformed("a block's serial is not from 1 to 2^48 - 1"))
    }
}

fn truncated() -> Rejection {
    Rejection::malformed("the diff ends too early")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for shift in 0..64 {
            for value in [1u64 << shift, (1 << shift) - 1, u64::MAX >> shift] {
                let mut out = Vec::new();
                put(value, &mut out);
                assert_eq!(out.len(), length(value));
                let mut cursor = Cursor::new(&out);
                assert_eq!(cursor.varint().unwrap(), value);
                assert!(cursor.is_empty());
                assert_eq!(zigzag(unzigzag(value)), value);
            }
        }
        assert_eq!(zigzag(-1), 1);
        assert_eq!(zigzag(1), 2);
    }

    #[test]
    fn overlong_and_truncated_numbers_are_refused() {
        let overlong: [&[u8]; 4] = [
            &[0x80, 0x00],
            &[0xff, 0x80, 0x00],
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02],
            &[
                0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x81, 0x00,
            ],
        ];
        for bytes in overlong {
            assert!(Cursor::new(bytes).varint().is_err(), "{bytes:x?}");
        }
        assert!(Cursor::new(&[0x80]).varint().is_err());
        assert!(Cursor::new(&[]).varint().is_err());
    }

    #[test]
    fn a_serial_is_neither_zero_nor_beyond_48_bits() {
        let serial = |delta: i64, previous| {
            let mut out = Vec::new();
            put(zigzag(delta), &mut out);
            Cursor::new(&out).serial_after(previous)
        };
        assert_eq!(serial(7, 0).unwrap(), 7);
        assert_eq!(serial(-3, 7).unwrap(), 4);
        assert!(serial(0, 0).is_err());
        assert!(serial(-8, 7).is_err());
        assert!(serial(1, (1 << 48) - 1).is_err());
        assert!(serial(i64::MIN, 7).is_err());
    }
}
