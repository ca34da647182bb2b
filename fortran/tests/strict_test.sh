#!/bin/sh
# strict_test.sh FORTRAN-COMPILER GENERATED-TYPES ASTROFLOW-TYPES: everything written in Fortran
# here, and what the compiler generates, is Fortran 2003 and gives no warning.
set -eu
fortran=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# A file finds the modules that it uses where those before it left them.
strict_in() {
  folder=$1
  shift
  for name in "$@"; do
    "$fortran" -std=f2003 -Wall -Wextra -Werror -O2 -c "$folder/$name.f90" -o checked.o
  done
}
strict_in "$root/fortran/src" interface constants text arrays c_interface calls interweave types
strict_in "$root/fortran/conformance" json numbers declarations units listening commands agent
strict_in "$2" exchange
strict_in "$root/fortran/tests" checks alone calls changes constants exchange
strict_in "$3" astroflow
strict_in "$root/examples/astroflow/fortran" kernels solver problems run arguments plain steps \
  process options segment shared summary simulator
for file in "$root"/fortran/src/*.f90 "$root"/fortran/conformance/*.f90 \
  "$root"/fortran/tests/*.f90 "$root"/examples/*/fortran/*.f90; do
  test "$(wc -l <"$file")" -le 800 || { echo "$file is too long"; exit 1; }
  awk -v file="$file" '
    length > 120 { print file ":" NR ": more than 120 columns"; bad = 1 }
    END { exit bad }' "$file"
done
