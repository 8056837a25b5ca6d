# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What tools/quickstart and tools/check share: messages, packages, building. Sourced, not run.

bold='' plain=''
if [ -t 1 ]; then
    bold=$'\e[1m' plain=$'\e[0m'
fi
say() { printf '%s==>%s %s\n' "$bold" "$plain" "$*"; }
die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# install_packages NAME...: name those that are missing and install them with apt-get.
install_packages() {
    local missing=() name root=()
    for name in "$@"; do
        dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || missing+=("$name")
    done
    if [ ${#missing[@]} -eq 0 ]; then
        say "packages: all ${#} are installed"
        return 0
    fi
    say "packages: installing ${missing[*]}"
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || die "not root and no sudo: install these first: ${missing[*]}"
        root=(sudo)
    fi
    # Package scripts must not start services (redis-server is only a rival to measure against).
    local log
    log=$(mktemp)
    if ! { "${root[@]}" apt-get update &&
        "${root[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
            apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        rm -f "$log"
        die "apt-get could not install: ${missing[*]}"
    fi
    rm -f "$log"
}

# What building the server, the library and the tools needs.
# shellcheck disable=SC2034 # used by those who source this
packages_build=(gcc libc6-dev cmake ninja-build pkg-config libisal-dev liblz4-dev libxxhash-dev libnuma-dev libedit-dev)

# build PRESET [TARGET...]: configure (with what is in configure_flags) and build below build/PRESET; output only
# when it fails.
configure_flags=()
build() {
    local preset=$1 log
    shift
    mkdir -p build
    log=build/$preset.log
    if ! { cmake --preset "$preset" "${configure_flags[@]}" && cmake --build --preset "$preset" ${1:+--target "$@"}; } >"$log" 2>&1; then
        grep -E 'error|warning|FAILED' "$log" | head -n 40 >&2 || true
        tail -n 20 "$log" >&2
        die "preset $preset does not build; all of it is in $log"
    fi
}
