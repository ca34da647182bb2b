#!/usr/bin/env bash
# A worker ends while its messages are held up by a network that has begun to lose every packet.
# The network is a loopback device of its own. The test's program cuts it with the command in
# IW_TEST_CUT.
set -euo pipefail
export test_program=$1
if ! unshare -rn nft list ruleset 2>/dev/null; then
  echo "skipped: unshare -rn or nft does not work here"
  exit 77
fi
in_network='
  ip link set lo up
  exec "$test_program" --gtest_brief=1 --gtest_also_run_disabled_tests --gtest_filter="CutNetwork.*"
'
export IW_TEST_CUT='nft -f - <<RULES
  table netdev cut {
    chain arriving {
      type filter hook ingress device "lo" priority 0;
      drop
    }
  }
RULES
'
unshare -rn bash -c "$in_network" | tee cut_network.log
grep -q "PASSED  . 1 test" cut_network.log
