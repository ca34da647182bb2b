/** A real server that is killed, stopped and restarted, with more or with less than it had. */
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, test } from "node:test";
import {
  Coherence,
  InterweaveError,
  t,
  type Client,
  type RecordView,
  type Segment,
} from "../src/node.js";
import { Clients, connection, fails, isUndone } from "./clients.js";
import { Listener, Server } from "./processes.js";
import type { Status } from "../viewer/status.js";

let server: Server;
const clients = new Clients();
const listeners: Listener[] = [];
const directory = mkdtempSync(join(tmpdir(), "iw-restart-"));

afterEach(async () => {
  await clients.close();
  for (const listener of listeners.splice(0)) await listener.stop();
  await server.kill();
});

after(() => rmSync(directory, { recursive: true }));

function client(): Promise<Client> {
  return clients.connect(server);
}

function listen(path: string): Listener {
  const made = new Listener(server.url, path);
  listeners.push(made);
  return made;
}

async function restart(...all: Client[]): Promise<void> {
  await Promise.all([...all.map((each) => connection(each, false)), server.kill()]);
  await Promise.all([...all.map((each) => connection(each, true)), server.restart()]);
}

const number = t.record("number_t", { n: t.int });

/** A segment with one number in a block of that name, at version 1. */
async function numbers(here: Client, path: string, name = "n"): Promise<Segment> {
  const segment = await here.open(path);
  await segment.write(() => void segment.allocate(number, { name }));
  return segment;
}

function put(segment: Segment, value: number, name = "n"): Promise<void> {
  return segment.write(() => {
    (segment.get(name) as RecordView)["n"] = value;
  });
}

test("a listening program hears of each restart and of later releases [CONN-1]", async () => {
  server = await Server.start("--store", join(directory, "listening"));
  const segment = await numbers(await client(), "/heard");
  const listener = listen("/heard");
  await listener.says("version 1");
  for (const end of ["kill", "stop"] as const) {
    const was = segment.version;
    await server[end]();
    await listener.says("connection lost");
    await server.restart();
    // No version was made: it says none.
    await listener.says("connected");
    await put(segment, was);
    await listener.says(`version ${was + 1}`);
  }
});

test("a listener is told of a loss, a return and a lost segment [CONN-3]", async () => {
  const store = join(directory, "connection");
  server = await Server.start("--store", store);
  const here = await client();
  await numbers(here, "/told");
  const watched = await (await client()).open("/told", { readOnly: true });
  await watched.read(() => undefined);
  const told: string[] = [];
  const waiting: (() => void)[] = [];
  const stop = watched.onConnection((state) => {
    told.push(state);
    waiting.shift()?.();
  });
  const next = () => new Promise<void>((resolve) => waiting.push(resolve));
  const until = async (change: () => Promise<void>) => void (await Promise.all([next(), change()]));
  for (const end of ["kill", "stop"] as const) {
    await until(() => server[end]());
    await until(() => server.restart());
  }
  await until(() => server.kill());
  rmSync(store, { recursive: true });
  await until(() => server.restart());
  const twice = ["disconnected", "connected", "disconnected", "connected"];
  assert.deepEqual(told, [...twice, "disconnected", "lost"]);
  await assert.rejects(
    watched.read(() => undefined),
    fails("SEGMENT_LOST"),
  );
  stop();
});

test("a listener may call the library, and once stopped is told no more [CONN-3]", async () => {
  server = await Server.start("--store", join(directory, "asking"));
  const here = await client();
  const segment = await numbers(here, "/asking");
  const read = new Promise<number>((resolve, reject) => {
    const stop = segment.onConnection((state) => {
      if (state !== "connected") return;
      stop();
      segment.read(() => segment.version).then(resolve, reject);
    });
  });
  const closed = new Promise<void>((resolve) => {
    segment.onConnection((state) => state === "disconnected" && resolve());
  });
  await restart(here);
  await closed;
  assert.equal(await read, 1);
});

