#!/usr/bin/env bash
#
# Runs an x86-64 Linux program on an emulated CPU that has AVX-512.
#
#   run_avx512.sh [OPTIONS] BINARY [ARGS...]
#
# For testing code that chooses AVX-512 by CPUID and XGETBV on machines whose
# own CPU lacks it. The whole machine is emulated, by Bochs: a Linux kernel
# boots (in a few seconds), runs the program as root from an initial RAM disk
# that holds nothing but the program, its shared libraries and busybox, and the
# machine is shut down again. The emulated CPU executes some 50 to 150 million
# instructions a second, and has one core. RDTSC counts instructions; clocks run at
# about the usual pace, but sleeping takes next to no time.
#
# The program's standard output and error output come out as those of this
# script, and its exit status becomes the script's (128+N after signal N; 124
# after --timeout; 125 when the machine itself failed). Standard input is empty.
# Both outputs are terminals to the program, in raw mode, so stdio flushes them
# at each line. Nothing that the program writes to files survives.
#
# Options:
#   -t, --timeout SECONDS  give up after that many seconds (default: 600)
#   -e, --env NAME=VALUE   set an environment variable; the caller's environment
#                          is not passed on, but for LD_LIBRARY_PATH
#   -f, --file PATH        also copy this file or folder into the machine, to
#                          the same absolute path; for data, and for libraries
#                          opened with dlopen
#   -m, --memory MIB       the machine's memory (default: 1024)
#   -c, --cpu MODEL        a CPU model of Bochs (default: corei7_skylake_x, which
#                          has AVX-512 F, CD, BW, DQ, VL); without AVX-512:
#                          corei7_haswell_4770, ryzen. Linux doesn't boot on
#                          Bochs's newer ones (icelake, tigerlake and later)
#   -v, --verbose          show the emulator's and the kernel's messages after
#                          the run, on the error output
#       --setup            only do the one-time setup
#   -h, --help             print this text
#
# The one-time setup takes some 3 minutes on two idle cores. It leaves 55 MB in the
# cache folder, ${XDG_CACHE_HOME:-$HOME/.cache}/rafter-avx512. It takes everything
# from Debian's package archive, and installs nothing:
#   - the source of Bochs, compiled here: the bochs that Debian ships has the
#     debugger compiled in, which makes it several times slower
#   - the kernel of linux-image-cloud-amd64, and busybox-static
# It needs Debian 12 or newer with current package lists (apt-get update), a C
# and C++ compiler, make, binutils, xz and tar (apt-get install build-essential
# xz-utils). No root rights are needed.

# (The setup_ functions are called by their names.)
# shellcheck disable=SC2317
set -euo pipefail

readonly BOCHS_VERSION=3.0
readonly BOCHS_PATH=pool/main/b/bochs/bochs_3.0+dfsg.orig.tar.xz
readonly BOCHS_SHA256=78f6c73d4a6472d5130a87ab9dc306d02c7c71ed8e25b3a8ef642e2a7acd282b
readonly CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/rafter-avx512
SELF=$(realpath "$0")
readonly SELF

usage() { sed -n '2,/^$/{s/^# \{0,1\}//;p}' "$SELF"; }
log() { printf 'run_avx512: %s\n' "$*" >&2; }
die() { log "$*"; exit 125; }

# --- One-time setup ---------------------------------------------------------

