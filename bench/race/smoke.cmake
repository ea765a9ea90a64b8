# Two problems, three methods, loose tolerances: are the files there, and well formed?
#   cmake -DRACE=<program> -DFOLDER=<scratch> -P smoke.cmake
file(REMOVE_RECURSE "${FOLDER}")
execute_process(
  COMMAND "${RACE}" --problems "pendulum:t_end=2 slider_crank:t_end=1" --methods
          cpodes-bdf,cpodes-adams,cvodes-adams --from 1e-3 --to 1e-6 --repeat 1 --output "${FOLDER}"
  RESULT_VARIABLE status
  OUTPUT_VARIABLE output
  ERROR_VARIABLE error)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "race ended with ${status}:\n${output}${error}")
endif()

function(check_file name pattern)
  if(NOT EXISTS "${FOLDER}/${name}")
    message(FATAL_ERROR "${name} is missing:\n${output}")
  endif()
  file(READ "${FOLDER}/${name}" content)
  if(NOT content MATCHES "${pattern}")
    message(FATAL_ERROR "${name} does not match ${pattern}:\n${content}")
  endif()
endfunction()

# A head and 2 x 3 x 4 runs, each with 14 fields and flag 0
file(STRINGS "${FOLDER}/race.csv" lines)
list(LENGTH lines count)
if(NOT count EQUAL 25)
  message(FATAL_ERROR "race.csv has ${count} lines, not 25")
endif()
list(POP_FRONT lines head)
string(REGEX MATCHALL "," commas "${head}")
list(LENGTH commas commas)
if(NOT commas EQUAL 13)
  message(FATAL_ERROR "the head of race.csv has ${commas} commas, not 13: ${head}")
endif()
foreach(line IN LISTS lines)
  if(NOT line MATCHES "^\"[a-z_]+:t_end=[12]\",[a-z-]+(,[0-9.e+-]+)+,0,\"\"$")
    message(FATAL_ERROR "race.csv: ${line}")
  endif()
endforeach()

check_file(race.md "\n\\| pendulum:t_end=2 \\|( [^|]+ \\|)( [^|]+ \\|)( [^|]+ \\|)( [^|]+ \\|)\n")
find_program(gnuplot gnuplot)
if(gnuplot)
  foreach(problem IN ITEMS pendulum-t_end-2 slider_crank-t_end-1)
    check_file(${problem}.svg "^<\\?xml.*cpodes-adams.*</svg>")
    file(READ "${FOLDER}/${problem}.png" magic LIMIT 8 HEX)
    if(NOT magic STREQUAL "89504e470d0a1a0a")
      message(FATAL_ERROR "${problem}.png is no PNG: ${magic}")
    endif()
  endforeach()
elseif(NOT output MATCHES "gnuplot was not found: no plots")
  message(FATAL_ERROR "race does not say that gnuplot is missing:\n${output}")
endif()

# What is wrong is named, with the nearest that there is, and exit status 2
function(check_refused expected)
  execute_process(COMMAND "${RACE}" --output "${FOLDER}" ${ARGN} RESULT_VARIABLE status ERROR_VARIABLE error)
  if(NOT status EQUAL 2 OR NOT error MATCHES "${expected}")
    message(FATAL_ERROR "${ARGN}: status ${status}, message: ${error}")
  endif()
endfunction()
check_refused("did you mean \"andrews\"" --problems andrew)
check_refused("did you mean \"cpodes-bdf\"" --methods cpodes-bfd)
check_refused("--problems names none" --problems " ")
check_refused("--methods names none" --methods ",")
check_refused("must be a number" --from tight)
check_refused("looser than" --from 1e-6 --to 1e-3)
check_refused("belongs to no option" pendulum)