test("a call at a stopping server goes to the next, or is told STOPPING [CONN-5]", async () => {
  server = await Server.start("--store", join(directory, "stopping"));
  const [here, there] = [await client(), await client()];
  const held = await (await numbers(here, "/stopping")).write();
  const segment = await there.open("/stopping");
  server.suspend();
  const waiting = Promise.allSettled([segment.write()]);
  await new Promise((resolve) => setImmediate(resolve)); // it is sent
  const stopped = server.stop();
  server.resume();
  await Promise.all([stopped, connection(there, false)]);
  // The server may have ended before it read the request: then the client asks the next one.
  await server.restart();
  const [outcome] = await waiting;
  if (outcome.status === "fulfilled") outcome.value.abort();
  else fails("STOPPING")(outcome.reason);
  await assert.rejects(held.release(), isUndone);
  await put(segment, 2);
  assert.equal(segment.version, 2);
});

test("the server has a segment open exactly as long as the program has [OPEN-2]", async () => {
  server = await Server.start();
  const here = await client();
  const openings = async () => {
    const status = (await (await fetch(`http://${server.web}/status`)).json()) as Status;
    return status.segments.find(({ path }) => path === "/opened")?.readers.length;
  };
  const segment = await numbers(here, "/opened");
  assert.equal(await openings(), 1);
  // Opened again before the close is said: the server hears both, in this order.
  const closed = segment.close();
  const again = await here.open("/opened");
  await closed;
  assert.notEqual(again, segment);
  await again.read(() => assert.ok(again.has("n")));
  assert.equal(await openings(), 1);
  // Closed while it is being opened, and the connection lost and made again meanwhile.
  await restart(here);
  const other = await client();
  await numbers(other, "/opened");
  const opening = other.open("/opened");
  await other.close();
  await opening.catch(fails("NOT_OPEN"));
  await again.close();
  await here.list(); // the answer comes after the close was heard
  assert.equal(await openings(), 0);
});

test("what was released while a listener was away is told once [CONN-2]", async () => {
  server = await Server.start("--store", join(directory, "away"));
  const here = await client();
  const segment = await numbers(here, "/away");
  const listener = listen("/away");
  await listener.says("version 1");
  listener.suspend();
  await restart(here);
  for (const value of [1, 2, 3]) await put(segment, value);
  listener.resume();
  await listener.says("connection lost", "connected", "version 4");
  await put(segment, 4);
  await listener.says("version 5");
});

test("a listener is told whatever its model is, if the model asks at all [CONN-2]", async () => {
  server = await Server.start("--store", join(directory, "models"));
  const here = await client();
  const segment = await numbers(here, "/models");
  const there = await client();
  const watched = await there.open("/models", { readOnly: true });
  const models = [Coherence.full, Coherence.strict, Coherence.delta(0), Coherence.diff(0)];
  for (const bound of [...models, Coherence.temporal(0.1)]) {
    watched.coherence = bound;
    const versions = watched[Symbol.asyncIterator]();
    assert.equal((await versions.next()).value, segment.version);
    await restart(here, there);
    const next = versions.next();
    await put(segment, segment.version);
    assert.equal((await next).value, segment.version, JSON.stringify(bound));
    await versions.return();
  }
});

test("each lock of a lost segment fails until it is opened anew [LOST-1] [LOST-4]", async () => {
  server = await Server.start();
  const here = await client();
  const segment = await numbers(here, "/lost");
  await put(segment, 7);
  const there = await client();
  const models = [Coherence.full, Coherence.none, Coherence.temporal(1000)];
  const idle = await Promise.all(
    models.map(async (bound) => {
      const reader = await (await client()).open("/lost");
      reader.coherence = bound;
      await reader.read(() => undefined);
      return reader;
    }),
  );
  const view = await segment.read(() => segment.get("n") as RecordView);
  const versions = (await there.open("/lost"))[Symbol.asyncIterator]();
  await versions.next();
  const ends = assert.rejects(versions.next(), fails("SEGMENT_LOST"));
  await restart(...clients.all);
  await ends;
  for (const each of [segment, ...idle]) {
    await assert.rejects(
      each.write(() => undefined),
      fails("SEGMENT_LOST"),
    );
    await assert.rejects(
      each.read(() => undefined),
      fails("SEGMENT_LOST"),
    );
  }
  // It was not made anew in its place.
  assert.deepEqual(await there.list(), []);
  // What was there can be read without a lock, and not be stored to [LOST-5].
  assert.equal(view["n"], 7);
  assert.equal((segment.get("n") as RecordView)["n"], 7);
  assert.throws(() => (view["n"] = 8), fails("SEGMENT_LOST"));
  // Another opening is another segment; the old one stays lost [LOST-6].
  const again = await numbers(here, "/lost");
  assert.notEqual(again, segment);
  await put(again, 9);
  await assert.rejects(
    segment.read(() => undefined),
    fails("SEGMENT_LOST"),
  );
  await segment.close();
  await again.read(() => assert.equal((again.get("n") as RecordView)["n"], 9), { fresh: true });
  assert.equal(view["n"], 7);
});

