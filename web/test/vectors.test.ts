/** All of spec/vectors: understood and written back, or refused with the error given. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Copy, CopiedBlock } from "../src/diff/copy.js";
import { Diff, Section } from "../src/diff/parse.js";
import { checkUnits, collectUnits, nextRun, placeUnits } from "../src/diff/units.js";
import { checkFields, findField } from "../src/session/fields.js";
import { Hash } from "../src/types/hash.js";
import { leafPlan, repeat } from "../src/types/plan.js";
import type { Type } from "../src/types/type.js";
import { decoding, InterweaveError } from "../src/wire/error.js";
import { decodeBody, FrameDecoder, type Message } from "../src/wire/frames.js";
import { addressText, hostsText, mipText, parseMip } from "../src/wire/mip.js";
import * as protocol from "../src/wire/protocol/index.js";
import { fromBytes, Reader, toBytes, Writer, type Codec } from "../src/wire/protocol/xdr.js";
import { ByteWriter, Cursor, unzigzag } from "../src/wire/varint.js";
import {
  bytesOf,
  contextCopy,
  contextTypes,
  descriptorsOf,
  number,
  pointer,
  slotForm,
  toHex,
  unitsOf,
  vectorsOf,
  type Vector,
} from "./vectors.js";

/** The meaning, and what it is written as where there is one way. */
type Decoded = [meaning: unknown, bytes: Uint8Array | null];

const bodies: Record<string, Codec<never>> = Object.fromEntries(
  Object.keys(protocol.MessageType).map((name) => {
    const words = name.toLowerCase().split("_");
    const camel = words.map((word, i) => (i === 0 ? word : word[0]?.toUpperCase() + word.slice(1)));
    const codecName = name === "ERROR" ? "errorReply" : camel.join("");
    return [name, (protocol as unknown as Record<string, Codec<never>>)[codecName]];
  }),
) as Record<string, Codec<never>>;

const fieldValues: Record<keyof typeof protocol.FieldKey, Codec<unknown>> = {
  FIELD_SPACE_ID: protocol.idField,
  FIELD_SERVER_ID: protocol.idField,
  FIELD_PROGRAM: protocol.labelField,
  FIELD_HOST: protocol.labelField,
  FIELD_PID: protocol.pidField,
  FIELD_REDIRECT: protocol.redirectField,
  FIELD_IDENTITY: protocol.identityField,
  FIELD_CHALLENGE: protocol.challengeField,
  FIELD_PROOF: protocol.challengeField,
  FIELD_CHAIN_HASH: protocol.chainField,
  FIELD_EPOCH: protocol.epochField,
  FIELD_KEEPING: protocol.keepingField,
  FIELD_MOVING: protocol.movingField,
};

const enumOfMember: Record<string, Record<string, number>> = {
  kind: protocol.TypeKind,
  model: protocol.CoherenceModel,
  durable: protocol.Durability,
  code: protocol.ErrorCode,
  state: protocol.MemberState,
  place: protocol.SegmentPlace,
};

function nameIn(members: Record<string, number>, value: number): unknown {
  return Object.keys(members).find((name) => members[name] === value) ?? value;
}

/** XDR as the vectors write it: enums by name, opaque bytes and hashes as hex. */
function shown(value: unknown, member = ""): unknown {
  if (value instanceof Uint8Array) return toHex(value);
  if (typeof value === "bigint") {
    const isHash = member === "hash" || member === "predecessor";
    return isHash ? `0x${value.toString(16).padStart(16, "0")}` : number(value);
  }
  if (Array.isArray(value)) return value.map((each) => shown(each, member));
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [name, shown(each, name)]),
    );
  }
  const members = enumOfMember[member];
  return members !== undefined && typeof value === "number" ? nameIn(members, value) : value;
}

function memoryOf(type: Type, count: number, bytes: Uint8Array, slots: number): CopiedBlock {
  const cursor = new Cursor(bytes);
  checkUnits(repeat(type.plan, count, type.size), 0, count * type.units, cursor, slots);
  if (!cursor.isAtEnd) throw new InterweaveError(protocol.ErrorCode.MALFORMED, "data continues");
  const block = new CopiedBlock(1, type, count, "");
  placeUnits(block.plan, 0, block.units, new Cursor(bytes), block.memory);
  return block;
}

function travelling(block: CopiedBlock): Uint8Array {
  const out = new ByteWriter();
  collectUnits(block.plan, 0, block.units, block.memory, block.view, out);
  return out.finish();
}

function envelopeMeaning({ envelope, body }: Message, bulk?: Uint8Array): [unknown, Uint8Array] {
  const type = nameIn(protocol.MessageType, envelope.type);
  const w = new Writer();
  protocol.envelope.encode(w, envelope);
  const head = { type, stream: envelope.stream, bulk_bytes: number(envelope.bulk_bytes) };
  const codec = bodies[type as string];
  const rest = bulk === undefined ? {} : { bulk: toHex(bulk) };
  if (typeof type === "number") {
    return [{ ...head, body: toHex(body), ...rest }, Buffer.concat([w.finish(), body])];
  }
  if (codec === undefined) {
    if (body.length > 0) throw new InterweaveError(protocol.ErrorCode.MALFORMED, "no body");
    return [{ ...head, body: {}, ...rest }, w.finish()];
  }
  const value = decodeBody({ envelope, body, bulk: body, part: "whole" }, codec);
  const again = Buffer.concat([w.finish(), toBytes(codec, value)]);
  return [{ ...head, body: shown(value), ...rest }, again];
}

