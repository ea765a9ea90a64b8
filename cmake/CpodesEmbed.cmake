# cpodes_embed(target symbol file): the file's bytes are part of target, declared by it as
#
#   extern const unsigned char symbol[];   // ends with 0
#   extern const size_t symbol_length;     // without that
if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(cpodes_embed_script "${CMAKE_CURRENT_LIST_FILE}")
  function(cpodes_embed target symbol file)
    set(source "${CMAKE_CURRENT_BINARY_DIR}/${symbol}.c")
    cmake_path(ABSOLUTE_PATH file)
    add_custom_command(
      OUTPUT "${source}"
      COMMAND "${CMAKE_COMMAND}" -D SYMBOL=${symbol} -D "FILE=${file}" -D "SOURCE=${source}" -P
              "${cpodes_embed_script}"
      DEPENDS "${file}" "${cpodes_embed_script}"
      VERBATIM)
    target_sources(${target} PRIVATE "${source}")
  endfunction()
  return()
endif()

# Run while building
file(READ "${FILE}" bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "(................................................................................)" "\\1\n"
                     bytes "${bytes}")
file(
  WRITE "${SOURCE}"
  "#include <stddef.h>\nextern const unsigned char ${SYMBOL}[];\nextern const size_t ${SYMBOL}_length;\n"
  "const unsigned char ${SYMBOL}[] = {\n${bytes}0};\nconst size_t ${SYMBOL}_length = sizeof ${SYMBOL} - 1;\n")
