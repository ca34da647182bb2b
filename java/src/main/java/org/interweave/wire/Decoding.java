package org.interweave.wire;

import static org.interweave.InterweaveException.malformed;

import org.interweave.InterweaveException;
import org.interweave.wire.protocol.XdrCodec;
import org.interweave.wire.protocol.XdrException;
import org.interweave.wire.protocol.XdrReader;

/** Decoders of XDR whose refusals are MALFORMED, with the name of what was decoded. */
public final class Decoding {
  private Decoding() {}

  /** The value that the bytes are, all of them. */
  public static <T> T whole(String what, XdrCodec<T> codec, byte[] bytes) {
    try {
      return codec.fromBytes(bytes);
    } catch (XdrException wrong) {
      throw refused(what, wrong);
    }
  }

  /** The next value. */
  public static <T> T next(String what, XdrCodec<T> codec, XdrReader r) {
    try {
      return codec.decode(r);
    } catch (XdrException wrong) {
      throw refused(what, wrong);
    }
  }

  private static InterweaveException refused(String what, XdrException wrong) {
    return malformed(what + ": " + wrong.getMessage());
  }
}
