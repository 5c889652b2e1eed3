# What the scripts of this folder share: finding and installing what a build needs. Sourced, not run.

say() { printf '\033[1m%s\033[0m\n' "$*" >&2; }
fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

# Runs a package manager command as root: directly, or through sudo.
as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null; then sudo "$@"; else
    fail "installing packages needs root: run '$*' as root, then start again"
  fi
}

have_llvm() {
  if [ -n "${LLVM_SYS_221_PREFIX:-}" ]; then
    [ -x "$LLVM_SYS_221_PREFIX/bin/llvm-config" ] || fail "LLVM_SYS_221_PREFIX is $LLVM_SYS_221_PREFIX, which has no bin/llvm-config"
    return 0
  fi
  command -v llvm-config-22 >/dev/null
}

# The llvm-config that the build uses.
llvm_config() {
  if [ -n "${LLVM_SYS_221_PREFIX:-}" ]; then "$LLVM_SYS_221_PREFIX/bin/llvm-config" "$@"; else llvm-config-22 "$@"; fi
}

# Installs packages of Debian or Ubuntu that are not there yet.
apt_install() {
  command -v apt-get >/dev/null || return 1
  say "installing: $*"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq || return 1
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@" >/dev/null
}

ensure_rust() {
  command -v cargo >/dev/null || fail "cargo was not found: install Rust 1.90 or newer (rustup), then start again"
}

ensure_cc() {
  command -v cc >/dev/null || apt_install build-essential || fail "a C compiler was not found: install gcc or clang"
}

ensure_llvm() {
  have_llvm && return 0
  apt_install llvm-22-dev libpolly-22-dev zlib1g-dev libzstd-dev || true
  have_llvm && return 0
  fail "LLVM 22 was not found. Install llvm-22-dev, libpolly-22-dev, zlib1g-dev and libzstd-dev, or build LLVM 22 and set
       LLVM_SYS_221_PREFIX to where it is. Without LLVM, 'cargo build --workspace --no-default-features' builds the rest."
}

# What runs the code of a target.
ensure_target() {
  case $1 in
  x86-64-*) ;;
  aarch64) ensure_programs aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu,libc6-dev-arm64-cross qemu-aarch64:qemu-user ;;
  riscv64 | riscv64-v) ensure_programs riscv64-linux-gnu-gcc:gcc-riscv64-linux-gnu,libc6-dev-riscv64-cross qemu-riscv64:qemu-user ;;
  wasm32)
    command -v wasm-ld >/dev/null || ensure_programs wasm-ld-22:lld-22
    # A workspace of its own: its dependencies take longer to build than the compiler.
    cargo build --quiet --locked --manifest-path tools/wasm/Cargo.toml --target-dir target/wasm
    export PATH=$PWD/target/wasm/debug:$PATH
    ;;
  *) fail "there is no target $1" ;;
  esac
}

# Programs with the packages that have them: PROGRAM:PACKAGE,PACKAGE.
ensure_programs() {
  for pair in "$@"; do
    command -v "${pair%%:*}" >/dev/null && continue
    # shellcheck disable=SC2046 # several packages
    apt_install $(tr , ' ' <<<"${pair#*:}") || true
    command -v "${pair%%:*}" >/dev/null || fail "${pair%%:*} was not found: install ${pair#*:}"
  done
}

ensure_filecheck() {
  command -v FileCheck-22 >/dev/null || apt_install llvm-22-tools || true
  command -v FileCheck-22 >/dev/null || fail "LLVM's FileCheck was not found: install llvm-22-tools"
}

# PyPI's lit in an environment of its own, since a system's python may not be installed into. Sets lit_python.
ensure_lit() {
  lit_python=target/llvm-lit/venv/bin/python
  "$lit_python" -c 'import lit, psutil' 2>/dev/null && return 0
  ensure_python
  python3 -m venv target/llvm-lit/venv
  "$lit_python" -m pip install --quiet 'lit>=18' psutil || fail "PyPI's lit could not be installed"
}

# Python with venv.
ensure_python() {
  command -v python3 >/dev/null || apt_install python3 || fail "python3 was not found: install it"
  python3 -c 'import ensurepip' 2>/dev/null || apt_install python3-venv || fail "python's venv was not found: install python3-venv"
}

# An environment with what the Python package is built and tested with. Sets python_env. RINDUCTOR_PYTHON_ENV names one that is there already.
ensure_python_env() {
  python_env=${RINDUCTOR_PYTHON_ENV:-target/python/venv}
  "$python_env/bin/python" -c 'import torch, numpy, maturin; assert torch.__version__.startswith("2.11.")' 2>/dev/null && return 0
  ensure_python
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' || fail "$(python3 --version) is too old: Python 3.10 or newer is needed"
  [ -x "$python_env/bin/python" ] || python3 -m venv "$python_env"
  say "installing: torch 2.11.0, numpy, maturin (some minutes the first time)"
  "$python_env/bin/python" -m pip install --quiet torch==2.11.0 numpy maturin || fail "PyTorch could not be installed from PyPI"
}
