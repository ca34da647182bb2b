package org.interweave.wire;

/**
 * A pointer on the wire: 16 bytes, slot:u16 serial:u48 offset:u64, little-endian [WIRE-5]. Slot 0
 * is the segment itself, slot k the k-th entry of its slot table. `offset` is in units, as the bits
 * are, which may lead nowhere. NULL is all zeros.
 */
public record WirePointer(int slot, long serial, long offset) {
  public static final int BYTES = 16;
  /** The largest serial of a block: 48 bits. */
  public static final long MAX_SERIAL = (1L << 48) - 1;
  public static final WirePointer NULL = new WirePointer(0, 0, 0);

  public boolean isNull() {
    return slot == 0 && serial == 0 && offset == 0;
  }

  /** Whether the pointer at that place leads to the first unit of a block of its own segment. */
  public static boolean leadsTo(long serial, byte[] bytes, int at) {
    return LittleEndian.getLong(bytes, at) == serial << 16
        && LittleEndian.getLong(bytes, at + 8) == 0;
  }

  public static WirePointer at(byte[] bytes, int at) {
    long first = LittleEndian.getLong(bytes, at);
    long offset = LittleEndian.getLong(bytes, at + 8);
    return new WirePointer((int) (first & 0xffff), first >>> 16, offset);
  }

  public void put(byte[] bytes, int at) {
    LittleEndian.putLong(bytes, at, serial << 16 | slot);
    LittleEndian.putLong(bytes, at + 8, offset);
  }
}
