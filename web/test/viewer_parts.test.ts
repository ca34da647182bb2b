/** The parts of the viewer's lists, scales, graphs and files, without a browser. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { csvText, fileName } from "../viewer/export.js";
import { BOX_WIDTH, columnsIn, layOut } from "../viewer/graph_layout.js";
import { placed, showing, ticksBetween, tickText, wholeTicks, zoomed } from "../viewer/scale.js";
import { depthFor, filtered, flatRows, parentOf, treeRows, type Leaf } from "../viewer/tree.js";
import { sparkPath } from "../viewer/trends.js";

const leaf = (path: string, rate = 0): Leaf => ({ path, values: { rate } });
const byPath = { column: "", isDown: false };
const shape = (leaves: Leaf[], isOpen = (_: string) => true, order = byPath) =>
  treeRows(leaves, order, isOpen).map((row) => {
    const count = row.kind === "folder" ? ` ${row.count}${row.isOpen ? "" : " closed"}` : "";
    return `${"  ".repeat(row.depth)}${row.name}${count}`;
  });

test("paths fold by their parts; a folder of one thing is a part of its name", () => {
  const leaves = ["/a/b/x", "/a/b/y", "/a/c", "/d/e/f", "/g"].map((path) => leaf(path));
  assert.deepEqual(shape(leaves), ["/a/ 3", "  b/ 2", "    x", "    y", "  c", "/d/e/f", "/g"]);
  const isOpen = (path: string) => path !== "/a/b/";
  assert.deepEqual(shape(leaves, isOpen), ["/a/ 3", "  b/ 2 closed", "  c", "/d/e/f", "/g"]);
  const rows = treeRows(leaves, byPath, () => true);
  assert.deepEqual(
    rows.map((_, index) => parentOf(rows, index)),
    [null, 0, 1, 1, 0, null, null],
  );
});

test("folders are open at first as far as the rows fit", () => {
  const leaves = Array.from({ length: 40 }, (_, i) => leaf(`/f/${i % 4}/${i}`));
  assert.equal(depthFor(leaves, 4), 0);
  assert.equal(depthFor(leaves, 44), 1);
  assert.equal(depthFor(leaves, 45), Infinity);
  assert.equal(depthFor([], 0), Infinity);
});

test("a segment and a folder of the same name, and odd paths, are all there", () => {
  const paths = ["/a", "/a/b", "/a/c", "/", "//", "/a//b"];
  const rows = treeRows(
    paths.map((path) => leaf(path)),
    byPath,
    () => true,
  );
  const shown = rows.filter(({ kind }) => kind === "leaf").map(({ path }) => path);
  assert.deepEqual(shown.sort(), [...paths].sort());
});

test("names with numbers come in their order, and a column sorts folders by their sums", () => {
  const leaves = [leaf("/r10", 1), leaf("/r9", 5), leaf("/f/a", 3), leaf("/f/b", 4)];
  assert.deepEqual(shape(leaves), ["/f/ 2", "  a", "  b", "/r9", "/r10"]);
  const down = { column: "rate", isDown: true };
  assert.deepEqual(shape(leaves, undefined, down), ["/f/ 2", "  b", "  a", "/r9", "/r10"]);
  assert.deepEqual(
    flatRows(leaves, down).map(({ path }) => path),
    ["/r9", "/f/b", "/f/a", "/r10"],
  );
});

test("a filter wants all its words", () => {
  const leaves = [leaf("/fleet/robot-17/camera"), leaf("/fleet/robot-17/arm"), leaf("/camera")];
  const found = (text: string) => filtered(leaves, text).map(({ path }) => path);
  assert.deepEqual(found("17 CAM"), ["/fleet/robot-17/camera"]);
  assert.equal(found(" ").length, 3);
});

test("scales have round numbers, with the digits that tell them apart", () => {
  const texts = (low: number, high: number) => {
    const ticks = ticksBetween(low, high, 5);
    return ticks.map((value) => tickText(value, ticks));
  };
  assert.deepEqual(texts(0, 1), ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
  assert.deepEqual(texts(-3, 3), ["-2", "0", "2"]);
  assert.deepEqual(texts(0.12, 0.13), ["0.120", "0.122", "0.124", "0.126", "0.128", "0.130"]);
  assert.deepEqual(texts(0, 4e6), ["0", "1M", "2M", "3M", "4M"]);
  assert.deepEqual(texts(0, 4e-7), ["0", "1e-7", "2e-7", "3e-7", "4e-7"]);
  assert.deepEqual(texts(5, 5), ["5"]);
  for (const [low, high] of [
    [NaN, 1],
    [0, Infinity],
    [-Infinity, Infinity],
  ] as const)
    assert.ok(ticksBetween(low, high, 5).length <= 1);
  assert.deepEqual(wholeTicks({ from: 0, to: 4 }, 10), [0, 1, 2, 3]);
  assert.deepEqual(wholeTicks({ from: 95, to: 192 }, 4), [100, 150]);
});

test("zooming keeps what is under the pointer, and stays within the array", () => {
  const whole = { from: 0, to: 100 };
  const near = zoomed(whole, 0.25, 0.5, 4, 100);
  assert.deepEqual(near, { from: 13, to: 63 });
  assert.deepEqual(zoomed(near, 0.5, 4, 4, 100), whole);
  assert.deepEqual(zoomed(whole, 1, 0.001, 4, 100), { from: 96, to: 100 });
  assert.deepEqual(zoomed({ from: 0, to: 2 }, 0.5, 0.5, 4, 2), { from: 0, to: 2 });
  assert.deepEqual(placed(-5, 10, 100), { from: 0, to: 10 });
  assert.deepEqual(placed(95, 10, 100), { from: 90, to: 100 });
  assert.equal(showing(near, 62, 100), near);
  assert.deepEqual(showing(near, 63, 100), { from: 14, to: 64 });
  assert.deepEqual(showing(near, 5, 100), { from: 5, to: 55 });
});

test("a graph that is wider than the window continues below, and every line is drawn", () => {
  const columns = Array.from({ length: 7 }, (_, id) => [{ id, height: 60 }]);
  const edges = columns.map((_, id) => ({ from: id, to: (id + 1) % 7, label: "next" }));
  const drawn = layOut(columns, edges, 3);
  assert.equal(drawn.lines.length, 7);
  assert.ok(drawn.width < 4 * BOX_WIDTH + 3 * 76);
  const [third, fourth] = [drawn.places.get(2)!, drawn.places.get(3)!];
  assert.ok(fourth.y > third.y + third.height && fourth.x < third.x);
  for (const { x, y, height } of drawn.places.values())
    assert.ok(x >= 0 && x + BOX_WIDTH <= drawn.width && y + height <= drawn.height);
  assert.equal(columnsIn(100), 1);
  assert.equal(columnsIn(960), 3);
});

test("no text of a table is a formula in a spreadsheet, and numbers stay numbers", () => {
  const cell = (value: unknown) => csvText([[value]]).slice(0, -1);
  for (const text of ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "＝1", "-", "-x"])
    assert.equal(cell(text), `'${text}`);
  assert.equal(cell('=HYPERLINK("x","y")'), `"'=HYPERLINK(""x"",""y"")"`);
  assert.equal(cell("\r=1"), `"'\r=1"`);
  for (const value of [-1, -1n, -1e-7, 1e21, -Infinity, "-1.5", "+3", "-1e+21", "-.5"])
    assert.equal(cell(value), String(value));
  assert.equal(cell("a=1"), "a=1");
});

test("tables are quoted as RFC 4180 says, and files have legible names", () => {
  const rows = [
    ["a", 'say "x"', "b,c"],
    [1n, 0.5, null],
    ["two\nlines", NaN, ""],
  ];
  assert.equal(csvText(rows), 'a,"say ""x""","b,c"\n1,0.5,\n"two\nlines",NaN,\n');
  assert.equal(fileName(["/lab/cell", "wave", ""], "csv"), "lab-cell-wave.csv");
  assert.equal(fileName(["/lab/cell", "", "graph"], "png"), "lab-cell-graph.png");
  assert.equal(fileName(["/../..", "#7"], "png"), "7.png");
  assert.equal(fileName(["///"], "png"), "interweave.png");
});

test("a small line goes through finite numbers only", () => {
  const samples = [1, NaN, 3, Infinity, 2].map((value, i) => ({ at: i, version: i, value }));
  assert.equal(sparkPath(samples, 100, 20), "M0.0,18.0L50.0,2.0L100.0,10.0");
  assert.equal(sparkPath(samples.slice(0, 2), 100, 20), "M0,10H100");
  assert.equal(sparkPath([], 100, 20), "");
});
