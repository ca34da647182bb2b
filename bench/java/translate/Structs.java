package translate;

import java.nio.ByteBuffer;
import org.interweave.IW_Elements;
import org.interweave.IW_Object;
import org.interweave.objects.ObjectMap;

/** An array of structs: an array of plain objects, and a block of as many elements. */
abstract class Structs<P, S extends IW_Object> extends Shape<P[], IW_Elements<S>> {
  final int count;
  private final Class<S> type;

  Structs(String name, int count, Class<S> type) {
    super(name);
    this.count = count;
    this.type = type;
  }

  abstract P[] array();

  abstract P element();

  abstract void fillOne(P to, Values values);

  abstract void fillOneShared(S to, Values values);

  abstract long digestOne(P of);

  abstract long digestOneShared(S of);

  abstract void putOne(P from, ByteBuffer to);

  abstract void getOne(ByteBuffer from, P to);

  @Override
  P[] plain() {
    P[] data = array();
    for (int i = 0; i < count; ++i) data[i] = element();
    return data;
  }

  @Override
  void fill(P[] data, Values values) {
    for (P each : data) fillOne(each, values);
  }

  @Override
  long digest(P[] data) {
    long digest = 0;
    for (P each : data) digest = digest * PRIME + digestOne(each);
    return digest;
  }

  @Override
  void put(P[] data, ByteBuffer to) {
    for (P each : data) putOne(each, to);
  }

  @Override
  P[] get(ByteBuffer from, P[] into) {
    P[] data = into == null ? array() : into;
    for (int i = 0; i < count; ++i) {
      if (into == null) data[i] = element();
      getOne(from, data[i]);
    }
    return data;
  }

  @Override
  IW_Elements<S> shared(ObjectMap map) {
    return map.allocate(type, count, "data");
  }

  @Override
  void fillShared(IW_Elements<S> data, Values values) {
    for (S each : data) fillOneShared(each, values);
  }

  @Override
  long digestShared(IW_Elements<S> data) {
    long digest = 0;
    for (S each : data) digest = digest * PRIME + digestOneShared(each);
    return digest;
  }

  @Override
  IW_Elements<S> find(Section reader) {
    return Found.elements(reader, type);
  }
}
