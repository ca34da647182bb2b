package org.interweave.agent;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.commons.AnalyzerAdapter;

/** Runs programs in a virtual machine of their own, with agents. */
final class Java {
  private final Path folder;
  private final List<String> words = new ArrayList<>();

  /** `folder` is for jars. */
  Java(Path folder) {
    this.folder = folder;
    words.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    words.add("-XX:TieredStopAtLevel=1");
  }

  /** Output and errors, and the status at which the program ended. */
  record Ended(int status, String text) {
    int count(String part) {
      return text.split(part, -1).length - 1;
    }
  }

  static Path place(Class<?> of) {
    return Path.of(of.getProtectionDomain().getCodeSource().getLocation().getPath());
  }

  Java with(String... more) {
    words.addAll(List.of(more));
    return this;
  }

  /** The agent of the folder that is tested. */
  Java withAgent() throws IOException {
    return withAgent((String) null);
  }

  Java withAgent(String argument) throws IOException {
    Path jar = agentJar(
        "agent.jar", "org.interweave.agent.Agent", Agent.class, ClassReader.class,
        AnalyzerAdapter.class);
    return with("-javaagent:" + jar + (argument == null ? "" : "=" + argument));
  }

  /** Another agent, whose classes are on the class path. */
  Java withAgent(Class<?> premain, String argument) throws IOException {
    Path jar = agentJar(premain.getSimpleName() + ".jar", premain.getName());
    return with("-javaagent:" + jar + (argument == null ? "" : "=" + argument));
  }

  Java on(Path... classPath) {
    List<String> paths = new ArrayList<>();
    for (Path each : classPath) paths.add(each.toString());
    return with("-cp", String.join(java.io.File.pathSeparator, paths));
  }

  Ended run(String... arguments) throws IOException, InterruptedException {
    with(arguments);
    Path said = Files.createTempFile(folder, "said", ".log");
    Process process =
        new ProcessBuilder(words).redirectErrorStream(true).redirectOutput(said.toFile()).start();
    try {
      int status = process.waitFor();
      return new Ended(status, Files.readString(said));
    } finally {
      process.destroy();
    }
  }

  private Path agentJar(String name, String premain, Class<?>... places) throws IOException {
    Manifest manifest = new Manifest();
    Attributes main = manifest.getMainAttributes();
    main.put(Attributes.Name.MANIFEST_VERSION, "1.0");
    main.putValue("Premain-Class", premain);
    main.putValue("Can-Retransform-Classes", "true");
    StringBuilder path = new StringBuilder();
    for (Class<?> each : places) path.append(place(each).toUri()).append(' ');
    main.put(Attributes.Name.CLASS_PATH, path.toString().strip());
    Path jar = folder.resolve(name);
    try (OutputStream out = Files.newOutputStream(jar)) {
      new JarOutputStream(out, manifest).close();
    }
    return jar;
  }
}
