package astroflow.viewer;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.interweave.Interface;
import org.interweave.InterweaveException;

/**
 * Frames out of the files that astroflow-plain writes: a number of 32 bits, the time, and the six
 * arrays, in the order of the machine. This is what the viewer did before the segment was there.
 */
final class FrameFiles implements FrameSource {
  private static final int CELLS = Frame.SIDE * Frame.SIDE;
  private static final int BYTES =
      Integer.BYTES + Double.BYTES + Quantity.values().length * CELLS * Double.BYTES;

  private final Path folder;
  private int last;

  FrameFiles(Path folder) {
    this.folder = folder;
  }

  @Override
  public Optional<Frame> next() {
    Path file = folder.resolve(String.format("frame-%06d", last + 1));
    try {
      // The simulator may be writing the file.
      if (!Files.exists(file) || Files.size(file) != BYTES) return Optional.empty();
      ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.nativeOrder());
      ++last;
      return Optional.of(frame(bytes));
    } catch (IOException wrong) {
      throw new UncheckedIOException(wrong);
    }
  }

  private Frame frame(ByteBuffer bytes) {
    int number = bytes.getInt();
    double time = bytes.getDouble();
    double[][] arrays = new double[Quantity.values().length][CELLS];
    for (double[] each : arrays) {
      bytes.asDoubleBuffer().get(each);
      bytes.position(bytes.position() + CELLS * Double.BYTES);
    }
    return new Frame(number, number, 0, 0, 0, time, 0, 0, arrays);
  }

  @Override
  public void onChange(Runnable called) {
    // Nobody tells of a new file: the viewer looks.
  }

  @Override
  public void ask(Wish wish) {
    throw InterweaveException.of(
        Interface.Error.BAD_ARGUMENT, "files take no wishes; share a segment to steer");
  }

  @Override
  public Freshness freshness() {
    return null;
  }

  @Override
  public long bytesReceived() {
    return (long) last * BYTES;
  }

  @Override
  public void close() {
    // Nothing is held.
  }
}
