package astroflow.viewer;

import java.awt.image.BufferedImage;

/** Pictures of a frame's arrays, a pixel a cell; row 0 is the bottom. */
final class HeatMap {
  private HeatMap() {}

  static BufferedImage of(double[] array) {
    ColourMap colours = ColourMap.of(array);
    int side = Frame.SIDE;
    BufferedImage image = new BufferedImage(side, side, BufferedImage.TYPE_INT_RGB);
    for (int y = 0; y < side; ++y) {
      int row = (side - 1 - y) * side;
      for (int x = 0; x < side; ++x) image.setRGB(x, y, colours.colour(array[row + x]));
    }
    return image;
  }

  /** All six: three above, three below. */
  static BufferedImage of(Frame frame) {
    int side = Frame.SIDE;
    BufferedImage all = new BufferedImage(3 * side, 2 * side, BufferedImage.TYPE_INT_RGB);
    for (Quantity each : Quantity.values()) {
      int at = each.ordinal();
      all.setRGB(at % 3 * side, at / 3 * side, side, side,
          of(frame.array(each)).getRGB(0, 0, side, side, null, 0, side), 0, side);
    }
    return all;
  }
}
