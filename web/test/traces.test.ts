/** The traces of spec/vectors/traces: the engine in C++ and this one agree message by message. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Disagreement, replay } from "./replay.js";
import { traces, type Line, type Trace } from "./trace.js";

const replayed = traces().filter(({ head }) => !head.keeps_grants);
const section = replayed.find(({ name }) => name === "first_section.jsonl") as Trace;

for (const trace of replayed) {
  test(`trace ${trace.name} is replayed`, async () => {
    assert.ok((await replay(trace)) > 0);
  });
}

// ---- a doctored trace is refused ----

function found(is: string, change: (line: Line) => boolean): Line {
  return section.lines.find((line) => line.is === is && change(line)) as Line;
}

async function refuses(changed: Line, ...says: string[]): Promise<void> {
  const lines = section.lines.map((line) => (line.number === changed.number ? changed : line));
  await assert.rejects(replay({ name: "doctored", head: section.head, lines }), (error) => {
    assert.ok(error instanceof Disagreement, String(error));
    for (const each of says) assert.ok(error.message.includes(each), error.message);
    return true;
  });
}

const release = found("sends", ({ message }) => message === "RELEASE_WRITER");

test("a message that means something else is a disagreement", async () => {
  // The sequence is the first member.
  const body = `0000000000000007${release.body?.slice(16)}`;
  const says = [`doctored:${release.number}:`, '"sequence":"7"', '"sequence":"1"'];
  await refuses({ ...release, body }, ...says);
});

test("a message that the trace does not have is a disagreement", async () => {
  const { number, at } = found("sends", ({ message }) => message === "ACQUIRE_WRITER");
  await refuses({ number, at, is: "bytes" }, "no further message", "ACQUIRE_WRITER");
});

test("a message that does not come is a disagreement", async () => {
  const heard = found("heard", ({ to }) => to === release.number);
  await refuses({ ...release, number: heard.number }, "came nothing");
});

test("an action that ends otherwise is a disagreement", async () => {
  const done = found("done", ({ outcome }) => outcome !== undefined);
  await refuses({ ...done, outcome: "ROLLED_BACK" }, "ROLLED_BACK", "COMMITTED");
});
