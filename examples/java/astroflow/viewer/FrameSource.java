package astroflow.viewer;

import java.util.Optional;

/** Where frames come from. */
interface FrameSource extends AutoCloseable {
  /** A frame that was not given before; empty: there is none yet. */
  Optional<Frame> next();

  /** Called when there may be another frame, by any thread. */
  void onChange(Runnable called);

  /** Asks the simulator. */
  void ask(Wish wish);

  /** How recent the frames are. */
  String freshness();

  /** The bytes that came so far. */
  long bytesReceived();

  @Override
  void close();
}
