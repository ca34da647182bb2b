/** A 2-D array of numbers as a picture: row 0 at the bottom, as in a plot, unless turned round. */
import { colourTable, mapNames, paint } from "./colours.js";
import { h, numberText, setText } from "./dom.js";
import { Controls, type Figure } from "./figure.js";
import type { Frame } from "./history.js";

/** `picked` is called with the row and column under the pointer when it is pressed. */
export function heatMap(
  rows: number,
  columns: number,
  picked: (row: number, column: number) => void,
): Figure {
  const canvas = h("canvas", { class: "map", width: columns, height: rows, tabIndex: 0 });
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `heat map of ${rows} × ${columns} values`);
  const context = canvas.getContext("2d") as CanvasRenderingContext2D;
  const image = context.createImageData(columns, rows);
  const pixels = new Uint32Array(image.data.buffer);
  const turned = new Uint32Array(pixels.length);
  const legend = h("canvas", { class: "legend", width: 256, height: 1 });
  const ends = [h("span"), h("span")] as const;
  const caption = h("figcaption");
  const names = h(
    "select",
    { "aria-label": "Colours", onchange: () => controls.redraw() },
    ...mapNames.map((name) => h("option", {}, name)),
  );
  const isUp = h("input", { type: "checkbox", checked: true, onchange: () => controls.redraw() });
  let pointed: [number, number] | null = null;

  const draw = (frame: Frame, low: number, high: number): void => {
    const colours = colourTable(names.value);
    paint(frame.values, isUp.checked ? turned : pixels, low, high, colours);
    if (isUp.checked) {
      for (let row = 0; row < rows; ++row) {
        pixels.set(turned.subarray(row * columns, (row + 1) * columns), (rows - 1 - row) * columns);
      }
    }
    context.putImageData(image, 0, 0);
    drawLegend(legend, colours);
    setText(ends[0], numberText(low));
    setText(ends[1], numberText(high));
    showPointed();
  };
  const controls = new Controls(
    rows * columns,
    draw,
    names,
    h("label", {}, isUp, "row 0 at the bottom"),
  );

  const cellAt = (event: PointerEvent): [number, number] => {
    const box = canvas.getBoundingClientRect();
    const column = Math.min(
      columns - 1,
      Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * columns)),
    );
    const down = Math.min(
      rows - 1,
      Math.max(0, Math.floor(((event.clientY - box.top) / box.height) * rows)),
    );
    return [isUp.checked ? rows - 1 - down : down, column];
  };
  const showPointed = (): void => {
    const value =
      pointed === null ? undefined : controls.frame?.values[pointed[0] * columns + pointed[1]];
    setText(
      caption,
      pointed === null || value === undefined
        ? ""
        : `[${pointed[0]}][${pointed[1]}] = ${numberText(value)}`,
    );
  };
  canvas.addEventListener("pointermove", (event) => {
    pointed = cellAt(event);
    showPointed();
  });
  canvas.addEventListener("click", (event) => picked(...cellAt(event as PointerEvent)));
  canvas.addEventListener("keydown", (event) => {
    const steps: Record<string, [number, number]> = {
      ArrowUp: [1, 0],
      ArrowDown: [-1, 0],
      ArrowRight: [0, 1],
      ArrowLeft: [0, -1],
    };
    const step = steps[event.key];
    if (event.key === "Enter" && pointed !== null) picked(...pointed);
    if (step === undefined) return;
    event.preventDefault();
    const [row, column] = pointed ?? [0, 0];
    const up = isUp.checked ? step[0] : -step[0];
    pointed = [
      Math.min(rows - 1, Math.max(0, row + up)),
      Math.min(columns - 1, Math.max(0, column + step[1])),
    ];
    showPointed();
  });
  const picture = h(
    "div",
    { class: "picture" },
    canvas,
    legend,
    h("div", { class: "ends" }, ...ends),
  );
  picture.style.setProperty("--aspect", String(columns / rows));
  const element = h("figure", {}, picture, caption, controls.element);
  return {
    element,
    update: (version, values) => controls.update(version, values),
    toggle: () => controls.toggle(),
  };
}

function drawLegend(canvas: HTMLCanvasElement, colours: Uint32Array): void {
  const context = canvas.getContext("2d") as CanvasRenderingContext2D;
  const image = context.createImageData(256, 1);
  new Uint32Array(image.data.buffer).set(colours);
  context.putImageData(image, 0, 0);
}
