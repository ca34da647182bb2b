package astroflow.viewer;

import java.awt.BorderLayout;
import java.awt.FlowLayout;
import java.awt.GridLayout;
import java.awt.image.BufferedImage;
import java.lang.reflect.InvocationTargetException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Map;
import javax.swing.AbstractAction;
import javax.swing.JButton;
import javax.swing.JComponent;
import javax.swing.JFrame;
import javax.swing.JLabel;
import javax.swing.JPanel;
import javax.swing.JSlider;
import javax.swing.KeyStroke;
import javax.swing.SwingUtilities;
import javax.swing.WindowConstants;

/** Six heat maps, a slider that says how far they may be behind, and what steers the simulator. */
final class ViewerWindow {
  private static final int MOST_MS = 2000;
  private static final String[] PROBLEMS = {
    "Sod", "Lax", "Liska-Wendroff 3", "Kelvin-Helmholtz"
  };

  private final FrameSource source;
  private final Watch watch;
  private final Map<Quantity, PicturePanel> pictures = new EnumMap<>(Quantity.class);
  private final JFrame window = new JFrame("astroflow");
  private final JLabel status = new JLabel("waiting for a simulator");
  private final JLabel bound = new JLabel();
  private Frame last;

  ViewerWindow(FrameSource source, Watch watch) {
    this.source = source;
    this.watch = watch;
    try {
      SwingUtilities.invokeAndWait(this::build);
    } catch (InvocationTargetException wrong) {
      throw new IllegalStateException(wrong.getCause());
    } catch (InterruptedException ended) {
      Thread.currentThread().interrupt();
    }
  }

  private void build() {
    JPanel maps = new JPanel(new GridLayout(2, 3));
    for (Quantity each : Quantity.values()) {
      PicturePanel picture = new PicturePanel(each);
      pictures.put(each, picture);
      maps.add(picture);
    }
    JPanel below = new JPanel(new GridLayout(0, 1));
    below.add(freshness());
    below.add(steering());
    below.add(status);
    window.add(maps, BorderLayout.CENTER);
    window.add(below, BorderLayout.SOUTH);
    window.setDefaultCloseOperation(WindowConstants.DISPOSE_ON_CLOSE);
    window.addWindowListener(
        new java.awt.event.WindowAdapter() {
          @Override
          public void windowClosed(java.awt.event.WindowEvent event) {
            watch.stop();
          }
        });
    key('q', watch::stop);
    window.pack();
    window.setVisible(true);
  }

  private JComponent freshness() {
    Freshness first = source.freshness();
    int behindMs = first == null ? 0 : first.behindMs();
    JSlider slider = new JSlider(0, Math.max(MOST_MS, behindMs), behindMs);
    slider.setName("temporal");
    slider.setEnabled(first != null);
    slider.addChangeListener(event -> temporal(slider.getValue()));
    bound.setText("pictures: " + (first == null ? "as files come" : first));
    JPanel row = new JPanel(new FlowLayout(FlowLayout.LEFT));
    row.add(new JLabel("at most so many ms behind:"));
    row.add(slider);
    row.add(bound);
    return row;
  }

  private void temporal(int ms) {
    if (!(source instanceof Simulation simulation)) return;
    simulation.freshness(Freshness.temporal(Duration.ofMillis(ms)));
    bound.setText("pictures: at most " + ms + " ms behind");
  }

  private JComponent steering() {
    JPanel row = new JPanel(new FlowLayout(FlowLayout.LEFT));
    add(row, "pause", 'p', () -> watch.ask(Wish.pause()));
    add(row, "CFL -", '-', () -> watch.ask(Wish.cflSteps(-1)));
    add(row, "CFL +", '+', () -> watch.ask(Wish.cflSteps(1)));
    for (int i = 0; i < PROBLEMS.length; ++i) {
      int problem = i + 1;
      add(row, PROBLEMS[i], (char) ('0' + problem), () -> watch.ask(Wish.problem(problem)));
    }
    add(row, "save", 's', this::save);
    return row;
  }

  private void add(JPanel row, String name, char key, Runnable action) {
    JButton button = new JButton(name);
    button.setName(name);
    button.setFocusable(false);
    button.addActionListener(event -> action.run());
    row.add(button);
    key(key, action);
  }

  private void key(char key, Runnable action) {
    JComponent root = window.getRootPane();
    root.getInputMap(JComponent.WHEN_IN_FOCUSED_WINDOW).put(KeyStroke.getKeyStroke(key), key);
    root.getActionMap()
        .put(
            key,
            new AbstractAction() {
              private static final long serialVersionUID = 1;

              @Override
              public void actionPerformed(java.awt.event.ActionEvent event) {
                action.run();
              }
            });
  }

  private void save() {
    if (last != null) say("saved " + new PngFolder(Path.of(".")).write(last));
  }

  /** By any thread. */
  void show(Frame frame) {
    Map<Quantity, BufferedImage> drawn = new EnumMap<>(Quantity.class);
    for (Quantity each : Quantity.values()) drawn.put(each, HeatMap.of(frame.array(each)));
    long bytes = source.bytesReceived();
    SwingUtilities.invokeLater(
        () -> {
          last = frame;
          drawn.forEach((quantity, image) -> pictures.get(quantity).show(image));
          status.setText(
              String.format("%s  frame %d  t %.4f/%g  CFL %.2f  %s  %,d kB received",
                  problem(frame), frame.number(), frame.time(), frame.endTime(),
                  frame.cfl(), state(frame), bytes / 1000));
        });
  }

  private static String problem(Frame frame) {
    return frame.problem() == 0 ? "" : PROBLEMS[frame.problem() - 1];
  }

  private static String state(Frame frame) {
    return frame.isFinished() ? "finished" : frame.isPaused() ? "paused" : "running";
  }

  /** By any thread. */
  void say(String message) {
    SwingUtilities.invokeLater(() -> status.setText(message));
  }
}
