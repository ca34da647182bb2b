/** What the viewer computes without a browser: addresses, and the ends and steps of sliders. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { addressOf, parseAddress } from "../viewer/address.js";
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

test("whatever a block is called, its address leads back to it", () => {
  for (const block of ["a&b=c", "50 %", "x+y", "naïve", "#1?"]) {
    const target = { path: "/odd name", block, steps: [], view: null, pins: [] };
    assert.deepEqual(parseAddress(addressOf(target).slice(1)), target);
  }
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
