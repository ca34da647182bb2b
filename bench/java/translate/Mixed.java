package translate;

import java.io.Serializable;

public class Mixed implements Serializable {
  private static final long serialVersionUID = 1;

  public int i;
  public double d;
  public String text;
  public String word;
  public Cell pointer;
}
