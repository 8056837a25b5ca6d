# SPDX-License-Identifier: Apache-2.0
# torc_layer(name SOURCES ... HEADERS ... DEPENDS ...): one static library per layer.
function(torc_layer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;HEADERS;DEPENDS" ${ARGN})
  add_library(torc_${name} STATIC ${ARG_SOURCES})
  target_sources(torc_${name} PUBLIC FILE_SET HEADERS BASE_DIRS ${CMAKE_SOURCE_DIR}
                 FILES ${ARG_HEADERS})
  target_link_libraries(torc_${name} PUBLIC torc_flags ${ARG_DEPENDS})
endfunction()
