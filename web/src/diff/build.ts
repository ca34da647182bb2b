/** Puts a release's diff together, section by section (spec/format/diff.md). */
import { typeDescriptor, type TypeDescriptor } from "../wire/protocol/descriptor.js";
import { toBytes } from "../wire/protocol/xdr.js";
import { ByteWriter } from "../wire/varint.js";
import { MAGIC, Section } from "./parse.js";

const utf8 = new TextEncoder();

export class DiffBuilder {
  private readonly bodies = new Map<number, ByteWriter>();
  private readonly lastSerial = new Map<number, number>();

  private section(section: number): ByteWriter {
    let body = this.bodies.get(section);
    if (body === undefined) this.bodies.set(section, (body = new ByteWriter()));
    return body;
  }

  private serial(section: number, serial: number): ByteWriter {
    const body = this.section(section);
    body.zigzag(serial - (this.lastSerial.get(section) ?? 0));
    this.lastSerial.set(section, serial);
    return body;
  }

  addType(descriptor: TypeDescriptor): void {
    this.section(Section.TYPES).put(toBytes(typeDescriptor, descriptor));
  }

  /** The first has that index; once. */
  addSlots(first: number, texts: readonly string[]): void {
    const body = this.section(Section.SLOTS);
    body.varint(first);
    for (const text of texts) {
      const bytes = utf8.encode(text);
      body.varint(bytes.length);
      body.put(bytes);
    }
  }

  free(serial: number): void {
    this.serial(Section.FREED, serial);
  }

  addBlock(serial: number, typeSerial: number, count: number, name: string): void {
    const body = this.serial(Section.BLOCKS, serial);
    const bytes = utf8.encode(name);
    body.varint(typeSerial);
    body.varint(count);
    body.varint(bytes.length);
    body.put(bytes);
  }

  change(serial: number, runs: Uint8Array): void {
    const body = this.serial(Section.CHANGES, serial);
    body.varint(runs.length);
    body.put(runs);
  }

  /** null: nothing changed. */
  finish(from: bigint): Uint8Array | null {
    if (this.bodies.size === 0) return null;
    const out = new ByteWriter();
    out.put(MAGIC);
    out.byte(0);
    out.varint(from);
    out.varint(from + 1n);
    for (const section of Object.values(Section)) {
      const body = this.bodies.get(section)?.finish();
      if (body === undefined) continue;
      out.byte(section);
      out.varint(body.length);
      out.put(body);
    }
    return out.finish();
  }
}