# Downloads Debian packages and unpacks them into the current folder.
unpack_debian_packages() {
  apt-get download -q -o APT::Sandbox::User=root "$@" >&2 ||
    die "apt-get download $* failed (run apt-get update first?)"
  local deb
  for deb in ./*.deb; do
    dpkg-deb -x "$deb" .
  done
}

# The archive that this system itself gets its packages from.
debian_mirror() {
  cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
    awk '/^(URIs:|deb )/ { for (i = 2; i <= NF; i++) if ($i ~ /^https?:.*\/debian\/?$/ && !m) m = $i }
         END { sub(/\/$/, "", m); print m }'
}

# setup_bochs DIR: leaves the emulator as DIR/bochs.
setup_bochs() {
  local dir=$1 tool
  for tool in gcc g++ make xz tar; do
    command -v "$tool" >/dev/null || die "$tool is missing (apt-get install build-essential xz-utils)"
  done
  log "compiling Bochs $BOCHS_VERSION, once; this takes some minutes"
  mkdir "$dir/source"
  local mirror
  mirror=$(debian_mirror || true)
  [ -n "$mirror" ] || die "no Debian archive found in the apt sources"
  /usr/lib/apt/apt-helper -o APT::Sandbox::User=root download-file "$mirror/$BOCHS_PATH" "$dir/bochs.tar.xz" \
    "SHA256:$BOCHS_SHA256" >&2 || die "cannot download $BOCHS_PATH"
  tar -C "$dir/source" --strip-components=1 -xf "$dir/bochs.tar.xz"
  (
    cd "$dir/source" &&
    ./configure --with-nogui --without-x --enable-cpu-level=6 --enable-x86-64 \
      --enable-long-phy-address --enable-avx --enable-evex \
      --enable-all-optimizations --enable-handlers-chaining --disable-docbook \
      CFLAGS='-O2 -pipe' CXXFLAGS='-O2 -pipe' &&
    make -j"$(nproc)" bochs
  ) >"$dir/build.log" 2>&1 || {
    tail -n 30 "$dir/build.log" >&2
    die "compiling Bochs failed"
  }
  mv "$dir/source/bochs" "$dir/bochs"
  strip "$dir/bochs"
  rm -r "$dir/source" "$dir/bochs.tar.xz"
}

# setup_kernel DIR: leaves the kernel, uncompressed and as it must lie in memory
# from its address on, as DIR/kernel, and that address in DIR/kernel.address.
setup_kernel() {
  local dir=$1 package image setup payload length magic unpacker
  log "fetching a Linux kernel and busybox, once"
  mkdir "$dir/packages"
  cd "$dir/packages"
  package=$(apt-cache depends linux-image-cloud-amd64 |
    sed -n 's/.*Depends: \(linux-image-[0-9]\S*\).*/\1/p' | head -n 1)
  [[ $package ]] || die "apt knows no linux-image-cloud-amd64 (run apt-get update first?)"
  unpack_debian_packages "$package" busybox-static
  mv "$(find . -path '*/bin/busybox' -type f)" "$dir/busybox"

  # A bzImage holds the kernel compressed; decompressing it here rather than in
  # the machine makes the boot faster. Documentation/x86/boot.rst has the offsets.
  image=$(echo boot/vmlinuz-*)
  setup=$(od -A n -t u1 -j $((0x1f1)) -N 1 "$image")
  payload=$(od -A n -t u4 -j $((0x248)) -N 4 "$image")
  length=$(od -A n -t u4 -j $((0x24c)) -N 4 "$image")
  tail -c +$(((setup + 1) * 512 + payload + 1)) "$image" | head -c "$length" >payload || :
  magic=$(od -A n -t x1 -N 4 payload | tr -d ' ')
  case $magic in
    02214c18) unpacker=lz4 ;;
    28b52ffd) unpacker=zstd ;;
    fd377a58) unpacker=xz ;;
    1f8b*) unpacker=gzip ;;
    *) die "unknown compression of $image" ;;
  esac
  if ! command -v "$unpacker" >/dev/null; then
    unpack_debian_packages "$unpacker"
    PATH=$PATH:$PWD/usr/bin
  fi
  # The last four bytes are no part of the compressed data but its length, which
  # gzip counts as its own.
  [[ $unpacker == gzip ]] || truncate -s -4 payload
  "$unpacker" -dc <payload >vmlinux
  objcopy -O binary vmlinux "$dir/kernel"
  readelf -hW vmlinux | sed -n 's/.*Entry point address: *//p' >"$dir/kernel.address"
  cd "$dir"
  rm -r packages
}

