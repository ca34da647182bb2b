package org.interweave.client;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.Principal;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Signature;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.Locale;
import java.util.regex.Pattern;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedKeyManager;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;

/**
 * Whom a secure connection trusts, and what it shows [NET-5]. The files are read for each
 * connection, so that renewed ones count without a restart. No text says what a key's file holds.
 */
final class Credentials {
  private static final String KEY_BEGIN = "-----BEGIN PRIVATE KEY-----";
  private static final String KEY_END = "-----END PRIVATE KEY-----";
  private static final Pattern CERTIFICATE_BEGIN =
      Pattern.compile("-----BEGIN (TRUSTED |X509 )?CERTIFICATE-----");
  /** Not empty, because Java verifies no EdDSA signature of nothing. */
  private static final byte[] SAMPLE = {1};

  private final String server;
  private final TlsFiles files;

  private Credentials(String server, TlsFiles files) {
    this.server = server;
    this.files = files;
  }

  /** DENIED, with the file's name, if a file cannot be used. `server` is for people. */
  static SSLContext context(String server, TlsFiles files) {
    Credentials of = new Credentials(server, files);
    TrustManager[] trusted = of.trusted();
    KeyManager[] own = of.own();
    try {
      SSLContext context = SSLContext.getInstance("TLSv1.3");
      context.init(own, trusted, null);
      return context;
    } catch (GeneralSecurityException wrong) {
      throw of.denied("this Java has no TLS 1.3: " + wrong.getMessage());
    }
  }

  /** Null: Java's own authorities. */
  private TrustManager[] trusted() {
    if (files.ca().isEmpty()) return null;
    Certificate[] authorities = certificates("ca", files.ca());
    try {
      KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
      store.load(null, null);
      for (int i = 0; i < authorities.length; ++i) {
        store.setCertificateEntry("authority" + i, authorities[i]);
      }
      TrustManagerFactory factory =
          TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      factory.init(store);
      return factory.getTrustManagers();
    } catch (GeneralSecurityException | IOException wrong) {
      throw unusable("ca", files.ca(), wrong.getMessage());
    }
  }

  /** Null: the client shows no certificate. */
  private KeyManager[] own() {
    if (files.cert().isEmpty() != files.key().isEmpty()) {
      throw denied(
          "IW_CERT and IW_KEY, or the options cert and key, go together, and one is not set");
    }
    if (files.cert().isEmpty()) return null;
    Certificate[] chain = certificates("cert", files.cert());
    PublicKey shown = chain[0].getPublicKey();
    byte[] coded = key();
    try {
      KeyFactory factory = KeyFactory.getInstance(shown.getAlgorithm());
      PrivateKey key = factory.generatePrivate(new PKCS8EncodedKeySpec(coded));
      if (belong(key, shown)) return new KeyManager[] {new Own(key, (X509Certificate[]) chain)};
    } catch (GeneralSecurityException wrong) {
      // Said below: a key of another kind does not belong to the certificate, either.
    }
    throw unusable("key", files.key(), "it is not the private key of " + files.cert());
  }

  /** Whether what the one signs the other verifies. */
  private static boolean belong(PrivateKey key, PublicKey shown) throws GeneralSecurityException {
    String kind = shown.getAlgorithm();
    String scheme =
        kind.equals("RSA") ? "SHA256withRSA" : kind.equals("EC") ? "SHA256withECDSA" : kind;
    Signature signature = Signature.getInstance(scheme);
    signature.initSign(key);
    signature.update(SAMPLE);
    byte[] signed = signature.sign();
    signature.initVerify(shown);
    signature.update(SAMPLE);
    return signature.verify(signed);
  }

