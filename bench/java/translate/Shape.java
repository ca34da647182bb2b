package translate;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.MessageLite;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.interweave.objects.ObjectMap;

/**
 * A shape of data: as plain objects `P`, which the rivals carry, and as objects `S` of a segment.
 * Both are filled with the same values in the same order, and give the same digest.
 */
abstract class Shape<P, S> {
  static final long PRIME = 1_000_003;

  final String name;

  Shape(String name) {
    this.name = name;
  }

  /** Objects that several fields lead to, or that lie deep: rivals must keep identities. */
  boolean isGraph() {
    return false;
  }

  // ---- plain objects ----

  /** Filled by `fill` before use. */
  abstract P plain();

  abstract void fill(P data, Values values);

  abstract long digest(P data);

  /** By hand, in the order of the machine. */
  abstract void put(P data, ByteBuffer to);

  /** By hand, into objects that are there; null: into new ones. */
  abstract P get(ByteBuffer from, P into);

  abstract MessageLite message(P data);

  abstract P read(CodedInputStream from) throws IOException;

  // ---- objects of a segment ----

  /** New blocks, in a writer's section. */
  abstract S shared(ObjectMap map);

  abstract void fillShared(S data, Values values);

  abstract long digestShared(S data);

  /** What a reader has of the same blocks. */
  abstract S find(Section reader);
}