# setup_rom DIR: leaves the machine's firmware as DIR/rom. It replaces the PC
# BIOS and a boot loader: it reads what sector 0 of the disk lists into memory
# and starts the kernel by the 64-bit boot protocol (Documentation/x86/boot.rst).
setup_rom() {
  local dir=$1
  as --64 -o "$dir/rom.o" - <<'EOF'
        .equ    BASE, 0xffff0000        # where the ROM lies
        .equ    MANIFEST, 0x6000        # where sector 0 of the disk goes
        .equ    BOOT_PARAMS, 0x10000    # as in make_disk
        .code16
start:  cli
        lgdtl   %cs:gdtr - start
        mov     %cr0, %eax
        or      $1, %al
        mov     %eax, %cr0
        ljmpl   $0x08, $(BASE + pm - start)

        .code32
pm:     mov     $0x18, %ax
        mov     %ax, %ds
        mov     %ax, %es
        mov     %ax, %ss
        mov     $0x8000, %esp
        cld
        # Sector 0, and what it lists: sector, count of sectors, address; the
        # list ends with a count of 0 and the address to start at.
        xor     %ebx, %ebx
        mov     $1, %ebp
        mov     $MANIFEST, %edi
        call    read
        mov     $MANIFEST, %esi
next:   mov     (%esi), %ebx
        mov     4(%esi), %ebp
        mov     8(%esi), %edi
        add     $12, %esi
        test    %ebp, %ebp
        jz      boot
        call    read
        jmp     next

        # Reads %ebp sectors from sector %ebx on to address %edi.
read:   mov     $128, %ecx
        cmp     %ecx, %ebp
        jae     1f
        mov     %ebp, %ecx
1:      mov     $0x1f2, %edx            # count
        mov     %cl, %al
        out     %al, %dx
        inc     %edx                    # sector, 28 bits
        mov     %ebx, %eax
        out     %al, %dx
        inc     %edx
        shr     $8, %eax
        out     %al, %dx
        inc     %edx
        shr     $8, %eax
        out     %al, %dx
        inc     %edx
        shr     $8, %eax
        or      $0xe0, %al
        out     %al, %dx
        inc     %edx
        mov     $0x20, %al              # READ SECTORS
        out     %al, %dx
        add     %ecx, %ebx
        sub     %ecx, %ebp
2:      mov     $0x1f7, %edx
3:      in      %dx, %al
        test    $0x80, %al              # busy
        jnz     3b
        test    $0x08, %al              # data ready
        jz      3b
        push    %ecx
        mov     $0x1f0, %edx
        mov     $128, %ecx
        rep insl
        pop     %ecx
        loop    2b
        test    %ebp, %ebp
        jnz     read
        ret

        # Long mode, with the first 4 GiB mapped one to one.
boot:   mov     %edi, %ebp
        xor     %eax, %eax
        mov     $0x1000, %edi
        mov     $0x800, %ecx
        rep stosl
        movl    $0x2003, 0x1000
        movl    $0x00000083, 0x2000
        movl    $0x40000083, 0x2008
        movl    $0x80000083, 0x2010
        movl    $0xc0000083, 0x2018
        mov     $0x1000, %eax
        mov     %eax, %cr3
        mov     $0x20, %eax             # PAE
        mov     %eax, %cr4
        mov     $0xc0000080, %ecx       # EFER.LME
        rdmsr
        or      $0x100, %eax
        wrmsr
        mov     $0x80000001, %eax       # PG, PE
        mov     %eax, %cr0
        ljmpl   $0x10, $(BASE + lm - start)

        .code64
lm:     mov     $BOOT_PARAMS, %esi
        jmp     *%rbp

        .balign 8
gdt:    .quad   0
        .quad   0x00cf9b000000ffff      # 0x08: 32-bit code
        .quad   0x00af9b000000ffff      # 0x10: 64-bit code
        .quad   0x00cf93000000ffff      # 0x18: data
gdtr:   .word   31
        .long   BASE + gdt - start

        .org    0xfff0                  # where the CPU starts
        .code16
        .byte   0xe9                    # jmp start
        .word   start - . - 2
        .org    0x10000
EOF
  objcopy -O binary -j .text "$dir/rom.o" "$dir/rom"
  rm "$dir/rom.o"
  # Bochs insists on a VGA BIOS; this one is empty.
  head -c 512 /dev/zero >"$dir/vga-rom"
}

