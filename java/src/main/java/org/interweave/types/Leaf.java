package org.interweave.types;

import java.util.Map;
import java.util.Set;
import org.interweave.wire.WirePointer;

/** The kind of a unit. Leaves of one piece of a plan are the same object. */
public final class Leaf {
  /** Strings up to this bound travel as their whole slot [WIRE-2]. */
  public static final int SHORT_STRING = 16;

  public enum Kind { PLAIN, BOOL, ENUM, POINTER, OWNED, STRING, UNION }

  static final Leaf POINTER = new Leaf(Kind.POINTER, WirePointer.BYTES, null, null);
  static final Leaf OWNED = new Leaf(Kind.OWNED, WirePointer.BYTES, null, null);
  static final Leaf BOOL = new Leaf(Kind.BOOL, 4, null, null);
  private static final Leaf[] PLAIN = {plain(1), plain(2), plain(4), plain(8)};

  public final Kind kind;
  /** In memory, in bytes. */
  public final long width;
  private final Set<Integer> members;
  /** Of a union. */
  public final Choice choice;

  private Leaf(Kind kind, long width, Set<Integer> members, Choice choice) {
    this.kind = kind;
    this.width = width;
    this.members = members;
    this.choice = choice;
  }

  private static Leaf plain(int width) {
    return new Leaf(Kind.PLAIN, width, null, null);
  }

  static Leaf number(int width) {
    return PLAIN[Integer.numberOfTrailingZeros(width)];
  }

  static Leaf string(long bound) {
    return new Leaf(Kind.STRING, bound, null, null);
  }

  static Leaf enumeration(Set<Integer> members) {
    return new Leaf(Kind.ENUM, 4, members, null);
  }

  static Leaf union(long width, Choice choice) {
    return new Leaf(Kind.UNION, width, null, choice);
  }

  /** Whether a string travels with its length before it. */
  public boolean isLongString() {
    return kind == Kind.STRING && width > SHORT_STRING;
  }

  /** Whether a bool or an enum may have a value [WIRE-4]; zero is memory never written. */
  public boolean allows(int value) {
    return switch (kind) {
      case BOOL -> (value & ~1) == 0;
      case ENUM -> value == 0 || members.contains(value);
      default -> true;
    };
  }

  /**
   * What a union's discriminant selects: by case a plan, or VOID; `otherwise` is null if the union
   * has no default arm. The arms lie at `armAt`.
   */
  public record Choice(Leaf discriminant, Map<Integer, Plan> arms, Plan otherwise, long armAt) {
    /** The arm; VOID for a void one, null if there is no such case. */
    public Plan selected(int value) {
      Plan arm = arms.get(value);
      return arm == null ? otherwise : arm;
    }
  }
}
