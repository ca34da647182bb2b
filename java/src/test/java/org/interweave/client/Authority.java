package org.interweave.client;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A folder with an authority, its certificate for a server on this host, and alice's. */
final class Authority {
  private final Path folder;

  Authority(Path folder) throws IOException, InterruptedException {
    this.folder = Files.createDirectories(folder);
    Server.run("cert", "authority", folder.toString());
    Server.run("cert", "server", folder.toString());
    Server.run("cert", "client", folder.toString(), "alice");
  }

  String file(String name) {
    return folder.resolve(name).toString();
  }

  /** Who trusts this authority, and shows nothing. */
  TlsFiles trusting() {
    return new TlsFiles(file("ca.pem"), "", "");
  }

  /** Who trusts this authority, and shows that certificate. */
  TlsFiles being(String name) {
    return new TlsFiles(file("ca.pem"), file(name + ".pem"), file(name + ".key"));
  }

  /** A server with this authority's certificate. */
  Server serve(String... options) throws IOException {
    List<String> all =
        new ArrayList<>(
            List.of("--tls-cert", file("server.pem"), "--tls-key", file("server.key")));
    all.addAll(List.of(options));
    if (!all.contains("--store")) all.addAll(List.of("--store", "memory"));
    return Server.start(all.toArray(new String[0]));
  }

  /** Makes NAME.pem anew, of the same key; `end` is as 20210101000000Z. */
  void certify(String name, String end, String extensions)
      throws IOException, InterruptedException {
    Files.writeString(folder.resolve("extensions"), extensions);
    Files.writeString(folder.resolve("index"), "");
    Files.writeString(
        folder.resolve("ca.cnf"),
        String.join(
            "\n", "[ca]", "default_ca=own", "[own]", "database=" + file("index"),
            "rand_serial=yes", "new_certs_dir=" + folder, "policy=any", "default_md=sha256",
            "[any]", "commonName=supplied", ""));
    openssl("req", "-new", "-key", file(name + ".key"), "-subj", "/CN=" + name, "-out",
        file("request"));
    openssl("ca", "-batch", "-notext", "-config", file("ca.cnf"), "-cert", file("ca.pem"),
        "-keyfile", file("ca.key"), "-startdate", "20200101000000Z", "-enddate", end,
        "-extfile", file("extensions"), "-in", file("request"), "-out", file(name + ".pem"));
  }

  /** Runs a command of the `openssl` program. */
  static void openssl(String... arguments) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>(List.of("openssl"));
    command.addAll(List.of(arguments));
    Process child = new ProcessBuilder(command).redirectErrorStream(true).start();
    String said = new String(child.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    if (child.waitFor() != 0) throw new IOException(command + ": " + said);
  }
}