# setup NAME FUNCTION: fills CACHE/NAME with FUNCTION, if it isn't there yet.
# The finished folder is moved into place, so an interrupted setup leaves none.
setup() {
  local name=$1 function=$2 dir
  [[ -d $CACHE/$name ]] && return
  mkdir -p "$CACHE"
  dir=$(mktemp -d "$CACHE/.$name.XXXXXX")
  CLEANUP+=("$dir")
  (
    exec 9>"$CACHE/.lock"
    flock 9
    [[ -d $CACHE/$name ]] && exit
    "$function" "$dir"
    chmod 755 "$dir"
    mv "$dir" "$CACHE/$name"
  )
}

# --- The machine ------------------------------------------------------------

# Quotes an argument for the shell inside the machine.
quote() { printf "'%s'" "${1//\'/\'\\\'\'}"; }

# stage PATH: copies a file or folder into the machine's file tree, to the same
# path, and the shared libraries of the files in it.
stage() {
  local path=$1 file library
  [[ -e $path ]] || die "no such file: $path"
  mkdir -p "$TREE$(dirname "$path")"
  cp -rLT "$path" "$TREE$path"
  while IFS= read -r -d '' file; do
    while IFS= read -r library; do
      [[ -e $TREE$library ]] && continue
      mkdir -p "$TREE$(dirname "$library")"
      cp -L "$library" "$TREE$library"
    done < <(ldd "$file" 2>/dev/null | sed -n 's/^\(.* => \|\s*\)\(\/.*\) (0x[0-9a-f]*)$/\2/p')
  done < <(find -L "$path" -type f \( -perm -u+x -o -name '*.so*' \) -print0)
}

# The machine's first program. The program's output goes to two serial ports;
# the kernel's messages go to a third one, and the exit status along with them.
# The third shares its interrupt with the first, and Bochs loses interrupts then,
# so nothing may be written to it while the program runs.
write_init() {
  cat >"$TREE/init" <<'EOF'
#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t devpts devpts /dev/pts
exec </dev/null >/dev/ttyS0 2>/dev/ttyS1
stty -F /dev/ttyS0 raw -echo
stty -F /dev/ttyS1 raw -echo
echo 'run_avx512: booted' >/dev/kmsg
echo 1 >/proc/sys/kernel/printk
sh /.run
status=$?
kill -KILL -1
exec >/dev/null 2>&1
{
  dmesg | sed -n '/run_avx512: booted/,$p'
  echo "run_avx512: exit status $status"
} >/dev/ttyS2
reboot -f
EOF
  chmod +x "$TREE/init"
}

# little_endian BYTES NUMBER...: writes numbers as binary.
little_endian() {
  local bytes=$1 number i
  shift
  for number; do
    for ((i = 0; i < bytes; i++)); do
      # shellcheck disable=SC2059
      printf "\\x$(printf %02x $((number >> 8 * i & 255)))"
    done
  done
}

