package game.player;

import java.nio.charset.StandardCharsets;

/** What the command line says. */
record Options(String url, String name, int coins, int players, long paceMs,
    boolean isHeadless, boolean isNew) {
  static final String HELP =
      """
      Usage: java -jar game.jar [OPTION]... NAME
      Joins the game as NAME. Arrow keys walk; whoever stands on a coin has it.

        --url URL      the segment (127.0.0.1:7747/game)
        --new          begin a new game, also while others play
        --coins N      how many coins a new game has (40)
        --headless     open no window; play by itself until no coin is left, then print the points
        --players N    with --headless: move once so many have joined (1)
        --pace MS      with --headless: the time between two steps (150)
        --help         this text

      Examples:
        java -jar game.jar ada                     in one terminal
        java -jar game.jar --headless robot        in another: a player without hands
      """;
  private static final int NAME_BYTES = 15;
  private static final int MOST = 1_000_000;

  /** Of a wrong command line. */
  static final class Wrong extends Exception {
    private static final long serialVersionUID = 1;

    Wrong(String what) {
      super(what + "; see --help");
    }
  }

  /** Null: the help is wanted. */
  static Options parse(String... words) throws Wrong {
    String url = "127.0.0.1:7747/game";
    String name = null;
    int coins = 40;
    int players = 1;
    int paceMs = 150;
    boolean isHeadless = false;
    boolean isNew = false;
    for (int i = 0; i < words.length; ++i) {
      switch (words[i]) {
        case "--help" -> {
          return null;
        }
        case "--new" -> isNew = true;
        case "--headless" -> isHeadless = true;
        case "--url" -> url = valueAfter(words, i++);
        case "--coins" -> coins = count(words, i++, 1);
        case "--players" -> players = count(words, i++, 1);
        case "--pace" -> paceMs = count(words, i++, 0);
        default -> {
          if (words[i].startsWith("-")) throw new Wrong("'" + words[i] + "' is not an option");
          if (name != null) throw new Wrong("two names, '" + name + "' and '" + words[i] + "'");
          name = words[i];
        }
      }
    }
    if (name == null) throw new Wrong("no name");
    if (name.getBytes(StandardCharsets.UTF_8).length > NAME_BYTES) {
      throw new Wrong("a name has at most " + NAME_BYTES + " bytes");
    }
    boolean isWhole = url.contains("://") || url.startsWith("unix:");
    return new Options(isWhole ? url : "iw://" + url, name, coins, players, paceMs, isHeadless,
        isNew);
  }

  private static String valueAfter(String[] words, int at) throws Wrong {
    if (at + 1 < words.length) return words[at + 1];
    throw new Wrong(words[at] + " needs a value");
  }

  private static int count(String[] words, int at, int least) throws Wrong {
    String text = valueAfter(words, at);
    try {
      int number = Integer.parseInt(text);
      if (number >= least && number <= MOST) return number;
    } catch (NumberFormatException wrong) {
      // Said below.
    }
    throw new Wrong(words[at] + ": '" + text + "' is not a whole number from " + least + " on");
  }
}
