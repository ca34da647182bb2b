package scimark.data;

/** As its namesake of scimark.x, and not shared. */
public final class linear {
  public double[] given = new double[10000];
  public double[] cells = new double[10000];
  public int[] pivots = new int[100];
}
