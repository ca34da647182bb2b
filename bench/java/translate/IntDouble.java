package translate;

import java.io.Serializable;

public class IntDouble implements Serializable {
  private static final long serialVersionUID = 1;

  public int i;
  public double d;
}
