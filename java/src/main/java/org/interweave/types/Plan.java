package org.interweave.types;

import java.util.ArrayList;
import java.util.List;

/**
 * Where the units of a type lie in memory, compiled once per type.
 *
 * <p>Memory has the layout of C: numbers at their natural alignment. A pointer, sequence or text is
 * its 16 bytes of wire form, a string of bound N has N bytes. Runs of units that lie side by side,
 * alike on the wire and in memory, are one piece: a diff's values are copied there at once.
 *
 * <p>A plan has at most as many pieces as its type has fields: what is embedded is referred to,
 * never copied, so that types of a few bytes do not become plans of gigabytes.
 */
public final class Plan {
  /** Structs with more groups of numbers, or with more numbers, are visited leaf by leaf. */
  private static final int MOST_GROUPS = 16;
  private static final int MOST_UNITS = 4096;

  /** Of a void arm. */
  public static final Plan VOID = new Plan(0, List.of());

  /** Called with leaves that lie side by side. */
  public interface Visit {
    void leaves(Leaf leaf, long at, long units);

    /**
     * Called first with a struct of numbers that repeats. False: its leaves are to be visited one
     * after another.
     */
    default boolean repeated(Numbers numbers, int at, int stride, int times) {
      return false;
    }
  }

  /**
   * A struct of numbers: groups of numbers side by side. The group number `i` begins `at[i]` bytes
   * after the struct's first byte, and has `bytes[i]` bytes of numbers of `width[i]`. `wireBytes`
   * is the sum of all.
   */
  public record Numbers(int[] at, int[] bytes, int[] width, int wireBytes) {}

  /**
   * The first unit, and where it lies; leaves side by side, or (`leaf` is null) a plan that repeats
   * every `stride` bytes.
   */
  private record Piece(long unit, long at, long units, Leaf leaf, Plan plan, long stride) {
    boolean endsAt(long place) {
      return leaf != null && at + units * leaf.width == place;
    }
  }

  /** A plan at its place in another. */
  record Part(Plan plan, long at, long size) {}

  public final long units;
  private final Piece[] pieces;
  /** Null if there are units that are not numbers, too many numbers, or one group alone. */
  private final Numbers numbers;
  /** Whether there are neither pointers nor owned blocks nor unions. */
  public final boolean isOfValues;

  private Plan(long units, List<Piece> pieces) {
    this.units = units;
    this.pieces = pieces.toArray(new Piece[0]);
    numbers = numbersOf(this.pieces, units);
    isOfValues = isOfValues(this.pieces);
  }

  private static boolean isOfValues(Piece[] pieces) {
    for (Piece each : pieces) {
      boolean isValue =
          each.leaf == null
              ? each.plan.isOfValues
              : switch (each.leaf.kind) {
                case PLAIN, BOOL, ENUM, STRING -> true;
                case POINTER, OWNED, UNION -> false;
              };
      if (!isValue) return false;
    }
    return true;
  }

  private static Numbers numbersOf(Piece[] pieces, long units) {
    int count = pieces.length;
    if (count < 2 || count > MOST_GROUPS || units > MOST_UNITS) return null;
    for (Piece each : pieces) {
      if (each.leaf == null || each.leaf.kind != Leaf.Kind.PLAIN) return null;
    }
    int[] at = new int[count];
    int[] bytes = new int[count];
    int[] width = new int[count];
    int all = 0;
    for (int i = 0; i < count; ++i) {
      Piece piece = pieces[i];
      at[i] = (int) piece.at;
      width[i] = (int) piece.leaf.width;
      bytes[i] = (int) (piece.units * width[i]);
      all += bytes[i];
    }
    return new Numbers(at, bytes, width, all);
  }

  static Plan of(Leaf leaf) {
    return new Plan(1, List.of(new Piece(0, 0, 1, leaf, null, 0)));
  }

  /** The kind of the first unit. */
  public Leaf firstLeaf() {
    Piece first = pieces[0];
    return first.leaf != null ? first.leaf : first.plan.firstLeaf();
  }

