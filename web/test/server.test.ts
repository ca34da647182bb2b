/** Programs in TypeScript and in C++ on one real server. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, beforeEach, test } from "node:test";
import { inspect } from "node:util";
import {
  Coherence,
  connect,
  InterweaveError,
  mipOf,
  plain,
  t,
  type ArrayView,
  type Client,
  type RecordView,
} from "../src/node.js";
import { Clients, connection, fails, isUndone } from "./clients.js";
import { Agent, Server } from "./processes.js";

let server: Server;
const clients = new Clients();
const agents: Agent[] = [];
const directory = mkdtempSync(join(tmpdir(), "iw-web-"));

beforeEach(async () => {
  server = await Server.start();
});

afterEach(async () => {
  await clients.close();
  for (const agent of agents.splice(0)) await agent.stop();
  await server.kill();
});

after(() => rmSync(directory, { recursive: true }));

function client(): Promise<Client> {
  return clients.connect(server);
}

async function agent(path: string): Promise<Agent> {
  const made = new Agent();
  agents.push(made);
  await made.do(`open ${server.address}${path} 10`);
  return made;
}

const node = t.record("node_t", { key: t.int, next: t.pointer("node_t") });
const kid: ReturnType<typeof t.record> = t.record("kid_t", {
  name: t.text(),
  kids: t.sequence("kid_t"),
});
const everything = t.record("everything_t", {
  c: t.char,
  uc: t.uchar,
  s: t.short,
  us: t.ushort,
  i: t.int,
  ui: t.uint,
  h: t.hyper,
  uh: t.uhyper,
  f: t.float,
  d: t.double,
  b: t.bool,
  colour: t.enumeration("colour_t", { RED: 1, GREEN: 2 }),
  short: t.string(8),
  long: t.string(40),
  text: t.text(),
  grid: t.array(t.double, 2, 3),
  flags: t.array(t.bool, 3),
  marks: t.sequence(t.int, 4),
  choice: t.union(
    "choice_t",
    ["kind", t.int],
    [
      { name: "number", type: t.double, values: [1, 2] },
      { name: "words", type: t.text(), values: [3] },
      { name: "", type: null, values: [4] },
    ],
  ),
  kids: t.sequence(kid),
});

test("values of every type arrive as they were stored", async () => {
  const stored = {
    c: -5,
    uc: 250,
    s: -30000,
    us: 60000,
    i: -2_000_000_000,
    ui: 4_000_000_000,
    h: -(1n << 62n),
    uh: (1n << 64n) - 1n,
    f: 0.5,
    d: Math.PI,
    b: true,
    colour: 2,
    short: "eight ch",
    long: "longer than sixteen bytes, é",
    text: "owned",
    flags: [true, false, true],
    marks: [1, 2, 3],
    choice: { kind: 3, words: "arm" },
    kids: [
      { name: "a", kids: [{ name: "aa", kids: [] }] },
      { name: "", kids: [] },
    ],
  };
  const writer = await (await client()).open("/all");
  await writer.write(() => {
    const record = writer.allocate(everything, { name: "all" }).value as RecordView;
    Object.assign(record, { ...stored, colour: "GREEN" });
    (record["grid"] as ArrayView).flat?.set([1, 2, 3, 4, 5, 6] as never);
  });
  const reader = await (await client()).open("/all");
  await reader.read(() => {
    const record = reader.get("all") as RecordView;
    const { grid, marks, choice, ...rest } = plain(record) as Record<string, unknown>;
    const { marks: storedMarks, choice: storedChoice, ...storedRest } = stored;
    assert.deepEqual(rest, storedRest);
    assert.deepEqual(marks, Int32Array.from(storedMarks));
    assert.deepEqual({ ...(choice as object) }, { number: undefined, ...storedChoice });
    assert.deepEqual(grid, [Float64Array.of(1, 2, 3), Float64Array.of(4, 5, 6)]);
    assert.deepEqual((record["grid"] as ArrayView).shape, [2, 3]);
  });
  // Memory that fields owned is freed when they are given something else.
  const before = writer.copy.blocks.size;
  await writer.write(() => {
    const record = writer.get("all") as RecordView;
    record["kids"] = [];
    record["choice"] = { kind: 4 };
    record["text"] = "";
    record["marks"] = [...(record["marks"] as Int32Array), 4];
  });
  // kids, two names, one kid, its name; the arm; the text. marks has one block as before.
  assert.equal(writer.copy.blocks.size, before - 6);
  await reader.read(() => {
    assert.deepEqual([...((reader.get("all") as RecordView)["marks"] as Int32Array)], [1, 2, 3, 4]);
    assert.equal(reader.copy.blocks.size, writer.copy.blocks.size);
  });
});

test("a list is built, followed, and cut, as in Figure 1", async () => {
  const writer = await (await client()).open("/list");
  await writer.write(() => {
    const head = writer.allocate(node, { name: "head" }).value as RecordView;
    for (const key of [3, 2, 1]) {
      const made = writer.allocate("node_t").value as RecordView;
      made["key"] = key;
      made["next"] = head["next"];
      head["next"] = made;
    }
  });
  const reader = await (await client()).open("/list");
  const keys = () => {
    const found = [];
    for (
      let at = (reader.get("head") as RecordView)["next"];
      at !== null;
      at = (at as RecordView)["next"]
    ) {
      found.push((at as RecordView)["key"]);
    }
    return found;
  };
  assert.deepEqual(await reader.read(keys), [1, 2, 3]);
  const mip = await reader.read(() => mipOf(reader.get("head") as object, "next"));
  assert.equal(mip, `${server.url}/list#4`);
  await writer.write(() => {
    const head = writer.get("head") as RecordView;
    const first = head["next"] as RecordView;
    head["next"] = first["next"];
    writer.free(first);
  });
  assert.deepEqual(await reader.read(keys), [2, 3]);
});

test("arrays of numbers are typed arrays on the copy, and stores to them are found", async () => {
  const writer = await (await client()).open("/field");
  const reader = await (await client()).open("/field");
  await writer.write(() => void writer.allocate(t.double, { count: 65536, name: "rho" }));
  const rho = await writer.read(() => writer.get("rho") as Float64Array);
  await reader.read(() => reader.get("rho"));
  const received = reader.stats.diffBytes;
  // The array from an earlier lock: nobody sees these stores but by comparing.
  await writer.write(() => void rho.fill(1.5, 100, 102));
  await reader.read(() => {
    const seen = reader.get("rho") as Float64Array;
    assert.deepEqual([...seen.subarray(99, 103)], [0, 1.5, 1.5, 0]);
  });
  assert.ok(reader.stats.diffBytes - received < 64, `${reader.stats.diffBytes - received} bytes`);
  assert.equal(reader.stats.fullCopies, 1);
});

test("an abort, and an exception, undo everything", async () => {
  const writer = await (await client()).open("/undo");
  await writer.write(() => {
    (writer.allocate(t.int, { count: 4, name: "kept" }).value as Int32Array).fill(7);
  });
  const { version } = writer;
  await assert.rejects(
    writer.write(() => {
      (writer.get("kept") as Int32Array).fill(8);
      writer.allocate(node, { name: "gone" });
      writer.free(writer.block("kept"));
      throw new Error("changed my mind");
    }),
    /changed my mind/,
  );
  const lock = await writer.write();
  assert.deepEqual([...(writer.get("kept") as Int32Array)], [7, 7, 7, 7]);
  assert.equal(writer.has("gone"), false);
  (writer.get("kept") as Int32Array).fill(9);
  lock.abort();
  assert.deepEqual(await writer.read(() => [...(writer.get("kept") as Int32Array)]), [7, 7, 7, 7]);
  assert.equal(writer.version, version);
  await writer.write(() => void writer.allocate(node, { name: "gone" }));
});

test("without its lock nothing is read or stored, and errors have codes", async () => {
  const here = await client();
  const writer = await here.open("/errors");
  await writer.write(() => void writer.allocate(everything, { name: "e" }));
  assert.throws(() => writer.get("e"), fails("NO_LOCK"));
  const record = await writer.read(() => writer.get("e") as RecordView);
  assert.throws(() => record["i"], fails("NO_LOCK"));
  await writer.read(() => {
    assert.throws(() => (record["i"] = 1), fails("NO_LOCK"));
    assert.throws(() => writer.get("no such"), fails("NO_BLOCK"));
  });
  await writer.write(() => {
    for (const [field, value] of Object.entries({
      c: 128,
      i: 0.5,
      ui: -1,
      h: 1,
      b: 1,
      colour: 3,
      long: "a\0b",
      flags: [true],
      choice: { kind: 9 },
    })) {
      assert.throws(() => (record[field] = value), fails("BAD_VALUE"), field);
    }
    assert.throws(() => (record["short"] = "nine long"), fails("TOO_LARGE"));
    assert.throws(() => (record["marks"] = [1, 2, 3, 4, 5]), fails("TOO_LARGE"));
    assert.throws(() => writer.allocate("no_such_t"), fails("UNKNOWN_TYPE"));
    assert.throws(() => writer.allocate(t.int, { name: "e" }), fails("BAD_NAME"));
    assert.throws(
      () => writer.allocate(t.record("node_t", { next: t.pointer("nowhere") })),
      fails("UNKNOWN_TYPE"),
    );
    assert.throws(
      () => writer.allocate(t.record("everything_t", { x: t.int })),
      fails("TYPE_CONFLICT"),
    );
    const head = writer.allocate(node).value as RecordView;
    assert.throws(() => (head["next"] = record), fails("BAD_POINTER"));
  });
  await assert.rejects(here.open("/nothing", { readOnly: true }), fails("NO_SEGMENT"));
  await assert.rejects(here.open("no path"), fails("BAD_URL"));
  const watcher = await (await client()).open("/errors", { readOnly: true });
  await assert.rejects(
    watcher.write(() => undefined),
    fails("READ_ONLY"),
  );
  const small = await (await client()).open("/errors", { maxBytes: 10 });
  await assert.rejects(
    small.read(() => undefined),
    fails("TOO_LARGE"),
  );
});

test("a store to a field that does not exist is refused, with the fields there are", async () => {
  const segment = await (await client()).open("/misspelt");
  await segment.write(() => {
    segment.allocate(node, { name: "head" });
    segment.allocate(everything, { name: "all" });
  });
  const misspelt = (what: string, names: string) => (error: unknown) => {
    assert.ok(error instanceof TypeError, String(error));
    assert.equal(error.message, `the ${what}; it has ${names}`);
    return true;
  };
  const noKye = misspelt("record `node_t` has no field `kye`", "key, next");
  const noSuch = misspelt("union `choice_t` has no member `nmber`", "kind, number, words");
  const head = await segment.read(() => segment.get("head") as RecordView);
  // Without a lock, under the reader lock, and under the writer lock.
  assert.throws(() => (head["kye"] = 1), noKye);
  await segment.read(() => assert.throws(() => (head["kye"] = 1), noKye));
  await segment.write(() => {
    assert.throws(() => (head["kye"] = 1), noKye);
    assert.throws(() => Object.assign(head, { key: 1, kye: 1 }), noKye);
    assert.throws(() => Object.defineProperty(head, "kye", { value: 1 }), TypeError);
    assert.throws(() => (segment.block("head").value = { kye: 1 }), noKye);
    // A program that is not strict is told as well.
    assert.throws(() => new Function("head", "head.kye = 1")(head), noKye);
    const all = segment.get("all") as RecordView;
    assert.throws(() => (all["choice"] = { kind: 1, nmber: 1 }), noSuch);
    assert.throws(() => ((all["choice"] as RecordView)["nmber"] = 1), noSuch);
    assert.throws(() => (all["choice"] = { kind: 1, words: "lost" }), fails("BAD_VALUE"));
    assert.throws(
      () => (all["kids"] = [{ name: "a", kids: [{ nam: "b" }] }]),
      misspelt("record `kid_t` has no field `nam`", "name, kids"),
    );
    assert.throws(() => ((all["flags"] as Record<string, unknown>)["first"] = true), TypeError);
    assert.throws(() => ((segment.block("head") as { vlaue?: unknown }).vlaue = 1), TypeError);
    // Another whole record may be assigned.
    all["choice"] = { kind: 1, number: 2 };
    const other = segment.allocate(everything).value as RecordView;
    other["choice"] = all["choice"];
    assert.equal((other["choice"] as RecordView)["number"], 2);
  });
  assert.equal(await segment.read(() => head["key"]), 1);
});

test("an error about a value names the record, the field, and what is wanted", async () => {
  const segment = await (await client()).open("/wrong");
  await segment.write(() => {
    const block = segment.allocate(everything, { name: "all" });
    const all = block.value as RecordView;
    const texts: [() => unknown, string][] = [
      [
        () => (all["i"] = 0.5),
        "everything_t.i: 0.5 is not an int (an integer from -2147483648 to 2147483647)",
      ],
      [() => (all["uc"] = 256), "everything_t.uc: 256 is not a uchar (an integer from 0 to 255)"],
      [() => (all["d"] = "1"), 'everything_t.d: "1" is not a double (a number)'],
      [() => (all["d"] = all), "everything_t.d: an object is not a double (a number)"],
      [() => (all["b"] = 1), "everything_t.b: 1 is not a bool (true or false)"],
      [() => (all["colour"] = 3), "everything_t.colour: 3 is not a colour_t (one of RED, GREEN)"],
      [() => (all["text"] = null), "everything_t.text: null is not a string"],
      [() => (all["flags"] = 1), "everything_t.flags: 1 is not an array"],
      [
        () => (all["flags"] = [true, true, 0]),
        "everything_t.flags[2]: 0 is not a bool (true or false)",
      ],
      [
        () => (all["short"] = "nine long"),
        "everything_t.short: a string of 9 bytes where 8 are the most",
      ],
      [
        () => (all["kids"] = [{ name: "a", kids: [{ name: 5 }] }]),
        "everything_t.kids[0].kids[0].name: 5 is not a string",
      ],
      [
        () => (all["choice"] = { kind: 3, words: 7 }),
        "everything_t.choice.words: 7 is not a string",
      ],
      [
        () => ((all["flags"] as ArrayView)[1] = 7),
        `${block.mip(22)}: 7 is not a bool (true or false)`,
      ],
      [() => (block.value = { i: "x" }), `${block.mip()}.i: "x" is not an int (an integer from`],
    ];
    for (const [store, text] of texts) {
      assert.throws(store, (error: Error) => {
        assert.equal(error.message.slice(0, text.length), text);
        return fails(text.includes("are the most") ? "TOO_LARGE" : "BAD_VALUE")(error);
      });
    }
    const hyper =
      "everything_t.h: 1 is not a hyper (a bigint: an integer from -9223372036854775808 to";
    assert.throws(
      () => (all["h"] = 1),
      (error: Error) => error.message.startsWith(hyper),
    );
  });
});

test("pointers lead across segments", async () => {
  const here = await client();
  const [a, b] = [await here.open("/a"), await here.open("/b")];
  await b.write(() => {
    (b.allocate(node, { name: "target" }).value as RecordView)["key"] = 42;
  });
  await a.write(() =>
    b.read(() => {
      (a.allocate(node, { name: "source" }).value as RecordView)["next"] = b.get("target");
    }),
  );
  const there = await client();
  const seenA = await there.open("/a");
  await seenA.read(async () => {
    const source = seenA.get("source") as RecordView;
    assert.equal(mipOf(source, "next"), `${server.url}/b#1`);
    assert.throws(() => source["next"], fails("NOT_OPEN"));
    const seenB = await there.open("/b");
    await seenB.read(() => assert.equal((source["next"] as RecordView)["key"], 42));
  });
});

test("a C++ program and this one see each other's changes", async () => {
  const writer = await agent("/shared");
  await writer.do("wl", "make numbers 1000", "put numbers 999 5", "release");
  const segment = await (await client()).open("/shared");
  assert.equal(await segment.read(() => (segment.get("numbers") as Int32Array)[999]), 5);
  await writer.do("add numbers 999 3");
  assert.equal(await segment.read(() => (segment.get("numbers") as Int32Array)[999]), 8);
  await segment.write(() => {
    (segment.get("numbers") as Int32Array)[0] = -1;
    (segment.allocate(t.int, { count: 2, name: "mine" }).value as Int32Array)[1] = 6;
  });
  await writer.do("rl");
  assert.equal(await writer.ask("get numbers 0"), "-1");
  assert.equal(await writer.ask("get mine 1"), "6");
  await writer.do("rl_release", "wl", "free mine", "release");
  await segment.read(() => assert.equal(segment.has("mine"), false));
});

test("writers of several programs take turns, and none loses a change", async () => {
  const other = await agent("/turns");
  await other.do("wl", "make n 1", "release");
  const segment = await (await client()).open("/turns");
  const adding = other.do("add n 0 50");
  for (let i = 0; i < 50; ++i) {
    await segment.write(() => {
      const { elements } = segment.block("n");
      elements[0] = (elements[0] as number) + 1;
    });
  }
  await adding;
  assert.equal(await segment.read(() => segment.get("n")), 100);
});

test("versions are told as they come, and a slow reader leaves some out", async () => {
  const writer = await agent("/watched");
  await writer.do("wl", "make n 1", "release");
  const segment = await (await client()).open("/watched", { readOnly: true });
  const seen: number[] = [];
  let adding: Promise<void> | null = null;
  for await (const version of segment) {
    seen.push(version);
    adding ??= writer.do("add n 0 20");
    if (version === 21) break;
  }
  await adding;
  assert.equal(await segment.read(() => segment.get("n")), 20);
  assert.equal(seen[0], 1);
  assert.equal(seen.at(-1), 21);
  assert.deepEqual(
    seen,
    [...seen].sort((a, b) => a - b),
  );
});

test("coherence models decide which locks ask [COH-4] [COH-5] [POLL-1]", async () => {
  const writer = await agent("/models");
  await writer.do("wl", "make n 1", "release");
  const segment = await (await client()).open("/models");
  const value = () => segment.read(() => segment.get("n"));
  segment.coherence = Coherence.delta(2);
  assert.equal(await value(), 0);
  await writer.do("add n 0 2");
  assert.equal(await value(), 0);
  await writer.do("add n 0 1");
  assert.equal(await value(), 3);
  segment.coherence = Coherence.temporal(3600);
  await value();
  await writer.do("add n 0 1");
  const { localReads } = segment.stats;
  assert.equal(await value(), 3);
  assert.equal(segment.stats.localReads, localReads + 1);
  assert.equal(await segment.read(() => segment.get("n"), { fresh: true }), 4);
  segment.coherence = Coherence.none;
  await writer.do("add n 0 1");
  assert.equal(await value(), 4);
  segment.coherence = Coherence.full;
  assert.equal(await value(), 5);
  // After three answers "up to date" the server tells, and locks cost no message.
  for (let i = 0; i < 4; ++i) await value();
  const before = segment.stats.localReads;
  for (let i = 0; i < 10; ++i) await value();
  assert.ok(segment.stats.localReads - before >= 9, `${segment.stats.localReads - before}`);
  await writer.do("add n 0 1");
  segment.coherence = Coherence.strict;
  assert.equal(await value(), 6);
});

// The server says once that a copy is behind; one that is read on comes of
// age without another word.
test(
  "a copy that is read on is told when its time is over [COH-5] [NOT-1]",
  { timeout: 20_000 },
  async () => {
    const writer = await agent("/aged");
    await writer.do("wl", "make n 1", "release");
    const here = await client();
    const segment = await here.open("/aged", { readOnly: true });
    const versions = segment[Symbol.asyncIterator]();
    assert.equal((await versions.next()).value, 1);
    segment.coherence = Coherence.temporal(3600);
    const next = versions.next();
    await writer.do("add n 0 1");
    await here.list(); // what the server said before has arrived
    assert.equal(segment.newestVersion, 2);
    assert.equal(await segment.read(() => segment.get("n")), 0);
    await here.list(); // whoever waits for changes waits again
    segment.coherence = Coherence.temporal(0.01);
    assert.equal((await next).value, 2);
  },
);

test("a union is one unit: its inside has no MIP, and no pointer leads there [MIP-4]", async () => {
  const inner = t.record("inner_t", { a: t.int, b: t.int });
  const arms = [{ name: "pair", type: inner, values: [1] }];
  const holder = t.record("holder_t", {
    before: t.int,
    choice: t.union("pair_t", ["kind", t.int], arms),
    any: t.pointer(null),
  });
  const segment = await (await client()).open("/arms");
  await segment.write(() => {
    const record = segment.allocate(holder, { name: "h" }).value as RecordView;
    record["choice"] = { kind: 1, pair: { a: 5, b: 6 } };
    const choice = record["choice"] as RecordView;
    assert.equal(mipOf(choice), `${segment.url}#1#1`);
    assert.throws(() => mipOf(choice["pair"] as RecordView), fails("BAD_POINTER"));
    assert.throws(() => (record["any"] = choice["pair"]), fails("BAD_POINTER"));
    record["any"] = choice;
    assert.equal(mipOf(record, "any"), `${segment.url}#1#1`);
  });
});

test("a Strict reader keeps writers out [COH-2]", async () => {
  const writer = await agent("/strict");
  await writer.do("wl", "make n 1", "release");
  const segment = await (await client()).open("/strict");
  segment.coherence = Coherence.strict;
  const lock = await segment.read();
  assert.match(await writer.ask("wl_for 0"), /^error -14 /);
  lock.release();
  await writer.do("wl", "release");
});

test("after a server was killed the copy catches up by diff, and watchers continue", async () => {
  await server.kill();
  server = await Server.start("--store", join(directory, "killed"));
  const writer = await agent("/survivor");
  await writer.do("wl", "make n 100000", "release");
  const here = await client();
  const segment = await here.open("/survivor", { readOnly: true });
  let wasKilled = false;
  for await (const version of segment) {
    assert.equal(version, segment.version);
    if (!wasKilled) {
      await Promise.all([connection(here, false), server.kill()]);
      assert.ok(segment.staleness < 60);
      await assert.rejects(
        segment.read(() => undefined, { timeoutMs: 50 }),
        fails("UNREACHABLE"),
      );
      await server.restart();
      const again = await agent("/survivor");
      await again.do("add n 77 1");
      wasKilled = true;
    } else if ((await segment.read(() => (segment.get("n") as Int32Array)[77])) === 1) {
      break;
    }
  }
  assert.equal(segment.stats.fullCopies, 1);
  assert.ok(segment.stats.diffBytes < 100_000, `${segment.stats.diffBytes}`);
});

test("a writer whose server was killed is told, and its changes are undone [LOCK-10]", async () => {
  await server.kill();
  server = await Server.start("--store", join(directory, "writer"));
  const here = await client();
  const segment = await here.open("/w");
  await segment.write(() => void segment.allocate(t.int, { count: 2, name: "n" }));
  const lock = await segment.write();
  (segment.get("n") as Int32Array)[0] = 1;
  await Promise.all([connection(here, false), server.kill()]);
  await server.restart();
  await assert.rejects(lock.release(), isUndone);
  assert.equal(await segment.read(() => (segment.get("n") as Int32Array)[0]), 0);
  await segment.write(() => {
    (segment.get("n") as Int32Array)[0] = 2;
  });
  assert.equal(await segment.read(() => (segment.get("n") as Int32Array)[0]), 2);
});

test("a grant that came too late does not hinder the next request", async () => {
  const writer = await (await client()).open("/late");
  server.suspend();
  await assert.rejects(writer.write({ timeoutMs: 10 }), fails("TIMED_OUT"));
  const next = writer.write({ timeoutMs: 20_000 });
  await new Promise((resolve) => setImmediate(resolve)); // it is sent, behind the first
  server.resume();
  await (await next).release();
  const other = await (await client()).open("/late");
  (await other.write({ timeoutMs: 0 })).abort();
});

test("a lock that was held too long is taken away [LOCK-5]", async () => {
  await server.kill();
  server = await Server.start("--store", "memory", "--lease", "1", "--max-hold", "1");
  const segment = await (await client()).open("/held");
  await segment.write(() => void segment.allocate(t.int, { count: 1, name: "n" }));
  const lock = await segment.write();
  segment.block("n").value = 5;
  const next = await agent("/held");
  await next.do("wl");
  await assert.rejects(lock.release(), fails("FENCED"));
  await next.do("release");
  assert.equal(await segment.read(() => segment.get("n")), 0);
});

test("the server's list, and a segment that is removed", async () => {
  const here = await client();
  const segment = await here.open("/gone");
  await here.open("/stays");
  assert.deepEqual(
    (await here.list()).map(({ path }) => path),
    ["/gone", "/stays"],
  );
  const versions = segment[Symbol.asyncIterator]();
  await versions.next();
  const ends = assert.rejects(versions.next(), fails("REMOVED"));
  await here.remove("/gone");
  await ends;
  await assert.rejects(
    segment.read(() => undefined, { fresh: true }),
    fails("REMOVED"),
  );
  assert.deepEqual(
    (await here.list("/s")).map(({ path }) => path),
    ["/stays"],
  );
});

/** Everything that can be reached from an object by its properties and contents. */
function reachable(from: unknown, seen = new Set<unknown>()): Set<unknown> {
  if (seen.has(from)) return seen;
  seen.add(from);
  if (typeof from !== "object" || from === null || ArrayBuffer.isView(from)) return seen;
  if (from instanceof Map || from instanceof Set)
    for (const each of [...from.entries()].flat()) reachable(each, seen);
  for (const key of Reflect.ownKeys(from)) {
    const { value } = Object.getOwnPropertyDescriptor(from, key) as PropertyDescriptor;
    reachable(value, seen);
  }
  return seen;
}

