package astroflow.viewer;

import java.awt.Dimension;
import java.awt.Graphics;
import java.awt.image.BufferedImage;
import javax.swing.BorderFactory;
import javax.swing.JPanel;

/** The heat map of one array. */
final class PicturePanel extends JPanel {
  private static final long serialVersionUID = 1;

  private transient BufferedImage image;

  PicturePanel(Quantity quantity) {
    setName(quantity.blockName());
    setBorder(BorderFactory.createTitledBorder(quantity.title()));
    java.awt.Insets border = getInsets();
    setPreferredSize(
        new Dimension(
            Frame.SIDE + border.left + border.right, Frame.SIDE + border.top + border.bottom));
  }

  void show(BufferedImage shown) {
    image = shown;
    repaint();
  }

  @Override
  protected void paintComponent(Graphics graphics) {
    super.paintComponent(graphics);
    java.awt.Insets border = getInsets();
    int width = getWidth() - border.left - border.right;
    int height = getHeight() - border.top - border.bottom;
    int side = Math.max(1, Math.min(width, height));
    if (image != null) graphics.drawImage(image, border.left, border.top, side, side, null);
  }
}
