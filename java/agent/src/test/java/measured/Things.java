package measured;

import java.util.Arrays;
import java.util.function.IntSupplier;

/** Stores of all forms into objects that are not shared, and into arrays. */
public class Things {
  /** More fields than a word has parts would be in `Wide`; here each has its own. */
  private int i;
  private long l;
  private double d;
  private float f;
  private byte b;
  private short s;
  private char c;
  private boolean z;
  private Object next;
  private static int count;

  /** Inherits its word. */
  static final class More extends Things {
    private final int own;

    More(int own) {
      this.own = own;
    }
  }

  /** A record, whose fields are stored by its constructor. */
  record Pair(int one, long other) {}

  /** An enum with a field. */
  enum Color {
    RED(3);

    private final int number;

    Color(int number) {
      this.number = number;
    }
  }

  /** An exception is under a class of the system. */
  static final class Wrong extends RuntimeException {
    private static final long serialVersionUID = 1;
    private final int code;

    Wrong(int code) {
      this.code = code;
    }
  }

  /** The sum of all stores; the same with and without marks. */
  public static String all() {
    return fields() + " " + arrays() + " " + others();
  }

  private static String fields() {
    Things to = new More(4);
    to.i = 1;
    to.l = 1L << 40;
    double d = to.d = 0.5;
    to.f = 1.5f;
    to.b = 2;
    to.s = 3;
    to.c = 'c';
    to.z = true;
    to.next = to;
    to.l += 2;
    to.i++;
    count += 1;
    return to.i + "," + to.l + "," + to.d + "," + d + "," + to.f + "," + to.b + "," + to.s + ","
        + to.c + "," + to.z + "," + (to.next == to) + "," + ((More) to).own;
  }

  private static String arrays() {
    int[] ints = new int[40];
    long[] longs = new long[3];
    float[] floats = {1, 2};
    double[] doubles = new double[100_000];
    byte[] bytes = new byte[5];
    boolean[] flags = new boolean[5];
    short[] shorts = new short[1];
    char[] chars = new char[1];
    String[] words = new String[2];
    int[][] both = new int[2][2];
    ints[39] = 7;
    long l = longs[2] = 8;
    doubles[99_999] += 0.25;
    double d = doubles[1] = l;
    bytes[4] = 1;
    flags[4] = true;
    shorts[0]--;
    chars[0] = 'x';
    words[1] = "w";
    both[1][0] = both[0][1] = 5;
    return ints[39] + "," + longs[2] + "," + floats[1] + "," + doubles[99_999] + "," + d + ","
        + bytes[4] + flags[4] + shorts[0] + chars[0] + words[1] + Arrays.deepToString(both);
  }

  private static long[] longs(int count) {
    return new long[count];
  }

  private static String others() {
    Pair pair = new Pair(1, 2);
    IntSupplier inner = new IntSupplier() {
      private int calls;

      @Override
      public int getAsInt() {
        return ++calls;
      }
    };
    String thrown = "";
    try {
      ((int[]) null)[0] = 1;
    } catch (NullPointerException expected) {
      thrown += "null";
    }
    try {
      longs(2)[5] = 1;
    } catch (ArrayIndexOutOfBoundsException expected) {
      thrown += "bounds";
    }
    try {
      ((Object[]) new String[1])[0] = 1;
    } catch (ArrayStoreException expected) {
      thrown += "store";
    }
    return pair + "," + inner.getAsInt() + "," + Color.RED.number + "," + new Wrong(6).code + ","
        + thrown;
  }

  /** The word, which the agent adds to this class. */
  public static int word(Things of) throws ReflectiveOperationException {
    java.lang.reflect.Field word = Things.class.getDeclaredField("iw_word");
    return word.getInt(of);
  }

  /** The word after stores into the first and the third field. */
  public static int wordOfTwoStores() throws ReflectiveOperationException {
    Things to = new Things();
    to.i = 1;
    to.d = 2;
    return word(to);
  }

  /** Prints what the stores came to; with an argument also the words. */
  public static void main(String[] arguments) throws ReflectiveOperationException {
    System.out.println(all());
    if (arguments.length == 0) return;
    System.out.println("word=" + Integer.toHexString(wordOfTwoStores()));
    Class<?> words = Class.forName("org.interweave.agent.ArrayWords");
    System.out.println("arrays=" + ((int) words.getMethod("marks").invoke(null) > 0));
    System.out.println("pair=" + Pair.class.getDeclaredMethod("iw_modified", int.class).getName());
  }
}
