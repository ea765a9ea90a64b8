# cmake -D RUNNER= -D MODEL= -D REFUSED= -D WORK= -P runner.cmake: the program cpodes runs mechanisms of Simbody's

function(run status)
  execute_process(COMMAND "${RUNNER}" ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE out ERROR_VARIABLE err)
  if(NOT result EQUAL status)
    message(FATAL_ERROR "cpodes ${ARGN}: exit status ${result} and not ${status}\n${out}${err}")
  endif()
  set(out "${out}" PARENT_SCOPE)
  set(err "${err}" PARENT_SCOPE)
endfunction()

# The error is measured against Simbody's own RungeKuttaMerson, for every method and for other parameters.
foreach(arguments IN ITEMS "--method;bdf" "--method;dop853" "--method;radau" "--param;speed=-6")
  run(0 run "${MODEL}" --rtol 1e-7 ${arguments} --strict --quiet --json "${WORK}/four_bar.json" --csv "${WORK}/four_bar.csv"
      --report "${WORK}/four_bar.html")
  file(READ "${WORK}/four_bar.json" json)
  string(JSON error GET "${json}" error)
  if(NOT error MATCHES "^[0-9.]+(e-?[0-9]+)?$" OR error GREATER 1e-4)
    message(FATAL_ERROR "cpodes run ${arguments}: the error is ${error}\n${json}")
  endif()
endforeach()
file(STRINGS "${WORK}/four_bar.csv" header LIMIT_COUNT 1)
if(NOT header MATCHES "^t,crank,rocker,crank',rocker',energy,position violation,velocity violation")
  message(FATAL_ERROR "the table's columns are ${header}")
endif()
file(READ "${WORK}/four_bar.html" page)
if(NOT page MATCHES "Points: [0-9]+, segments: [0-9]+, in the plane of x and y")
  message(FATAL_ERROR "the report has no drawing of a linkage in the plane")
endif()
run(0 check "${MODEL}")

# An exception of Simbody's becomes one clear line.
run(2 run "${REFUSED}")
string(REGEX MATCHALL "\n" lines "${err}")
list(LENGTH lines count)
if(NOT count EQUAL 1 OR NOT err MATCHES "refused: .*(project|Project|constraint|Constraint)")
  message(FATAL_ERROR "a mechanism that cannot be assembled: ${err}")
endif()
