package org.interweave.types;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.wire.protocol.DescriptorCodec.ArrayBody;
import org.interweave.wire.protocol.DescriptorCodec.Field;
import org.interweave.wire.protocol.DescriptorCodec.SequenceBody;
import org.interweave.wire.protocol.DescriptorCodec.TypeBody;
import org.interweave.wire.protocol.DescriptorCodec.TypeDescriptor;
import org.interweave.wire.protocol.DescriptorCodec.TypeKind;
import org.interweave.wire.protocol.DescriptorCodec.UnionArm;
import org.interweave.wire.protocol.DescriptorCodec.UnionBody;

/**
 * Finds a declared type in a segment's table, or makes the descriptors that the table lacks.
 * Embedded types come before the types that embed them [TYPE-2]; targets may follow.
 */
public final class Interning {
  private static final int MAX_DEPTH = 64;
  /** Through pointers, too. */
  private static final int MAX_NESTING = 1000;

  private final TypeTable table;
  /** By their index: what has or will have the serial `table.nextSerial() + index`. */
  private final List<Declared> added = new ArrayList<>();
  private final List<TypeDescriptor> descriptors = new ArrayList<>();
  private final Map<Declared, Long> serials = new IdentityHashMap<>();
  private final Map<Declared, Long> hashes = new IdentityHashMap<>();
  private final Map<String, Declared> named = new HashMap<>();
  private final long serial;

  public Interning(TypeTable table, Declared root) {
    this.table = table;
    collectNames(root, 0);
    serial = serialOf(root);
    // Targets may bring further types, which are described in their turn.
    for (int i = 0; i < added.size(); ++i) describe(i);
  }

  /** The serial that the type has or will have. */
  public long serial() {
    return serial;
  }

  /** The descriptors that the table lacks, in their order. */
  public List<TypeDescriptor> missing() {
    return descriptors;
  }

  private void collectNames(Declared type, int depth) {
    if (depth > MAX_NESTING) throw tooDeep();
    if (!type.name.isEmpty() && named.putIfAbsent(type.name, type) != null) return;
    for (Declared part : partsOf(type)) collectNames(part, depth + 1);
  }

  private static InterweaveException tooDeep() {
    return InterweaveException.of(
        Error.BAD_ARGUMENT,
        "types are embedded more than 64 deep, or a type without a name contains itself");
  }

  private static List<Declared> partsOf(Declared type) {
    List<Declared> parts = new ArrayList<>();
    if (type.element != null) parts.add(type.element);
    if (type.discriminant != null) parts.add(type.discriminant.type());
    for (Declared.Part part : type.parts) if (part.type() != null) parts.add(part.type());
    if (type.otherwise != null && type.otherwise.type() != null) {
      parts.add(type.otherwise.type());
    }
    return parts;
  }

  /** The serial of a type, which is numbered after all that it embeds. */
  private long serialOf(Declared type) {
    if (type.kind == TypeKind.PRIMITIVE) return type.primitive.number;
    Long known = serials.get(type);
    if (known != null) return known;
    Declared twin = type.name.isEmpty() ? null : named.get(type.name);
    if (twin != null && twin != type) return serialOf(twin);
    Type found = table.find(type.name, hash(type, 0));
    if (found != null) {
      serials.put(type, found.serial());
      return found.serial();
    }
    for (Declared part : embeddedIn(type)) serialOf(part);
    long given = table.nextSerial() + added.size();
    added.add(type);
    serials.put(type, given);
    return given;
  }

  private static List<Declared> embeddedIn(Declared type) {
    boolean isReference = type.kind == TypeKind.POINTER || type.kind == TypeKind.SEQUENCE;
    return isReference ? List.of() : partsOf(type);
  }

  private void describe(int index) {
    Declared type = added.get(index);
    long own = table.nextSerial() + index;
    descriptors.add(
        new TypeDescriptor(own, type.name, hash(type, 0), 0, body(type, new Serials())));
  }

  // ---- bodies ----

  /** How the parts of a body are numbered. */
  private interface Numbering {
    long embedded(Declared type);

    long target(Declared holder);
  }

  private final class Serials implements Numbering {
    @Override
    public long embedded(Declared type) {
      return serialOf(type);
    }

