//! Each kind of vector through the decoder that the server uses for it.

use interweave_wire::mip::{Address, HostAndPort};
use interweave_wire::protocol::xdr::{self, Reader, Xdr};
use interweave_wire::protocol::*;
use interweave_wire::value::{apply_run, check_run, collect_run};
use interweave_wire::varint::{self, Cursor};
use interweave_wire::{
    BlockRef, Fields, FrameDecoder, Json, Layout, Mip, Pointer, Rejection, TypeTable, Url,
};

use crate::diff;
use crate::show::{self, hash, hex, integer, object, text, Show};
use crate::units;
use crate::vector::{member, number_of, Vector};

pub struct Decoded {
    pub meaning: Json,
    /// The bytes of the meaning; None if it can be written in several ways.
    pub bytes: Option<Vec<u8>>,
}

pub type Decoder = fn(&Vector) -> Result<Decoded, Rejection>;

pub fn decoder(kind: &str) -> Option<Decoder> {
    Some(match kind {
        "varint" => varint,
        "signature" => signature,
        "descriptor" => descriptor,
        "value" => value,
        "pointer" => pointer,
        "diff" => diff::decode,
        "control" => control,
        "fields" => fields,
        "frame" => frame,
        "checkpoint-head" => checkpoint_head,
        "mip" => mip,
        _ => return None,
    })
}

fn written(meaning: Json, bytes: Vec<u8>) -> Result<Decoded, Rejection> {
    let bytes = Some(bytes);
    Ok(Decoded { meaning, bytes })
}

fn varint(vector: &Vector) -> Result<Decoded, Rejection> {
    let bytes = vector.bytes();
    let mut cursor = Cursor::new(&bytes);
    let value = cursor.varint()?;
    assert!(cursor.is_empty());
    let meaning = object([
        ("unsigned", integer(value.into())),
        ("zigzag", integer(varint::unzigzag(value).into())),
    ]);
    let mut again = Vec::new();
    varint::put(value, &mut again);
    written(meaning, again)
}

fn descriptors(bytes: &[u8]) -> Result<Vec<TypeDescriptor>, Rejection> {
    let mut reader = Reader::new(bytes);
    let mut found = Vec::new();
    while reader.remaining() > 0 {
        found.push(TypeDescriptor::decode(&mut reader)?);
    }
    Ok(found)
}

pub fn context_table(vector: &Vector) -> TypeTable {
    let mut types = TypeTable::new();
    let known = descriptors(&vector.context_types()).expect("known types");
    types.extend(known).expect("types that a segment can have");
    types
}

fn fnv1a(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(14_695_981_039_346_656_037, |state, &byte| {
            (state ^ u64::from(byte)).wrapping_mul(1_099_511_628_211)
        })
}

/// The table computes a type's hash itself and refuses another: so the bytes are held against it.
fn signature(vector: &Vector) -> Result<Decoded, Rejection> {
    let types = context_table(vector);
    let serial = member(vector.member("meaning").expect("a meaning"), "serial");
    let serial = number_of(serial.expect("a serial")) as u32;
    let ty = types.get(serial).expect("a type");
    assert_eq!(
        fnv1a(&vector.bytes()),
        ty.descriptor.hash,
        "{}",
        vector.name
    );
    let meaning = [
        ("serial", serial.show()),
        ("hash", hash(ty.descriptor.hash)),
    ];
    written(object(meaning), vector.bytes())
}

fn descriptor(vector: &Vector) -> Result<Decoded, Rejection> {
    let mut types = context_table(vector);
    let found = descriptors(&vector.bytes())?;
    types.extend(found.clone())?;
    let bytes = found.iter().flat_map(xdr::to_bytes).collect();
    let shown = found.iter().map(|descriptor| {
        let ty = types.get(descriptor.serial).expect("it was just added");
        object([
            ("serial", descriptor.serial.show()),
            ("name", descriptor.name.show()),
            ("hash", hash(descriptor.hash)),
            ("predecessor", hash(descriptor.predecessor)),
            ("body", descriptor.body.show()),
            ("units", ty.units.show()),
            ("slot_bytes", ty.slot_bytes.show()),
        ])
    });
    written(object([("types", Json::Array(shown.collect()))]), bytes)
}

