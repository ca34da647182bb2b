package start;

/** The rival: only prints. */
final class Empty {
  private Empty() {}

  public static void main(String[] arguments) {
    System.out.println(7);
  }
}
