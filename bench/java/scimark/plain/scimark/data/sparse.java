package scimark.data;

/** As its namesake of scimark.x, and not shared. */
public final class sparse {
  public double[] values = new double[5000];
  public int[] columns = new int[5000];
  public int[] begins = new int[1001];
  public double[] x = new double[1000];
  public double[] y = new double[1000];
}
