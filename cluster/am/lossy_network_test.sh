#!/usr/bin/env bash
# Active Messages over a network that loses 1, then 10 of a hundred packets (or LOSS), and sends 5
# twice and 5 late. Messages arrive once and in order nevertheless, by TCP. The network is a
# loopback device of its own, and nftables loses the packets. Packets that open a connection are not
# lost, because the kernel waits a second or more before it sends one again. (With LOSS=30 a hundred
# round trips take 3 to 30 s, which may be more than a test waits.)
set -euo pipefail
test_program=$1
if ! unshare -rn nft list ruleset 2>/dev/null; then
  echo "no network of one's own can be made here (unshare -rn), or there is no nft"
  exit 77
fi
in_network='
  set -e
  ip link set lo up
  for to in 127.0.0.0/8 127.0.0.1; do
    ip route change local "$to" dev lo table local rto_min 2ms  # 200 ms are for longer ways
  done
  nft -f - <<RULES
  table netdev mangled {
    chain arriving {
      type filter hook ingress device "lo" priority 0;
      tcp flags & syn == syn accept
      numgen random mod 100 < $loss counter drop
      numgen random mod 100 < 5 counter dup to "lo"
      numgen random mod 100 < 5 counter fwd to "lo"
    }
  }
RULES
  "$test_program" --gtest_brief=1 --gtest_filter="$filter"
  nft list ruleset | grep counter
'
export test_program loss filter
filter='Over/Messages.*/tcp'
for loss in ${LOSS:-1 10}; do
  unshare -rn bash -c "$in_network" | tee lossy_network.log
  # Each of the three rules has met packets.
  test "$(grep -cE 'counter packets [1-9][0-9]* ' lossy_network.log)" = 3
done
