//! The runtime of the generated codecs: XDR (RFC 4506) in memory.
//!
//! Decoding is strict, because the bytes come from the network: declared bounds hold, padding is
//! zero, booleans and optionals are 0 or 1, text is UTF-8, recursion ends at [`MAX_DEPTH`], and a
//! count is believed only if the bytes for that many elements are there, so that no allocation
//! exceeds what was received by more than the elements' own size in memory.
//! Encoding a value beyond its bound is a mistake of the caller's, and panics.

use std::fmt;

/// How deep recursive types may nest.
pub const MAX_DEPTH: u32 = 128;

/// Why bytes are not a value of the type wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum XdrError {
    /// The bytes end before the value does.
    Truncated,
    /// Bytes follow the value.
    Trailing,
    /// A length or count is above its declared bound.
    TooLong,
    /// Padding that is not zero.
    BadPadding,
    /// A bool that is neither 0 nor 1.
    BadBool,
    /// An optional's mark that is neither 0 nor 1.
    BadOptional,
    /// A number that is not a member of the enum.
    BadEnum,
    /// A discriminant for which the union has no arm.
    BadDiscriminant,
    /// A number too large for its type (char, short).
    BadNumber,
    /// A string that is not UTF-8.
    BadText,
    /// Recursion beyond [`MAX_DEPTH`].
    TooDeep,
}

impl fmt::Display for XdrError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            XdrError::Truncated => "the bytes end too early",
            XdrError::Trailing => "bytes follow the value",
            XdrError::TooLong => "a length or count is above its bound",
            XdrError::BadPadding => "padding is not zero",
            XdrError::BadBool => "a bool is neither 0 nor 1",
            XdrError::BadOptional => "an optional is neither 0 nor 1",
            XdrError::BadEnum => "a number is not a member of its enum",
            XdrError::BadDiscriminant => "a discriminant selects no arm",
            XdrError::BadNumber => "a number is too large for its type",
            XdrError::BadText => "a string is not UTF-8",
            XdrError::TooDeep => "the value is nested too deeply",
        })
    }
}

impl std::error::Error for XdrError {}

/// A type with an XDR encoding.
pub trait Xdr: Sized {
    /// Appends the encoding.
    fn encode(&self, out: &mut Vec<u8>);
    /// Takes a value off the front of the reader's bytes.
    fn decode(r: &mut Reader<'_>) -> Result<Self, XdrError>;
}

/// The encoding of one value.
pub fn to_bytes<T: Xdr>(value: &T) -> Vec<u8> {
    let mut out = Vec::new();
    value.encode(&mut out);
    out
}

/// The value that the bytes encode, all of them.
pub fn from_bytes<T: Xdr>(bytes: &[u8]) -> Result<T, XdrError> {
    let mut reader = Reader::new(bytes);
    let value = T::decode(&mut reader)?;
    reader.finish()?;
    Ok(value)
}

/// Bytes being decoded. After an error its position means nothing.
#[derive(Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    depth: u32,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader {
            rest: bytes,
            depth: 0,
        }
    }

    /// How many bytes are not yet decoded.
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// Fails unless all bytes are decoded.
    pub fn finish(&self) -> Result<(), XdrError> {
        match self.rest.is_empty() {
            true => Ok(()),
            false => Err(XdrError::Trailing),
        }
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], XdrError> {
        let (taken, rest) = self
            .rest
            .split_at_checked(count)
            .ok_or(XdrError::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array_of<const N: usize>(&mut self) -> Result<[u8; N], XdrError> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(XdrError::Truncated)?;
        self.rest = rest;
        Ok(*taken)
    }

    /// Bytes and the zeros that fill their last unit of four.
    fn padded(&mut self, count: usize) -> Result<&'a [u8], XdrError> {
        let bytes = self.take(count)?;
        let padding = self.take(count.wrapping_neg() % 4)?;
        match padding.iter().all(|&byte| byte == 0) {
            true => Ok(bytes),
            false => Err(XdrError::BadPadding),
        }
    }

    fn length(&mut self, bound: u32) -> Result<usize, XdrError> {
        let length = u32::decode(self)?;
        if length > bound {
            return Err(XdrError::TooLong);
        }
        usize::try_from(length).map_err(|_| XdrError::Truncated)
    }

    /// `opaque[N]`
    pub fn fixed<const N: usize>(&mut self) -> Result<[u8; N], XdrError> {
        let bytes = self.padded(N)?;
        bytes.try_into().map_err(|_| XdrError::Truncated)
    }

    /// `opaque<bound>`
    pub fn opaque(&mut self, bound: u32) -> Result<Vec<u8>, XdrError> {
        let length = self.length(bound)?;
        Ok(self.padded(length)?.to_vec())
    }

    /// `string<bound>`
    pub fn string(&mut self, bound: u32) -> Result<String, XdrError> {
        let length = self.length(bound)?;
        let text = std::str::from_utf8(self.padded(length)?).map_err(|_| XdrError::BadText)?;
        Ok(text.to_string())
    }

    /// `T[N]`; an element takes `least` bytes or more.
    pub fn elements<T, const N: usize>(
        &mut self,
        least: usize,
        element: impl FnMut(&mut Self) -> Result<T, XdrError>,
    ) -> Result<[T; N], XdrError> {
        let values = self.counted(N, least, element)?;
        values.try_into().map_err(|_| XdrError::Truncated)
    }

    /// `T<bound>`; an element takes `least` bytes or more.
    pub fn array<T>(
        &mut self,
        bound: u32,
        least: usize,
        element: impl FnMut(&mut Self) -> Result<T, XdrError>,
    ) -> Result<Vec<T>, XdrError> {
        let count = self.length(bound)?;
        self.counted(count, least, element)
    }

    fn counted<T>(
        &mut self,
        count: usize,
        least: usize,
        mut element: impl FnMut(&mut Self) -> Result<T, XdrError>,
    ) -> Result<Vec<T>, XdrError> {
        if count
            .checked_mul(least)
            .is_none_or(|bytes| bytes > self.remaining())
        {
            return Err(XdrError::Truncated);
        }
        let mut values = Vec::with_capacity(count);
        for _ in 0..count {
            values.push(element(self)?);
        }
        Ok(values)
    }

    /// `T *`
    pub fn optional<T>(
        &mut self,
        value: impl FnOnce(&mut Self) -> Result<T, XdrError>,
    ) -> Result<Option<Box<T>>, XdrError> {
        match u32::decode(self)? {
            0 => Ok(None),
            1 => Ok(Some(Box::new(value(self)?))),
            _ => Err(XdrError::BadOptional),
        }
    }

    /// Decodes a value of a type that may contain itself.
    pub fn nested<T>(
        &mut self,
        value: impl FnOnce(&mut Self) -> Result<T, XdrError>,
    ) -> Result<T, XdrError> {
        if self.depth == MAX_DEPTH {
            return Err(XdrError::TooDeep);
        }
        self.depth += 1;
        let decoded = value(self);
        self.depth -= 1;
        decoded
    }
}

