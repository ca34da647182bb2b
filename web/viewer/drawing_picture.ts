/** A drawing of lines, boxes and texts as a picture, for a file. */

/** Browsers make no pictures with more pixels on a side. */
const MOST_PIXELS = 8192;
/** Dots for each pixel of the drawing, so that small letters can be read on paper, too. */
const SHARPNESS = 2;
const HEAD: readonly [number, number] = [7, 3.5];

/** Draws all of the drawing, in its colours of now. REQUIRES: the drawing is on the page. */
export function pictureOf(
  drawing: SVGElement,
  size: { readonly width: number; readonly height: number },
  ground: string,
): HTMLCanvasElement {
  const scale = Math.min(SHARPNESS, MOST_PIXELS / Math.max(size.width, size.height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.ceil(size.width * scale));
  canvas.height = Math.max(1, Math.ceil(size.height * scale));
  const context = canvas.getContext("2d") as CanvasRenderingContext2D;
  context.fillStyle = ground;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.setTransform(scale, 0, 0, scale, 0, 0);
  const parts = drawing.querySelectorAll<SVGGraphicsElement>("path, rect, text");
  for (const part of parts) if (part.closest("defs") === null) put(context, part);
  return canvas;
}

function put(context: CanvasRenderingContext2D, part: SVGGraphicsElement): void {
  const style = getComputedStyle(part);
  context.strokeStyle = style.stroke;
  context.lineWidth = parseFloat(style.strokeWidth) || 1;
  context.fillStyle = style.fill;
  const number = (name: string) => Number(part.getAttribute(name));
  if (part instanceof SVGPathElement) {
    context.stroke(new Path2D(part.getAttribute("d") ?? ""));
    if (part.hasAttribute("marker-end")) putHead(context, part, style.stroke);
  } else if (part instanceof SVGRectElement) {
    const box = new Path2D();
    const radius = parseFloat(style.rx) || 0;
    box.roundRect(number("x"), number("y"), number("width"), number("height"), radius);
    context.fill(box);
    context.stroke(box);
  } else {
    context.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    context.fillText(part.textContent ?? "", number("x"), number("y"));
  }
}

/** The head of an arrow, at the end of its line. */
function putHead(context: CanvasRenderingContext2D, line: SVGPathElement, colour: string): void {
  const length = line.getTotalLength();
  const [before, end] = [line.getPointAtLength(length - 1), line.getPointAtLength(length)];
  context.save();
  context.translate(end.x, end.y);
  context.rotate(Math.atan2(end.y - before.y, end.x - before.x));
  context.fillStyle = colour;
  context.beginPath();
  context.moveTo(0, 0);
  context.lineTo(-HEAD[0], -HEAD[1]);
  context.lineTo(-HEAD[0], HEAD[1]);
  context.fill();
  context.restore();
}
