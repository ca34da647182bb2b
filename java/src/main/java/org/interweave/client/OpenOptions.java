package org.interweave.client;

import java.time.Duration;
import org.interweave.Interface.Durability;

/** How a segment is opened. Options cannot be changed: each method gives others. */
public final class OpenOptions {
  private static final long DEFAULT_TIMEOUT = 30_000_000_000L;
  private static final long DEFAULT_MAX_BYTES = 1L << 30;

  /** The segment is made if it does not exist. */
  public static final OpenOptions DEFAULT =
      new OpenOptions(
          true, false, Durability.SYNCED, 0, DEFAULT_MAX_BYTES, DEFAULT_TIMEOUT);

  private final boolean creates;
  private final boolean isReadOnly;
  private final Durability durability;
  private final long quotaBytes;
  private final long maxBytes;
  private final long timeout;

  private OpenOptions(
      boolean creates,
      boolean isReadOnly,
      Durability durability,
      long quotaBytes,
      long maxBytes,
      long timeout) {
    this.creates = creates;
    this.isReadOnly = isReadOnly;
    this.durability = durability;
    this.quotaBytes = quotaBytes;
    this.maxBytes = maxBytes;
    this.timeout = timeout;
  }

  /**
   * NO_SEGMENT if the segment does not exist.
   *
   * @return such options
   */
  public OpenOptions existing() {
    return new OpenOptions(false, isReadOnly, durability, quotaBytes, maxBytes, timeout);
  }

  /**
   * No writer locks; the segment must exist.
   *
   * @return such options
   */
  public OpenOptions readOnly() {
    return new OpenOptions(false, true, durability, quotaBytes, maxBytes, timeout);
  }

  /**
   * When a release is acknowledged; counts when the segment is made.
   *
   * @param is SYNCED unless it is said otherwise
   * @return such options
   */
  public OpenOptions durability(Durability is) {
    return new OpenOptions(creates, isReadOnly, is, quotaBytes, maxBytes, timeout);
  }

  /**
   * The bytes that the segment may have at the server; counts when the segment is made.
   *
   * @param bytes 0: the server's default
   * @return such options
   */
  public OpenOptions quotaBytes(long bytes) {
    return new OpenOptions(creates, isReadOnly, durability, bytes, maxBytes, timeout);
  }

  /**
   * The most memory that the blocks of the copy may take.
   *
   * @param bytes 1 GiB unless it is said otherwise
   * @return such options
   */
  public OpenOptions maxBytes(long bytes) {
    return new OpenOptions(creates, isReadOnly, durability, quotaBytes, bytes, timeout);
  }

  /**
   * How long a call on the segment may wait.
   *
   * @param longest 30 seconds unless it is said otherwise
   * @return such options
   */
  public OpenOptions timeout(Duration longest) {
    return new OpenOptions(
        creates, isReadOnly, durability, quotaBytes, maxBytes, longest.toNanos());
  }

  boolean creates() {
    return creates;
  }

  boolean isReadOnly() {
    return isReadOnly;
  }

  Durability durability() {
    return durability;
  }

  long quotaBytes() {
    return quotaBytes;
  }

  long maxBytes() {
    return maxBytes;
  }

  /** In nanoseconds. */
  long timeout() {
    return timeout;
  }
}
