package scimark.data;

/** As its namesake of scimark.x, and not shared. */
public final class plate {
  public double[] cells = new double[10000];
}
