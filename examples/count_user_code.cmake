# Counts the lines that the user writes for the slider-crank: in slider_crank.c the functions motion and pin, and
# the set-up of projector, matrix and linear solver; in slider_crank_mech.c the functions masses, pin_matrix and
# pin, and the set-up of CPMech. The forces of the mechanism, its start and the report, which are the same in both,
# blank lines and comments are not counted. Fails if the second number is more than half of the first.
#
#   cmake -DFOLDER=examples -P count_user_code.cmake
cmake_minimum_required(VERSION 3.18)

# count_user_code(file functions statements result): counts the lines of the functions, which are given by their
# beginning, and other lines that match statements
function(count_user_code file functions statements result)
  file(READ "${FOLDER}/${file}" text)
  string(REPLACE ";" "," text "${text}") # a list of lines must not break at semicolons,
  string(REGEX REPLACE "[][]" "." text "${text}") # nor keep together what is in brackets
  string(REPLACE "\n" ";" lines "${text}")
  set(count 0)
  set(inside OFF)
  set(comment OFF)
  set(found 0)
  foreach(line IN LISTS lines)
    if(line MATCHES "^static int (${functions})\\(")
      set(inside ON)
      math(EXPR found "${found} + 1")
    endif()
    if(line MATCHES "^ */\\*")
      set(comment ON)
    endif()
    if(NOT comment AND NOT line MATCHES "^ *$" AND (inside OR line MATCHES "${statements}"))
      math(EXPR count "${count} + 1")
    endif()
    if(comment AND line MATCHES "\\*/")
      set(comment OFF)
    endif()
    if(line STREQUAL "}")
      set(inside OFF)
    endif()
  endforeach()
  string(REPLACE "|" ";" wanted "${functions}")
  list(LENGTH wanted wanted)
  if(NOT found EQUAL wanted)
    message(FATAL_ERROR "${file}: ${found} of the functions ${functions} found")
  endif()
  set(${result} ${count} PARENT_SCOPE)
endfunction()

count_user_code(
  slider_crank.c
  "motion|pin"
  "CPProjector|CHECK_NEW\\((P|A|LS|c)\\)|CPIntegratorInit|CPIntegratorSetProjector|SUNMatrix A|SUNLinearSolver LS|CVodeSetLinearSolver|CVodeSetUserData|SUNLinSolFree|SUNMatDestroy|N_VDestroy\\(c\\)"
  by_hand)
count_user_code(slider_crank_mech.c "masses|pin_matrix|pin"
                "CPEquations|CPModelCreate|CPModelFree|CPMechCreate|CHECK_NEW\\(mech\\)|CPMechAttach|CPMechFree" by_mech)

message("slider_crank: ${by_hand} lines, slider_crank_mech: ${by_mech} lines")
math(EXPR twice "2 * ${by_mech}")
if(twice GREATER by_hand)
  message(FATAL_ERROR "more than half")
endif()
