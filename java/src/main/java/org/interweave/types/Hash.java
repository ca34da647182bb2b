package org.interweave.types;

import java.nio.charset.StandardCharsets;

/** FNV-1a of 64 bits [TYPE-3]. */
public final class Hash {
  private static final long BASIS = 0xcbf29ce484222325L;
  private static final long PRIME = 0x100000001b3L;

  private long value = BASIS;

  public Hash u8(int part) {
    value = (value ^ part & 0xff) * PRIME;
    return this;
  }

  Hash u32(long part) {
    for (int shift = 0; shift < 32; shift += 8) u8((int) (part >> shift));
    return this;
  }

  Hash u64(long part) {
    return u32(part).u32(part >>> 32);
  }

  Hash text(String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    u32(bytes.length);
    for (byte part : bytes) u8(part);
    return this;
  }

  public long value() {
    return value;
  }
}
