#!/usr/bin/env bash
# The cluster's tests over verbs, on a machine without such an adapter: an emulated PC (qemu, no
# KVM) boots the distribution's kernel with soft RoCE, and runs the programs that were built here.
# Needs no root, no network, and leaves nothing behind but the unpacked kernel in $BUILD/rdma. Takes
# about a quarter of an hour of one processor.
#   make/test_rdma.sh [program ...]     some of cluster_fabric_test cluster_am_test ...;
#                                       GTEST_FILTER is passed on
set -euo pipefail
cd "$(dirname "$0")/.."
programs=("$@")
[ $# -gt 0 ] || programs=(cluster_{fabric,rendezvous,am,ddss,ddss_names,ddss_locks,ddss_models,ddss_daemon,containers_processes}_test)
built=${CLUSTER:-$BUILD/release/cluster}
deadline_s=${DEADLINE_S:-3600}
program_s=900  # on the guest's clock
rdma=$BUILD/rdma
PATH=$PATH:/usr/sbin:/sbin
modules="crc32_generic ib_uverbs rdma_ucm rdma_rxe dummy"

unpack_kernel() {
  local package
  package=$(ls "$rdma"/linux-image-*.deb 2>/dev/null | tail -1)
  [ -n "$package" ] || {
    echo "test-rdma: the guest's kernel is missing: make setup-rdma" >&2
    exit 1
  }
  [ "$rdma/kernel" -nt "$package" ] && return
  rm -rf "$rdma/kernel" "$rdma/unpacking"
  mkdir "$rdma/unpacking"
  # Of its 400 MB: the kernel, and what these modules may need.
  dpkg-deb --fsys-tarfile "$package" | tar -x -C "$rdma/unpacking" --wildcards './boot/vmlinuz-*' \
    './lib/modules/*/modules.*' './lib/modules/*/kernel/drivers/infiniband/*' \
    './lib/modules/*/kernel/drivers/net/dummy.ko' \
    './lib/modules/*/kernel/*crc32*' './lib/modules/*/kernel/net/*udp_tunnel.ko' \
    './lib/modules/*/kernel/fs/configfs/*'
  touch "$rdma/unpacking"
  mv "$rdma/unpacking" "$rdma/kernel"
}

# A file and the libraries that it names, at their places in the guest.
put_closure() {
  local library
  for library in "$1" $(ldd "$1" | grep -o '/[^ ]*'); do
    [ -e "$root$library" ] || { mkdir -p "$root${library%/*}"; cp -L "$library" "$root$library"; }
  done
}

put_programs() {
  local program path
  # The last are a child of a test, and for children.
  for program in "${programs[@]}" interweave-ddss libiw_few_threads.so; do
    path=$(find "$built" -name "$program" -type f)
    mkdir -p "$root$(dirname "$(realpath "$path")")"
    strip -o "$root$(realpath "$path")" "$path"
    for library in $(ldd "$path" | grep -o '/[^ ]*'); do put_closure "$library"; done
  done
}

put_modules() {
  local release=$1
  mkdir -p "$root/lib/modules/$release"
  cp "$rdma/kernel/lib/modules/$release"/modules.{builtin,builtin.modinfo,order} \
    "$root/lib/modules/$release"
  cp -r "$rdma/kernel/lib/modules/$release/kernel" "$root/lib/modules/$release"
  find "$root/lib/modules" -path '*infiniband*' ! -path '*/core/*' ! -path '*/rxe/*' -name '*.ko' \
    -delete
  depmod -b "$root" "$release"
}

# The guest lacks mpirun, and the second needs TCP.
left_out='-*UnderMpirun*:ByTransport*'

# The first process of the guest. Its last words are the verdict.
write_init() {
  cat >"$root/init" <<INIT
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/usr/sbin:/sbin:/usr/bin:/bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
mkdir -p /dev/shm /tmp; mount -t tmpfs tmpfs /dev/shm
modprobe -a $modules
ip link set lo up
# The first has no adapter: the fabric must find the one that has.
for i in 0 1; do
  ip link add net\$i type dummy; ip addr add 10.0.\$i.1/24 dev net\$i; ip link set net\$i up
done
rdma link add rxe0 type rxe netdev net1
export IW_CLUSTER_KEY=00112233445566778899aabbccddeeff  # verbs needs one
export IW_FABRIC=verbs IW_TEST_FABRIC=verbs GTEST_FILTER='${GTEST_FILTER:-$left_out}' GTEST_COLOR=no $(env | grep -o '^UCX_[A-Z_]*=[^ ]*' | tr '\n' ' ')
failed=0
for program in ${programs[*]}; do
  echo "== \$program"
  timeout $program_s \$(find / -xdev -name \$program) || failed=1
done
echo "test-rdma: verdict \$failed"
poweroff -f
INIT
  chmod +x "$root/init"
}

mkdir -p "$rdma"
unpack_kernel
kernel=$(ls "$rdma"/kernel/boot/vmlinuz-*)
work=$(mktemp -d "$rdma/run.XXXXXX")
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir -p "$root"/{bin,sbin,dev,proc,sys,etc/libibverbs.d,usr/lib,usr/lib64}
ln -s usr/lib "$root/lib"
ln -s usr/lib64 "$root/lib64"
cp /bin/busybox "$root/bin"
ln -s /bin/busybox "$root/sbin/modprobe"
cp /etc/libibverbs.d/rxe.driver "$root/etc/libibverbs.d"
for tool in ip rdma; do put_closure "$(command -v $tool)"; done
libraries=$(dirname "$(ldconfig -p | awk '/libibverbs.so.1 .*x86-64/ { found = $NF } END { print found }')")
for plugin in "$libraries"/libibverbs/librxe-*.so "$libraries"/ucx/libuct_{ib,rdmacm,cma}.so.0; do
  put_closure "$plugin"
done
put_programs
put_modules "${kernel##*vmlinuz-}"
write_init
(cd "$root" && find . | cpio -o -H newc --quiet -R 0:0) >"$work/initrd"

# Its clock counts its instructions, a nanosecond each, and time in which it only waits is skipped:
# to its programs it is the same machine of 1000 MIPS, and their deadlines are long enough, however
# slow or busy the one around it is.
timeout --foreground --kill-after=5 "$deadline_s" qemu-system-x86_64 -machine q35 \
  -accel tcg,thread=single \
  -icount shift=0,sleep=off -cpu max -smp 1 -m 4096 -nodefaults -no-reboot -display none \
  -serial stdio -kernel "$kernel" -initrd "$work/initrd" \
  -append "console=ttyS0 quiet panic=-1 nokaslr tsc=unstable" </dev/null | sed -u 's/\r$//' |
  tee "$work/log" ||
  { echo "test-rdma: the guest did not end within $deadline_s s" >&2; exit 1; }
grep -q '^test-rdma: verdict 0$' "$work/log" || { echo "test-rdma: FAILED" >&2; exit 1; }
echo "test-rdma: everything holds"
