/** Random edits: what a writer's diff says is what a reader gets, and an abort leaves no trace. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Changes } from "../src/diff/changes.js";
import { Copy, type CopiedBlock } from "../src/diff/copy.js";
import { intern, t, type Declared } from "../src/types/declare.js";
import type { Type } from "../src/types/type.js";

/** xorshift32: the same numbers in every run. */
class Numbers {
  constructor(private state: number) {}

  below(limit: number): number {
    this.state ^= this.state << 13;
    this.state ^= this.state >>> 17;
    this.state ^= this.state << 5;
    return (this.state >>> 0) % limit;
  }
}

const mixed = t.record("mixed", {
  a: t.char,
  b: t.double,
  c: t.array(t.short, 3),
  d: t.record("inner", { x: t.float, y: t.uchar }),
  e: t.array(t.record("pair", { p: t.int, q: t.hyper }), 5),
});
const types: Declared[] = [t.double, t.uchar, t.array(t.int, 7, 3), mixed, t.array(mixed, 4)];

function snapshot(copy: Copy): Map<number, string> {
  const hex = (block: CopiedBlock) => Buffer.from(block.memory).toString("hex");
  return new Map([...copy.blocks].map(([serial, block]) => [serial, hex(block)]));
}

/** Stores to random units; only to them, as padding does not travel. */
function scribble(block: CopiedBlock, numbers: Numbers): void {
  const stores = numbers.below(3) === 0 ? block.units : numbers.below(12);
  for (let i = 0; i < stores; ++i) {
    const element = numbers.below(block.count) * block.type.size;
    let [type, at]: [Type, number] = [block.type, element];
    while (type.element !== null || type.fields.length > 0) {
      if (type.element !== null) {
        at += numbers.below(type.count) * type.element.size;
        type = type.element;
      } else {
        const field = type.fields[numbers.below(type.fields.length)] as Type["fields"][number];
        at += field.at;
        type = field.type;
      }
    }
    block.memory[at + numbers.below(type.size)] = numbers.below(256);
  }
}

test("random edits arrive, and undone ones do not", () => {
  for (let seed = 1; seed <= 60; ++seed) {
    const numbers = new Numbers(seed * 7919);
    const [writer, reader] = [new Copy(1 << 24), new Copy(1 << 24)];
    let serial = 1;
    for (let round = 0; round < 12; ++round) {
      const before = snapshot(writer);
      const changes = new Changes(writer, [], serial, 8);
      for (let i = numbers.below(3); i > 0; --i) {
        const type = intern(writer.types, types[numbers.below(types.length)] as Declared);
        changes.addTypes(type.descriptors);
        const count = 1 + numbers.below(20);
        changes.allocate(writer.types.get(type.serial) as Type, count, `block${serial}_${i}`);
      }
      const blocks = [...writer.blocks.values()];
      for (const block of blocks) {
        if (numbers.below(8) === 0) {
          changes.free(block);
        } else if (numbers.below(2) === 0) {
          changes.touch(block);
          scribble(block, numbers);
        }
      }
      serial += 8;
      if (numbers.below(4) === 0) {
        changes.undo();
        assert.deepEqual(snapshot(writer), before, `seed ${seed}, round ${round}`);
        continue;
      }
      const diff = changes.collect();
      changes.commit(diff === null ? writer.version : writer.version + 1n);
      if (diff !== null) reader.apply(diff);
      assert.equal(reader.version, writer.version);
      assert.deepEqual(
        new Map([...snapshot(reader)].sort()),
        new Map([...snapshot(writer)].sort()),
      );
    }
  }
});
