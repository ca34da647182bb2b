package astroflow.viewer;

import java.util.Optional;

/** Where frames come from. */
interface FrameSource extends AutoCloseable {
  /** Returns the next new frame, or empty if there is none yet. */
  Optional<Frame> next();

  /** Called when there may be another frame, by any thread. */
  void onChange(Runnable called);

  /** Asks the simulator. */
  void ask(Wish wish);

  /** How recent the frames are; null: as they are found. */
  Freshness freshness();

  /** The bytes that came so far. */
  long bytesReceived();

  @Override
  void close();
}