    @Override
    public long target(Declared holder) {
      if (holder.element != null) return serialOf(holder.element);
      if (holder.targetName == null) return 0;
      Declared declared = named.get(holder.targetName);
      return declared != null ? serialOf(declared) : inTable(holder.targetName).serial();
    }
  }

  private Type inTable(String name) {
    Type found = table.byName(name);
    if (found != null) return found;
    throw InterweaveException.of(
        Error.UNKNOWN_TYPE, "no type `" + name + "` is declared here or in the segment");
  }

  private static TypeBody body(Declared type, Numbering numbers) {
    return switch (type.kind) {
      case ENUM -> new TypeBody.OfMembers(type.kind, type.members);
      case STRING -> new TypeBody.OfBound(type.kind, type.count);
      case ARRAY -> {
        long element = numbers.embedded(type.element);
        yield new TypeBody.OfArray(type.kind, new ArrayBody(element, type.count));
      }
      case RECORD -> new TypeBody.OfFields(type.kind, fields(type, numbers));
      case UNION -> new TypeBody.OfChoice(type.kind, union(type, numbers));
      case POINTER -> new TypeBody.OfTarget(type.kind, numbers.target(type));
      case SEQUENCE -> {
        long element = numbers.target(type);
        yield new TypeBody.OfSequence(type.kind, new SequenceBody(element, type.count));
      }
      case TEXT -> new TypeBody.OfTextBound(type.kind, type.count);
      case PRIMITIVE -> throw InterweaveException.malformed("a primitive has no descriptor");
    };
  }

  private static List<Field> fields(Declared type, Numbering numbers) {
    List<Field> fields = new ArrayList<>();
    for (Declared.Part part : type.parts) {
      fields.add(new Field(part.name(), numbers.embedded(part.type())));
    }
    return fields;
  }

  private static UnionBody union(Declared type, Numbering numbers) {
    List<UnionArm> arms = new ArrayList<>();
    for (Declared.Part part : type.parts) arms.add(arm(part, numbers));
    long discriminant = numbers.embedded(type.discriminant.type());
    UnionArm otherwise = type.otherwise == null ? null : arm(type.otherwise, numbers);
    return new UnionBody(type.discriminant.name(), discriminant, arms, otherwise);
  }

  private static UnionArm arm(Declared.Part part, Numbering numbers) {
    long type = part.type() == null ? 0 : numbers.embedded(part.type());
    return new UnionArm(part.name(), type, part.values());
  }

  // ---- hashes, for which nothing needs a serial yet ----

  private long hash(Declared type, int depth) {
    if (type.kind == TypeKind.PRIMITIVE) return table.get(type.primitive.number).hash();
    Long known = hashes.get(type);
    if (known != null) return known;
    if (depth > MAX_DEPTH) throw tooDeep();
    Parts parts = new Parts(depth);
    long hash = Signature.of(body(type, parts), parts);
    hashes.put(type, hash);
    return hash;
  }

  /** Numbers parts as they come; the signature asks for them by their number. */
  private final class Parts implements Numbering, Signature.Referred {
    private final List<Declared> parts = new ArrayList<>();
    private final int depth;

    Parts(int depth) {
      this.depth = depth;
    }

    @Override
    public long embedded(Declared type) {
      parts.add(type);
      return parts.size();
    }

    @Override
    public long target(Declared holder) {
      if (holder.element == null && holder.targetName == null) return 0;
      return embedded(holder);
    }

    @Override
    public long embeddedHash(long number) {
      return hash(parts.get((int) number - 1), depth + 1);
    }

    @Override
    public Signature.Target target(long number) {
      Declared holder = parts.get((int) number - 1);
      Declared target =
          holder.element != null ? holder.element : named.get(holder.targetName);
      if (target == null) {
        Type found = inTable(holder.targetName);
        return new Signature.Target(found.name(), found.hash());
      }
      if (target.kind == TypeKind.PRIMITIVE) {
        Type found = table.get(target.primitive.number);
        return new Signature.Target(found.name(), found.hash());
      }
      long structure = target.name.isEmpty() ? hash(target, depth + 1) : 0;
      return new Signature.Target(target.name, structure);
    }
  }
}
