# Run by CTest. Without pkg-config (hence without Check and Jansson), Simbody, GSL, MPI, libyaml and Doxygen, cpodes
# configures, and reports the parts that it omits; a part that is requested by name is an error. SOURCE: this tree; WORK: folder to
# work in; SUNDIALS_DIR, CC, GENERATOR: as for the build tree; NO_MPI: may MPI be missing, which SUNDIALS does not need?
set(ENV{PKG_CONFIG_LIBDIR} /nonexistent)
set(options
    -G "${GENERATOR}"
    "-DCMAKE_C_COMPILER=${CC}"
    "-DSUNDIALS_DIR=${SUNDIALS_DIR}"
    -DCMAKE_DISABLE_FIND_PACKAGE_Simbody=ON
    -DCMAKE_DISABLE_FIND_PACKAGE_GSL=ON
    -DCMAKE_DISABLE_FIND_PACKAGE_MPI=${NO_MPI}
    -DCPODES_DOXYGEN=
    -DCPODES_YAML_LIBRARY=)
file(REMOVE_RECURSE "${WORK}")
execute_process(COMMAND "${CMAKE_COMMAND}" -S "${SOURCE}" -B "${WORK}" ${options} OUTPUT_VARIABLE said
                                                                                  COMMAND_ERROR_IS_FATAL ANY)
foreach(
  what IN
  ITEMS "the tests [(]needs Check"
        "the program cpodes [(]needs Jansson"
        "mechanisms from files [(]needs libyaml"
        "the library for Simbody, except for the drop-in [(]needs Simbody"
        "the guide [(]target doc[)] [(]needs Doxygen")
  if(NOT said MATCHES "Left out: ${what}")
    message(FATAL_ERROR "There is no line \"Left out: ${what}\" in\n${said}")
  endif()
endforeach()

execute_process(COMMAND "${CMAKE_COMMAND}" -S "${SOURCE}" -B "${WORK}" ${options} -DCPODES_TESTS=ON RESULT_VARIABLE status
                OUTPUT_QUIET ERROR_QUIET)
if(status EQUAL 0)
  message(FATAL_ERROR "CPODES_TESTS=ON configures without Check")
endif()
