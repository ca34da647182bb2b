package scimark;

import scimark.data.generator;
import scimark.data.linear;
import scimark.data.plate;
import scimark.data.signal;
import scimark.data.sparse;
import scimark.data.stepper;

/** The kernels on plain objects. */
public final class Plain {
  private Plain() {}

  public static void main(String[] arguments) {
    Timing.all(
        Filling.fill(new signal()), Filling.fill(new plate()), Filling.fill(new generator()),
        Filling.fill(new stepper()), Filling.fill(new sparse()), Filling.fill(new linear()));
  }
}
