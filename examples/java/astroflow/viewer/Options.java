package astroflow.viewer;

import java.nio.file.Path;
import java.time.Duration;
import org.interweave.client.Coherence;

/** What the command line says. */
record Options(String url, Freshness coherence, long frames, boolean isUntilFinished,
    boolean isHeadless, Path pngFolder, Path files) {
  static final String HELP =
      """
      Usage: java -jar astroflow-viewer.jar [OPTION]...
      Shows the six arrays of a running simulation in a window, and steers it.

        --url URL          the segment (127.0.0.1:7747/astroflow)
        --coherence MODEL  how recent is recent enough: temporal:SECONDS, delta:VERSIONS, full or
                           strict (temporal:0.2); the window has a slider for temporal
        --frames N         leave once N different frames have been seen
        --until-finished   leave when the simulator has written its last frame
        --headless         open no window; print a line a frame
        --png DIR          write every frame seen to DIR/frame-NNNNNN.png, three arrays above three
        --files DIR        show the files that astroflow-plain writes, instead of a segment
        --help             this text

      Keys: p pause or continue, + and - change the CFL number, 1 Sod, 2 Lax, 3 Liska-Wendroff 3,
      4 Kelvin-Helmholtz, s save the picture as PNG, q quit.

      Examples:
        java -jar astroflow-viewer.jar                        watch, at most 0.2 s behind
        java -jar astroflow-viewer.jar --coherence temporal:2     a picture every 2 s
        java -jar astroflow-viewer.jar --headless --png frames --until-finished
      """;
  private static final long MOST = 1_000_000_000;

  /** Of a wrong command line. */
  static final class Wrong extends Exception {
    private static final long serialVersionUID = 1;

    Wrong(String what) {
      super(what + "; see --help");
    }
  }

  /** Null: the help is wanted. */
  static Options parse(String... words) throws Wrong {
    String url = "127.0.0.1:7747/astroflow";
    Freshness coherence = Freshness.temporal(Duration.ofMillis(200));
    long frames = 0;
    boolean isUntilFinished = false;
    boolean isHeadless = false;
    Path png = null;
    Path files = null;
    for (int i = 0; i < words.length; ++i) {
      int equals = words[i].startsWith("--") ? words[i].indexOf('=') : -1;
      String name = equals < 0 ? words[i] : words[i].substring(0, equals);
      switch (name) {
        case "--help" -> {
          return null;
        }
        case "--until-finished" -> isUntilFinished = true;
        case "--headless" -> isHeadless = true;
        case "--url", "--coherence", "--frames", "--png", "--files" -> {
          String value = equals < 0 ? valueAfter(words, i++) : words[i].substring(equals + 1);
          switch (name) {
            case "--url" -> url = value;
            case "--coherence" -> coherence = coherence(value);
            case "--frames" -> frames = count(value);
            case "--files" -> files = Path.of(value);
            default -> png = Path.of(value);
          }
        }
        default -> throw new Wrong("'" + words[i] + "' is not an option");
      }
    }
    return new Options(url.contains("://") || url.startsWith("unix:") ? url : "iw://" + url,
        coherence, frames, isUntilFinished, isHeadless, png, files);
  }

  private static String valueAfter(String[] words, int at) throws Wrong {
    if (at + 1 < words.length) return words[at + 1];
    throw new Wrong(words[at] + " needs a value");
  }

  private static long count(String text) throws Wrong {
    double number = number("--frames", text);
    if (number >= 1 && number <= MOST && number == Math.rint(number)) return (long) number;
    throw new Wrong("--frames: '" + text + "' is not a whole number above 0");
  }

  private static double number(String option, String text) throws Wrong {
    try {
      double number = Double.parseDouble(text);
      if (number >= 0 && number <= MOST) return number;
    } catch (NumberFormatException wrong) {
      // Said below.
    }
    throw new Wrong(option + ": '" + text + "' is not a number from 0 on");
  }

  private static Freshness coherence(String text) throws Wrong {
    String[] parts = text.split(":", 2);
    if (parts.length == 1 && text.equals("full")) return Freshness.of(Coherence.FULL);
    if (parts.length == 1 && text.equals("strict")) return Freshness.of(Coherence.STRICT);
    if (parts.length == 2 && parts[0].equals("delta")) {
      return Freshness.of(Coherence.delta(number("--coherence", parts[1])));
    }
    if (parts.length == 2 && parts[0].equals("temporal")) {
      double seconds = number("--coherence", parts[1]);
      return Freshness.temporal(Duration.ofNanos((long) (seconds * 1e9)));
    }
    throw new Wrong(
        "--coherence: '" + text + "' is not one of full, strict, delta:VERSIONS, temporal:SECONDS");
  }
}