# make_disk INITRD: writes the disk that the ROM boots from. It holds, each from a
# whole sector on: what to load where, the kernel's boot parameters, the kernel
# and the initial RAM disk.
make_disk() {
  local initrd=$1 kernel=$CACHE/kernel/kernel kernel_address kernel_size initrd_size
  local -r boot_params=$((0x10000)) command_line=$((0x11000)) initrd_address=$((0x8000000))
  local -r megabyte=$((1 << 20))
  kernel_address=$(<"$CACHE/kernel/kernel.address")
  kernel_size=$(stat -c %s "$kernel")
  initrd_size=$(stat -c %s "$initrd")
  local -r kernel_sectors=$(((kernel_size + 511) / 512))
  local -r initrd_sectors=$(((initrd_size + 511) / 512))
  ((initrd_address + 2 * initrd_size < (MEMORY - 64) * megabyte)) ||
    die "too little memory for these files: use --memory"

  # Put standard input at an offset of the disk's file.
  at() { dd of=disk bs=65536 oflag=seek_bytes seek="$1" conv=notrunc status=none; }

  little_endian 4 \
    1 16 "$boot_params" \
    17 "$kernel_sectors" "$kernel_address" \
    $((17 + kernel_sectors)) "$initrd_sectors" "$initrd_address" \
    0 0 "$kernel_address" | at 0

  # struct boot_params, where it isn't zero.
  local -r params=512
  little_endian 1 2 | at $((params + 0x1e8))                     # e820_entries
  little_endian 2 $((0xaa55)) | at $((params + 0x1fe))           # boot_flag
  printf HdrS | at $((params + 0x202))                           # header
  little_endian 2 $((0x20f)) | at $((params + 0x206))            # version
  little_endian 1 255 1 | at $((params + 0x210))                 # type_of_loader, loadflags
  little_endian 4 "$initrd_address" "$initrd_size" | at $((params + 0x218))
  little_endian 4 "$command_line" | at $((params + 0x228))       # cmd_line_ptr
  {                                                              # e820_table
    little_endian 8 0 $((0x9f000)); little_endian 4 1
    little_endian 8 "$megabyte" $(((MEMORY - 1) * megabyte)); little_endian 4 1
  } | at $((params + 0x2d0))

  # acpi, pci: there is no firmware to ask. reboot=triple ends Bochs, by a triple
  # fault. tsc_early_khz: the time stamp counter counts instructions, so its
  # frequency is that of ips in bochsrc and not the one CPUID tells.
  printf '%s' "console=ttyS2,115200 quiet panic=-1 reboot=triple acpi=off pci=off" \
    " tsc_early_khz=$((IPS / 1000)) mitigations=off nokaslr nopti no_timer_check" \
    " nowatchdog cryptomgr.notests i8042.noaux i8042.nokbd" | at $((params + 4096))

  at $((17 * 512)) <"$kernel"
  at $(((17 + kernel_sectors) * 512)) <"$initrd"
  # Whole cylinders of 16 heads and 63 sectors.
  truncate -s %$((16 * 63 * 512)) disk
}

# In the emulator, time goes by the count of instructions, IPS to a second: about
# as many as it executes in a real one. It skips the time when it has nothing to do.
readonly IPS=50000000

write_bochsrc() {
  cat >bochsrc <<EOF
config_interface: textconfig
display_library: nogui
romimage: file=$CACHE/rom/rom
vgaromimage: file=$CACHE/rom/vga-rom
vga: extension=none
memory: guest=$MEMORY, host=$MEMORY
cpu: model=$CPU, count=1, ips=$IPS, reset_on_triple_fault=0, ignore_bad_msrs=1
clock: sync=none, time0=local
pci: enabled=0
ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14
ata0-master: type=disk, mode=flat, path=disk
boot: disk
com1: enabled=1, mode=file, dev=/dev/fd/3
com2: enabled=1, mode=file, dev=/dev/fd/4
com3: enabled=1, mode=file, dev=kernel.log
log: bochs.log
panic: action=fatal
error: action=ignore
info: action=report
debug: action=ignore
EOF
}

# --- Main -------------------------------------------------------------------

CPU=corei7_skylake_x
MEMORY=1024
TIMEOUT=600
VERBOSE=
SETUP_ONLY=
ENVIRONMENT=()
FILES=()
CLEANUP=()

