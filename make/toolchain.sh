# To be sourced, with the repository as the current folder, by every script that compiles. Gives all
# of them the same compiler flags and caches, because cargo compiles everything again
# when a flag differs.
#
# $IW_CACHE (default ~/.cache/interweave) keeps what a second clone on this machine need not compile
# again: ccache/ (2 GB at most) and cargo-*/
# (make/cargo_dependencies.sh). IW_CACHE=none keeps nothing.
: "${BUILD:=build}" "${IW_CACHE:=${XDG_CACHE_HOME:-$HOME/.cache}/interweave}"
export BUILD IW_CACHE JOBS="${JOBS:-$(nproc)}"

if [ "$IW_CACHE" != none ] && command -v ccache >/dev/null; then
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
  export CCACHE_DIR="${CCACHE_DIR:-$IW_CACHE/ccache}" CCACHE_MAXSIZE="${CCACHE_MAXSIZE:-2G}"
  # Clones of other places share what they compile; precompiled headers can be cached only so.
  # In depend mode a miss costs no run of the preprocessor.
  export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros \
    CCACHE_DEPEND=1
fi

# The program must not hold the builder's paths, and must be the same from every clone: the
# dependencies' sources lie in cargo's folder, and a build-id would also hash the debug information.
export RUSTFLAGS="${IW_RUSTFLAGS:-} --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}/registry/src/= -Clink-arg=-Wl,--build-id=none"
export CARGO_BUILD_JOBS="$JOBS"

# What every call of cargo selects, whatever it builds of that. Cargo unites the features of what is
# selected, and with other features it compiles the dependencies and the server again. The
# benchmark has dependencies of its own.
cargo_members=(--workspace --exclude interweave-bench-server)

# phase TEXT: what is being done now. Tools that are not asked for their own
# progress print nothing else.
phase() { echo "$(basename "$0" .sh): $*"; }

# Its own progress on a terminal; elsewhere (a log) only warnings and errors.
if [ -t 1 ]; then quiet_ninja=(); else quiet_ninja=(--quiet); fi
