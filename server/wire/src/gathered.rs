//! Bytes that lie in several places, to be sent one after the other. Nothing is copied.

use std::collections::VecDeque;

use bytes::Bytes;

/// A sequence of bytes in pieces. No piece is empty.
#[derive(Debug, Clone, Default)]
pub struct Gathered {
    pieces: VecDeque<Bytes>,
    len: usize,
}

impl Gathered {
    /// The number of bytes in all pieces.
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn pieces(&self) -> impl ExactSizeIterator<Item = &Bytes> {
        self.pieces.iter()
    }

    pub fn into_pieces(self) -> impl ExactSizeIterator<Item = Bytes> {
        self.pieces.into_iter()
    }

    /// Appends bytes.
    pub fn push(&mut self, piece: Bytes) {
        if !piece.is_empty() {
            self.len += piece.len();
            self.pieces.push_back(piece);
        }
    }

    /// Takes the first bytes off. REQUIRES: there are so many.
    pub fn split_to(&mut self, bytes: usize) -> Gathered {
        assert!(bytes <= self.len, "{bytes} of {} bytes", self.len);
        let mut taken = Gathered::default();
        while taken.len < bytes {
            let wanted = bytes - taken.len;
            match self.pieces.front_mut() {
                Some(first) if first.len() > wanted => taken.push(first.split_to(wanted)),
                _ => self
                    .pieces
                    .pop_front()
                    .into_iter()
                    .for_each(|p| taken.push(p)),
            }
        }
        self.len -= bytes;
        taken
    }

    /// All bytes in one place. Copies them if there are several pieces.
    pub fn joined(mut self) -> Bytes {
        if self.pieces.len() <= 1 {
            return self.pieces.pop_front().unwrap_or_default();
        }
        let mut all = Vec::with_capacity(self.len);
        self.pieces
            .iter()
            .for_each(|piece| all.extend_from_slice(piece));
        all.into()
    }
}

impl From<Bytes> for Gathered {
    fn from(piece: Bytes) -> Gathered {
        let mut gathered = Gathered::default();
        gathered.push(piece);
        gathered
    }
}

impl FromIterator<Bytes> for Gathered {
    fn from_iter<I: IntoIterator<Item = Bytes>>(pieces: I) -> Gathered {
        let mut gathered = Gathered::default();
        pieces.into_iter().for_each(|piece| gathered.push(piece));
        gathered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gathered() -> Gathered {
        let pieces: [&'static [u8]; 4] = [b"ab", b"", b"cde", b"f"];
        pieces.into_iter().map(Bytes::from_static).collect()
    }

    #[test]
    fn any_split_keeps_all_bytes_in_their_order() {
        for at in 0..=6 {
            let mut rest = gathered();
            let first = rest.split_to(at);
            assert_eq!((first.len(), rest.len()), (at, 6 - at));
            assert!(first.pieces().chain(rest.pieces()).all(|p| !p.is_empty()));
            assert_eq!([first.joined(), rest.joined()].concat(), b"abcdef");
        }
    }

    #[test]
    fn one_piece_is_joined_without_a_copy() {
        let piece = Bytes::from(vec![1, 2, 3]);
        let joined = Gathered::from(piece.clone()).joined();
        assert_eq!(joined.as_ptr(), piece.as_ptr());
        assert!(Gathered::default().joined().is_empty());
    }
}
