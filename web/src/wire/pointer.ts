/** Pointers on the wire: 16 bytes, slot:u16 serial:u48 offset:u64, little-endian [WIRE-5]. */

export const POINTER_BYTES = 16;
/** The largest serial of a block: 48 bits. */
export const MAX_SERIAL = 2 ** 48 - 1;

/** Slot 0 is the segment itself, slot k the k-th entry of its slot table. */
export interface WirePointer {
  readonly slot: number;
  readonly serial: number;
  /** In units; as the bits are, which may lead nowhere. */
  readonly offset: bigint;
}

/** All zeros. */
export function isNull(view: DataView, at: number): boolean {
  return view.getBigUint64(at, true) === 0n && view.getBigUint64(at + 8, true) === 0n;
}

export function getPointer(view: DataView, at: number): WirePointer {
  return {
    slot: view.getUint16(at, true),
    serial: view.getUint16(at + 2, true) + view.getUint32(at + 4, true) * 0x10000,
    offset: view.getBigUint64(at + 8, true),
  };
}

/** null writes NULL. */
export function setPointer(view: DataView, at: number, pointer: WirePointer | null): void {
  const { slot, serial, offset } = pointer ?? { slot: 0, serial: 0, offset: 0n };
  view.setUint16(at, slot, true);
  view.setUint16(at + 2, serial % 0x10000, true);
  view.setUint32(at + 4, Math.floor(serial / 0x10000), true);
  view.setBigUint64(at + 8, offset, true);
}
