"""The client in Java, as the figures compile and run programs over it (make/java.sh build)."""

import contextlib
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parent / "build/java/repository/org/interweave"


def jar(artifact="interweave"):
    """The jar of one of the project's artifacts."""
    found = sorted(REPOSITORY.glob(f"{artifact}/*/{artifact}-*[0-9].jar"))
    if len(found) != 1:
        raise RuntimeError(f"{len(found)} jars of {artifact} in {REPOSITORY}: run make/java.sh"
                           " build in a clean folder")
    return found[0]


def generate(program, interfaces, package, folder):
    """The classes of .x files, into the folder."""
    subprocess.run([program, "compile", *map(str, interfaces), "--lang", "java", "--package",
                    package, "--out", str(folder)], check=True)


def compile_java(folders, path, classes):
    """All sources in the folders, over the class path."""
    files = [str(file) for folder in folders for file in sorted(folder.rglob("*.java"))]
    subprocess.run(["javac", "--release", "17", "-nowarn", "-d", str(classes), "-cp", path,
                    *files], check=True)


@contextlib.contextmanager
def server(program):
    """Gives the address of a server that keeps everything in memory."""
    process = subprocess.Popen([program, "serve", "--listen", "127.0.0.1:0", "--http",
                                "127.0.0.1:0", "--store", "memory"],
                               stdout=subprocess.PIPE, text=True)
    try:
        for line in process.stdout:
            if line.startswith("listening "):
                yield line.split()[1]
                return
        raise RuntimeError("the server did not start")
    finally:
        process.terminate()
        process.wait()