  /** Whether all units are numbers of one width side by side, which have so many bytes together. */
  public boolean isRow(long bytes) {
    return isDense(bytes) && pieces[0].leaf.kind == Leaf.Kind.PLAIN;
  }

  /** Whether all units are leaves of one kind side by side, which take so many bytes together. */
  private boolean isDense(long bytes) {
    Piece only = pieces.length == 1 ? pieces[0] : null;
    return only != null
        && only.at == 0
        && only.leaf != null
        && only.units * only.leaf.width == bytes;
  }

  public Plan repeated(long count, long stride) {
    long all = Extent.times(units, count);
    Piece piece =
        isDense(stride)
            ? new Piece(0, 0, all, pieces[0].leaf, null, 0)
            : new Piece(0, 0, all, null, this, stride);
    return new Plan(all, List.of(piece));
  }

  /** Plans one after another. */
  static Plan sequence(List<Part> parts) {
    List<Piece> pieces = new ArrayList<>();
    long unit = 0;
    for (Part part : parts) {
      Plan plan = part.plan;
      Piece only = plan.pieces.length == 1 ? plan.pieces[0] : null;
      Piece last = pieces.isEmpty() ? null : pieces.get(pieces.size() - 1);
      if (only == null) {
        pieces.add(new Piece(unit, part.at, plan.units, null, plan, part.size));
      } else if (last != null && last.leaf == only.leaf && last.endsAt(part.at + only.at)) {
        long units = last.units + only.units;
        pieces.set(pieces.size() - 1, new Piece(last.unit, last.at, units, last.leaf, null, 0));
      } else {
        long at = part.at + only.at;
        pieces.add(new Piece(unit, at, only.units, only.leaf, only.plan, only.stride));
      }
      unit += plan.units;
    }
    return new Plan(unit, pieces);
  }

  /** Visits all units, if the first byte is at `base`. */
  public void walk(long base, Visit visit) {
    for (Piece piece : pieces) {
      long at = base + piece.at;
      if (piece.leaf != null) visit.leaves(piece.leaf, at, piece.units);
      else piece.plan.walkRepeated(piece.stride, 0, piece.units, at, visit);
    }
  }

  /** Visits `count` units from `first` on, if the plan's first byte is at `base`. */
  public void walk(long first, long count, long base, Visit visit) {
    if (count == units) {
      walk(base, visit);
      return;
    }
    long end = first + count;
    for (int index = pieceOf(first); first < end; ++index) {
      Piece piece = pieces[index];
      long from = first - piece.unit;
      long to = Math.min(end - piece.unit, piece.units);
      long at = base + piece.at;
      if (piece.leaf != null) visit.leaves(piece.leaf, at + from * piece.leaf.width, to - from);
      else piece.plan.walkRepeated(piece.stride, from, to, at, visit);
      first = piece.unit + to;
    }
  }

  /** The same of a plan that repeats. */
  private void walkRepeated(long stride, long first, long end, long base, Visit visit) {
    if (first >= end) return;
    long at = base + first / units * stride;
    long from = first % units;
    if (from > 0) {
      long part = Math.min(end - first, units - from);
      walk(from, part, at, visit);
      first += part;
      at += stride;
    }
    long times = (end - first) / units;
    if (numbers != null && times > 1 && at + times * stride <= Integer.MAX_VALUE
        && visit.repeated(numbers, (int) at, (int) stride, (int) times)) {
      first += times * units;
      at += times * stride;
    }
    for (; end - first >= units; first += units, at += stride) walk(at, visit);
    if (first < end) walk(0, end - first, at, visit);
  }

  /** The last piece that begins at the unit or before. */
  private int pieceOf(long unit) {
    int low = 0;
    int high = pieces.length - 1;
    while (low < high) {
      int middle = (low + high + 1) >>> 1;
      if (pieces[middle].unit <= unit) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