while (($#)); do
  case $1 in
    -t | --timeout | -e | --env | -f | --file | -m | --memory | -c | --cpu)
      (($# > 1)) || die "$1 needs a value" ;;&
    -t | --timeout) TIMEOUT=$2; shift 2 ;;
    -e | --env) ENVIRONMENT+=("$2"); shift 2 ;;
    -f | --file) FILES+=("$2"); shift 2 ;;
    -m | --memory) MEMORY=$2; shift 2 ;;
    -c | --cpu) CPU=$2; shift 2 ;;
    -v | --verbose) VERBOSE=1; shift ;;
    --setup) SETUP_ONLY=1; shift ;;
    -h | --help) usage; exit ;;
    --) shift; break ;;
    -*) die "unknown option: $1 (see --help)" ;;
    *) break ;;
  esac
done

trap 'rm -rf "${CLEANUP[@]}"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

setup "bochs-$BOCHS_VERSION" setup_bochs
setup kernel setup_kernel
setup rom setup_rom
[[ $SETUP_ONLY ]] && exit
(($#)) || die "which program? (see --help)"

BINARY=$(realpath -e "$1") || die "no such file: $1"
shift
[[ $(head -c 4 "$BINARY" | od -A n -t x1) == ' 7f 45 4c 46' ]] ||
  die "not an ELF program: $BINARY"

WORK=$(mktemp -d)
CLEANUP+=("$WORK")
TREE=$WORK/tree
mkdir -p "$TREE"/{bin,dev,etc,proc,root,sys,tmp,"$PWD"}
cp "$CACHE/kernel/busybox" "$TREE/bin/busybox"
ln -s busybox "$TREE/bin/sh"
[[ -e /etc/ld.so.cache ]] && cp /etc/ld.so.cache "$TREE/etc/"
write_init
{
  echo "cd $(quote "$PWD")"
  echo "export HOME=/root PATH=/bin:/usr/bin:/sbin:/usr/sbin"
  echo "unset TERM"
  [[ ${LD_LIBRARY_PATH:-} ]] && echo "export LD_LIBRARY_PATH=$(quote "$LD_LIBRARY_PATH")"
  for variable in ${ENVIRONMENT[@]+"${ENVIRONMENT[@]}"}; do
    echo "export ${variable%%=*}=$(quote "${variable#*=}")"
  done
  printf 'exec %s' "$(quote "$BINARY")"
  for argument; do
    printf ' %s' "$(quote "$argument")"
  done
  echo
} >"$TREE/.run"
stage "$BINARY"
for file in ${FILES[@]+"${FILES[@]}"}; do
  stage "$(realpath -e -s "$file")"
done

cd "$WORK"
(cd tree && find . | "$CACHE/kernel/busybox" cpio -o -H newc 2>/dev/null) >initrd
make_disk initrd
rm -r tree initrd
write_bochsrc

# The emulator's end says nothing of the program's: the kernel's messages do. The
# pipes keep Bochs from truncating a file that this script's output goes to.
emulated=0
exec 3> >(cat) 4> >(cat >&2)
BXSHARE=$CACHE timeout --foreground "$TIMEOUT" \
  "$CACHE/bochs-$BOCHS_VERSION/bochs" -q -f bochsrc </dev/null >bochs.out 2>&1 ||
  emulated=$?
exec 3>&- 4>&-
wait
status=$(sed -n 's/.*run_avx512: exit status \([0-9]*\).*/\1/p' kernel.log 2>/dev/null | tail -n 1) || :

if [[ $VERBOSE ]]; then
  cat bochs.log kernel.log >&2 2>/dev/null || :
fi
if [[ $status ]]; then
  exit "$status"
elif ((emulated == 124)); then
  log "no end after $TIMEOUT seconds"
  exit 124
fi
[[ $VERBOSE ]] || { grep -hE 'PANIC' bochs.log; tail -n 20 bochs.out kernel.log; } >&2 2>/dev/null || :
die "the emulated machine failed"
