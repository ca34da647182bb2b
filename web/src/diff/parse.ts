/**
 * The parser of diffs (spec/format/diff.md). It finds the sections first, without copying, and
 * checks their contents as they are read. `Copy` checks whether blocks exist and runs fit. The
 * parser allocates at most a small multiple of the bytes received [DIFF-2].
 */
import { decoding, InterweaveError, malformed } from "../wire/error.js";
import { isBlockName, isSlotText } from "../wire/mip.js";
import { MAX_SERIAL } from "../wire/pointer.js";
import { typeDescriptor, type TypeDescriptor } from "../wire/protocol/descriptor.js";
import { ErrorCode } from "../wire/protocol/error.js";
import { MAX_NAME } from "../wire/protocol/segment.js";
import { Reader } from "../wire/protocol/xdr.js";
import { Cursor } from "../wire/varint.js";

export const MAGIC = new Uint8Array([0x49, 0x57, 0x44, 0x31]);
const METADATA_ONLY = 1;

/** The tags, in the order in which sections occur. */
export const Section = { TYPES: 1, SLOTS: 2, FREED: 3, LIVE: 4, BLOCKS: 5, CHANGES: 6 } as const;
const NONE = new Uint8Array(0);

export interface NewBlock {
  readonly serial: number;
  readonly typeSerial: number;
  readonly count: number;
  /** "" for a block without a name. */
  readonly name: string;
}

export interface Change {
  readonly serial: number;
  readonly runs: Cursor;
}

/** A diff whose head and sections are sound. */
export class Diff {
  readonly from: bigint;
  readonly to: bigint;
  readonly isMetadataOnly: boolean;
  private readonly sections: (Uint8Array | undefined)[] = [];

  constructor(bytes: Uint8Array) {
    const cursor = new Cursor(bytes);
    if (!MAGIC.every((byte) => byte === cursor.byte())) throw malformed("a diff begins with IWD1");
    const flags = cursor.byte();
    if ((flags & ~METADATA_ONLY) !== 0) throw malformed(`the diff has unknown flags ${flags}`);
    this.isMetadataOnly = flags === METADATA_ONLY;
    this.from = cursor.varint64();
    this.to = cursor.varint64();
    if (this.from > this.to) throw malformed(`a diff from ${this.from} to ${this.to} goes back`);
    for (let last = 0; !cursor.isAtEnd;) {
      const tag = cursor.byte();
      if (tag <= last || tag > Section.CHANGES) throw malformed(`section ${tag} after ${last}`);
      this.sections[tag] = cursor.take(cursor.varint());
      last = tag;
    }
    if (this.has(Section.FREED) && this.has(Section.LIVE)) {
      throw malformed("a diff has FREED or LIVE, not both");
    }
    if (this.isMetadataOnly && this.has(Section.CHANGES)) {
      throw malformed("a diff of metadata alone has CHANGES");
    }
  }

  has(section: number): boolean {
    return this.sections[section] !== undefined;
  }

  private body(section: number): Uint8Array {
    return this.sections[section] ?? NONE;
  }

  types(): TypeDescriptor[] {
    const r = new Reader(this.body(Section.TYPES));
    const types: TypeDescriptor[] = [];
    decoding("a type", () => {
      while (r.remaining > 0) types.push(typeDescriptor.decode(r));
    });
    return types;
  }

  /** The index of the first entry, and the entries; null without such a section. */
  slots(): { first: number; texts: string[] } | null {
    if (!this.has(Section.SLOTS)) return null;
    const cursor = new Cursor(this.body(Section.SLOTS));
    const first = cursor.varint();
    const texts: string[] = [];
    while (!cursor.isAtEnd) {
      const text = cursor.text(cursor.varint());
      if (text === undefined || !isSlotText(text)) {
        throw malformed("a slot is neither a path nor a URL");
      }
      texts.push(text);
    }
    return { first, texts };
  }

  freed(): number[] {
    const cursor = new Cursor(this.body(Section.FREED));
    const freed: number[] = [];
    for (let serial = 0; !cursor.isAtEnd; freed.push(serial)) serial = cursor.serialAfter(serial);
    return freed;
  }

  /** Ranges [first, end), ascending; null without such a section. */
  live(): [number, number][] | null {
    if (!this.has(Section.LIVE)) return null;
    const cursor = new Cursor(this.body(Section.LIVE));
    const live: [number, number][] = [];
    for (let end = 0; !cursor.isAtEnd;) {
      const first = end + cursor.varint();
      const count = cursor.varint();
      end = first + count;
      if (first < 1 || count < 1 || end > MAX_SERIAL + 1) {
        throw malformed("a range of LIVE has no serials, or serials beyond 48 bits");
      }
      live.push([first, end]);
    }
    return live;
  }

  *newBlocks(): Generator<NewBlock> {
    const cursor = new Cursor(this.body(Section.BLOCKS));
    for (let serial = 0; !cursor.isAtEnd;) {
      serial = cursor.serialAfter(serial);
      const typeSerial = cursor.varint();
      const count = cursor.varint();
      const name = cursor.text(cursor.varint());
      if (count === 0) throw malformed(`block ${serial} has a count of 0`);
      if (name === undefined || (name !== "" && !isBlockName(name))) {
        throw new InterweaveError(
          ErrorCode.BAD_NAME,
          `the name of block ${serial} is not a name: UTF-8, at most ${MAX_NAME} bytes, no digit ` +
            "first, no '#', no control characters",
        );
      }
      yield { serial, typeSerial, count, name };
    }
  }

  *changes(): Generator<Change> {
    const cursor = new Cursor(this.body(Section.CHANGES));
    for (let serial = 0; !cursor.isAtEnd;) {
      serial = cursor.serialAfter(serial);
      yield { serial, runs: new Cursor(cursor.take(cursor.varint())) };
    }
  }
}
