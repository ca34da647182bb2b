package scimark.data;

/** As its namesake of scimark.x, and not shared. */
public final class generator {
  public int[] seeds = new int[17];
  public int hits;
}
