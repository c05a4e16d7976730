# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# Makes one C file of the parts of a page: cmake -DOUT=FILE -DPARTS=name=file;name=file -P embed.cmake
#
# Each part becomes `const unsigned char page_NAME[]`, ended by a zero. What points at a source map is left out: the
# page asks for no other file.
set(text "/* Made by report/page/embed.cmake. */\n#include \"report/page_parts.h\"\n")
foreach(part ${PARTS})
  string(REGEX MATCH "^([a-z_]+)=(.*)$" is_part "${part}")
  set(name ${CMAKE_MATCH_1})
  file(READ "${CMAKE_MATCH_2}" hex HEX)
  foreach(map_url 2f2f2320736f757263654d617070696e6755524c 2f2a2320736f757263654d617070696e6755524c)
    string(REGEX REPLACE "${map_url}.*$" "" hex "${hex}")
  endforeach()
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "(................................................................................)" "\\1\n"
         bytes "${bytes}")
  string(APPEND text "\nconst unsigned char page_${name}[] = {\n${bytes}0};\n")
endforeach()
file(WRITE ${OUT} "${text}")
