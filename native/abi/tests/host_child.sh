#!/bin/sh
# Runs a program of the host for a test that runs in wine, which does not tell what becomes of such
# a process: host_child.sh PROGRAM ARGUMENT... The first line of output is "begun". Each line of
# input is a signal for the program, and repeated as the answer. At the end of the input
# the program is killed.
python3 -c 'import os; os.set_blocking(0, True)' # wine's sockets are not
echo begun
"$@" </dev/null &
program=$!
while read -r signal; do
  kill -"$signal" "$program"
  echo "$signal"
done
kill -KILL "$program"
wait
