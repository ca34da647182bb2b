package scimark.data;

/** As its namesake of scimark.x, and not shared. */
public final class signal {
  public double[] values = new double[2048];
}
