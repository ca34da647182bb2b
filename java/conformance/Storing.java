package org.interweave.client;

import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collection;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.swizzle.Spot;
import org.interweave.types.Type;
import org.interweave.wire.LittleEndian;
import org.interweave.wire.WirePointer;
import org.interweave.wire.protocol.DescriptorCodec.Primitive;
import org.interweave.wire.protocol.DescriptorCodec.TypeKind;

/** Stores values as the runner writes them (conformance/README.md). */
final class Storing {
  private final Collection<Opened> open;

  /** The open segments, into which pointers may lead. */
  Storing(Collection<Opened> open) {
    this.open = open;
  }

  void put(Value unit, Object json) {
    switch (unit.type.kind()) {
      case STRING -> putString(unit, latin1(json));
      case TEXT -> unit.set(latin1(json));
      case POINTER -> putPointer(unit, (String) json);
      case UNION -> putUnion(unit, (Map<?, ?>) json);
      case SEQUENCE -> putSequence(unit, json);
      default -> putNumber(unit, json);
    }
  }

  private static byte[] latin1(Object json) {
    return ((String) json).getBytes(StandardCharsets.ISO_8859_1);
  }

  private static void putString(Value unit, byte[] bytes) {
    if (bytes.length > unit.type.size()) {
      throw new IllegalArgumentException("the string is longer than its bound");
    }
    unit.set(bytes);
  }

  /** A pointer one past the end of a block leads to no value, and is stored as bits. */
  private void putPointer(Value pointer, String mip) {
    if (mip == null) {
      pointer.point(null);
      return;
    }
    Targets.use(open, mip, found -> {
      if (found.offset() < found.block().units()) {
        pointer.point(value(found));
        return;
      }
      pointer.checkWritable();
      int slot = pointer.segment.slotOf(found.segment());
      new WirePointer(slot, found.block().serial, found.offset())
          .put(pointer.block.memory(), pointer.at);
    });
  }

  private static Value value(Targets found) {
    Spot spot = Spot.find(found.block(), found.offset(), null);
    if (spot == null || spot.at() == 0) return Value.of(found.segment(), found.block());
    return new Value(
        found.segment(), found.block(), spot.type(), -1, spot.at(), spot.unit(), false);
  }

  /** A discriminant that selects no arm is stored, too. */
  private void putUnion(Value union, Map<?, ?> json) {
    int which = ((Long) json.get("case")).intValue();
    Type.Member arm = union.type.choice().selected(which);
    if (arm == null) {
      union.checkWritable();
      byte[] memory = union.block.memory();
      union.segment.changes().freeOwned(union.block, union.type, union.at);
      Arrays.fill(memory, union.at, (int) (union.at + union.type.size()), (byte) 0);
      LittleEndian.putInt(memory, union.at, which);
      return;
    }
    Value selected = union.select(which);
    Iterator<?> units = ((List<?>) json.get("units")).iterator();
    if (selected != null) putUnits(selected, arm.type(), units);
  }

  private void putSequence(Value sequence, Object json) {
    Type element = sequence.segment.copy().types().get(sequence.type.targetSerial());
    if (Units.isBytes(element)) {
      byte[] bytes = HexFormat.of().parseHex((String) json);
      sequence.resize(bytes.length).set(bytes);
      return;
    }
    List<?> items = (List<?>) json;
    long itemsEach = itemsOf(element);
    if (items.size() % itemsEach != 0) {
      throw new IllegalArgumentException("not a whole number of elements");
    }
    Value row = sequence.resize(items.size() / itemsEach);
    putRow(row, items.iterator());
  }

  /** How many items of a list a value takes. */
  private static long itemsOf(Type type) {
    if (type.element() != null) {
      return Units.isBytes(type.element()) ? 1 : type.count() * itemsOf(type.element());
    }
    if (type.fields().isEmpty()) return 1;
    long items = 0;
    for (Type.Member field : type.fields()) items += itemsOf(field.type());
    return items;
  }

  private void putRow(Value row, Iterator<?> items) {
    for (long i = 0; i < row.count; ++i) putUnits(row.at(i), row.type, items);
  }

  /** One value of the type, of as many items as it takes. */
  private void putUnits(Value value, Type type, Iterator<?> items) {
    if (type.element() != null && !Units.isBytes(type.element())) {
      putRow(value, items);
    } else if (!type.fields().isEmpty()) {
      for (Type.Member field : type.fields()) {
        putUnits(value.field(field.name()), field.type(), items);
      }
    } else if (!items.hasNext()) {
      throw new IllegalArgumentException("the list of units is too short");
    } else if (type.element() != null) {
      putBytes(value, HexFormat.of().parseHex((String) items.next()));
    } else {
      put(value, items.next());
    }
  }

  private static void putBytes(Value row, byte[] bytes) {
    if (bytes.length != row.count) {
      throw new IllegalArgumentException(bytes.length + " bytes, not " + row.count);
    }
    row.set(bytes);
  }

  /** Bits that a type gives no meaning are stored, for the release to refuse. */
  private static void putNumber(Value unit, Object json) {
    Primitive kind = unit.type.kind() == TypeKind.ENUM ? Primitive.INT : unit.type.primitive();
    if (kind == Primitive.FLOAT) {
      unit.checkWritable();
      LittleEndian.putInt(unit.block.memory(), unit.at, (int) bits(json));
    } else if (kind == Primitive.DOUBLE) {
      unit.checkWritable();
      LittleEndian.putLong(unit.block.memory(), unit.at, bits(json));
    } else {
      putInteger(unit, kind, new BigInteger(json.toString()).longValue());
    }
  }

  private static void putInteger(Value unit, Primitive kind, long number) {
    try {
      unit.set(kind == Primitive.CHAR ? (byte) number : number);
    } catch (InterweaveException refused) {
      if (refused.code() != Error.BAD_VALUE) throw refused;
      LittleEndian.putInt(unit.block.memory(), unit.at, (int) number);
    }
  }

  private static long bits(Object json) {
    return Long.parseUnsignedLong(((String) json).substring(2), 16);
  }
}
