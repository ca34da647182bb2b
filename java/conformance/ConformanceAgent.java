package org.interweave.client;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.interweave.Interface.Durability;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.diff.CopiedBlock;
import org.interweave.vectors.Json;

/**
 * The conformance agent of the Java client. It obeys the commands of conformance/README.md. Values
 * are looked at and stored as programs do it, by views. What views refuse to store, the agent
 * stores as bits, for the release to refuse.
 */
final class ConformanceAgent {
  private static final String HELLO =
      "{\"client\":\"java\",\"machine\":\"" + System.getProperty("os.arch")
          + "\",\"byte_order\":\"little\",\"pointer_bits\":64,\"abilities\":[\"declare\",\"write\","
          + "\"owned\",\"pointers\",\"coherence\",\"messages\"]}";

  private final Map<String, Opened> segments = new HashMap<>();
  private final Declarations types = new Declarations();

  public static void main(String[] args) throws IOException {
    BufferedReader input =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.ISO_8859_1));
    PrintStream output = new PrintStream(System.out, false, StandardCharsets.ISO_8859_1);
    ConformanceAgent agent = new ConformanceAgent();
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      output.append(agent.obey(line).replace('\n', ' ')).append('\n');
      if (!input.ready()) output.flush();
    }
  }

  String obey(String line) {
    Words words = new Words(line);
    try {
      String answer = command(words.next(), words);
      return answer.isEmpty() ? "ok" : "ok " + answer;
    } catch (InterweaveException failure) {
      return "error " + failure.code().name() + " " + failure.getMessage();
    } catch (ClassCastException | IllegalArgumentException | IndexOutOfBoundsException wrong) {
      return "error BAD_ARGUMENT " + wrong.getMessage();
    }
  }

  private String command(String name, Words words) {
    return switch (name) {
      case "hello" -> HELLO;
      case "types" -> types.declare(Json.parse(words.rest()));
      case "open" -> open(words);
      case "close" -> close(words.next());
      case "reset" -> reset();
      case "resolve" -> Targets.resolve(segments.values(), words.rest());
      default -> ofSegment(name, words);
    };
  }

  private String ofSegment(String name, Words words) {
    return switch (name) {
      case "rl", "rl_release", "wl", "wl_release", "wl_abort" -> lock(name, words);
      case "coherence", "version", "staleness", "refresh", "messages" -> ask(name, words);
      case "listen" -> opened(words).listen();
      case "told" -> opened(words).told(words.next(), words.isAtEnd() ? 30 : words.number());
      case "make" -> make(words);
      case "free" -> free(words);
      case "get", "put", "mip" -> unit(name, words);
      case "dump" -> Printed.blocks(opened(words).segment);
      default -> throw InterweaveException.of(Error.UNIMPLEMENTED, "no such command");
    };
  }

  private Opened opened(Words words) {
    String name = words.next();
    Opened found = segments.get(name);
    if (found != null) return found;
    throw InterweaveException.of(Error.NOT_OPEN, name + " is not open");
  }

  private String open(Words words) {
    String name = words.next();
    String url = words.next();
    OpenOptions options = OpenOptions.DEFAULT;
    boolean creates = false;
    boolean isReadOnly = false;
    while (!words.isAtEnd()) {
      String[] option = words.next().split("=");
      switch (option[0]) {
        case "create" -> creates = true;
        case "read_only" -> isReadOnly = true;
        case "memory" -> options = options.durability(Durability.MEMORY);
        case "written" -> options = options.durability(Durability.WRITTEN);
        case "timeout" -> options = options.timeout(seconds(Double.parseDouble(option[1])));
        case "quota" -> options = options.quotaBytes(Long.parseLong(option[1]));
        default -> throw new IllegalArgumentException("open knows no " + option[0]);
      }
    }
    if (!creates) options = options.existing();
    if (isReadOnly) options = options.readOnly();
    segments.put(name, new Opened(Segment.open(url, options)));
    return "";
  }

  static Duration seconds(double count) {
    return Duration.ofNanos((long) (count * 1e9));
  }

  private String close(String name) {
    Opened opened = opened(new Words(name));
    segments.remove(name);
    opened.segment.close();
    return "";
  }

  private String reset() {
    for (Opened each : segments.values()) each.segment.close();
    segments.clear();
    return "";
  }

  private String lock(String name, Words words) {
    Opened on = opened(words);
    Duration longest = words.isAtEnd() ? null : seconds(words.number());
    switch (name) {
      case "rl" -> on.read(longest, !words.isAtEnd() && words.next().equals("fresh"));
      case "rl_release" -> on.releaseReader();
      case "wl" -> on.write(longest);
      case "wl_release" -> on.releaseWriter();
      default -> on.abort();
    }
    return "";
  }

  private String ask(String name, Words words) {
    Segment segment = opened(words).segment;
    switch (name) {
      case "coherence" -> segment.coherence(model(words));
      case "refresh" -> segment.readNewest().close();
      case "version" -> {
        return Long.toString(segment.version());
      }
      case "messages" -> {
        return Long.toString(segment.stats().messagesSent());
      }
      default -> {
        Duration age = segment.staleness();
        return age == null ? "never" : Double.toString(age.toNanos() / 1e9);
      }
    }
    return "";
  }

  private static Coherence model(Words words) {
    String name = words.next();
    double x = words.isAtEnd() ? 0 : words.number();
    return switch (name) {
      case "full" -> Coherence.FULL;
      case "strict" -> Coherence.STRICT;
      case "null" -> Coherence.NULL;
      case "delta" -> Coherence.delta(x);
      case "temporal" -> Coherence.temporal(seconds(x));
      case "diff" -> Coherence.diff(x);
      default -> throw new IllegalArgumentException("no model " + name);
    };
  }

  private String make(Words words) {
    Segment segment = opened(words).segment;
    String name = words.next();
    long count = Long.parseLong(words.next());
    CopiedBlock made =
        segment.allocate(
            segment.type(types.of(Json.parse(words.rest()))), count, name.equals("-") ? "" : name);
    return Long.toString(made.serial);
  }

  private String free(Words words) {
    Segment segment = opened(words).segment;
    CopiedBlock block = Units.block(segment, words.next());
    segment.changes().free(block);
    return "";
  }

  private String unit(String name, Words words) {
    Segment segment = opened(words).segment;
    Value unit = Units.at(segment, words.next());
    switch (name) {
      case "get" -> {
        StringBuilder out = new StringBuilder();
        Printed.unit(out, unit);
        return out.toString();
      }
      case "mip" -> {
        unit.checkReadable();
        return unit.mip();
      }
      default -> {
        new Storing(segments.values()).put(unit, Json.parse(words.rest()));
        return "";
      }
    }
  }

  /** The words of a command. */
  private static final class Words {
    private final String line;
    private int at;

    Words(String line) {
      this.line = line;
    }

    boolean isAtEnd() {
      return at >= line.length();
    }

    String next() {
      int blank = line.indexOf(' ', at);
      int end = blank < 0 ? line.length() : blank;
      String word = line.substring(Math.min(at, end), end);
      at = end + 1;
      return word;
    }

    double number() {
      return Double.parseDouble(next());
    }

    String rest() {
      return isAtEnd() ? "" : line.substring(at);
    }
  }
}
