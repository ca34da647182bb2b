//! Reads one log file, group by group, and tells damage from a torn end [LOG-2].
//!
//! What is not a valid record at P is damage if a later valid record of the file says that P was on
//! the disk when it was written, or if the file was followed by another; else it is the torn end.
//! Memory is bounded by the file's length, whatever its bytes say.

use std::io;

use bytes::Bytes;
use interweave_wire::planted::{self, Defect};
use interweave_wire::protocol::LogHeader;

use crate::disk::{read_exact_at, DiskFile};
use crate::record::{
    check_body, check_header, decode_header, padded, FileHead, Format, PlaceInGroup, RecordHead,
    CORE_BYTES, RECORD_HEAD_BYTES,
};

use crate::witness::{Entry, Seen};

const WINDOW_BYTES: u64 = 256 << 10;

/// A valid record.
#[derive(Debug, Clone)]
pub struct Found {
    pub offset: u64,
    /// In the file, with head and padding.
    pub span: u64,
    pub crc: u32,
    /// Of its file.
    pub format: Format,
    pub header: LogHeader,
    pub body: Bytes,
    place: PlaceInGroup,
    synced: u64,
}

/// A record that is lost, of which it is known whose it was.
#[derive(Debug, Clone)]
pub struct Lost {
    pub segment_id: u64,
    pub crc: u32,
    /// None: the witness alone knows of it.
    pub header: Option<LogHeader>,
}

impl Lost {
    pub fn witnessed(entry: &Entry) -> Lost {
        Lost {
            segment_id: entry.segment_id,
            crc: entry.crc,
            header: None,
        }
    }
}

/// Bytes that were records and are not.
#[derive(Debug, Clone, Default)]
pub struct Hole {
    pub from: u64,
    pub to: u64,
    /// Records of the hole whose headers are whole, or that the log's witness knows.
    pub lost: Vec<Lost>,
    /// They are all that was in it.
    pub is_told: bool,
    /// What the one record in the hole seems to have been; to be believed only if its chain fits.
    pub hint: Option<LogHeader>,
}

#[derive(Debug, Clone)]
pub enum Step {
    Group(Vec<Found>),
    Hole(Hole),
}

/// The bytes of a file around where it is being read.
struct Window<'a> {
    file: &'a dyn DiskFile,
    length: u64,
    start: u64,
    bytes: Vec<u8>,
}

impl Window<'_> {
    /// Bytes of the file; None beyond its end.
    fn get(&mut self, offset: u64, count: u64) -> io::Result<Option<&[u8]>> {
        let Some(end) = offset.checked_add(count).filter(|&end| end <= self.length) else {
            return Ok(None);
        };
        if offset < self.start || end > self.start + self.bytes.len() as u64 {
            self.read(offset, count.max(WINDOW_BYTES).min(self.length - offset))?;
            if end > self.length {
                return Ok(None);
            }
        }
        let at = (offset - self.start) as usize;
        Ok(Some(&self.bytes[at..at + count as usize]))
    }
}

