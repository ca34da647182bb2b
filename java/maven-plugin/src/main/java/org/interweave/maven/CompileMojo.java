package org.interweave.maven;
import org.apache.maven.plugin.AbstractMojo;
import org.apache.maven.plugins.annotations.Mojo;
/** Trial. */
@Mojo(name = "compile")
public final class CompileMojo extends AbstractMojo { @Override public void execute() {} }
