package org.interweave.types;

import static org.interweave.InterweaveException.malformed;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.wire.protocol.DescriptorCodec;
import org.interweave.wire.protocol.DescriptorCodec.Primitive;
import org.interweave.wire.protocol.DescriptorCodec.TypeDescriptor;

/**
 * The types of a segment, by serial: built from descriptors with every check of [TYPE-2]. A type
 * embeds only types of lower serials, so that recursion over embedding ends, at depth 64 at most.
 */
public final class TypeTable {
  private static final int FIRST = DescriptorCodec.FIRST_TYPE_SERIAL;
  private static final int MAX_DEPTH = 64;
  private static final List<Type> PRIMITIVES = primitives();

  /** From serial 64 on. */
  private final List<Type> described = new ArrayList<>();
  private final Map<String, Long> hashOfName = new HashMap<>();

  private static List<Type> primitives() {
    List<Type> primitives = new ArrayList<>();
    for (Primitive primitive : Primitive.values()) {
      primitives.add(Construction.primitive(primitive));
    }
    return primitives;
  }

  /** Null if there is no such type. */
  public Type get(long serial) {
    if (serial < FIRST) return at(PRIMITIVES, serial - 1);
    return at(described, serial - FIRST);
  }

  private static Type at(List<Type> types, long index) {
    return index >= 0 && index < types.size() ? types.get((int) index) : null;
  }

  /** The serial that the next descriptor must have. */
  public long nextSerial() {
    return FIRST + described.size();
  }

  /** The newest type of that name, or a primitive; null if there is none. */
  public Type byName(String name) {
    for (int i = described.size(); i-- > 0; ) {
      if (described.get(i).name().equals(name)) return described.get(i);
    }
    for (Type type : PRIMITIVES) {
      if (type.name().equals(name)) return type;
    }
    return null;
  }

  /** The types that the descriptors would append. */
  public List<Type> check(List<TypeDescriptor> descriptors) {
    Growing growing = new Growing(descriptors);
    for (TypeDescriptor descriptor : descriptors) {
      try {
        growing.add(descriptor);
      } catch (InterweaveException wrong) {
        String which = "type " + descriptor.serial() + " `" + descriptor.name() + "`: ";
        throw new InterweaveException(wrong.code(), which + wrong.getMessage());
      }
    }
    return growing.added;
  }

  /** Types that `check` gave for this table as it is now. */
  public void append(List<Type> types) {
    for (Type type : types) {
      described.add(type);
      if (!type.name().isEmpty()) hashOfName.put(type.name(), type.hash());
    }
  }

  /** Forgets the types from a serial on, which an aborted writer had added. */
  public void truncate(long nextSerial) {
    List<Type> dropped = described.subList((int) (nextSerial - FIRST), described.size());
    for (Type type : dropped) hashOfName.remove(type.name());
    dropped.clear();
    for (Type type : described) {
      if (!type.name().isEmpty()) hashOfName.put(type.name(), type.hash());
    }
  }

  /** A type of that name and structure; null if there is none. */
  public Type find(String name, long hash) {
    for (Type type : described) {
      if (type.hash() == hash && type.name().equals(name)) return type;
    }
    return null;
  }

  /** The table with the descriptors of one TYPES section being added. */
  private final class Growing implements Construction.Known, Signature.Referred {
    final List<Type> added = new ArrayList<>();
    private final Map<String, Long> addedHashes = new HashMap<>();
    private final List<TypeDescriptor> descriptors;
    private final long first = nextSerial();

    Growing(List<TypeDescriptor> descriptors) {
      this.descriptors = descriptors;
    }

    void add(TypeDescriptor descriptor) {
      long serial = first + added.size();
      if (descriptor.serial() != serial) {
        throw malformed("the segment's next type serial is " + serial);
      }
      if (serial - FIRST >= DescriptorCodec.MAX_TYPES) {
        throw new InterweaveException(
            Error.TOO_LARGE, "a segment has at most " + DescriptorCodec.MAX_TYPES + " types");
      }
      Shape shape = Construction.shape(descriptor.body(), this);
      if (shape.units > Extent.MAX || shape.slotBytes > Extent.MAX) {
        throw malformed("it has more than 2^40 units or bytes");
      }
      if (shape.depth > MAX_DEPTH) throw malformed("types are embedded more than 64 deep");
      long hash = Signature.of(descriptor.body(), this);
      if (hash != descriptor.hash()) {
        String said = Long.toHexString(descriptor.hash());
        throw malformed("its hash is " + Long.toHexString(hash) + ", it says " + said);
      }
      checkName(descriptor);
      added.add(new Type(descriptor, shape));
    }

    /** [TYPE-3] */
    private void checkName(TypeDescriptor descriptor) {
      if (descriptor.name().isEmpty()) return;
      Long known = hashOfName.get(descriptor.name());
      if (known == null) known = addedHashes.get(descriptor.name());
      if (known != null && known != descriptor.hash()) {
        throw new InterweaveException(
            Error.TYPE_CONFLICT,
            "the segment has a type of this name with another structure; rename one of the two,"
                + " or compile both programs from the same .x file");
      }
      addedHashes.put(descriptor.name(), descriptor.hash());
    }

    @Override
    public Type embedded(long serial) {
      Type type = get(serial);
      if (type == null) type = at(added, serial - first);
      if (type == null) {
        throw malformed("it embeds type " + serial + ", which is not known before");
      }
      return type;
    }

    @Override
    public void checkTarget(long serial) {
      target(serial);
    }

    @Override
    public long embeddedHash(long serial) {
      return embedded(serial).hash();
    }

    /** Of a type pointed at, which may follow in the same section. */
    @Override
    public Signature.Target target(long serial) {
      Type known = get(serial);
      if (known != null) return new Signature.Target(known.name(), known.hash());
      long index = serial - first;
      if (index < 0 || index >= descriptors.size()) {
        throw malformed("it points at type " + serial + ", which is not known");
      }
      TypeDescriptor found = descriptors.get((int) index);
      return new Signature.Target(found.name(), found.hash());
    }
  }
}
