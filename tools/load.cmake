# SPDX-License-Identifier: Apache-2.0
# torc-load and torc-bench, and what both are made of.
add_library(torc_tools STATIC
  bench_data.c bench_report.c bench_run.c csv.c key_template.c load_columns.c load_file.c
  load_flights.c numbers.c progress.c resp_client.c resp_reply.c road_resp.c road_ring.c)
target_link_libraries(torc_tools PUBLIC torc_flags torc_core torc_client)

foreach(tool torc-load torc-bench)
  add_executable(${tool} ${tool}.c)
  target_link_libraries(${tool} PRIVATE torc_tools)
  install(TARGETS ${tool} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endforeach()
