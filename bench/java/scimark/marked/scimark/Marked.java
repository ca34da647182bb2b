package scimark;

import java.util.Random;
import org.interweave.client.Segment;
import org.interweave.client.WriteLock;
import scimark.data.linear;
import scimark.data.marked_cells;
import scimark.data.marked_product;
import scimark.data.sparse;

/** Three of the kernels, with a mark for each store into a row. */
public final class Marked {
  private Marked() {}

  public static void main(String[] arguments) {
    try (Segment segment = Segment.open(arguments[0])) {
      try (WriteLock lock = segment.write()) {
        new marked_cells(segment, "plate").iw_setAlone();
        new marked_cells(segment, "cells").iw_setAlone();
        new marked_product(segment, "product").iw_setAlone();
        new sparse(segment, "sparse");
        new linear(segment, "linear");
        lock.release();
      }
      try (WriteLock lock = segment.write()) {
        kernels(lock);
        lock.release();
      }
    }
  }

  private static void kernels(WriteLock lock) {
    marked_cells plate = lock.object("plate", marked_cells.class);
    marked_cells cells = lock.object("cells", marked_cells.class);
    marked_product product = lock.object("product", marked_product.class);
    sparse sparse = Filling.fill(lock.object("sparse", sparse.class));
    linear linear = Filling.fill(lock.object("linear", linear.class));
    double[] filled = new double[marked_cells.length];
    Filling.random(filled, new Random(Filling.SEED));
    plate.set_array(filled);
    Timing.print("sor", () -> MarkedKernels.sor(plate));
    Timing.print("sparse", () -> MarkedKernels.sparse(sparse, product));
    Timing.print("lu", () -> MarkedKernels.lu(linear, cells));
  }
}
