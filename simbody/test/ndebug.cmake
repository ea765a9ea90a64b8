# A program compiled with NDEBUG is refused with an explanation.
file(WRITE "${WORK}/ndebug.cpp" "#include <cpodes_simbody/cpodes_simbody.h>\n")
execute_process(COMMAND "${CXX}" -std=c++17 -DNDEBUG -fsyntax-only "-I${INCLUDE}" -isystem "${SIMBODY}" "${WORK}/ndebug.cpp"
                RESULT_VARIABLE failed ERROR_VARIABLE said)
if(NOT failed OR NOT said MATCHES "Compile with -UNDEBUG")
  message(FATAL_ERROR "NDEBUG is not refused: ${said}")
endif()
