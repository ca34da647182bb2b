//! TYPES sections: what a table takes it gives out again, and another table takes that.

use interweave_wire::protocol::xdr::{to_bytes, Reader, Xdr};
use interweave_wire::protocol::TypeDescriptor;
use interweave_wire::{Mip, TypeTable};

fn descriptors(bytes: &[u8]) -> Option<Vec<TypeDescriptor>> {
    let mut reader = Reader::new(bytes);
    let mut found = Vec::new();
    while reader.remaining() > 0 {
        found.push(TypeDescriptor::decode(&mut reader).ok()?);
    }
    Some(found)
}

/// Gives every descriptor the hash that the table asks for, which no mutation would find.
fn with_right_hashes(mut found: Vec<TypeDescriptor>) -> Vec<TypeDescriptor> {
    for _ in 0..found.len() {
        let refused = TypeTable::new().extend(found.clone());
        let Err(rejection) = refused else { break };
        let Some(serial) = number_after(&rejection.text, "type ", 10) else {
            break;
        };
        let Some(hash) = number_after(&rejection.text, "its hash is ", 16) else {
            break;
        };
        let wrong = found.iter_mut().find(|one| u64::from(one.serial) == serial);
        let Some(wrong) = wrong else { break };
        wrong.hash = hash;
    }
    found
}

fn number_after(text: &str, before: &str, radix: u32) -> Option<u64> {
    let at = text.find(before)? + before.len();
    let digits: String = text[at..]
        .chars()
        .take_while(|c| c.is_digit(radix))
        .collect();
    u64::from_str_radix(&digits, radix).ok()
}

pub fn run(data: &[u8]) {
    let Some(found) = descriptors(data) else {
        return;
    };
    let written: Vec<u8> = found.iter().flat_map(to_bytes).collect();
    assert_eq!(written, data, "written again they are something else");
    let found = with_right_hashes(found);
    let mut table = TypeTable::new();
    if table.extend(found.clone()).is_err() {
        assert_eq!(table.next_serial(), 64, "a refused section has added types");
        return;
    }
    for descriptor in &found {
        let ty = table.get(descriptor.serial).expect("a type that was taken");
        assert_eq!(&ty.descriptor, descriptor);
        assert!(ty.units >= 1 && ty.units <= 1 << 40 && ty.slot_bytes <= 1 << 40);
    }
}

pub fn run_mip(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if let Ok(mip) = Mip::parse(text) {
        let canonical = mip.to_string();
        // One that only fits because host and port were left out may not fit with them.
        if canonical.len() <= 4096 {
            assert_eq!(Mip::parse(&canonical).expect("canonical text"), mip);
        }
    }
}
