#!/usr/bin/env bash
# The longer campaigns: the server killed 200 times under a writer, servers of a space 50 times,
# blocks of up to 1 GiB, the cluster's tests under the thread sanitizer, all clients and machines
# with a million random edits, Python's source distribution, the recipes of Spack and conda, every
# decoder under fuzz for five minutes, those of Java with 20 million inputs.
set -euo pipefail
cd "$(dirname "$0")/.."
. make/toolchain.sh
echo "== a release of more than 1 GiB in a log of format 4"
cargo test --release --locked --quiet -p interweave-store -- --ignored log_14_a_large_release
echo "== 200 kills of the server under a writer"
IW_KILLS=200 cargo test --release --locked --quiet -p interweave-cli -- killed_under_a_writer
echo "== 50 kills each of owner, primary, both, and standby, under 8 writers over TLS"
IW_LEASE=2 IW_SUBSCRIBERS=4 IW_TEST_AGENT="$(realpath "$BUILD/release/native/abi/test_agent")" \
  IW_KILLS=50 cargo test --release --locked --quiet -p interweave-cli --test space -- kills:: \
  --nocapture --test-threads 1
echo "== takeovers of 64 MiB"
IW_TAKEOVER_MIB=64 IW_KILLS=20 cargo test --release --locked --quiet -p interweave-cli \
  --test space -- takeover:: --nocapture
echo "== 50 moves, 9 upgrades and 50 deaths in the middle of moves, under the same writers"
IW_MOVES=50 IW_UPGRADES=9 cargo test --release --locked --quiet -p interweave-cli --test space \
  -- moves:: --nocapture --test-threads 1
echo "== blocks of up to 1 GiB, 1.5 GiB in all"
IW_LARGEST_BLOCK_MIB=1024 IW_TEST_AGENT="$BUILD/release/native/abi/test_agent" \
  "$BUILD/release/native/abi/abi_test" --gtest_filter='Sizes.AB*'
echo "== containers of many processes, with faults, ten times"
"$BUILD/release/cluster/containers/cluster_containers_processes_test" --gtest_repeat=10
echo "== the litmus tests of the shared memory, 1,000 rounds"
IW_LITMUS_ROUNDS=1000 "$BUILD/release/cluster/dsm/cluster_dsm_litmus_test"
echo "== 10 million hand-overs of a lock of the shared memory, with logs of 8 KiB: some minutes"
IW_TEST_HAND_OVERS=10000000 "$BUILD/release/cluster/dsm/cluster_dsm_node_test" \
  --gtest_filter=Node.CollectsLogsInProgramsWithoutBarriers
echo "== the cluster under the thread sanitizer"
cmake -S . -B "$BUILD/thread" -G Ninja -DCMAKE_BUILD_TYPE=Release -DIW_CLUSTER=ON -DIW_TESTS=ON \
  -DIW_PROGRAM="$PWD/target/release/interweave" -DIW_SANITIZE=thread >/dev/null
rooms="fabric rendezvous am containers_streams containers_processes ddss ddss_names ddss_locks ddss_models ddss_daemon dsm dsm_memory"
cmake --build "$BUILD/thread" --parallel "$JOBS" \
  --target $(printf 'cluster_%s_test ' $rooms) services_test -- --quiet
# The sanitizer sees UCX give mutexes back, but not take them. That is not an error. Nor is memory
# that a handler of faults takes: a load or store of the program faulted, and no malloc.
options="suppressions=$PWD/cluster/testing/thread.supp report_mutex_bugs=0 report_signal_unsafe=0"
TSAN_OPTIONS=$options \
  ctest --test-dir "$BUILD/thread" --output-on-failure --no-tests=error \
  -R "^(cluster\.(${rooms// /|})|examples\.services(_tcp)?)\$"
echo "== every client and machine against every other"
make/test_conformance.sh --long
echo "== a list of a million nodes in Java, and a million locks"
IW_TEST_MANY=1000000 make/java.sh test
echo "== the source distribution of the Python package"
make/python.sh sdist
echo "== the commands of the recipes of Spack and conda"
packaging/dist.sh source recipes
packaging/tests/recipes.sh "$BUILD/packaging/dist"
echo "== fuzz of the Java client's decoders"
make/java.sh fuzz
echo "== fuzz"
SECONDS_EACH=${SECONDS_EACH:-300} make/fuzz.sh