  /** At least one; those of X.509 in an array of that type. */
  private Certificate[] certificates(String option, String file) {
    byte[] text = bytes(option, file);
    if (!CERTIFICATE_BEGIN.matcher(new String(text, StandardCharsets.ISO_8859_1)).find()) {
      throw unusable(option, file, "it holds no certificate in PEM form");
    }
    X509Certificate[] found;
    try {
      found =
          CertificateFactory.getInstance("X.509")
              .generateCertificates(new ByteArrayInputStream(text))
              .toArray(new X509Certificate[0]);
    } catch (GeneralSecurityException wrong) {
      throw unusable(option, file, "a certificate in it cannot be read");
    }
    if (found.length == 0) throw unusable(option, file, "it holds no certificate in PEM form");
    return found;
  }

  /** PKCS#8 */
  private byte[] key() {
    String text = new String(bytes("key", files.key()), StandardCharsets.ISO_8859_1);
    int begin = text.indexOf(KEY_BEGIN);
    int end = text.indexOf(KEY_END, Math.max(begin, 0));
    if (begin < 0 || end < 0) {
      throw unusable(
          "key", files.key(), "it holds no private key in PKCS#8 PEM form, which begins with "
              + KEY_BEGIN + " (openssl pkcs8 -topk8 -nodes makes this form of others)");
    }
    try {
      return Base64.getMimeDecoder().decode(text.substring(begin + KEY_BEGIN.length(), end));
    } catch (IllegalArgumentException wrong) {
      throw unusable("key", files.key(), "its private key cannot be read");
    }
  }

  private byte[] bytes(String option, String file) {
    // Not shown: it may be a private key.
    boolean isText = file.contains("-----BEGIN");
    if (isText || file.indexOf('\0') >= 0) {
      throw InterweaveException.of(
          Error.BAD_ARGUMENT,
          "the option " + option + " (or its variable) takes the name of a PEM file, and was given "
              + (isText ? "the text of one" : "a name with a NUL character"));
    }
    try {
      return Files.readAllBytes(Path.of(file));
    } catch (NoSuchFileException wrong) {
      throw unusable(option, file, "the file does not exist");
    } catch (AccessDeniedException wrong) {
      throw unusable(option, file, "this program may not read it");
    } catch (IOException | InvalidPathException wrong) {
      throw unusable(option, file, wrong.getMessage());
    }
  }

  private InterweaveException unusable(String option, String file, String why) {
    String variable = "IW_" + option.toUpperCase(Locale.ROOT);
    return denied(
        "the file " + file + " of " + variable + " or of the option " + option
            + " cannot be used: " + why + "; name a PEM file that this program may read");
  }

  private InterweaveException denied(String why) {
    return InterweaveException.of(Error.DENIED, "no secure connection to " + server + ": " + why);
  }

  /**
   * Shows the client's certificate to every server that asks. Java's own managers show it only to
   * servers that name its authority, and the text of a refusal would be another.
   */
  private static final class Own extends X509ExtendedKeyManager {
    private static final String ALIAS = "own";

    private final PrivateKey key;
    private final X509Certificate[] chain;

    Own(PrivateKey key, X509Certificate[] chain) {
      this.key = key;
      this.chain = chain;
    }

    @Override
    public String chooseEngineClientAlias(String[] kinds, Principal[] issuers, SSLEngine engine) {
      for (String kind : kinds) if (kind.equals(key.getAlgorithm())) return ALIAS;
      return null;
    }

    @Override
    public X509Certificate[] getCertificateChain(String alias) {
      return chain.clone();
    }

    @Override
    public PrivateKey getPrivateKey(String alias) {
      return key;
    }

    @Override
    public String[] getClientAliases(String kind, Principal[] issuers) {
      return new String[] {ALIAS};
    }

    @Override
    public String chooseClientAlias(String[] kinds, Principal[] issuers, Socket socket) {
      return null;
    }

    @Override
    public String[] getServerAliases(String kind, Principal[] issuers) {
      return null;
    }

    @Override
    public String chooseServerAlias(String kind, Principal[] issuers, Socket socket) {
      return null;
    }
  }
}
