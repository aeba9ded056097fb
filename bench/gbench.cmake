# rafter_gbench: every kernel family as a Google Benchmark case, for people who know its flags.
add_executable(rafter_gbench
  ${CMAKE_CURRENT_LIST_DIR}/gbench_cases.cc ${CMAKE_CURRENT_LIST_DIR}/gbench_compile.cc
  ${CMAKE_CURRENT_LIST_DIR}/gbench_kernels.cc ${CMAKE_CURRENT_LIST_DIR}/gbench_main.cc
  ${CMAKE_CURRENT_LIST_DIR}/gbench_operators.cc ${CMAKE_CURRENT_LIST_DIR}/gbench_threads.cc)
target_link_libraries(rafter_gbench PRIVATE rafter_internal rafter_bench rafter_roofline
                      benchmark::benchmark)
rafter_unity_build(rafter_gbench)
