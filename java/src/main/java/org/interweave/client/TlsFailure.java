package org.interweave.client;

import java.io.IOException;
import java.security.cert.CertPathBuilderException;
import java.security.cert.CertPathValidatorException;
import java.security.cert.CertPathValidatorException.BasicReason;
import java.security.cert.CertificateException;
import java.security.cert.CertificateExpiredException;
import java.security.cert.CertificateNotYetValidException;
import java.security.cert.PKIXReason;
import java.util.Locale;
import java.util.Set;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;

/** Says in plain words why a secure connection failed, with the codes of all clients. */
final class TlsFailure {
  /** Before the name of an alert that came. Newer versions of Java write more in front of it. */
  private static final String ALERT = "Received fatal alert: ";
  private static final Set<String> REFUSALS =
      Set.of("bad_certificate", "unsupported_certificate", "certificate_revoked",
          "certificate_expired", "certificate_unknown", "unknown_ca", "access_denied",
          "certificate_required", "decrypt_error");

  private static final String UNKNOWN = "it is of an unknown authority";

  private TlsFailure() {}

  /** The alert of which a failure's text tells; "" if it tells of none. */
  private static String alert(String said) {
    int at = said.lastIndexOf(ALERT);
    return at < 0 ? "" : said.substring(at + ALERT.length()).trim();
  }

  /**
   * What is to be thrown: the failure itself, if the network failed and not TLS.
   *
   * @throws InterweaveException DENIED if the server is not trusted, or does not take this client;
   *     UNREACHABLE if the other end speaks no TLS
   */
  static IOException told(String server, String host, boolean isReady, IOException wrong) {
    String said = String.valueOf(wrong.getMessage());
    String alert = alert(said);
    if (REFUSALS.contains(alert)) {
      throw because(
          wrong, Error.DENIED,
          server + " refuses this client: " + alert.replace('_', ' ')
              + "; name a certificate that the server takes in IW_CERT and its key in IW_KEY, or"
              + " in the options cert and key");
    }
    String distrust = distrust(host, wrong);
    if (distrust != null) {
      throw because(
          wrong, Error.DENIED,
          "the certificate of " + server + " is not trusted: " + distrust
              + "; name the file of its authority in IW_CA or the option ca, and a host that is in"
              + " the certificate in the URL");
    }
    if (isReady) return wrong;
    throw because(
        wrong, Error.UNREACHABLE,
        "the server " + server + " does not answer with TLS: " + said
            + "; use iw://, or start the server with --tls-cert");
  }

  private static InterweaveException because(IOException wrong, Error code, String text) {
    InterweaveException told = InterweaveException.of(code, text);
    told.initCause(wrong);
    return told;
  }

  /** What is wrong with the server's certificate; null: nothing is. */
  private static String distrust(String host, IOException wrong) {
    String found = null;
    for (Throwable each = wrong; each != null; each = each.getCause()) {
      if (each instanceof CertificateExpiredException) return "it has expired";
      if (each instanceof CertificateNotYetValidException) return "it is not valid yet";
      if (each instanceof CertificateException) found = words(host, each.getMessage());
      if (each instanceof CertPathBuilderException || isOfAnother(each)) found = UNKNOWN;
    }
    return found;
  }

  /** Of an authority with the name of a known one, and with another key. */
  private static boolean isOfAnother(Throwable wrong) {
    if (!(wrong instanceof CertPathValidatorException invalid)) return false;
    CertPathValidatorException.Reason why = invalid.getReason();
    return why == PKIXReason.NO_TRUST_ANCHOR || why == BasicReason.INVALID_SIGNATURE;
  }

  private static String words(String host, String said) {
    String text = String.valueOf(said);
    boolean isOther = text.toLowerCase(Locale.ROOT).startsWith("no ");
    return isOther ? "it is not for the host " + host : text;
  }
}
