# SPDX-License-Identifier: Apache-2.0
# torc-cli: a library, so that tests can call its parts, and a main.
add_library(torc_cli STATIC cli_line.c cli_print.c)
target_sources(torc_cli PUBLIC FILE_SET HEADERS BASE_DIRS ${CMAKE_SOURCE_DIR} FILES
  cli_line.h cli_print.h)
target_link_libraries(torc_cli PUBLIC torc_client)

add_executable(torc-cli torc-cli.c)
target_link_libraries(torc-cli PRIVATE torc_cli)
install(TARGETS torc-cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