/// What each field says: a value of a known key is decoded as a reader of the key decodes it.
fn fields(vector: &Vector) -> Result<Decoded, Rejection> {
    fn get<T: Xdr + Show>(fields: Fields, key: FieldKey) -> Result<Json, Rejection> {
        Ok(fields.get::<T>(key)?.expect("it is there").show())
    }
    let list: FieldList = xdr::from_bytes(&vector.bytes())?;
    let fields = Fields::of(&list.fields)?;
    let mut shown = Vec::new();
    for field in &list.fields {
        let known = i32::try_from(field.key).ok();
        let key = known.and_then(|key| FieldKey::try_from(key).ok());
        let name = key.map_or(field.key.show(), |key| text(key.name()));
        use FieldKey as K;
        let value = match key {
            None => hex(&field.value),
            Some(K::SpaceId | K::ServerId) => get::<IdField>(fields, key.unwrap())?,
            Some(K::Program | K::Host) => get::<LabelField>(fields, key.unwrap())?,
            Some(K::Pid) => get::<PidField>(fields, K::Pid)?,
            Some(K::Redirect) => get::<RedirectField>(fields, K::Redirect)?,
            Some(K::Identity) => get::<IdentityField>(fields, K::Identity)?,
            Some(K::Challenge | K::Proof) => get::<ChallengeField>(fields, key.unwrap())?,
            Some(K::ChainHash) => get::<ChainField>(fields, K::ChainHash)?,
            Some(K::Epoch) => get::<EpochField>(fields, K::Epoch)?,
            Some(K::Keeping) => get::<KeepingField>(fields, K::Keeping)?,
            Some(K::Moving) => get::<MovingField>(fields, K::Moving)?,
        };
        shown.push(object([("key", name), ("value", value)]));
    }
    let meaning = object([("fields", Json::Array(shown))]);
    written(meaning, xdr::to_bytes(&list))
}

/// The slot form of all units of a layout, and what they travel as again.
fn slots_of(
    layout: Layout<'_>,
    bytes: &[u8],
    slot_count: u16,
) -> Result<(Vec<u8>, Vec<u8>), Rejection> {
    let mut cursor = Cursor::new(bytes);
    let run = check_run(layout, 0, layout.units(), &mut cursor, slot_count)?;
    if !cursor.is_empty() {
        return Err(Rejection::malformed("data continues behind the last unit"));
    }
    let mut slots = vec![0; layout.bytes() as usize];
    apply_run(layout, 0, layout.units(), &mut Cursor::new(run), &mut slots)?;
    let mut again = Vec::new();
    collect_run(layout, 0, layout.units(), &slots, &mut again);
    Ok((slots, again))
}

fn value(vector: &Vector) -> Result<Decoded, Rejection> {
    let types = context_table(vector);
    let serial = vector.context_number("type").expect("a type") as u32;
    let count = vector.context_number("count").unwrap_or(1);
    let layout = types.layout(serial, count).expect("a layout");
    let slot_count = vector.context_slots().len() as u16;
    let (slots, again) = slots_of(layout, &vector.bytes(), slot_count)?;
    let (mut rest, mut values) = (&slots[..], Vec::new());
    (0..count).for_each(|_| units::read(&types, serial, &mut rest, &mut values));
    let meaning = object([("values", Json::Array(values)), ("slots", hex(&slots))]);
    written(meaning, again)
}

