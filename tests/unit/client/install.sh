#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# libtorc as installed: what the shared library exports, and programs that link it by pkg-config,
# as one archive, and by find_package().
# usage: install.sh CMAKE BUILD_FOLDER SOURCE_FOLDER C_COMPILER
set -eu
cmake=$1 build=$2 source=$3 compiler=$4

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
prefix=$folder/prefix
"$cmake" --install "$build" --component libtorc --prefix "$prefix" >/dev/null
library=$(find "$prefix" -name 'libtorc.so')
lib=$(dirname "$library")

# The names in the header are those of the map, and those that leave the library, with a version.
tr '\n' ' ' <"$prefix/include/torc/torc.h" | tr ';' '\n' |
    sed -n 's/.*TORC_API [^(]*[ *]\(torc_[a-z_]*\)(.*/\1/p' | sort >"$folder/declared"
nm -D --defined-only "$library" | sed -n 's/.* T \(.*\)@@TORC_0$/\1/p' | sort >"$folder/exported"
[ -s "$folder/declared" ] || { echo "no functions found in torc.h"; exit 1; }
diff "$folder/declared" "$folder/exported"
sed -n 's/^ *\(torc_[a-z_]*\);$/\1/p' "$source/client/torc.map" >"$folder/mapped"
diff "$folder/declared" "$folder/mapped" || { echo "torc.h and client/torc.map differ, or the order"; exit 1; }
if nm -D --defined-only "$library" | grep ' [TDBR] ' | grep -v '@@TORC_0$'; then
    echo "these names leave the library, too"
    exit 1
fi
readelf -d "$library" | grep -q 'SONAME.*\[libtorc\.so\.0\]'

# pkg-config, shared and static.
PKG_CONFIG_PATH=$lib/pkgconfig
export PKG_CONFIG_PATH
flags=$(pkg-config --define-variable=prefix="$prefix" --cflags --libs torc)
main=$source/tests/unit/client/consumer/main.c
# shellcheck disable=SC2086
"$compiler" "$main" $flags -o "$folder/shared"
LD_LIBRARY_PATH=$lib "$folder/shared"
private=$(sed -n 's/^Libs.private: //p' "$lib/pkgconfig/torc.pc")
# shellcheck disable=SC2086
"$compiler" -I"$prefix/include" "$main" "$lib/libtorc.a" $private -o "$folder/static"
"$folder/static"

# find_package().
"$cmake" -G Ninja -S "$source/tests/unit/client/consumer" -B "$folder/consumer" \
    -DCMAKE_C_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
"$cmake" --build "$folder/consumer" >/dev/null
"$folder/consumer/with_torc"
"$folder/consumer/with_torc_static"
