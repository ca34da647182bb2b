package org.interweave.agent.samples;

import java.util.function.Consumer;
import java.util.function.IntSupplier;

/** Stores of all forms. Each method gives the modification word that they should leave. */
public final class Stores {
  private Stores() {}

  public static int eachKind() {
    Body to = new Body();
    to.i = 1;
    to.l = 1L << 40;
    to.d = 0.5;
    to.f = 1.5f;
    to.b = 2;
    to.s = 3;
    to.c = 'c';
    to.z = true;
    to.next = to;
    to.row = new double[1];
    check(to.i == 1 && to.l == 1L << 40 && to.d == 0.5 && to.f == 1.5f && to.b == 2 && to.s == 3
        && to.c == 'c' && to.z && to.next == to && to.row.length == 1);
    return to.iw_word();
  }

  public static int aLongAndADouble() {
    Body to = new Body();
    long l = to.l = 7;
    double d = to.d = l;
    check(l == 7 && d == 7 && to.l == 7 && to.d == 7);
    return to.iw_word();
  }

  public static int throughASubclass() {
    Star to = new Star(true);
    to.iw_unmark();
    to.i = 4;
    check(to.i == 4 && to.age == 9);
    return to.iw_word();
  }

  public static int byAMethodOfASubclass() {
    Star to = new Star();
    to.iw_unmark();
    to.shine();
    to.size = 2;
    check(to.color == 7 && to.i == 1 && to.size == 2);
    return to.iw_word();
  }

  public static int inAConstructor() {
    Star to = new Star();
    check(to.color == 3 && "made".equals(to.note));
    return to.iw_word();
  }

  public static int inLambdasAndInnerClasses() {
    Body to = new Body();
    Consumer<Body> lambda = each -> each.i = 5;
    IntSupplier inner = new IntSupplier() {
      @Override
      public int getAsInt() {
        return to.c = 'x';
      }
    };
    lambda.accept(to);
    check(inner.getAsInt() == 'x' && to.i == 5);
    return to.iw_word();
  }

  public static int compound() {
    Body first = new Body();
    Body second = new Body();
    first.next = second;
    first.next.i += 3;
    first.next.l++;
    second.f = second.s = (short) (second.i > 2 ? 4 : 5);
    check(second.i == 3 && second.l == 1 && second.s == 4 && second.f == 4);
    return second.iw_word();
  }

  public static int inLoopsAndHandlers() {
    Body to = new Body();
    for (long n = 0; n < 5; ++n) {
      try {
        if (n % 2 == 0) throw new IllegalStateException();
        to.d += n;
      } catch (IllegalStateException even) {
        to.l += n;
      } finally {
        to.i = (int) n;
      }
    }
    check(to.d == 4 && to.l == 6 && to.i == 4);
    return to.iw_word();
  }

  public static int inARecord() {
    Body to = new Body();
    new Move(to, 2).make();
    check(to.i == 2);
    return to.iw_word();
  }

  public static int inAnInterface() {
    Body to = new Body();
    Painter painter = () -> to;
    painter.paint();
    check(to.z);
    return to.iw_word();
  }

  public static int plainOnes() {
    Body to = new Body();
    to.plain = 1;
    Body.count = 2;
    check(to.plain == 1 && Body.count == 2);
    return to.iw_word();
  }

  /** A record that stores into a shared object. */
  record Move(Body body, int by) {
    void make() {
      body.i = by;
    }
  }

  /** An interface whose method stores into a shared object. */
  interface Painter {
    Body body();

    default void paint() {
      body().z = true;
    }
  }

  private static void check(boolean holds) {
    if (!holds) throw new AssertionError("a store came to another value");
  }
}
