/**
 * The places of a graph's boxes and lines. Each distance from the first box has a column. As many
 * columns stand side by side as fit. The next ones stand below, as lines of a text. Pure.
 */

export type Id = number | string;

export interface Edge {
  readonly from: Id;
  readonly to: Id;
  readonly label: string;
}

/** A box, with its height; all are equally wide. */
export interface Sized {
  readonly id: Id;
  readonly height: number;
}

export interface Drawn {
  readonly places: ReadonlyMap<Id, { x: number; y: number; height: number }>;
  readonly lines: readonly { edge: Edge; path: string; x: number; y: number }[];
  readonly width: number;
  readonly height: number;
}

export const BOX_WIDTH = 184;
const [GAP_X, GAP_Y, BAND_GAP, MARGIN] = [76, 14, 40, 14];

/** How many columns fit into that many pixels. */
export function columnsIn(width: number): number {
  return Math.max(1, Math.floor((width - 2 * MARGIN + GAP_X) / (BOX_WIDTH + GAP_X)));
}

export function layOut(
  columns: readonly (readonly Sized[])[],
  edges: readonly Edge[],
  perBand: number,
): Drawn {
  const places = new Map<Id, { x: number; y: number; height: number; band: number }>();
  const ends: number[] = [];
  let top = MARGIN;
  for (let begin = 0; begin < columns.length; begin += perBand) {
    let bottom = top;
    columns.slice(begin, begin + perBand).forEach((column, c) => {
      let y = top;
      for (const { id, height } of column) {
        const x = MARGIN + c * (BOX_WIDTH + GAP_X);
        places.set(id, { x, y, height, band: ends.length });
        y += height + GAP_Y;
      }
      bottom = Math.max(bottom, y - GAP_Y);
    });
    ends.push(bottom);
    top = bottom + BAND_GAP;
  }
  // Lines that leave one box do not lie on each other.
  const used = new Map<Id, number>();
  const lines = edges.flatMap((edge) => {
    const [a, b] = [places.get(edge.from), places.get(edge.to)];
    if (a === undefined || b === undefined) return [];
    const nth = used.get(edge.from) ?? 0;
    used.set(edge.from, nth + 1);
    const [ax, ay] = [a.x + BOX_WIDTH, a.y + 18 + Math.min(nth * 12, a.height - 24)];
    const [bx, by] = [b.x, b.y + 18];
    const isForward = b.band === a.band && bx > ax;
    const middle = isForward ? (ax + bx) / 2 : 0;
    const below = (ends[a.band] as number) + 10 + 6 * (nth % 4);
    const path = isForward
      ? `M${ax},${ay} C${middle},${ay} ${middle},${by} ${bx},${by}`
      : `M${ax},${ay} H${ax + 14 + 4 * nth} V${below} H${bx - 12} V${by} H${bx}`;
    return [{ edge, path, x: ax + 5, y: ay - 4 }];
  });
  const width = 2 * MARGIN + Math.min(columns.length, perBand) * (BOX_WIDTH + GAP_X) - GAP_X;
  return { places, lines, width: width + 24, height: (ends[ends.length - 1] ?? 0) + 36 };
}