/// Appends `opaque[N]`.
pub fn put_fixed(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(bytes);
    out.extend_from_slice(&[0; 3][..bytes.len().wrapping_neg() % 4]);
}

fn put_length(length: usize, bound: u32, out: &mut Vec<u8>) {
    let length = u32::try_from(length).ok().filter(|&length| length <= bound);
    let Some(length) = length else {
        panic!("a value is longer than its bound of {bound}; check it before it is encoded");
    };
    length.encode(out);
}

/// Appends `opaque<bound>`.
pub fn put_opaque(bytes: &[u8], bound: u32, out: &mut Vec<u8>) {
    put_length(bytes.len(), bound, out);
    put_fixed(bytes, out);
}

/// Appends `string<bound>`.
pub fn put_string(text: &str, bound: u32, out: &mut Vec<u8>) {
    put_opaque(text.as_bytes(), bound, out);
}

/// Appends `T[N]`.
pub fn put_elements<T>(values: &[T], out: &mut Vec<u8>, each: impl Fn(&T, &mut Vec<u8>)) {
    for value in values {
        each(value, out);
    }
}

/// Appends `T<bound>`.
pub fn put_array<T>(values: &[T], bound: u32, out: &mut Vec<u8>, each: impl Fn(&T, &mut Vec<u8>)) {
    put_length(values.len(), bound, out);
    put_elements(values, out, each);
}

/// Appends `T *`.
pub fn put_optional<T>(value: &Option<Box<T>>, out: &mut Vec<u8>, each: impl Fn(&T, &mut Vec<u8>)) {
    value.is_some().encode(out);
    if let Some(value) = value {
        each(value, out);
    }
}

macro_rules! number {
    ($($type:ty)*) => {$(
        impl Xdr for $type {
            fn encode(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_be_bytes());
            }

            fn decode(r: &mut Reader<'_>) -> Result<Self, XdrError> {
                Ok(Self::from_be_bytes(r.array_of()?))
            }
        }
    )*};
}

number!(i32 u32 i64 u64 f32 f64);

/// Integers smaller than four bytes travel as four.
macro_rules! small_number {
    ($($type:ty as $wide:ty),*) => {$(
        impl Xdr for $type {
            fn encode(&self, out: &mut Vec<u8>) {
                <$wide>::from(*self).encode(out);
            }

            fn decode(r: &mut Reader<'_>) -> Result<Self, XdrError> {
                Self::try_from(<$wide>::decode(r)?).map_err(|_| XdrError::BadNumber)
            }
        }
    )*};
}

small_number!(i8 as i32, u8 as u32, i16 as i32, u16 as u32);

impl Xdr for bool {
    fn encode(&self, out: &mut Vec<u8>) {
        u32::from(*self).encode(out);
    }

    fn decode(r: &mut Reader<'_>) -> Result<Self, XdrError> {
        match u32::decode(r)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(XdrError::BadBool),
        }
    }
}
