package scimark.data;

/** As its namesake of scimark.x, and not shared. */
public final class stepper {
  public int[] seeds = new int[17];
  public int low;
  public int high;
  public int hits;
}
