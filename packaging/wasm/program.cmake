# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# The program as replay.wasm, which Python's package runs where there is no program for the machine.
add_library(lacking OBJECT ${CMAKE_CURRENT_LIST_DIR}/lacking.c)
target_link_libraries(lacking PRIVATE flags)
set_target_properties(replay PROPERTIES SUFFIX .wasm ENABLE_EXPORTS OFF)
target_sources(replay PRIVATE $<TARGET_OBJECTS:lacking>)
target_link_libraries(replay PRIVATE wasi-emulated-signal wasi-emulated-mman wasi-emulated-getpid
                                     wasi-emulated-process-clocks)
target_link_options(replay PRIVATE -Wl,-z,stack-size=1048576,--stack-first,--strip-debug)
