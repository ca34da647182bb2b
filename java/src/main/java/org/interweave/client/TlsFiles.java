package org.interweave.client;

/**
 * The PEM files of a secure connection [NET-5] [CRED-1]: the authorities that are trusted instead
 * of Java's own, the client's certificate, and the certificate's private key. "": none. Null: it is
 * not given, and others decide.
 */
record TlsFiles(String ca, String cert, String key) {
  /** Those that the environment names. */
  static TlsFiles ofEnvironment() {
    return new TlsFiles(variable("IW_CA"), variable("IW_CERT"), variable("IW_KEY"));
  }

  private static String variable(String name) {
    String value = System.getenv(name);
    return value == null ? "" : value;
  }

  /** A certificate and its key are one thing: one of these does not go with one of the others. */
  TlsFiles or(TlsFiles others) {
    boolean hasOwn = cert != null || key != null;
    return new TlsFiles(
        ca != null ? ca : others.ca,
        hasOwn ? orNone(cert) : others.cert,
        hasOwn ? orNone(key) : others.key);
  }

  private static String orNone(String file) {
    return file == null ? "" : file;
  }

  /** The option that is given and is another than that of `used`; null: none is. */
  String another(TlsFiles used) {
    if (ca != null && !ca.equals(used.ca)) return "ca";
    if (cert != null && !cert.equals(used.cert)) return "cert";
    if (key != null && !key.equals(used.key)) return "key";
    return null;
  }
}
