/**
 * How long a frame of six 256 x 256 arrays of double takes from the bytes of its frames to typed
 * arrays: as a diff in which every value has changed. A display has 16.7 ms for a frame.
 */
import { DiffBuilder } from "../src/diff/build.js";
import { Changes } from "../src/diff/changes.js";
import { Copy } from "../src/diff/copy.js";
import { framesOf, FrameDecoder, message } from "../src/wire/frames.js";
import { readerAcquired } from "../src/wire/protocol/lock.js";
import { MessageType } from "../src/wire/protocol/session.js";

const [ARRAYS, COUNT, DOUBLE, FRAMES] = [6, 65536, 10, 200];

const writer = new Copy(2 ** 30);
const reader = new Copy(2 ** 30);
const blocks = new DiffBuilder();
for (let serial = 1; serial <= ARRAYS; ++serial)
  blocks.addBlock(serial, DOUBLE, COUNT, `a${serial}`);
const first = blocks.finish(0n) as Uint8Array;
writer.apply(first);
reader.apply(first);

const decoding: number[] = [];
const collecting: number[] = [];
for (let frame = 0; frame < FRAMES; ++frame) {
  const changes = new Changes(writer, writer.blocks.values(), 100, 1);
  for (const block of writer.blocks.values()) {
    const values = new Float64Array(block.memory.buffer);
    for (let i = 0; i < COUNT; ++i) values[i] = Math.sin(frame + i);
  }
  const begin = performance.now();
  const diff = changes.collect() as Uint8Array;
  collecting.push(performance.now() - begin);
  changes.commit(writer.version + 1n);
  const now = { incarnation: 1n, number: writer.version };
  const pieces = [
    ...framesOf(
      message(MessageType.READER_ACQUIRED, 1, readerAcquired, { now, updated: true }, diff),
    ),
  ];
  const start = performance.now();
  const decoder = new FrameDecoder(1n << 30n);
  const whole = pieces.flatMap((piece) => decoder.push(piece))[0];
  if (whole === undefined) throw new Error("the message is not whole");
  reader.apply(whole.bulk);
  decoding.push(performance.now() - start);
}

function median(values: number[]): string {
  return ([...values].sort((a, b) => a - b)[values.length >> 1] as number).toFixed(2);
}

console.log(`six 256 x 256 arrays of double, ${FRAMES} frames, median ms a frame:`);
console.log(`  bytes of frames to typed arrays  ${median(decoding)}`);
console.log(`  finding and encoding the changes ${median(collecting)}`);
