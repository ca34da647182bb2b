package translate;

import java.io.Serializable;

/** What a pointer leads to. */
public class Cell implements Serializable {
  private static final long serialVersionUID = 1;

  public int value;
}
