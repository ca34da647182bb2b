/** MIPs of values and of pointers. */
import { InterweaveError } from "../wire/error.js";
import { ErrorCode } from "../wire/protocol/error.js";
import { mipOfPlace, placeOf, type Place } from "./place.js";
import { mipOfPointer } from "./pointers.js";
import { inside } from "./values.js";

/** The MIP of a place. Places inside a union do not have one: a union is one unit [MIP-4]. */
export function ownMipOf(place: Place): string {
  if (!place.isInArm) return mipOfPlace(place);
  throw new InterweaveError(
    ErrorCode.BAD_POINTER,
    `that is inside of the union at ${mipOfPlace(place)}: the arms of a union have no MIPs`,
  );
}

/**
 * The canonical MIP of a record, array or block. With the name of a pointer field it is the MIP of
 * the pointer's target, whether that segment is open here or not (null: NULL).
 */
export function mipOf(view: object, pointer?: string): string | null {
  const place = placeOf(view);
  if (place === undefined) {
    throw new InterweaveError(ErrorCode.BAD_ARGUMENT, "that is not a value of a segment");
  }
  if (pointer === undefined) return ownMipOf(place);
  const field = place.type.fields.find(({ name }) => name === pointer);
  if (field === undefined || field.type.plan.pieces[0]?.body.kind !== "pointer") {
    throw new InterweaveError(ErrorCode.BAD_ARGUMENT, `there is no pointer \`${pointer}\``);
  }
  return mipOfPointer(inside(place, field.type, field.at, field.unit));
}
