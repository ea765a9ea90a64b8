# cmake -DPROGRAM=<slider_crank> -DFOLDER=<writable> -P slider_crank_csv.cmake checks that the file which the example
# writes is complete, and that a file which cannot be written gives a clear message and exit code 1.
set(csv "${FOLDER}/slider_crank.csv")
file(REMOVE "${csv}")
execute_process(COMMAND "${PROGRAM}" "${csv}" RESULT_VARIABLE code OUTPUT_QUIET)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "exit code ${code}")
endif()

file(STRINGS "${csv}" lines)
list(POP_FRONT lines names)
set(expected t,q,x,p,q_d,x_d,p_d,energy,position_violation,velocity_violation,step,order)
if(NOT names STREQUAL expected)
  message(FATAL_ERROR "columns: ${names}")
endif()
list(LENGTH lines rows)
list(GET lines -1 last)
if(NOT rows EQUAL 201 OR NOT last MATCHES "^10\\.00,1\\.2756")
  message(FATAL_ERROR "${rows} rows, the last one: ${last}")
endif()
foreach(line IN LISTS lines)
  if(NOT line MATCHES "^[0-9.]+(,-?[0-9.]+e[+-][0-9]+)[0-9.e+,-]*,[0-9]+$" OR line MATCHES "nan|inf")
    message(FATAL_ERROR "row: ${line}")
  endif()
  string(REGEX MATCHALL "," commas "${line}")
  list(LENGTH commas count)
  if(NOT count EQUAL 11)
    message(FATAL_ERROR "${count} commas: ${line}")
  endif()
endforeach()

set(csv "${FOLDER}/no-such-folder/slider_crank.csv")
execute_process(
  COMMAND "${PROGRAM}" "${csv}"
  RESULT_VARIABLE code
  OUTPUT_VARIABLE output
  ERROR_VARIABLE message)
if(NOT code EQUAL 1 OR NOT output STREQUAL "" OR NOT message MATCHES "^slider_crank: cannot write '[^\n]*: [^\n]*\n$")
  message(FATAL_ERROR "unwritable file: exit code ${code}, output '${output}', message '${message}'")
endif()