/// Of a `void *`, which may lead anywhere.
fn pointer(vector: &Vector) -> Result<Decoded, Rejection> {
    // POINTER to void: hash of 07 02.
    let body = interweave_wire::protocol::TypeBody::Pointer(0);
    let descriptor = TypeDescriptor {
        serial: 64,
        name: String::new(),
        hash: fnv1a(&[7, 2]),
        predecessor: 0,
        body,
    };
    let mut types = TypeTable::new();
    types.extend(vec![descriptor])?;
    let layout = types.layout(64, 1).expect("a layout");
    let slot_count = vector.context_slots().len() as u16;
    let (slots, again) = slots_of(layout, &vector.bytes(), slot_count)?;
    let found = Pointer::from_bytes(&slots.try_into().expect("16 bytes"));
    written(object([("pointer", units::pointer(found))]), again)
}

fn message(envelope: &Envelope, body: Json) -> Vec<(String, Json)> {
    let type_ = match MessageType::try_from(envelope.type_) {
        Ok(known) => text(known.name()),
        Err(_) => envelope.type_.show(),
    };
    let members = [
        ("type", type_),
        ("stream", envelope.stream.show()),
        ("bulk_bytes", envelope.bulk_bytes.show()),
        ("body", body),
    ];
    members
        .map(|(name, value)| (name.to_string(), value))
        .into()
}

fn control(vector: &Vector) -> Result<Decoded, Rejection> {
    let bytes = vector.bytes();
    let mut reader = Reader::new(&bytes);
    let envelope = Envelope::decode(&mut reader)?;
    let (body, again) = show::body(envelope.type_, &bytes[bytes.len() - reader.remaining()..])?;
    let bytes = [xdr::to_bytes(&envelope), again].concat();
    written(Json::from_iter(message(&envelope, body)), bytes)
}

fn frame(vector: &Vector) -> Result<Decoded, Rejection> {
    let mut decoder = FrameDecoder::new(vector.context_number("max_diff_bytes").unwrap_or(1 << 40));
    let mut messages = Vec::new();
    // Byte by byte: where the bytes are cut must not matter.
    for byte in vector.bytes() {
        decoder.push(&[byte]);
        while let Some(found) = decoder.next_message()? {
            let (body, _) = show::body(found.envelope.type_, &found.body)?;
            let mut members = message(&found.envelope, body);
            members.push(("bulk".to_string(), hex(&found.bulk)));
            messages.push(Json::from_iter(members));
        }
    }
    Ok(Decoded {
        meaning: object([("messages", Json::Array(messages))]),
        bytes: None,
    })
}

fn checkpoint_head(vector: &Vector) -> Result<Decoded, Rejection> {
    let head: CheckpointHead = xdr::from_bytes(&vector.bytes())?;
    written(head.show(), xdr::to_bytes(&head))
}

fn mip(vector: &Vector) -> Result<Decoded, Rejection> {
    let parsed = Mip::parse(vector.text("text").expect("a text"))?;
    let url = url(&parsed.url);
    let block = match &parsed.block {
        None => Json::Null,
        Some(BlockRef::Serial(serial)) => serial.show(),
        Some(BlockRef::Name(name)) => text(name),
    };
    let canonical = parsed.to_string();
    let again = Mip::parse(&canonical).expect("canonical text is a MIP");
    assert_eq!(again, parsed, "{canonical}");
    let meaning = object([
        ("url", url),
        ("block", block),
        ("offset", parsed.offset.show()),
        ("canonical", text(canonical)),
    ]);
    Ok(Decoded {
        meaning,
        bytes: None,
    })
}

fn url(url: &Url) -> Json {
    let mut servers = url.servers.iter();
    let mut members = match servers.next().expect("one at least") {
        Address::Tcp { host, port, secure } => vec![
            ("secure", secure.show()),
            ("host", text(host)),
            ("port", integer((*port).into())),
        ],
        Address::Unix { file } => vec![("socket_file", text(file))],
    };
    let others: Vec<Json> = servers
        .map(|server| match server {
            Address::Tcp { host, port, .. } => text(HostAndPort(host, *port).to_string()),
            Address::Unix { file } => text(file),
        })
        .collect();
    if !others.is_empty() {
        members.push(("others", Json::Array(others)));
    }
    members.push(("path", text(&url.path)));
    let named = members.into_iter();
    Json::from_iter(named.map(|(name, value)| (name.to_string(), value)))
}
