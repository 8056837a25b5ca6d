# SPDX-License-Identifier: Apache-2.0
# Flags of every target, on one interface target: no global flags.
add_library(torc_flags INTERFACE)
target_compile_features(torc_flags INTERFACE c_std_17)
target_compile_definitions(torc_flags INTERFACE _GNU_SOURCE TORC_VERSION="${PROJECT_VERSION}")
target_include_directories(torc_flags INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/client/include)
target_compile_options(torc_flags INTERFACE
  -fvisibility=hidden -fno-common -fno-omit-frame-pointer
  -Werror -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wcast-qual -Wcast-align
  -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition -Wundef -Wvla -Wformat=2
  -Wwrite-strings -Wpointer-arith -Wdouble-promotion -Wimplicit-fallthrough -Wswitch-enum
  -Wredundant-decls)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  target_compile_options(torc_flags INTERFACE -Wlogical-op -Wduplicated-cond -Wduplicated-branches)
else()
  target_compile_options(torc_flags INTERFACE -Wshorten-64-to-32 -Wunreachable-code -Wcomma)
endif()
if(TORC_SANITIZE)
  target_compile_options(torc_flags INTERFACE -fsanitize=${TORC_SANITIZE} -fno-sanitize-recover=all -O1)
  target_link_options(torc_flags INTERFACE -fsanitize=${TORC_SANITIZE})
  if(TORC_SANITIZE MATCHES "thread")
    # An inlined memcpy hides races on the bytes it moves.
    target_compile_options(torc_flags INTERFACE -fno-builtin)
  endif()
endif()
if(TORC_FUZZ)
  target_compile_options(torc_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
