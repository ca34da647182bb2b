/** A block of a segment, as programs see it. */
import type { CopiedBlock } from "../diff/copy.js";
import type { Type } from "../types/type.js";
import { checkReadable, mipOfPlace, PLACE, type Heap, type Place } from "./place.js";
import { elementsAt, inside, read, write, type ArrayView, type NumericArray } from "./values.js";
import { inspected, type Inspect } from "./inspect.js";
import { within } from "./misfit.js";
import { InterweaveError } from "../wire/error.js";
import { ErrorCode } from "../wire/protocol/error.js";

function tooMany(count: number, block: { count: number; mip(): string }): InterweaveError {
  return new InterweaveError(
    ErrorCode.BAD_ARGUMENT,
    `${count} elements for ${block.mip()}, which has ${block.count}`,
  );
}

/** Values side by side; if the type is not known, either of the two forms. */
type Elements<T> = unknown extends T
  ? NumericArray | ArrayView
  : [T] extends [number | bigint]
    ? NumericArray
    : ArrayView<T>;

export class Block<T = unknown> {
  readonly [PLACE]: Place;

  constructor(
    heap: Heap,
    private readonly block: CopiedBlock,
  ) {
    this[PLACE] = { heap, block, type: block.type, at: 0, unit: 0, isInArm: false };
    // A store to a misspelt property would be lost.
    Object.preventExtensions(this);
  }

  /** What `console.log` shows in Node. */
  [inspected](_depth: number, options: object, inspect: Inspect): string {
    const { name, count } = this;
    return `Block ${inspect({ mip: this.mip(), name, type: this.type.name, count }, options)}`;
  }

  get serial(): number {
    return this.block.serial;
  }

  /** "" for a block without a name. */
  get name(): string {
    return this.block.name;
  }

  get type(): Type {
    return this.block.type;
  }

  /** The number of elements. */
  get count(): number {
    return this.block.count;
  }

  /** The number of units, which MIP offsets count. */
  get units(): number {
    return this.block.units;
  }

  /** The canonical MIP, of the block or a unit in it. */
  mip(unit = 0): string {
    return mipOfPlace({ ...this[PLACE], unit });
  }

  /** The one element, or all of them as an array. */
  get value(): T {
    checkReadable(this[PLACE]);
    return (this.count === 1 ? read(this[PLACE]) : this.elements) as T;
  }

  set value(value: T) {
    const values = this.count === 1 ? [value] : [...(value as Iterable<unknown>)];
    if (values.length > this.count) throw tooMany(values.length, this);
    const { type } = this;
    let at = this[PLACE];
    within(
      () => mipOfPlace(at),
      () => {
        values.forEach((each, index) => {
          at = inside(this[PLACE], type, index * type.size, index * type.units);
          write(at, each);
        });
      },
    );
  }

  /** All elements as an array, even a single one. Numbers are a typed array on the copy. */
  get elements(): Elements<T> {
    return elementsAt(this[PLACE], this.count) as Elements<T>;
  }
}
