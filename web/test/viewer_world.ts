/** Segments to look at: a field that moves, a wave, a list, dials, and as many others as wanted. */
import { t, type Client, type RecordView, type Segment } from "../src/node.js";

const [ROWS, SIDE] = [160, 192];

const dials = t.record("dials_t", {
  gain: t.double,
  limit: t.int,
  step: t.hyper,
  mode: t.enumeration("mode_t", { SLOW: 0, FAST: 1 }),
  enabled: t.bool,
  note: t.string(40),
});

const node = t.record("node_t", {
  key: t.int,
  weight: t.double,
  name: t.text(),
  next: t.pointer("node_t"),
});

/** "/lab/cell": a heat map, a wave, dials, and a list of eight nodes. */
export async function makeCell(client: Client): Promise<Segment> {
  const segment = await client.open("/lab/cell");
  await segment.write(() => {
    segment.allocate(t.array(t.double, ROWS, SIDE), { name: "density" });
    segment.allocate(t.double, { count: 600, name: "wave" });
    const values = { gain: 0.5, limit: 40, mode: 1, enabled: true, note: "warm-up of the arm" };
    Object.assign(segment.allocate(dials, { name: "dials" }).value as RecordView, values);
    let last: RecordView | null = null;
    for (let key = 8; key > 0; --key) {
      const options = key === 1 ? { name: "head" } : {};
      const made = segment.allocate(node, options).value as RecordView;
      Object.assign(made, { key, weight: 1 / key, name: `part ${key}`, next: last });
      last = made;
    }
  });
  await moveCell(segment, 0);
  return segment;
}

/** The next version of the field, the wave and the dials' step. */
export async function moveCell(segment: Segment, time: number): Promise<void> {
  await segment.write(() => {
    const rows = segment.get("density") as Float64Array[];
    for (let y = 0; y < ROWS; ++y) {
      const row = rows[y] as Float64Array;
      for (let x = 0; x < SIDE; ++x) {
        const far = Math.hypot(x - SIDE / 2, y - ROWS / 3);
        row[x] = 1 + Math.sin(far / 9 - time) * Math.exp(-far / 80) + x / (2 * SIDE);
      }
    }
    const wave = segment.get("wave") as Float64Array;
    for (let i = 0; i < wave.length; ++i) wave[i] = 3 * Math.sin(i / 40 + time) * Math.cos(i / 9);
    const values = segment.get("dials") as RecordView;
    values["gain"] = 0.5 + 0.3 * Math.sin(time * 1.7);
    values["step"] = BigInt(Math.round(time * 10));
  });
}

/** So many segments, in folders. */
export async function makeFleet(client: Client, count: number): Promise<void> {
  const parts = ["arm", "battery", "camera", "drive", "gripper"];
  for (let i = 0; i < count; ++i) {
    const robot = String(Math.floor(i / parts.length)).padStart(2, "0");
    const segment = await client.open(`/fleet/robot-${robot}/${parts[i % parts.length]}`);
    await segment.write(() => {
      const { value } = segment.allocate(t.double, { count: 4 + i, name: "state" });
      (value as Float64Array)[0] = i;
    });
    await segment.close();
  }
}
