package org.interweave.client;

import java.util.Collection;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.diff.CopiedBlock;
import org.interweave.wire.Mip;
import org.interweave.wire.SegmentUrl;

/** The places that MIPs lead to: a block of a segment, and an offset in units. */
record Targets(Segment segment, CopiedBlock block, long offset) {
  /** Does something with the place that a MIP leads to, under a lock of its segment. */
  interface Use {
    void with(Targets found);
  }

  /** Opens a segment that is not open yet, and locks one that is not locked yet. */
  static void use(Collection<Opened> open, String text, Use use) {
    Mip mip = Mip.parse(text);
    String url = mip.url().server().text() + mip.url().path();
    for (Opened each : open) {
      if (!each.segment.url().equals(url)) continue;
      if (each.isLocked()) use.with(find(each.segment, mip));
      else locked(each.segment, mip, use);
      return;
    }
    try (Segment segment = Segment.open(url, OpenOptions.DEFAULT.existing())) {
      locked(segment, mip, use);
    }
  }

  private static void locked(Segment segment, Mip mip, Use use) {
    ReadLock lock = segment.read();
    try {
      use.with(find(segment, mip));
    } finally {
      lock.close();
    }
  }

  private static Targets find(Segment segment, Mip mip) {
    String name = mip.name();
    CopiedBlock block =
        mip.serial() != 0 ? segment.copy().block(mip.serial())
            : name != null ? segment.copy().block(name) : first(segment);
    if (block == null) throw InterweaveException.of(Error.NO_BLOCK, mip.text() + ": no block");
    if (Long.compareUnsigned(mip.offset(), block.units()) <= 0) {
      return new Targets(segment, block, mip.offset());
    }
    throw InterweaveException.of(Error.BAD_POINTER, mip.text() + " is beyond the block");
  }

  private static CopiedBlock first(Segment segment) {
    for (CopiedBlock block : segment.copy().blocks()) return block;
    return null;
  }

  static String resolve(Collection<Opened> open, String text) {
    StringBuilder answer = new StringBuilder();
    use(open, text, found -> answer.append(found.mip()));
    return answer.toString();
  }

  private String mip() {
    return new Mip(SegmentUrl.parse(segment.url()), block.serial, null, offset).text();
  }
}
