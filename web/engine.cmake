# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# The program as engine.js and engine.wasm, of which web/build makes a page.
set_target_properties(replay PROPERTIES OUTPUT_NAME engine SUFFIX .js ENABLE_EXPORTS OFF)
target_link_options(replay PRIVATE -sMODULARIZE -sEXPORT_NAME=loadEngine -sENVIRONMENT=web -sINVOKE_RUN=0
    -sEXIT_RUNTIME=1 -sALLOW_MEMORY_GROWTH=1 -sMAXIMUM_MEMORY=4GB -sTOTAL_STACK=1MB -sFORCE_FILESYSTEM=1
    -sEXPORTED_RUNTIME_METHODS=callMain,FS --pre-js ${CMAKE_CURRENT_LIST_DIR}/engine_terminal.js)
set_target_properties(replay PROPERTIES LINK_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/engine_terminal.js)