test("what is printed says what it is, without the secrets of the connection", async () => {
  const token = "this is the token";
  const here = await connect(server.url, { token });
  clients.add(here);
  const segment = await here.open("/printed");
  const { session } = (here as unknown as { link: { session: Uint8Array } }).link;
  const lock = await segment.write();
  const block = segment.allocate(t.int, { name: "n" });
  for (const each of [here, segment, block, lock]) {
    for (const found of reachable(each)) {
      assert.notEqual(found, token);
      assert.notDeepEqual(found, session);
    }
  }
  assert.equal(
    inspect(segment, { breakLength: Infinity }),
    `Segment { url: '${segment.url}', version: 0, newestVersion: 0, blocks: 1, isConnected: true }`,
  );
  assert.equal(
    inspect(here, { breakLength: Infinity }),
    `Client { url: '${server.url}', isConnected: true, segments: [ '/printed' ] }`,
  );
  assert.equal(
    inspect(block, { breakLength: Infinity }),
    `Block { mip: '${segment.url}#1', name: 'n', type: 'int', count: 1 }`,
  );
  lock.abort();
});

test("Node is told what to use where it has no WebSocket", async () => {
  const { WebSocket } = globalThis as { WebSocket?: unknown };
  if (WebSocket !== undefined) delete (globalThis as { WebSocket?: unknown }).WebSocket;
  try {
    await assert.rejects(connect(`http://${server.web}/`), (error: Error) => {
      assert.match(error.message, /use iw:\/\/127\.0\.0\.1:PORT .* listening/);
      return fails("BAD_URL")(error);
    });
  } finally {
    if (WebSocket !== undefined) Object.assign(globalThis, { WebSocket });
  }
});

test("a server that is not there is UNREACHABLE", async () => {
  await server.kill();
  await assert.rejects(connect(server.url, { timeoutMs: 2000 }), fails("UNREACHABLE"));
  await assert.rejects(connect("iws://localhost"), fails("UNREACHABLE"));
});

test("a writer may make more blocks than its grant brought serials for [LOCK-6]", async () => {
  const segment = await (await client()).open("/blocks");
  await segment.write(async () => {
    for (let i = 0; i < 128; ++i) segment.allocate(t.int);
    assert.throws(() => segment.allocate(t.int), fails("TOO_LARGE"));
    await segment.reserveBlocks(1000);
    for (let i = 0; i < 1000; ++i) segment.allocate(t.int);
  });
  const reader = await (await client()).open("/blocks");
  await reader.read(() => assert.equal([...reader.blocks()].length, 1128));
});
