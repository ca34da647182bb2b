/** What the network says is believed only as far as it has sent. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Copy } from "../src/diff/copy.js";
import { DiffBuilder } from "../src/diff/build.js";
import { TypeTable } from "../src/types/table.js";
import { intern, t } from "../src/types/declare.js";
import { InterweaveError } from "../src/wire/error.js";
import { FrameDecoder } from "../src/wire/frames.js";

function code(name: string) {
  return (error: unknown) => error instanceof InterweaveError && error.codeName === name;
}

test("a small diff that announces a large block is refused before memory is taken", () => {
  const diff = new DiffBuilder();
  diff.addBlock(1, 10, 2 ** 30, "large");
  const copy = new Copy(2 ** 20);
  assert.throws(() => copy.apply(diff.finish(0n) as Uint8Array), code("TOO_LARGE"));
  const beyond = new DiffBuilder();
  beyond.addBlock(1, 10, 2 ** 41, "");
  assert.throws(() => new Copy(Infinity).apply(beyond.finish(0n) as Uint8Array), code("TOO_LARGE"));
});

test("types nested in types stay small however many values they stand for", () => {
  let type = t.record("r0", { a: t.char, b: t.double });
  for (let i = 1; i < 30; ++i) type = t.record(`r${i}`, { a: type, b: type });
  const table = new TypeTable();
  const { serial, descriptors } = intern(table, type);
  table.append(table.check(descriptors));
  assert.equal(table.get(serial)?.units, 2 ** 30);
});

test("an announced bulk takes no memory before its bytes come", () => {
  const decoder = new FrameDecoder(1n << 40n);
  // READER_ACQUIRED with 2^39 bytes of bulk, of which 4 come.
  const frame = Buffer.from(
    "000000240000000400000031000000060000008000000000" +
      "00000000000000010000000000000001000000010a0b0c0d",
    "hex",
  );
  const before = process.memoryUsage().arrayBuffers;
  const [first, ...others] = decoder.push(frame);
  assert.equal(first?.part, "first");
  assert.deepEqual(others, []);
  assert.ok(process.memoryUsage().arrayBuffers - before < 1 << 20);
});

test("a declared type is the same one in every segment that has it", () => {
  const node = t.record("node_t", { key: t.int, next: t.pointer("node_t") });
  const table = new TypeTable();
  const first = intern(table, node);
  // The numbers of the vectors: the pointer is 64, the record 65.
  assert.deepEqual(
    first.descriptors.map(({ serial, name }) => [serial, name]),
    [
      [64, ""],
      [65, "node_t"],
    ],
  );
  table.append(table.check(first.descriptors));
  const again = intern(table, t.record("node_t", { key: t.int, next: t.pointer("node_t") }));
  assert.deepEqual(again, { serial: 65, descriptors: [] });
  const list = intern(table, t.array(t.pointer(node), 4));
  assert.deepEqual(
    list.descriptors.map(({ body }) => body),
    [{ kind: 4, array: { element: 64, count: 4 } }],
  );
});
