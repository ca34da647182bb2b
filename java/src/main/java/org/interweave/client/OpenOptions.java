package org.interweave.client;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.interweave.Interface.Durability;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.wire.protocol.SessionCodec;

/** How a segment is opened. Options cannot be changed: each method gives others. */
public final class OpenOptions {
  private static final long DEFAULT_TIMEOUT = 30_000_000_000L;
  private static final long DEFAULT_MAX_BYTES = 1L << 30;

  /** The segment is made if it does not exist. */
  public static final OpenOptions DEFAULT =
      new OpenOptions(
          true, false, Durability.SYNCED, 0, DEFAULT_MAX_BYTES, DEFAULT_TIMEOUT, null, null);

  private final boolean creates;
  private final boolean isReadOnly;
  private final Durability durability;
  private final long quotaBytes;
  private final long maxBytes;
  private final long timeout;
  /** A secret. Null: the client's. */
  private final String token;
  /** Null: none is given. Programs without TLS do not load the class. */
  private final TlsFiles files;

  private OpenOptions(
      boolean creates,
      boolean isReadOnly,
      Durability durability,
      long quotaBytes,
      long maxBytes,
      long timeout,
      String token,
      TlsFiles files) {
    this.creates = creates;
    this.isReadOnly = isReadOnly;
    this.durability = durability;
    this.quotaBytes = quotaBytes;
    this.maxBytes = maxBytes;
    this.timeout = timeout;
    this.token = token;
    this.files = files;
  }

  /**
   * NO_SEGMENT if the segment does not exist.
   *
   * @return such options
   */
  public OpenOptions existing() {
    return new OpenOptions(
        false, isReadOnly, durability, quotaBytes, maxBytes, timeout, token, files);
  }

  /**
   * No writer locks; the segment must exist.
   *
   * @return such options
   */
  public OpenOptions readOnly() {
    return new OpenOptions(false, true, durability, quotaBytes, maxBytes, timeout, token, files);
  }

  /**
   * When a release is acknowledged; counts when the segment is made.
   *
   * @param is SYNCED unless it is said otherwise
   * @return such options
   */
  public OpenOptions durability(Durability is) {
    return new OpenOptions(creates, isReadOnly, is, quotaBytes, maxBytes, timeout, token, files);
  }

  /**
   * The bytes that the segment may have at the server; counts when the segment is made.
   *
   * @param bytes 0: the server's default
   * @return such options
   */
  public OpenOptions quotaBytes(long bytes) {
    return new OpenOptions(
        creates, isReadOnly, durability, bytes, maxBytes, timeout, token, files);
  }

  /**
   * The most memory that the blocks of the copy may take.
   *
   * @param bytes 1 GiB unless it is said otherwise
   * @return such options
   */
  public OpenOptions maxBytes(long bytes) {
    return new OpenOptions(
        creates, isReadOnly, durability, quotaBytes, bytes, timeout, token, files);
  }

  /**
   * How long a call on the segment may wait.
   *
   * @param longest 30 seconds unless it is said otherwise
   * @return such options
   */
  public OpenOptions timeout(Duration longest) {
    return new OpenOptions(
        creates, isReadOnly, durability, quotaBytes, maxBytes, longest.toNanos(), token, files);
  }

  /**
   * The token that is shown to the server [CRED-1]. It counts when the client's connection to that
   * server is made, which the client's segments of the server share. Another one is BAD_ARGUMENT
   * while the client has segments of the server open; this also holds for ca, cert and key.
   *
   * @param shown at most 4096 bytes; unless it is said otherwise, the client's token
   * @return such options
   */
  public OpenOptions token(String shown) {
    return new OpenOptions(
        creates, isReadOnly, durability, quotaBytes, maxBytes, timeout, checkedToken(shown),
        files);
  }

  /**
   * The authorities whose servers `iws://` trusts.
   *
   * @param file a PEM file; unless it is said otherwise, that of IW_CA
   * @return such options
   */
  public OpenOptions ca(String file) {
    return with(new TlsFiles(file, given().cert(), given().key()));
  }

  /**
   * The certificate that is shown to servers that ask for one; `key` goes with it.
   *
   * @param file a PEM file; unless it is said otherwise, that of IW_CERT
   * @return such options
   */
  public OpenOptions cert(String file) {
    return with(new TlsFiles(given().ca(), file, given().key()));
  }

  /**
   * The certificate's private key; `cert` goes with it.
   *
   * @param file a PEM file in PKCS#8 form; unless it is said otherwise, that of IW_KEY
   * @return such options
   */
  public OpenOptions key(String file) {
    return with(new TlsFiles(given().ca(), given().cert(), file));
  }

  private TlsFiles given() {
    return files == null ? new TlsFiles(null, null, null) : files;
  }

  private OpenOptions with(TlsFiles chosen) {
    return new OpenOptions(
        creates, isReadOnly, durability, quotaBytes, maxBytes, timeout, token, chosen);
  }

  /** BAD_ARGUMENT for what no server could be shown; the text does not show it [CRED-3]. */
  static String checkedToken(String token) {
    String why = null;
    if (token.indexOf('\0') >= 0) why = "has a NUL character";
    if (token.getBytes(StandardCharsets.UTF_8).length > SessionCodec.MAX_TOKEN) {
      why = "is longer than " + SessionCodec.MAX_TOKEN + " bytes";
    }
    if (why == null) return token;
    throw InterweaveException.of(
        Error.BAD_ARGUMENT, "the token (IW_TOKEN, or the option token) " + why);
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

  /** The options' own, or else that one. */
  String tokenOr(String clients) {
    return token == null ? clients : token;
  }

  /** Null: it is not given. */
  String token() {
    return token;
  }

  /** Null: none is given. */
  TlsFiles files() {
    return files;
  }

  /** The options' own, and for the rest those; null: none is given. */
  TlsFiles filesOr(TlsFiles clients) {
    if (files == null) return clients;
    return clients == null ? files : files.or(clients);
  }
}