const decoders: Record<string, (vector: Vector) => Decoded> = {
  varint(vector) {
    const cursor = new Cursor(bytesOf(vector));
    const value = cursor.varint64();
    assert.ok(cursor.isAtEnd);
    const out = new ByteWriter();
    out.varint(value);
    return [{ unsigned: number(value), zigzag: number(unzigzag(value)) }, out.finish()];
  },

  signature(vector) {
    const { serial } = vector.meaning as { serial: number };
    const hash = new Hash();
    for (const byte of bytesOf(vector)) hash.u8(byte);
    assert.equal(contextTypes(vector).get(serial)?.hash, hash.value);
    return [{ serial, hash: `0x${hash.value.toString(16).padStart(16, "0")}` }, bytesOf(vector)];
  },

  descriptor(vector) {
    const table = contextTypes(vector);
    const found = decoding("types", () => descriptorsOf(bytesOf(vector)));
    const types = table.check(found);
    const shownTypes = types.map((type) => ({
      ...(shown(type.descriptor) as object),
      units: number(type.units),
      slot_bytes: number(type.slotBytes),
    }));
    const written = found.map((descriptor) => toBytes(protocol.typeDescriptor, descriptor));
    return [{ types: shownTypes }, Buffer.concat(written)];
  },

  value(vector) {
    const table = contextTypes(vector);
    const { type: serial, count = 1, slots = [] } = vector.context ?? {};
    const type = table.get(serial as number) as Type;
    const block = memoryOf(type, count, bytesOf(vector), slots.length);
    const values = unitsOf(type, count, table, block);
    return [{ values, slots: toHex(slotForm(type, count, block)) }, travelling(block)];
  },

  pointer(vector) {
    const plan = leafPlan({ kind: "pointer", width: 16 });
    const bytes = bytesOf(vector);
    const slots = vector.context?.slots?.length ?? 0;
    const cursor = new Cursor(bytes);
    checkUnits(plan, 0, 1, cursor, slots);
    return [{ pointer: pointer(new DataView(bytes.buffer), 0) }, bytes];
  },

  diff: decodeDiff,

  control(vector) {
    const bytes = bytesOf(vector);
    const r = new Reader(bytes);
    const envelope = decoding("the envelope", () => protocol.envelope.decode(r));
    const message = { envelope, body: bytes.subarray(r.at), bulk: new Uint8Array(0) };
    return envelopeMeaning({ ...message, part: "whole" });
  },

  /** A value of a known key is decoded as a reader of the key decodes it. */
  fields(vector) {
    const { fields } = decoding("a list", () => fromBytes(protocol.fieldList, bytesOf(vector)));
    checkFields(fields);
    const meaning = fields.map(({ key, value }) => {
      const known = Object.entries(protocol.FieldKey).find(([, number]) => number === key);
      if (known === undefined) return { key, value: toHex(value) };
      const [name, fieldKey] = known;
      const found = findField(fields, fieldKey, fieldValues[name as keyof typeof fieldValues]);
      return { key: name, value: shown(found, "field") };
    });
    return [{ fields: meaning }, toBytes(protocol.fieldList, { fields })];
  },

  frame(vector) {
    const bytes = bytesOf(vector);
    // Wherever the bytes are cut must not matter.
    const results = [1, 7, bytes.length].map((step) => {
      const decoder = new FrameDecoder(BigInt(vector.context?.max_diff_bytes ?? 2 ** 40));
      const messages: unknown[] = [];
      for (let at = 0; at < bytes.length; at += step) {
        for (const message of decoder.push(bytes.slice(at, at + step))) {
          if (message.part === "first") continue;
          messages.push(envelopeMeaning(message, message.bulk)[0]);
        }
      }
      return messages;
    });
    assert.deepEqual(results[1], results[0]);
    assert.deepEqual(results[2], results[0]);
    return [{ messages: results[0] }, null];
  },

  "checkpoint-head"(vector) {
    const bytes = bytesOf(vector);
    const head = decoding("head", () => fromBytes(protocol.checkpointHead, bytes));
    return [shown(head), toBytes(protocol.checkpointHead, head)];
  },

  /**
   * Marks, checksums and padding are the server's business; the header is XDR that we have, too.
   */
  "log-record"(vector) {
    const bytes = bytesOf(vector);
    const view = new DataView(bytes.buffer);
    const headBytes = 24;
    const header = bytes.subarray(headBytes, headBytes + (view.getUint32(8) & 0x3fffffff));
    const decoded = decoding("header", () => fromBytes(protocol.logHeader, header));
    const { body, ...rest } = shown(decoded) as { body: object };
    const kind = nameIn(protocol.LogKind, decoded.body.kind);
    const written = toBytes(protocol.logHeader, decoded);
    const again = Buffer.concat([
      bytes.subarray(0, headBytes),
      written,
      bytes.subarray(headBytes + written.length),
    ]);
    return [{ ...vector.meaning, header: { ...rest, body: { ...body, kind } } }, again];
  },

  mip(vector) {
    const { url, block, offset } = parseMip(vector.text as string);
    const [server, ...more] = url.server;
    assert.ok(server !== undefined);
    const { path } = url;
    const others = more.map((other) => addressText(other).replace(/^iws?:\/\//, ""));
    const shownServer = {
      ...("host" in server ? server : { socket_file: server.socketFile }),
      ...(others.length === 0 ? {} : { others }),
    };
    const canonical = mipText(hostsText(url.server), path, block, offset);
    assert.deepEqual(parseMip(canonical), { url, block, offset });
    return [{ url: { ...shownServer, path }, block, offset: number(offset), canonical }, null];
  },
};

function decodeDiff(vector: Vector): Decoded {
  const bytes = bytesOf(vector);
  const diff = new Diff(bytes);
  const copy = diff.isMetadataOnly ? describedCopy(bytes) : contextCopy(vector);
  if (!diff.isMetadataOnly) {
    try {
      copy.apply(bytes);
    } catch (error) {
      // A diff that is refused has changed nothing.
      assert.deepEqual(blocksOf(copy), blocksOf(contextCopy(vector)));
      throw error;
    }
  }
  const meaning: Record<string, unknown> = {
    metadata_only: diff.isMetadataOnly,
    from: number(diff.from),
    to: number(diff.to),
  };
  if (diff.has(Section.TYPES))
    meaning["types"] = diff.types().map(({ serial, name }) => ({ serial, name }));
  if (diff.has(Section.SLOTS)) meaning["slots"] = diff.slots();
  if (diff.has(Section.FREED)) meaning["freed"] = diff.freed();
  const live = diff.live();
  if (live !== null) meaning["live"] = live.map(([first, end]) => [first, end - first]);
  if (diff.has(Section.BLOCKS)) {
    meaning["blocks"] = [...diff.newBlocks()].map(({ serial, typeSerial, count, name }) => ({
      serial,
      type: typeSerial,
      count: number(count),
      name,
    }));
  }
  if (diff.has(Section.CHANGES)) meaning["changes"] = changesOf(diff, copy);
  if (!diff.isMetadataOnly) meaning["after"] = blocksOf(copy);
  return [meaning, null];
}

/** Described blocks are no version: they make a copy of their own. */
function describedCopy(bytes: Uint8Array): Copy {
  const whole = bytes.slice();
  whole[4] = 0;
  const copy = new Copy(2 ** 40);
  copy.apply(whole);
  return copy;
}

function changesOf(diff: Diff, copy: Copy): unknown[] {
  return [...diff.changes()].map(({ serial, runs }) => {
    const { type, count, units } = copy.blocks.get(serial) as CopiedBlock;
    const shownRuns: unknown[] = [];
    for (let position = 0; ;) {
      const run = nextRun(units, position, runs);
      if (run === null) return { serial, runs: shownRuns };
      const block = new CopiedBlock(1, type, count, "");
      placeUnits(block.plan, run.first, run.count, runs, block.memory);
      position = run.first + run.count;
      const values = unitsOf(type, count, copy.types, block).slice(run.first, position);
      shownRuns.push({ unit: run.first, values });
    }
  });
}

function blocksOf(copy: Copy): unknown[] {
  const blocks = [...copy.blocks.values()].sort((a, b) => a.serial - b.serial);
  return blocks.map((block) => ({
    serial: block.serial,
    type: block.type.serial,
    count: block.count,
    name: block.name,
    slots: toHex(slotForm(block.type, block.count, block)),
  }));
}

/** Of every kind: one that is new is not passed over. */
function decoderOf({ kind }: Vector): (vector: Vector) => Decoded {
  const decode = decoders[kind];
  assert.ok(decode !== undefined, `vectors of kind ${kind} are not walked`);
  return decode;
}

/** What only a server refuses: the diffs that writers send, and damage of its log. */
function isServers({ kind, role }: Vector): boolean {
  return role === "release" || kind === "log-record";
}

for (const vector of vectorsOf("good")) {
  const decode = decoderOf(vector);
  test(`good ${vector.name} ${vector.rule}`, () => {
    const [meaning, bytes] = decode(vector);
    assert.deepEqual(meaning, vector.meaning);
    if (bytes !== null) assert.equal(toHex(bytes), toHex(bytesOf(vector)));
  });
}

for (const vector of vectorsOf("malformed")) {
  const decode = decoderOf(vector);
  if (isServers(vector)) continue;
  test(`malformed ${vector.name} ${vector.rule}`, () => {
    assert.throws(
      () => decode(vector),
      (error) => {
        assert.ok(error instanceof InterweaveError, String(error));
        assert.equal(error.codeName, vector.error);
        return true;
      },
    );
  });
}
