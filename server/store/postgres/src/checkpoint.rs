//! A checkpoint as rows: the first piece is its head, each further one a part of its content.

use crate::batch::parts_of;
use bytes::{BufMut, Bytes, BytesMut};
use interweave_store::{Piece, CHECKPOINT_IN_PIECES};
use interweave_wire::protocol::xdr::{from_bytes, to_bytes};
use interweave_wire::protocol::CheckpointHead;

/// The rows of a piece.
#[derive(Debug, Clone)]
pub struct Parts {
    pub piece: u32,
    /// Of the piece and its place.
    pub crc: u32,
    pub parts: Vec<Bytes>,
}

impl Parts {
    fn of(checkpoint: u64, piece: u32, content: Bytes) -> Parts {
        Parts {
            piece,
            crc: crc_of(checkpoint, piece, &content),
            parts: parts_of(&content),
        }
    }

    pub fn of_head(checkpoint: u64, head: &CheckpointHead) -> Parts {
        Parts::of(checkpoint, 0, to_bytes(head).into())
    }

    pub fn of_piece(checkpoint: u64, number: u32, piece: &Piece) -> Parts {
        let mut content = BytesMut::with_capacity(8 + piece.diff.len() + piece.ages.len());
        content.put_u64(piece.diff.len() as u64);
        content.put_slice(&piece.diff);
        content.put_slice(&piece.ages);
        Parts::of(checkpoint, number, content.freeze())
    }
}

fn crc_of(checkpoint: u64, piece: u32, content: &[u8]) -> u32 {
    let place = [&checkpoint.to_be_bytes()[..], &piece.to_be_bytes()].concat();
    crc32c::crc32c_append(crc32c::crc32c(&place), content)
}

/// A checkpoint that is read.
#[derive(Debug, Default)]
pub struct Reading {
    pub head: Option<CheckpointHead>,
    pub pieces: Vec<Piece>,
    taken: u32,
}

impl Reading {
    /// Takes the next piece. An error says what is wrong with it.
    pub fn take(
        &mut self,
        (checkpoint, piece): (u64, u32),
        crc: u32,
        content: &Bytes,
    ) -> Result<(), String> {
        if piece != self.taken {
            return Err(format!("piece {} is missing", self.taken));
        }
        if crc_of(checkpoint, piece, content) != crc {
            return Err(format!("the checksum of piece {piece} does not hold"));
        }
        self.taken += 1;
        if piece == 0 {
            let head = from_bytes(content).map_err(|error| format!("its head: {error}"))?;
            self.head = Some(head);
            return Ok(());
        }
        let (length, rest) = content
            .split_first_chunk::<8>()
            .ok_or("a piece is too short")?;
        let diff_bytes = u64::from_be_bytes(*length) as usize;
        if diff_bytes > rest.len() {
            return Err(format!("piece {piece} is shorter than it says"));
        }
        self.pieces.push(Piece {
            diff: content.slice(8..8 + diff_bytes),
            ages: content.slice(8 + diff_bytes..),
        });
        Ok(())
    }

    /// Returns the head, and the content as it was given: one diff, or pieces.
    pub fn end(mut self, pieces: u32) -> Result<(CheckpointHead, Bytes, Vec<Piece>), String> {
        if self.taken != pieces {
            return Err(format!("{} pieces are there, of {pieces}", self.taken));
        }
        let mut head = self.head.take().ok_or("its head is missing")?;
        let bytes = self.pieces.iter().map(|piece| piece.diff.len() as u64);
        head.diff_bytes = bytes.sum();
        if head.magic == CHECKPOINT_IN_PIECES {
            return Ok((head, Bytes::new(), self.pieces));
        }
        let whole = self.pieces.pop().map(|piece| piece.diff);
        Ok((head, whole.unwrap_or_default(), Vec::new()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(parts: &Parts) -> Bytes {
        parts.parts.concat().into()
    }

    fn piece(diff: &'static [u8], ages: &'static [u8]) -> Piece {
        Piece {
            diff: diff.into(),
            ages: ages.into(),
        }
    }

    #[test]
    fn a_piece_comes_back_and_any_other_bytes_do_not() {
        let given = piece(b"the diff", b"ages");
        let parts = Parts::of_piece(9, 1, &given);
        let read = |at, crc, content: &Bytes| {
            let mut reading = Reading {
                taken: 1,
                ..Reading::default()
            };
            reading.take(at, crc, content).map(|()| reading.pieces)
        };
        let content = whole(&parts);
        assert_eq!(read((9, 1), parts.crc, &content), Ok(vec![given]));
        assert!(
            read((8, 1), parts.crc, &content).is_err(),
            "of another checkpoint"
        );
        assert!(
            read((9, 2), parts.crc, &content).is_err(),
            "at another place"
        );
        for bit in 0..content.len() * 8 {
            let mut bytes = content.to_vec();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(read((9, 1), parts.crc, &bytes.into()).is_err(), "bit {bit}");
        }
        // A program's error, where the checksum holds.
        for length in 0..content.len() {
            let mut short = content.slice(..length);
            let crc = crc_of(9, 1, &short);
            let _ = read((9, 1), crc, &short);
            short = [&u64::MAX.to_be_bytes()[..], &short].concat().into();
            assert!(read((9, 1), crc_of(9, 1, &short), &short).is_err());
        }
    }
}