impl Window<'_> {
    /// A record's body. A large one comes into memory of its own, because it would be twice there.
    fn body(&mut self, offset: u64, count: u64) -> io::Result<Option<Bytes>> {
        if count <= WINDOW_BYTES {
            return Ok(self.get(offset, count)?.map(Bytes::copy_from_slice));
        }
        if offset
            .checked_add(count)
            .is_none_or(|end| end > self.length)
        {
            return Ok(None);
        }
        let mut bytes = vec![0; count as usize];
        match read_exact_at(self.file, &mut bytes, offset) {
            Ok(()) => Ok(Some(bytes.into())),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads so many bytes. A file that is being written may be cut to its records meanwhile.
    fn read(&mut self, offset: u64, count: u64) -> io::Result<()> {
        self.start = offset;
        self.bytes.resize(count as usize, 0);
        self.bytes.shrink_to(2 * WINDOW_BYTES as usize);
        let mut done = 0;
        while done < self.bytes.len() {
            match self
                .file
                .read_at(&mut self.bytes[done..], offset + done as u64)
            {
                Ok(0) => {
                    self.length = offset + done as u64;
                    self.bytes.truncate(done);
                }
                Ok(more) => done += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.bytes.clear();
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}

/// One pass through a log file.
pub struct Scan<'a> {
    window: Window<'a>,
    head: FileHead,
    /// How many records the file has, if a newer file says so.
    expected: Option<u64>,
    /// What the file's witness says.
    seen: Option<Seen>,
    at: u64,
    end: u64,
    synced: u64,
    records: u64,
    holes: u64,
    /// How many records the holes held; None: of one of them nobody knows.
    records_in_holes: Option<u64>,
    torn_bytes: u64,
    ended: bool,
}

/// The head of a log file; None if it is damaged.
pub fn read_head(file: &dyn DiskFile) -> io::Result<Option<FileHead>> {
    let core = beginning(file, CORE_BYTES)?;
    let length = core.and_then(|core| FileHead::length(core.first_chunk()?));
    let Some(length) = length else {
        return Ok(None);
    };
    Ok(beginning(file, length)?.and_then(|bytes| FileHead::decode(&bytes)))
}

/// The format of the log file, as far as its head is whole.
pub fn format_of(file: &dyn DiskFile) -> io::Result<Option<u8>> {
    let core = beginning(file, CORE_BYTES)?;
    Ok(core.and_then(|core| FileHead::format_of(core.first_chunk()?)))
}

/// Whether something that is not zero stands in the file from there on.
pub fn has_bytes_from(file: &dyn DiskFile, from: u64) -> io::Result<bool> {
    let mut bytes = vec![0; WINDOW_BYTES as usize];
    let mut at = from;
    loop {
        match file.read_at(&mut bytes, at) {
            Ok(0) => return Ok(false),
            Ok(count) if bytes[..count].iter().any(|&byte| byte != 0) => return Ok(true),
            Ok(count) => at += count as u64,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// So many bytes of the file; None if it has fewer.
fn beginning(file: &dyn DiskFile, count: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = vec![0; count as usize];
    match read_exact_at(file, &mut bytes, 0) {
        Ok(()) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

impl<'a> Scan<'a> {
    pub fn new(
        file: &'a dyn DiskFile,
        head: FileHead,
        expected: Option<u64>,
    ) -> io::Result<Scan<'a>> {
        let length = file.bytes()?;
        Ok(Scan {
            window: Window {
                file,
                length,
                start: 0,
                bytes: Vec::new(),
            },
            head,
            expected,
            seen: None,
            at: head.bytes,
            end: head.bytes,
            synced: head.bytes,
            records: 0,
            holes: 0,
            records_in_holes: Some(0),
            torn_bytes: 0,
            ended: false,
        })
    }

    /// With what the file's witness says, if it is of this file [LOG-15].
    pub fn witnessed(mut self, seen: Option<Seen>) -> Scan<'a> {
        let (mark, first) = (self.head.mark, self.head.first);
        let is_asked = !planted::is_in(Defect::WitnessIgnored);
        let seen = seen.filter(|seen| (seen.mark, seen.first) == (mark, first));
        self.seen = seen.filter(|_| is_asked);
        self
    }

    /// Where the last whole group or hole ends.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Until there all of the file is known to have been on the disk.
    pub fn synced(&self) -> u64 {
        let witnessed = self.seen.as_ref().map_or(0, |seen| seen.synced);
        self.synced.max(witnessed).min(self.end)
    }

    /// How many records there were until `end`, a hole counting as one.
    pub fn records(&self) -> u64 {
        self.records + self.holes
    }

    /// What follows `end` and is not zeros.
    pub fn torn_bytes(&self) -> u64 {
        self.torn_bytes
    }

    /// The next group or hole; None at the end of the file's log.
    pub fn next(&mut self) -> io::Result<Option<Step>> {
        if self.ended || self.expected.is_some_and(|count| self.records() >= count) {
            return Ok(None);
        }
        let mut group = Vec::new();
        loop {
            let Some(found) = self.record(self.at)? else {
                if planted::is_in(Defect::TornGroupTaken) && !group.is_empty() {
                    self.records += group.len() as u64;
                    self.end = self.at;
                    return Ok(Some(Step::Group(group)));
                }
                return self.interrupted(&group);
            };
            let fits = found.place.continues != group.is_empty();
            if !fits {
                return self.interrupted(&group);
            }
            self.at += found.span;
            self.synced = self.synced.max(found.synced);
            let whole = !found.place.goes_on;
            group.push(found);
            if whole {
                self.records += group.len() as u64;
                self.end = self.at;
                return Ok(Some(Step::Group(group)));
            }
        }
    }

    /// No record begins at `at`, or the record does not continue the group: a hole or the end.
    fn interrupted(&mut self, group: &[Found]) -> io::Result<Option<Step>> {
        let from = self.end;
        let bad = self.at;
        let proof = self.proof_after(bad)?;
        let is_cut = proof.is_none() && self.is_cut_at(from)?;
        let Some(to) = proof.or(is_cut.then_some(self.window.length.max(bad))) else {
            self.ended = true;
            self.torn_bytes = self.bytes_after(from)?;
            return Ok(None);
        };
        let (lost, is_told) = self.lost_between(from, to, is_cut)?;
        let hint = match group {
            [] => self.hint(from, to)?,
            _ => None,
        };
        self.holes += 1;
        self.records_in_holes = self
            .records_in_holes
            .filter(|_| is_told)
            .map(|count| count + lost.len() as u64);
        self.at = to;
        self.end = to;
        Ok(Some(Step::Hole(Hole {
            from,
            to,
            lost,
            is_told,
            hint,
        })))
    }

    /// Whether the newer file says that there were more records than those before `end`, the last.
    /// A hole of which nobody knows how many records it held may have held all that are missing.
    /// Then the rest of a record tells that the file was longer.
    fn is_cut_at(&mut self, end: u64) -> io::Result<bool> {
        let Some(expected) = self.expected else {
            return Ok(false);
        };
        match self.records_in_holes {
            Some(count) => Ok(self.records + count != expected),
            None => Ok(self.bytes_after(end)? > 0),
        }
    }

    /// The records of which it is known whose they were, and whether they are all that was there.
    fn lost_between(&mut self, from: u64, to: u64, is_cut: bool) -> io::Result<(Vec<Lost>, bool)> {
        let (lost, is_filled) = self.headers_between(from, to)?;
        let before = self.records_in_holes.map(|count| self.records + count);
        let known = before.map(|before| before + lost.len() as u64);
        if is_filled && (!is_cut || known.is_some() && self.expected == known) {
            return Ok((lost, true));
        }
        let witnessed = self.seen.as_ref().filter(|seen| to <= seen.synced);
        let Some(entries) = witnessed.and_then(|seen| seen.records_from(from)) else {
            return Ok((lost, false));
        };
        let inside = entries.iter().filter(|e| u64::from(e.offset) < to);
        let named = |e: &Entry| lost.iter().find(|l| l.crc == e.crc).cloned();
        let all = inside.map(|e| named(e).unwrap_or_else(|| Lost::witnessed(e)));
        Ok((all.collect(), true))
    }

    /// The records there whose headers are whole, and whether they fill the place.
    fn headers_between(&mut self, from: u64, to: u64) -> io::Result<(Vec<Lost>, bool)> {
        let mut lost = Vec::new();
        let mut at = from;
        while at < to {
            let Some((head, header)) = self.header(at)? else {
                return Ok((lost, false));
            };
            at += head.span();
            lost.push(Lost {
                segment_id: header.segment_id,
                crc: head.crc,
                header: Some(header),
            });
        }
        Ok((lost, true))
    }

    /// Where the first group after `bad` begins, if the records there prove that `bad` is damage.
    fn proof_after(&mut self, bad: u64) -> io::Result<Option<u64>> {
        let mut first = None;
        let witnessed = self.seen.as_ref().map_or(0, |seen| seen.synced);
        let mut proved = self.expected.is_some() || bad < witnessed;
        let mut at = bad;
        while let Some(candidate) = self.find_mark(at)? {
            at = candidate + 8;
            if let Some(found) = self.record(candidate)? {
                at = candidate + found.span;
                proved |= found.synced > bad;
                if !found.place.continues {
                    first = first.or(Some(candidate));
                }
                if proved && first.is_some() {
                    return Ok(first);
                }
            }
        }
        // nothing after the hole is whole
        if bad < witnessed {
            return Ok(Some(witnessed));
        }
        // proved in the newest file by the rest of a group alone
        let proved = proved && self.expected.is_none();
        Ok(proved.then_some(self.window.length))
    }

    /// The first place from `from` on where a record may begin.
    fn find_mark(&mut self, from: u64) -> io::Result<Option<u64>> {
        let mark = self.head.mark.to_be_bytes();
        let mut at = padded(from);
        while at < self.window.length {
            let count = WINDOW_BYTES.min(self.window.length - at);
            let Some(bytes) = self.window.get(at, count)? else {
                return Ok(None);
            };
            if let Some(i) = bytes.chunks(8).position(|word| word.starts_with(&mark)) {
                return Ok(Some(at + 8 * i as u64));
            }
            at += count;
        }
        Ok(None)
    }

    /// From there to the last byte that is not zero.
    fn bytes_after(&mut self, from: u64) -> io::Result<u64> {
        let mut torn = 0;
        let mut at = from;
        while at < self.window.length {
            let count = WINDOW_BYTES.min(self.window.length - at);
            let Some(bytes) = self.window.get(at, count)? else {
                break;
            };
            if let Some(last) = bytes.iter().rposition(|&byte| byte != 0) {
                torn = at + last as u64 + 1 - from;
            }
            at += count;
        }
        Ok(torn)
    }

    /// The record at `at`, if it is valid.
    fn record(&mut self, at: u64) -> io::Result<Option<Found>> {
        let Some((head, header)) = self.header(at)? else {
            return Ok(None);
        };
        let body_at = at + head.bytes_before_body();
        let Some(body) = self.window.body(body_at, head.body_bytes())? else {
            return Ok(None);
        };
        Ok(check_body(&body, &head).then(|| Found {
            offset: at,
            span: head.span(),
            crc: head.crc,
            format: self.head.format,
            header,
            body,
            place: head.place,
            synced: u64::from(head.synced),
        }))
    }

    /// The head and header of the record at `at`, if they are valid, whatever its body is.
    fn header(&mut self, at: u64) -> io::Result<Option<(RecordHead, LogHeader)>> {
        let Some(head) = self.record_head(at)? else {
            return Ok(None);
        };
        let file = self.head;
        let bytes = self.window.get(at, head.checked_bytes())?;
        let header = bytes.and_then(|bytes| check_header(bytes, &head, &file));
        Ok(header.map(|header| (head, header)))
    }

    fn record_head(&mut self, at: u64) -> io::Result<Option<RecordHead>> {
        let file = self.head;
        let bytes = self.window.get(at, RECORD_HEAD_BYTES as u64)?;
        Ok(bytes
            .and_then(|bytes| bytes.first_chunk())
            .and_then(|bytes| RecordHead::decode(bytes, &file)))
    }

    /// The header of the one record that filled the hole, if its lengths say so.
    fn hint(&mut self, from: u64, to: u64) -> io::Result<Option<LogHeader>> {
        let Some(head) = self
            .record_head(from)?
            .filter(|head| from + head.span() == to)
        else {
            return Ok(None);
        };
        let at = from + head.header_at();
        let format = self.head.format;
        let bytes = self.window.get(at, u64::from(head.header_bytes))?;
        Ok(bytes.and_then(|bytes| decode_header(bytes, format)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::Identity;
    use crate::record::encode_record;
    use interweave_wire::protocol::LogBody;
    use std::io::IoSlice;
    use std::sync::atomic::{AtomicBool, Ordering};

    const HEAD: (u32, (u64, u64)) = (5, (3, 1));

    /// A file whose reads give few bytes, and each second one is interrupted.
    #[derive(Debug)]
    struct Erratic {
        bytes: Vec<u8>,
        /// As it was before the file was cut.
        length: u64,
        is_interrupted: AtomicBool,
    }

    impl Erratic {
        fn of(bytes: Vec<u8>) -> Erratic {
            Erratic {
                length: bytes.len() as u64,
                bytes,
                is_interrupted: AtomicBool::new(false),
            }
        }
    }

    fn refused<T>() -> io::Result<T> {
        Err(io::ErrorKind::Unsupported.into())
    }

    impl DiskFile for Erratic {
        fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
            if self.is_interrupted.fetch_not(Ordering::SeqCst) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let from = (offset as usize).min(self.bytes.len());
            let count = bytes.len().min(4000).min(self.bytes.len() - from);
            bytes[..count].copy_from_slice(&self.bytes[from..from + count]);
            Ok(count)
        }

        fn write_at(&self, _slices: &[IoSlice<'_>], _offset: u64) -> io::Result<usize> {
            refused()
        }

        fn set_bytes(&self, _bytes: u64) -> io::Result<()> {
            refused()
        }

        fn preallocate(&self, _bytes: u64) -> io::Result<()> {
            refused()
        }

        fn sync_data(&self) -> io::Result<()> {
            refused()
        }

        fn sync_all(&self) -> io::Result<()> {
            refused()
        }

        fn bytes(&self) -> io::Result<u64> {
            Ok(self.length)
        }

        fn has_name(&self) -> io::Result<bool> {
            Ok(true)
        }

        fn lock(&self) -> io::Result<bool> {
            Ok(true)
        }

        fn unlock(&self) {}
    }

    /// A log file with records of such bodies, and where each begins.
    fn log_of(bodies: &[Vec<u8>]) -> (FileHead, Vec<u8>, Vec<usize>) {
        let head = FileHead::new(HEAD.0, HEAD.1, Identity::default(), 64 << 20);
        let mut bytes = head.encode();
        let mut begins = Vec::new();
        for body in bodies {
            begins.push(bytes.len());
            let header = LogHeader {
                owner: head.epoch,
                segment_id: 9,
                parent: 0,
                body: LogBody::Serials(1),
                fields: Vec::new(),
            };
            let place = PlaceInGroup {
                continues: false,
                goes_on: false,
            };
            encode_record(
                head.mark,
                head.bytes as u32,
                place,
                &header,
                body,
                &mut bytes,
            );
            bytes.extend_from_slice(body);
            bytes.resize(padded(bytes.len() as u64) as usize, 0);
        }
        (head, bytes, begins)
    }

    /// The bodies of the records that are read, each a group.
    fn bodies_in(file: &Erratic, head: FileHead) -> Vec<Bytes> {
        let mut scan = Scan::new(file, head, None).unwrap();
        let mut bodies = Vec::new();
        while let Some(step) = scan.next().unwrap() {
            match step {
                Step::Group(group) => bodies.extend(group.into_iter().map(|found| found.body)),
                Step::Hole(hole) => panic!("{hole:?}"),
            }
        }
        bodies
    }

    fn bodies() -> [Vec<u8>; 4] {
        let window = WINDOW_BYTES as usize;
        [
            vec![1; 100],
            vec![2; window],
            vec![3; window + 1],
            vec![4; 9],
        ]
    }

    #[test]
    fn a_log_is_read_whole_by_reads_that_give_few_bytes_or_are_interrupted() {
        let bodies = bodies();
        let (head, bytes, _) = log_of(&bodies);
        let file = Erratic::of(bytes);
        assert_eq!(read_head(&file).unwrap(), Some(head));
        assert!(bodies_in(&file, head) == bodies);
        // a large body to the last byte of its file
        let bodies = [vec![1; WINDOW_BYTES as usize + 4]];
        let (head, bytes, begins) = log_of(&bodies);
        assert_eq!(bytes.len(), begins[0] + 60 + bodies[0].len());
        assert!(bodies_in(&Erratic::of(bytes), head) == bodies);
    }

    #[test]
    fn a_hole_of_more_than_a_window_ends_where_the_next_record_begins() {
        let window = WINDOW_BYTES as usize;
        let (head, mut bytes, begins) = log_of(&[vec![1; 100], vec![2; 3 * window], vec![3; 9]]);
        bytes[begins[1]..begins[2]].fill(7);
        let file = Erratic::of(bytes);
        let mut scan = Scan::new(&file, head, Some(3)).unwrap();
        assert!(matches!(scan.next().unwrap(), Some(Step::Group(_))));
        let Some(Step::Hole(hole)) = scan.next().unwrap() else {
            panic!("no hole");
        };
        let place = (hole.from as usize, hole.to as usize);
        assert_eq!(place, (begins[1], begins[2]));
        assert!(matches!(scan.next().unwrap(), Some(Step::Group(_))));
        assert!(scan.next().unwrap().is_none());
        assert_eq!(scan.records(), 3);
    }

    #[test]
    fn a_torn_end_of_more_than_a_window_is_counted_to_its_last_byte() {
        let torn = 2 * WINDOW_BYTES as usize + 100;
        let (head, mut bytes, _) = log_of(&[vec![1; 100]]);
        let end = bytes.len();
        bytes.resize(end + torn, 7);
        bytes.resize(end + torn + WINDOW_BYTES as usize, 0);
        let file = Erratic::of(bytes);
        let mut scan = Scan::new(&file, head, None).unwrap();
        while scan.next().unwrap().is_some() {}
        let found = (scan.end() as usize, scan.torn_bytes() as usize);
        assert_eq!(found, (end, torn));
    }

    /// The owner cuts a file that has failed, while a backup reads it.
    #[test]
    fn a_file_that_is_cut_while_it_is_read_ends_before_the_record_that_is_cut() {
        let window = WINDOW_BYTES as usize;
        let bodies = [vec![1; 100], vec![2; 3 * window], vec![3; 9]];
        let (head, bytes, begins) = log_of(&bodies);
        let cuts = [
            (0, 10),
            (0, 65),
            (1, 50),
            (1, 2 * window + 500),
            (2, 10),
            (2, 65),
        ];
        for (whole, part) in cuts {
            let begin = begins[whole];
            let mut file = Erratic::of(bytes.clone());
            file.bytes.truncate(begin + part);
            assert!(
                bodies_in(&file, head) == bodies[..whole],
                "{part} of {whole}"
            );
            let mut scan = Scan::new(&file, head, None).unwrap();
            while scan.next().unwrap().is_some() {}
            let last = file.bytes[begin..].iter().rposition(|&byte| byte != 0);
            let found = (scan.end() as usize, scan.torn_bytes() as usize);
            assert_eq!(found, (begin, last.unwrap() + 1), "{part} of {whole}");
        }
    }

    #[test]
    fn bytes_that_are_not_zero_are_found_however_far_behind_they_are() {
        let zeros = 2 * WINDOW_BYTES as usize + 5;
        let mut file = Erratic::of(vec![0; zeros]);
        assert!(!has_bytes_from(&file, 3).unwrap());
        file.bytes.push(1);
        assert!(has_bytes_from(&file, 3).unwrap());
        assert!(has_bytes_from(&file, zeros as u64).unwrap());
        assert!(!has_bytes_from(&file, zeros as u64 + 1).unwrap());
    }
}
