/**
 * Where the units of a type lie in memory, compiled once per type.
 *
 * Memory has the layout of C: numbers at their natural alignment, so that every array of numbers
 * can be seen as a typed array in place. A pointer, sequence or text is its 16 bytes of wire form,
 * a string of bound N has N bytes. Runs of units that lie side by side, alike on the wire and in
 * memory, are one piece: a diff's values are copied there with one `set`.
 *
 * A plan has at most as many pieces as its type has fields: what is embedded is referred to, never
 * copied, so that types of a few bytes do not become plans of gigabytes.
 */

/** Strings up to this bound travel as their whole slot [WIRE-2]. */
export const SHORT_STRING = 16;

/** The kind of a unit. Leaves of one piece are the same object. */
export type Leaf =
  | { readonly kind: "plain"; readonly width: number }
  | { readonly kind: "bool"; readonly width: 4 }
  | { readonly kind: "enum"; readonly width: 4; readonly members: ReadonlySet<number> }
  | { readonly kind: "pointer" | "owned"; readonly width: 16 }
  | { readonly kind: "string"; readonly width: number }
  | { readonly kind: "union"; readonly width: number; readonly union: UnionPlan };

export interface UnionPlan {
  readonly discriminant: Leaf;
  /** By case; null for a void arm. */
  readonly arms: ReadonlyMap<number, Plan | null>;
  /** undefined: the union has no default arm. */
  readonly otherwise: Plan | null | undefined;
  /** Where the arms lie. */
  readonly armAt: number;
}

export interface Piece {
  /** The first unit, and where it lies. */
  readonly unit: number;
  readonly at: number;
  readonly units: number;
  /** Leaves side by side, or a plan that repeats every `stride` bytes. */
  readonly body: Leaf | { readonly kind: "repeat"; readonly plan: Plan; readonly stride: number };
}

export interface Plan {
  readonly units: number;
  readonly pieces: readonly Piece[];
}

/** Called with leaves that lie side by side. */
export type Visit = (leaf: Leaf, at: number, units: number) => void;

export function leafPlan(leaf: Leaf): Plan {
  return { units: 1, pieces: [{ unit: 0, at: 0, units: 1, body: leaf }] };
}

export function repeat(plan: Plan, count: number, stride: number): Plan {
  const units = plan.units * count;
  const only = plan.pieces[0];
  const isDense =
    plan.pieces.length === 1 &&
    only !== undefined &&
    only.at === 0 &&
    only.body.kind !== "repeat" &&
    only.units * only.body.width === stride;
  if (isDense) return { units, pieces: [{ ...only, units }] };
  return { units, pieces: [{ unit: 0, at: 0, units, body: { kind: "repeat", plan, stride } }] };
}

/** Plans one after another, each at its place. */
export function sequence(parts: readonly { plan: Plan; at: number; size: number }[]): Plan {
  const pieces: Piece[] = [];
  let unit = 0;
  for (const { plan, at, size } of parts) {
    const only = plan.pieces[0];
    const last = pieces[pieces.length - 1];
    if (plan.pieces.length !== 1 || only === undefined) {
      const body = { kind: "repeat", plan, stride: size } as const;
      pieces.push({ unit, at, units: plan.units, body });
    } else if (
      last !== undefined &&
      last.body === only.body &&
      last.body.kind !== "repeat" &&
      last.at + last.units * last.body.width === at + only.at
    ) {
      pieces[pieces.length - 1] = { ...last, units: last.units + only.units };
    } else {
      pieces.push({ ...only, unit, at: at + only.at });
    }
    unit += plan.units;
  }
  return { units: unit, pieces };
}

/** The last piece that begins at the unit or before. */
function pieceOf(plan: Plan, unit: number): number {
  let low = 0;
  let high = plan.pieces.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((plan.pieces[middle] as Piece).unit <= unit) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Visits `count` units from `first` on, of a plan whose first byte is at `base`. */
export function walk(plan: Plan, first: number, count: number, base: number, visit: Visit): void {
  const end = first + count;
  for (let index = pieceOf(plan, first); first < end; ++index) {
    const piece = plan.pieces[index] as Piece;
    const from = first - piece.unit;
    const to = Math.min(end - piece.unit, piece.units);
    const at = base + piece.at;
    if (piece.body.kind !== "repeat") {
      visit(piece.body, at + from * piece.body.width, to - from);
    } else {
      walkRepeated(piece.body.plan, piece.body.stride, from, to - from, at, visit);
    }
    first = piece.unit + to;
  }
}

/** The same of a plan that repeats. */
function walkRepeated(
  plan: Plan,
  stride: number,
  first: number,
  count: number,
  base: number,
  visit: Visit,
): void {
  const end = first + count;
  while (first < end) {
    const index = Math.floor(first / plan.units);
    const begin = index * plan.units;
    const part = Math.min(end - begin, plan.units) - (first - begin);
    walk(plan, first - begin, part, base + index * stride, visit);
    first += part;
  }
}

/**
 * The arm that the discriminant selects; null: none, as for a void arm; undefined: no such case.
 */
export function selectedArm(union: UnionPlan, discriminant: number): Plan | null | undefined {
  const arm = union.arms.get(discriminant);
  return arm === undefined ? union.otherwise : arm;
}
