# Fails if the shared library LIBRARY defines a dynamic symbol that is not a public name, CP..., nor one that cpodes/base/object.h
# or language/language.h gives to the libraries on libcpodes.
execute_process(COMMAND "${NM}" --dynamic --defined-only --format=posix "${LIBRARY}"
                OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" symbols "${symbols}")
list(LENGTH symbols count)
list(FILTER symbols EXCLUDE REGEX "^(CP[A-Z]?[A-Za-z0-9]+|cpReport|cpReentered|cpScope[A-Z][a-z]+|cpFunction[A-Z][a-z]+|cpNameLength) T ")
if(symbols OR NOT count)
  message(FATAL_ERROR "${LIBRARY} exports ${count} symbols; not public: ${symbols}")
endif()
