/**
 * The types of a segment, by serial: built from descriptors with every check of [TYPE-2]. A type
 * embeds only types of lower serials, so that recursion over embedding ends, at depth 64 at most.
 */
import { InterweaveError, malformed } from "../wire/error.js";
import { FIRST_TYPE_SERIAL, MAX_TYPES, type TypeDescriptor } from "../wire/protocol/descriptor.js";
import { ErrorCode } from "../wire/protocol/error.js";
import { primitives, shapeOf } from "./construction.js";
import { hashOf } from "./signature.js";
import type { Type } from "./type.js";

export const MAX_EXTENT = 2 ** 40;
const MAX_DEPTH = 64;

export class TypeTable {
  /** From serial 64 on. */
  private readonly described: Type[] = [];
  private readonly hashOfName = new Map<string, bigint>();

  get(serial: number): Type | undefined {
    if (serial < FIRST_TYPE_SERIAL) return primitives[serial - 1];
    return this.described[serial - FIRST_TYPE_SERIAL];
  }

  /** The serial that the next descriptor must have. */
  get nextSerial(): number {
    return FIRST_TYPE_SERIAL + this.described.length;
  }

  /** Without the primitives. */
  get all(): readonly Type[] {
    return this.described;
  }

  /** The newest type of that name, or a primitive. */
  byName(name: string): Type | undefined {
    return (
      this.described.findLast((type) => type.name === name) ??
      primitives.find((type) => type.name === name)
    );
  }

  byHash(name: string, hash: bigint): Type | undefined {
    return this.described.find((type) => type.hash === hash && type.name === name);
  }

  /** The types that the descriptors would append. */
  check(descriptors: readonly TypeDescriptor[]): Type[] {
    const growing = new Growing(this, this.hashOfName, descriptors);
    for (const descriptor of descriptors) {
      try {
        growing.add(descriptor);
      } catch (error) {
        if (!(error instanceof InterweaveError)) throw error;
        const text = `type ${descriptor.serial} \`${descriptor.name}\`: ${error.message}`;
        throw new InterweaveError(error.code, text);
      }
    }
    return growing.added;
  }

  /** Types that `check` gave for this table as it is now. */
  append(types: readonly Type[]): void {
    for (const type of types) {
      this.described.push(type);
      if (type.name !== "") this.hashOfName.set(type.name, type.hash);
    }
  }

  /** Takes back what was appended after there were so many. */
  truncate(nextSerial: number): void {
    for (const type of this.described.splice(nextSerial - FIRST_TYPE_SERIAL)) {
      const before = this.described.some((other) => other.name === type.name);
      if (!before) this.hashOfName.delete(type.name);
    }
  }
}

/** A table with the descriptors of one TYPES section being added. */
class Growing {
  readonly added: Type[] = [];
  private readonly addedHashes = new Map<string, bigint>();
  private readonly first: number;

  constructor(
    private readonly table: TypeTable,
    private readonly hashOfName: ReadonlyMap<string, bigint>,
    private readonly descriptors: readonly TypeDescriptor[],
  ) {
    this.first = table.nextSerial;
  }

  add(descriptor: TypeDescriptor): void {
    const serial = this.first + this.added.length;
    if (descriptor.serial !== serial)
      throw malformed(`the segment's next type serial is ${serial}`);
    if (serial - FIRST_TYPE_SERIAL >= MAX_TYPES) {
      throw new InterweaveError(ErrorCode.TOO_LARGE, `a segment has at most ${MAX_TYPES} types`);
    }
    const shape = shapeOf(descriptor.body, {
      embedded: (other) => this.embedded(other),
      checkTarget: (other) => void this.target(other),
    });
    if (shape.units > MAX_EXTENT || shape.slotBytes > MAX_EXTENT) {
      throw malformed("it has more than 2^40 units or bytes");
    }
    if (shape.depth > MAX_DEPTH) throw malformed("types are embedded more than 64 deep");
    const hash = hashOf(descriptor.body, {
      embedded: (other) => this.embedded(other).hash,
      target: (other) => this.target(other),
    });
    if (hash !== descriptor.hash) {
      throw malformed(`its hash is ${hash.toString(16)}, it says ${descriptor.hash.toString(16)}`);
    }
    this.checkName(descriptor);
    this.added.push({ serial, name: descriptor.name, hash, descriptor, ...shape });
  }

  /** [TYPE-3] */
  private checkName({ name, hash }: TypeDescriptor): void {
    if (name === "") return;
    const known = this.hashOfName.get(name) ?? this.addedHashes.get(name);
    if (known !== undefined && known !== hash) {
      throw new InterweaveError(
        ErrorCode.TYPE_CONFLICT,
        "the segment has a type of this name with another structure; rename one of the two, or " +
          "compile both programs from the same .x file",
      );
    }
    this.addedHashes.set(name, hash);
  }

  private embedded(serial: number): Type {
    const type = this.table.get(serial) ?? this.added[serial - this.first];
    if (type === undefined) throw malformed(`it embeds type ${serial}, which is not known before`);
    return type;
  }

  /** Of a type pointed at, which may follow in the same section. */
  private target(serial: number): { name: string; hash: bigint } {
    const found = this.table.get(serial) ?? this.descriptors[serial - this.first];
    if (found === undefined) throw malformed(`it points at type ${serial}, which is not known`);
    return found;
  }
}
