package org.interweave.maven;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.maven.plugin.AbstractMojo;
import org.apache.maven.plugin.MojoExecutionException;
import org.apache.maven.plugins.annotations.LifecyclePhase;
import org.apache.maven.plugins.annotations.Mojo;
import org.apache.maven.plugins.annotations.Parameter;
import org.apache.maven.plugins.annotations.ResolutionScope;
import org.interweave.agent.Ancestry;
import org.interweave.agent.Rewriter;
import org.interweave.agent.Unrewritable;

/** Marks the stores of the project's classes into shared fields, as the agent does later. */
@Mojo(name = "mark", defaultPhase = LifecyclePhase.PROCESS_CLASSES, threadSafe = true,
    requiresDependencyResolution = ResolutionScope.COMPILE)
public final class MarkMojo extends AbstractMojo {
  /** The folder of the class files, which are changed in their places. */
  @Parameter(property = "interweave.classes", defaultValue = "${project.build.outputDirectory}")
  private File classes;

  /** Where the ancestors of the classes are looked for. */
  @Parameter(defaultValue = "${project.compileClasspathElements}", readonly = true, required = true)
  private List<String> classpath;

  @Override
  public void execute() throws MojoExecutionException {
    try (ClassPath path = new ClassPath(classes.toPath(), classpath)) {
      Rewriter rewriter = new Rewriter(new Ancestry(path));
      int marks = 0;
      for (Path each : Trees.files(classes.toPath(), ".class")) marks += mark(each, rewriter);
      getLog().info("interweave: " + marks + " stores are marked");
    } catch (IOException wrong) {
      throw new MojoExecutionException("interweave: " + wrong.getMessage(), wrong);
    }
  }

  private int mark(Path file, Rewriter rewriter) throws IOException, MojoExecutionException {
    try {
      Rewriter.Outcome outcome = rewriter.rewrite(Files.readAllBytes(file));
      for (String each : outcome.missing()) {
        getLog().warn("interweave: " + file + " stores into fields that may be inherited from "
            + each + ", which is not on the class path");
      }
      if (outcome.file() != null) Files.write(file, outcome.file());
      return outcome.marks();
    } catch (Unrewritable why) {
      throw new MojoExecutionException(
          "interweave: the stores of " + file + " cannot be marked: " + why.getMessage()
              + "; split the method, or use the setters there",
          why);
    }
  }
}
