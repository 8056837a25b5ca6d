# SPDX-License-Identifier: Apache-2.0
# torc-cli: a library, so that tests can call its parts, and a main.
pkg_check_modules(EDIT REQUIRED IMPORTED_TARGET libedit)

add_library(torc_cli STATIC
  cli_export.c cli_help.c cli_history.c cli_line.c cli_pipe.c cli_print.c cli_prompt.c cli_run.c
  cli_stream.c)
target_sources(torc_cli PUBLIC FILE_SET HEADERS BASE_DIRS ${CMAKE_SOURCE_DIR} FILES
  cli_export.h cli_help.h cli_history.h cli_line.h cli_pipe.h cli_print.h cli_prompt.h cli_run.h
  cli_stream.h)
target_link_libraries(torc_cli PUBLIC torc_client torc_resp PRIVATE torc_tools PkgConfig::EDIT)

add_executable(torc-cli torc-cli.c)
target_link_libraries(torc-cli PRIVATE torc_cli)
install(TARGETS torc-cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
