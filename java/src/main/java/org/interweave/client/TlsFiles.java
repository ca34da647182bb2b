package org.interweave.client;

/**
 * The PEM files of a secure connection [NET-5], "" where one is not set: the authorities that are
 * trusted instead of Java's own, the client's certificate, and the certificate's private key.
 */
record TlsFiles(String authorities, String certificate, String key) {
  /** Those that the environment names. */
  static TlsFiles ofEnvironment() {
    return new TlsFiles(variable("IW_CA"), variable("IW_CERT"), variable("IW_KEY"));
  }

  private static String variable(String name) {
    String value = System.getenv(name);
    return value == null ? "" : value;
  }
}
