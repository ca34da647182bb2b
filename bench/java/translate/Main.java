package translate;

import java.util.ArrayList;
import java.util.List;

/**
 * The figures of translation in Java: `Main FIGURE SYSTEM` prints a line a case, with the medians
 * of out and in in ns, and the bytes.
 */
public final class Main {
  private static final int[] LENGTHS = {25_000, 50_000, 100_000, 150_000, 200_000, 250_000};
  private static final int NODES = 100_000;
  private static final Values[] TURNS = {new Values(0), new Values(1)};

  private Main() {}

  public static void main(String[] arguments) throws Exception {
    String system = arguments[1];
    switch (arguments[0]) {
      case "rows" -> {
        for (int length : LENGTHS) run(system, new Row("" + length, length));
      }
      case "shapes" -> {
        for (Shape<?, ?> each : shapes()) run(system, each);
      }
      case "partly" -> Partly.run(TURNS);
      default -> throw new IllegalArgumentException(arguments[0]);
    }
  }

  private static List<Shape<?, ?>> shapes() {
    List<Shape<?, ?>> all = new ArrayList<>();
    all.add(new Ints());
    all.add(new Row("double_array", 1 << 17));
    all.add(new IntStructs());
    all.add(new DoubleStructs());
    all.add(new Texts());
    all.add(new Words());
    all.add(new Pointers());
    all.add(new IntDoubles());
    all.add(new Mixes());
    all.add(new Nodes("tree", NODES, false));
    all.add(new Nodes("list", NODES, true));
    return all;
  }

  private static <P, S> void run(String system, Shape<P, S> shape) throws Exception {
    boolean isOurs = system.equals("interweave");
    if (isOurs && shape instanceof Nodes) run(shape.name + "_new", new FirstTime<>(shape), shape);
    run(shape.name, carrier(system, shape), shape);
  }

  private static <P, S> Carrier carrier(String system, Shape<P, S> shape) {
    return switch (system) {
      case "interweave" -> new InterWeave<>(shape, TURNS[1].again());
      case "raw" -> new Raw<>(shape, false);
      case "raw_in_place" -> new Raw<>(shape, true);
      case "jdk" -> new Serialization<>(shape);
      case "kryo" -> new Kryos<>(shape);
      case "fory" -> new Forys<>(shape);
      case "protobuf" -> new Protobuf<>(shape);
      default -> throw new IllegalArgumentException(system);
    };
  }

  /** A class whose initialization overflows the stack cannot be used again. */
  private static boolean isDeep(Throwable wrong) {
    if (wrong == null) return false;
    if (wrong instanceof StackOverflowError || wrong instanceof NoClassDefFoundError) return true;
    return isDeep(wrong.getCause());
  }

  private static <P> void run(String what, Carrier carrier, Shape<P, ?> shape) throws Exception {
    long[] wanted = new long[2];
    P data = shape.plain();
    for (int turn = 0; turn < 2; ++turn) {
      shape.fill(data, TURNS[turn].again());
      wanted[turn] = shape.digest(data);
    }
    try {
      Timing timing = new Timing(carrier, TURNS);
      timing.check(what, wanted);
      timing.print(what);
    } catch (Exception | StackOverflowError | NoClassDefFoundError wrong) {
      if (!isDeep(wrong)) throw wrong;
      System.out.println(what + " overflow");
    }
  }
}