test("a writer of a lost segment is told at its release, and undone [LOST-4]", async () => {
  server = await Server.start();
  const here = await client();
  const segment = await numbers(here, "/writer");
  await put(segment, 1);
  const lock = await segment.write();
  (segment.get("n") as RecordView)["n"] = 2;
  segment.allocate(number, { name: "more" });
  await restart(here);
  await assert.rejects(lock.release(), fails("SEGMENT_LOST"));
  assert.equal((segment.get("n") as RecordView)["n"], 1);
  assert.equal(segment.has("more"), false);
  assert.deepEqual(await here.list(), []);
});

test("a segment that was empty is not lost with its server [LOST-1]", async () => {
  server = await Server.start();
  const here = await client();
  const segment = await here.open("/empty");
  await segment.read(() => undefined);
  await restart(here);
  await segment.write(() => void segment.allocate(number, { name: "n" }));
  assert.equal(segment.version, 1);
});

test("an older store has lost a client's version, in one incarnation, too [LOST-1]", async () => {
  const [store, older] = [join(directory, "store"), join(directory, "older")];
  server = await Server.start("--store", store);
  const here = await client();
  const segment = await numbers(here, "/older");
  await Promise.all([connection(here, false), server.stop()]);
  cpSync(store, older, { recursive: true });
  await Promise.all([connection(here, true), server.restart()]);
  await put(segment, 1);
  await Promise.all([connection(here, false), server.stop()]);
  rmSync(store, { recursive: true });
  cpSync(older, store, { recursive: true });
  await Promise.all([connection(here, true), server.restart()]);
  await assert.rejects(
    segment.read(() => undefined),
    (error: Error) => {
      assert.match(
        error.message,
        /^\/older was lost: .* with version 1, and here is version 2; open/,
      );
      return fails("SEGMENT_LOST")(error);
    },
  );
  const again = await here.open("/older");
  await again.read(() => assert.equal((again.get("n") as RecordView)["n"], 0));
});

test("blocks that fields own may be others in another incarnation [LOST-2]", async () => {
  server = await Server.start();
  const named = t.record("named_t", { text: t.text() });
  const before = await client();
  const segment = await before.open("/owned");
  await segment.write(() => {
    (segment.allocate(named, { name: "n" }).value as RecordView)["text"] = "owned";
  });
  const listener = listen("/owned");
  await listener.says("version 1");
  listener.suspend();
  await before.close();
  await server.kill();
  await server.restart();
  const anew = await (await client()).open("/owned");
  await anew.write(() => void anew.allocate(named, { name: "n" }));
  await anew.write(() => void anew.allocate(number, { name: "more" }));
  listener.resume();
  await listener.says("connection lost", "connected", "version 2");
});

test("another incarnation is taken unless it lacks a block [LOST-2] [LOST-3]", async () => {
  server = await Server.start();
  const before = await client();
  await numbers(before, "/same");
  await numbers(before, "/other");
  const [same, other] = [listen("/same"), listen("/other")];
  await same.says("version 1");
  await other.says("version 1");
  same.suspend();
  other.suspend();
  await before.close();
  await server.kill();
  await server.restart();
  const after = await client();
  await put(await numbers(after, "/same"), 1);
  await put(await numbers(after, "/other", "another"), 1, "another");
  same.resume();
  other.resume();
  await same.says("connection lost", "connected", "version 2");
  await other.says("connection lost", "connected");
  const lost = await other.next();
  const came = "the server came back with another block 1 (`n`) of version 1;";
  assert.ok(lost.startsWith(`SEGMENT_LOST /other was lost: ${came}`), lost);
});
