/**
 * What the viewer computes without a browser: addresses, sliders, and how numbers become pictures.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { addressOf, parseAddress, pinLabel, segmentAddress } from "../viewer/address.js";
import { colourTable, paint, rangeOf } from "../viewer/colours.js";
import { line } from "../viewer/plot.js";
import { endsAround, stepBetween } from "../viewer/slider.js";

test("an address says what is looked at and what is pinned, and is written as it is read", () => {
  const address =
    "/flow/a?block=density&at=rows[3].x&view=table&steer=header.want_cfl:0.05:0.8,2,2[7].on";
  const target = parseAddress(address);
  assert.deepEqual(target, {
    path: "/flow/a",
    block: "density",
    steps: ["rows", 3, "x"],
    view: "table",
    pins: [
      { block: "header", steps: ["want_cfl"], ends: { low: 0.05, high: 0.8 } },
      { block: "2", steps: [], ends: null },
      { block: "2", steps: [7, "on"], ends: null },
    ],
  });
  assert.equal(addressOf(target!), `#${address}`);
  assert.equal(addressOf(parseAddress("/flow")!), "#/flow");
  assert.equal(parseAddress(""), null);
});

const oddNames = ["a&b=c", "50 %", "x+y", "naïve", "#1?", "100%25", "a.b,c:d[0]", "a b/c?d#e%"];

test("whatever segments, blocks and fields are called, their address leads back to them", () => {
  for (const name of oddNames) {
    const path = `/odd name/${name}`;
    const pins = [
      { block: name, steps: [name, 3, name], ends: { low: 0, high: 1 } },
      { block: name, steps: [], ends: null },
    ];
    const target = { path, block: name, steps: [name, 2], view: null, pins };
    const address = addressOf(target);
    assert.deepEqual(parseAddress(address.slice(1)), target);
    // As the browser has it, which escapes what stands in no URL.
    assert.deepEqual(parseAddress(new URL(address, "http://localhost/").hash.slice(1)), target);
    assert.equal(parseAddress(segmentAddress(path).slice(1))?.path, path);
  }
});

test("a pin is labelled by its whole place, as people call it", () => {
  const [pin] = parseAddress("/a?steer=rec%252Etwo.a[1]:0:1")!.pins;
  assert.equal(pinLabel(pin!), "rec.two.a[1]");
});

test("typed text that is not an escape is taken as it is", () => {
  const target = parseAddress("/100%?block=50%&steer=9%.x,%zz")!;
  assert.deepEqual(
    [target.path, target.block, target.pins.map(({ block }) => block)],
    ["/100%", "50%", ["9%", "%zz"]],
  );
});

test("pins that make no sense are passed over, and ends the wrong way round", () => {
  const pins = parseAddress("/a?steer=,:1:2,x:5:1,y:low:high")?.pins;
  assert.deepEqual(pins, [
    { block: "x", steps: [], ends: null },
    { block: "y", steps: [], ends: null },
  ]);
});

test("a slider leaves room on both sides of the value, and moves by round steps", () => {
  assert.deepEqual(endsAround(0.4, false), { low: 0, high: 1 });
  assert.deepEqual(endsAround(-30, true), { low: -100, high: 0 });
  assert.deepEqual(endsAround(0, true), { low: 0, high: 10 });
  assert.deepEqual(endsAround(NaN, false), { low: -1, high: 1 });
  for (const value of [1e-9, 0.05, 3, 1e12]) {
    const { low, high } = endsAround(value, false);
    assert.ok(low < value && 2 * value <= high && high <= 5.001 * value, `${value}: ${high}`);
  }
  assert.equal(stepBetween({ low: 0.05, high: 0.8 }, false), 0.005);
  assert.equal(stepBetween({ low: 0, high: 10 }, true), 1);
  assert.equal(stepBetween({ low: 0, high: 1e6 }, true), 5000);
});

test("a range is of finite numbers, and numbers beyond have the colour of its end", () => {
  assert.deepEqual(rangeOf([NaN, 2, Infinity, -1, -Infinity]), [-1, 2]);
  assert.deepEqual(rangeOf([NaN, Infinity]), [0, 0]);
  const colours = colourTable("viridis");
  const [first, middle, last] = [colours[0], colours[128], colours[255]];
  const painted = (values: number[], low: number, high: number) => {
    const pixels = new Uint32Array(values.length);
    paint(values, pixels, low, high, colours);
    return [...pixels];
  };
  const values = [-Infinity, 0, 128, 255, Infinity, 300, -1];
  assert.deepEqual(painted(values, 0, 255), [first, first, middle, last, last, last, first]);
  // Also where all finite values are the same; and NaN has a colour of its own.
  const [least, same, most, nothing] = painted([-Infinity, 3, Infinity, NaN], 3, 3);
  assert.deepEqual([least, same, most], [first, first, last]);
  assert.ok(nothing !== 0 && !colours.includes(nothing!));
});

test("a plot has a point for every finite value, whatever is beside it", () => {
  const points = (values: number[], width: number) => {
    const found: [number, number, boolean][] = [];
    line(Float32Array.from(values), width, (...point) => found.push(point));
    return found;
  };
  assert.deepEqual(points([NaN, 1, Infinity, 2], 3), [
    [1, 1, true],
    [3, 2, false],
  ]);
  // Of more values than pixels the least and the most of each column, if it has any.
  const many = [NaN, -Infinity, NaN, 1, NaN, 3, -Infinity, 2, Infinity];
  assert.deepEqual(points(many, 3), [
    [1, 1, true],
    [1, 3, false],
    [2, 2, false],
    [2, 2, false],
  ]);
});
