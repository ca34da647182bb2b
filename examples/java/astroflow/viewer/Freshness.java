package astroflow.viewer;

import java.time.Duration;
import org.interweave.client.Coherence;

/**
 * How recent is recent enough, as `--coherence` or the slider says. `behindMs`: by so many
 * milliseconds pictures may be behind; 0 under the models that do not speak of time.
 */
record Freshness(Coherence coherence, int behindMs) {
  static Freshness of(Coherence model) {
    return new Freshness(model, 0);
  }

  static Freshness temporal(Duration longest) {
    int ms = (int) Math.min(longest.toMillis(), Integer.MAX_VALUE);
    return new Freshness(Coherence.temporal(longest), ms);
  }

  @Override
  public String toString() {
    return coherence.toString();
  }
}
