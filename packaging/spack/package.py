"""InterWeave for Spack. NOT TESTED with Spack, which cannot be had here. Its commands are those of
make/build.sh and make/install.sh, which the tests run."""

from spack.package import *


class Interweave(Package):
    """Typed data that programs in C, C++, Fortran, Python, Java and TypeScript share as if it were
    their own memory."""

    # Where a release lies is not settled: name the archive that `make dist` made, and its sum,
    # which is in the release's SHA256SUMS.
    url = "file:///path/to/interweave-0.1.0-source.tar.gz"

    license("Apache-2.0")

    version("0.1.0", sha256="0" * 64)

    variant("cluster", default=True, description="The library and programs for clusters")
    variant("fortran", default=True, description="The Fortran module")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("rust@1.95:", type="build")
    depends_on("cmake@3.20:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("openssl@3:", type=("link", "run"))
    depends_on("ucx@1.13:", when="+cluster")
    depends_on("pmix@4:", when="+cluster")

    def install(self, spec, prefix):
        cargo = which("cargo", required=True)
        cmake = which("cmake", required=True)
        cargo("build", "--release", "--locked", "-p", "interweave-idl", "-p", "interweave-cli")
        program = join_path(self.stage.source_path, "target", "release", "interweave")
        cmake("-S", ".", "-B", "build/release", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
              "-DIW_EXAMPLES=OFF", "-DIW_PROGRAM=" + program,
              "-DIW_CLUSTER=" + ("ON" if spec.satisfies("+cluster") else "OFF"),
              "-DIW_FORTRAN=" + ("ON" if spec.satisfies("+fortran") else "OFF"))
        cmake("--build", "build/release", "--target", "installed")
        which("bash", required=True)("make/install.sh",
                                     extra_env={"PREFIX": str(prefix), "IW_CACHE": "none"})
