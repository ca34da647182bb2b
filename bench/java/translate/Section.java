package translate;

import org.interweave.diff.Changes;
import org.interweave.diff.Copy;
import org.interweave.objects.MappedBlocks;
import org.interweave.objects.Neighbours;
import org.interweave.objects.ObjectMap;

/** A writer's copy with its objects, and a section of it: a lock and release without a server. */
final class Section {
  private static final long MAX_BYTES = 1L << 30;
  private static final long SERIALS = 300_000;

  final Copy copy = new Copy(MAX_BYTES, new MappedBlocks());
  final ObjectMap map;
  private final Neighbours.None client = new Neighbours.None();
  private Changes changes;
  private long nextSerial = 1;

  Section() {
    map = new ObjectMap(copy, "iw://here/translate", client);
  }

  void begin() {
    changes = new Changes(copy, nextSerial, SERIALS);
    nextSerial += SERIALS;
    client.write(changes);
  }

  /** What a release sends, and what it does when the answer comes. Good until the next but one. */
  byte[] release() {
    map.flush();
    byte[] diff = changes.collect();
    changes.commit(copy.version() + 1, true);
    client.write(null);
    return diff;
  }

  /** What an acquire does with a diff. */
  void update(byte[] diff) {
    copy.apply(diff);
    map.refresh();
  }
}
