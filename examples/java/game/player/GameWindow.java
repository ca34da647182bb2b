package game.player;

import game.shared.cell;
import game.shared.game_x;
import java.awt.BorderLayout;
import java.awt.Color;
import java.awt.Dimension;
import java.awt.Graphics;
import java.awt.event.ActionEvent;
import java.lang.reflect.InvocationTargetException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import javax.swing.AbstractAction;
import javax.swing.JComponent;
import javax.swing.JFrame;
import javax.swing.JLabel;
import javax.swing.KeyStroke;
import javax.swing.SwingUtilities;
import javax.swing.WindowConstants;
import org.interweave.InterweaveException;

/** The board, the points below it, and arrow keys that walk. */
final class GameWindow {
  static final int CELL_PIXELS = 28;

  private static final Color FLOOR = new Color(0xf4f1e8);
  private static final Color WALL = new Color(0x4a4a52);
  private static final Color COIN = new Color(0xd9a400);
  private static final Color[] PLAYERS = {
    new Color(0x1f6fb4), new Color(0xc23b22), new Color(0x2e8540), new Color(0x7b3fa0),
    new Color(0xd9730d), new Color(0x0f8b8d)
  };

  private final String name;
  private final SharedGame game;
  /** Steps wait for the writer lock, and the window must not. */
  private final ExecutorService steps = Executors.newSingleThreadExecutor(GameWindow::daemon);
  private final JFrame window = new JFrame("game");
  private final JLabel points = new JLabel(" ");
  private final Board board = new Board();
  private volatile boolean isClosed;
  private Picture shown;

  GameWindow(String name, SharedGame game) {
    this.name = name;
    this.game = game;
    try {
      SwingUtilities.invokeAndWait(this::build);
    } catch (InvocationTargetException wrong) {
      throw new IllegalStateException(wrong.getCause());
    } catch (InterruptedException ended) {
      Thread.currentThread().interrupt();
    }
  }

  private static Thread daemon(Runnable body) {
    Thread thread = new Thread(body, "steps");
    thread.setDaemon(true);
    return thread;
  }

  /** The colour of a player with a number; pages have the same. */
  static Color colour(int number) {
    return PLAYERS[(number - 1) % PLAYERS.length];
  }

  private void build() {
    board.setName("board");
    board.setPreferredSize(
        new Dimension(
            game_x.BOARD_WIDTH * CELL_PIXELS, game_x.BOARD_HEIGHT * CELL_PIXELS));
    window.setTitle("game: " + name);
    window.add(board, BorderLayout.CENTER);
    window.add(points, BorderLayout.SOUTH);
    for (Direction each : Direction.values()) key(each);
    window.setDefaultCloseOperation(WindowConstants.DISPOSE_ON_CLOSE);
    window.addWindowListener(
        new java.awt.event.WindowAdapter() {
          @Override
          public void windowClosed(java.awt.event.WindowEvent event) {
            isClosed = true;
          }
        });
    window.pack();
    window.setVisible(true);
  }

  private void key(Direction to) {
    JComponent root = window.getRootPane();
    root.getInputMap(JComponent.WHEN_IN_FOCUSED_WINDOW)
        .put(KeyStroke.getKeyStroke(to.name()), to);
    root.getActionMap()
        .put(
            to,
            new AbstractAction() {
              private static final long serialVersionUID = 1;

              @Override
              public void actionPerformed(ActionEvent event) {
                steps.execute(() -> step(to));
              }
            });
  }

  private void step(Direction to) {
    try {
      game.step(newest -> to);
    } catch (InterweaveException wrong) {
      SwingUtilities.invokeLater(() -> points.setText("not moved: " + wrong.getMessage()));
    }
  }

  boolean isClosed() {
    return isClosed;
  }

  /** By any thread. */
  void show(Picture picture) {
    SwingUtilities.invokeLater(
        () -> {
          shown = picture;
          points.setText(picture.table());
          board.repaint();
        });
  }

  private final class Board extends JComponent {
    private static final long serialVersionUID = 1;

    @Override
    protected void paintComponent(Graphics to) {
      if (shown == null) return;
      for (int y = 0; y < game_x.BOARD_HEIGHT; ++y) {
        for (int x = 0; x < game_x.BOARD_WIDTH; ++x) paintCell(to, x, y);
      }
      for (Picture.Seat each : shown.seats()) {
        if (!each.isHere()) continue;
        int left = each.x() * CELL_PIXELS;
        int top = each.y() * CELL_PIXELS;
        to.setColor(colour(each.number()));
        to.fillRect(left + 3, top + 3, CELL_PIXELS - 6, CELL_PIXELS - 6);
        to.setColor(Color.WHITE);
        to.drawString(each.name().substring(0, 1), left + 10, top + CELL_PIXELS - 9);
      }
    }

    private void paintCell(Graphics to, int x, int y) {
      int kind = shown.cell(x, y);
      to.setColor(kind == cell.CELL_WALL ? WALL : FLOOR);
      to.fillRect(x * CELL_PIXELS, y * CELL_PIXELS, CELL_PIXELS, CELL_PIXELS);
      if (kind != cell.CELL_COIN) return;
      to.setColor(COIN);
      to.fillOval(
          x * CELL_PIXELS + 9, y * CELL_PIXELS + 9, CELL_PIXELS - 18, CELL_PIXELS - 18);
    }
  }
}
