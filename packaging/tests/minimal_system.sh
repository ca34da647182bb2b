# To be sourced, with the repository as the current folder, by a test that needs a minimal Debian of
# its own: gives $system, its root, and `within COMMAND...`, which runs there. The test begins again
# in a namespace of its own, with the same arguments. The system is gone when the test ends.
#
# Needs root. Says so where it is not root, and ends the test with 77.
if [ "$(id -u)" != 0 ] || ! unshare --mount true 2>/dev/null; then
  echo "$(basename "$0" .sh): skipped, because a system of its own needs root"
  exit 77
fi
base=$(realpath -m "${BUILD:-build}")/packaging/base.tar
if [ -z "${IW_IN_NAMESPACE:-}" ]; then
  if [ ! -e "$base" ]; then
    mkdir -p "$(dirname "$base")"
    # The needs of the packages for Debian, and a compiler for the development package.
    mmdebstrap --quiet --format=tar --variant=minbase \
      --include=gcc,libc6-dev,libssl3,man-db,pkg-config,systemd-standalone-sysusers,libstdc++6 \
      "$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)" "$base.new"
    mv "$base.new" "$base"
  fi
  IW_IN_NAMESPACE=yes exec unshare --mount --propagation private \
    "$PWD/packaging/tests/$(basename "$0")" "$@"
fi
system=$(mktemp -d)
trap 'umount --lazy --recursive "$system"; rmdir "$system"' EXIT
mount -t tmpfs none "$system"
tar -xf "$base" -C "$system"
mount -t proc none "$system/proc"
mount --rbind /dev "$system/dev"
echo "127.0.0.1 localhost" >"$system/etc/hosts"
within() { chroot "$system" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root "$@"; }
