# Installs, builds the user's project/ in a folder of its own, in CMake's configuration Release, and runs it with and without
# the drop-in.
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
file(REMOVE_RECURSE "${WORK}")
run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${WORK}/prefix" --component simbody)
run("${CMAKE_COMMAND}" -S "${PROJECT}" -B "${WORK}/build" -D "CMAKE_PREFIX_PATH=${WORK}/prefix" -D "CMAKE_CXX_COMPILER=${CXX}"
    -D CMAKE_BUILD_TYPE=Release)
run("${CMAKE_COMMAND}" --build "${WORK}/build")
run("${WORK}/build/pendulum")
file(GLOB dropin "${WORK}/prefix/lib*/libsimbody_cpodes.so" "${WORK}/prefix/lib/*/libsimbody_cpodes.so")
run("${CMAKE_COMMAND}" -E env "LD_PRELOAD=${dropin}" "${WORK}/build/pendulum")
