package org.interweave.maven;

import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.maven.model.Resource;
import org.apache.maven.plugin.AbstractMojo;
import org.apache.maven.plugin.MojoExecutionException;
import org.apache.maven.plugins.annotations.LifecyclePhase;
import org.apache.maven.plugins.annotations.Mojo;
import org.apache.maven.plugins.annotations.Parameter;
import org.apache.maven.project.MavenProject;

/** Makes Java classes of the project's interface files with <code>interweave compile</code>. */
@Mojo(name = "compile", defaultPhase = LifecyclePhase.GENERATE_SOURCES, threadSafe = true)
public final class CompileMojo extends AbstractMojo {
  /** The program of InterWeave. */
  @Parameter(property = "interweave.program", defaultValue = "interweave")
  private String program;

  /** The folder of the interface files. Those in its folders are compiled, too. */
  @Parameter(property = "interweave.source", defaultValue = "${project.basedir}/src/main/x")
  private File source;

  /** The package of the classes. */
  @Parameter(property = "interweave.package", required = true)
  private String javaPackage;

  /** Further arguments of the compiler, such as <code>-D</code> and a definition. */
  @Parameter private List<String> arguments = new ArrayList<>();

  /** Where the classes come. */
  @Parameter(defaultValue = "${project.build.directory}/generated-sources/interweave")
  private File output;

  /** The project. */
  @Parameter(defaultValue = "${project}", readonly = true, required = true)
  private MavenProject project;

  @Override
  public void execute() throws MojoExecutionException {
    try {
      List<Path> files = Trees.files(source.toPath(), ".x");
      if (files.isEmpty()) {
        getLog().info("interweave: no interface file in " + source);
        return;
      }
      Generating.into(output.toPath()).by(command(files));
    } catch (IOException wrong) {
      throw new MojoExecutionException("interweave: " + wrong.getMessage(), wrong);
    }
    project.addCompileSourceRoot(output.getPath());
    project.addResource(index());
  }

  private List<String> command(List<Path> files) {
    List<String> words = new ArrayList<>(
        List.of(program, "compile", "--lang", "java", "--package", javaPackage));
    words.addAll(arguments);
    for (Path each : files) words.add(each.toString());
    return words;
  }

  /** What the library finds the classes of a segment by. */
  private Resource index() {
    Resource made = new Resource();
    made.setDirectory(output.getPath());
    made.addInclude("META-INF/**");
    return made;
  }
}
