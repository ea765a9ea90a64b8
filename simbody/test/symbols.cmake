# The library has no name of cpodes or SUNDIALS, defined or undefined: those of libSimTKmath could replace it.
execute_process(COMMAND nm -D "${LIBRARY}" OUTPUT_VARIABLE names RESULT_VARIABLE failed)
if(failed OR NOT names MATCHES "CPodesProjectedIntegrator")
  message(FATAL_ERROR "nm shows no CPodesProjectedIntegrator in ${LIBRARY}")
endif()
string(REGEX MATCHALL "[^\n]* [A-Za-z] (CP[A-Z]?[a-z]|cp[A-Z]|CV[A-Z]?[a-z]|cv[A-Z]|N_V|SUN|ARK|ark)[A-Za-z_]*" found "${names}")
if(found)
  message(FATAL_ERROR "${LIBRARY} shows names of cpodes or SUNDIALS:\n${found}")
endif()

# The drop-in exports the interface of 2006 and nothing else. If a function of CPODES were missing in it, libSimTKmath's would
# be called, and would mistake cpodes' memory for its own. CPodeGetReturnFlagName takes no memory.
execute_process(COMMAND nm -D --defined-only "${DROPIN}" OUTPUT_VARIABLE names RESULT_VARIABLE failed)
execute_process(COMMAND nm -D --defined-only "${SIMTKMATH}" OUTPUT_VARIABLE theirs RESULT_VARIABLE failed_too)
string(REGEX MATCHALL " T [^\n]*" names "${names}")
list(TRANSFORM names REPLACE " T " "")
string(REGEX MATCHALL " T CPode[A-Za-z]*\n" theirs "${theirs}")
list(TRANSFORM theirs REPLACE " T ([A-Za-z]*).*" "\\1")
list(REMOVE_ITEM theirs CPodeGetReturnFlagName)
set(missing ${theirs})
list(REMOVE_ITEM missing ${names})
list(FILTER names EXCLUDE REGEX "^CP(ode|Dls|Lapack)")
if(failed OR failed_too OR NOT theirs OR missing OR names)
  message(FATAL_ERROR "${DROPIN} lacks ${missing}, and shows ${names}; CPODES of ${SIMTKMATH}: ${theirs}")
endif()

# It works with any Simbody, since it needs none.
execute_process(COMMAND readelf -d "${DROPIN}" OUTPUT_VARIABLE needed RESULT_VARIABLE failed)
if(failed OR NOT needed MATCHES "NEEDED" OR needed MATCHES "SimTK|cpodes_simbody")
  message(FATAL_ERROR "${DROPIN} needs Simbody:\n${needed}")
endif()
