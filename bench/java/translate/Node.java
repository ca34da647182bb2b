package translate;

import java.io.Serializable;

/** Of a tree; of a list, if it has only right ones. */
public class Node implements Serializable {
  private static final long serialVersionUID = 1;

  public int value;
  public Node left;
  public Node right;
}
