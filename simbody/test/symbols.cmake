# No name of cpodes or SUNDIALS is in the library, defined or undefined: those of libSimTKmath could take its place.
execute_process(COMMAND nm -D "${LIBRARY}" OUTPUT_VARIABLE names RESULT_VARIABLE failed)
if(failed OR NOT names MATCHES "CPodesProjectedIntegrator")
  message(FATAL_ERROR "nm shows no CPodesProjectedIntegrator in ${LIBRARY}")
endif()
string(REGEX MATCHALL "[^\n]* [A-Za-z] (CP[A-Z]?[a-z]|cp[A-Z]|CV[A-Z]?[a-z]|cv[A-Z]|N_V|SUN|ARK|ark)[A-Za-z_]*" found "${names}")
if(found)
  message(FATAL_ERROR "${LIBRARY} shows names of cpodes or SUNDIALS:\n${found}")
endif()
