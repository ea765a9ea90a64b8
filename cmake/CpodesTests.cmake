# Functions that register tests and examples. All programs are built by the target "all"; CTest labels
# group them: unit, reference, example, client, headers; thread for those that run integrators in several
# threads, slow for those that take more than some seconds, lengthy and long for those that scripts/test leaves to its
# later stages. `ctest -C memcheck` runs, on top, a copy of each unit test (unless slow), reference test and
# example under valgrind; the label long marks those that take long there and reach no line of the library
# that the others do not reach. The others, and all tests with sanitizers, run with CPODES_TEST_SHORT, where loops take few of
# their cases.

find_program(CPODES_VALGRIND valgrind)
find_program(CPODES_SETARCH setarch)
mark_as_advanced(CPODES_VALGRIND CPODES_SETARCH)

# What the preset tsan builds.
add_custom_target(thread_tests)

# Threads that wait for others do not take the time of other tests (OMP_WAIT_POLICY). Check forks for no test: a fork takes
# longer than most tests, and below a sanitizer or valgrind leaks are then counted once, for the whole program.
set(cpodes_test_environment OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 OMP_WAIT_POLICY=passive CK_FORK=no)
set(cpodes_memcheck_environment ${cpodes_test_environment})
# OpenBLAS sums the squares of a norm with the 80 bits of x87, whose range valgrind does not have. Debian's reference
# libraries take its place there, loaded first because a program may be linked with libopenblas itself.
set(cpodes_reference_blas /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/blas/libblas.so.3)
if(EXISTS ${cpodes_reference_blas})
  list(APPEND cpodes_memcheck_environment LD_PRELOAD=${cpodes_reference_blas})
endif()
set(cpodes_test_launcher "")
if(CPODES_SANITIZE)
  list(APPEND cpodes_test_environment CPODES_TEST_SHORT=1) # Loops over tolerances take the same paths at few of them.
  if(CPODES_SANITIZE MATCHES thread AND CPODES_SETARCH)
    # gcc's thread sanitizer does not start where the kernel spreads addresses over more than 28 bits
    set(cpodes_test_launcher ${CPODES_SETARCH} ${CMAKE_HOST_SYSTEM_PROCESSOR} -R)
  endif()
endif()
if(CPODES_COVERAGE) # a program whose files may not grow cannot write its counts either; tests compare stderr
  list(APPEND cpodes_test_environment GCOV_ERROR_FILE=/dev/null)
endif()

# What support/alloc.c counts, and makes fail: calls of these go to its __wrap_..., which find the real ones.
set(allocation_functions
    malloc
    calloc
    realloc
    free
    strdup
    N_VClone
    N_VCloneEmpty
    N_VNew_Serial
    N_VMake_Serial
    N_VDestroy
    SUNDenseMatrix
    SUNSparseMatrix
    SUNMatClone
    SUNMatDestroy
    SUNNonlinSolNewEmpty
    SUNNonlinSolFreeEmpty
    SUNNonlinSol_Newton
    CVodeAdjInit
    CVodeGetReturnFlagName
    ARKodeButcherTable_Alloc
    ARKodeButcherTable_Copy
    ARKodeButcherTable_LoadERKByName
    ARKodeButcherTable_Free
    SUNLinSol_Dense
    SUNNonlinSol_FixedPoint
    SUNMatNewEmpty
    SUNLinSolNewEmpty
    CVodeCreate
    CVodeInit
    CVodeRootInit
    CVodeSVtolerances
    CVodeSetLinearSolver
    CVodeSensInit1
    CVodeCreateB
    CVodeInitB
    CVodeQuadInitB
    CVodeSetLinearSolverB
    SUNSparseMatrix_Reallocate)

# The longest tests of each stage. In parallel, CTest starts the tests of highest cost first, so that none of these runs alone at
# the end. It knows the times of tests only where they have run before.
set(cpodes_longest_tests
    fuzz.faults
    fuzz.sequences
    memcheck.bodies.mujoco
    memcheck.bodies.sensors
    memcheck.contact.gradient
    memcheck.mechanics.differences
    memcheck.mechanics.redundant
    memcheck.reference.sensitivity_pendulum
    memcheck.sensitivity.adjoint
    memcheck.sensitivity.forward
    memcheck.sensitivity.functional
    memcheck.stepping.onestep.radau
    memcheck.stepping.onestep.roots
    memcheck.stepping.onestep.steps
    reference.campaign
    runner.check
    runner.check_all
    runner.mechanism
    runner.report
    runner.run
    unit.mechanics.memory
    unit.models.catalogue
    unit.models.memory
    unit.projector.krylov_parallel.3
    unit.projector.properties
    unit.saddle.saddle)
function(cpodes_set_cost name)
  if(name IN_LIST cpodes_longest_tests)
    set_tests_properties(${name} PROPERTIES COST 1000)
  endif()
endfunction()

# Long tests of memory and of all models belong to the ASan stage of scripts/test; without sanitizers they have this label,
# which leaves them to the stage slow.
set(cpodes_lengthy lengthy)
if(CPODES_SANITIZE)
  set(cpodes_lengthy "")
endif()

# cpodes_add_test(name label target seconds [SUITE suite] [more labels]): runs the program of target, or one suite of it.
function(cpodes_add_test name label target seconds)
  cmake_parse_arguments(PARSE_ARGV 4 arg "" "SUITE" "")
  add_test(NAME ${name} COMMAND ${cpodes_test_launcher} $<TARGET_FILE:${target}> ${arg_SUITE})
  set_tests_properties(
    ${name} PROPERTIES LABELS "${label};${arg_UNPARSED_ARGUMENTS}" TIMEOUT ${seconds}
                       ENVIRONMENT "${cpodes_test_environment}")
  cpodes_set_cost(${name})
endfunction()

# A third of the whole compilation is tests, which run once; the library has the optimisation of its users.
function(cpodes_test_optimisation target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
endfunction()

# cpodes_add_check_program(target SOURCES ...): linked statically, so that it reaches what is private.
function(cpodes_add_check_program target)
  add_executable(${target} ${ARGN})
  cpodes_target_defaults(${target})
  cpodes_test_optimisation(${target})
  if(CPODES_SANITIZE) # GCC warns wrongly of instrumented code; the preset dev has these warnings as errors
    target_compile_options(${target} PRIVATE -Wno-error)
  endif()
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/test")
  target_link_libraries(
    ${target} PRIVATE test_support cpodes_models cpodes::bodies_static cpodes::contact_static
                      cpodes::plugin_static
                      ${cpodes_private_libraries})
endfunction()

# cpodes_add_suites(target): a Check program of suites, which cpodes_add_suite adds. One program for many of them, since
# each of its links takes as long as the compilation of a test.
function(cpodes_add_suites target)
  cpodes_add_check_program(${target} "${PROJECT_SOURCE_DIR}/test/unit/support/main.c" ${ARGN})
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/suites/${target}")
  file(GENERATE OUTPUT "${folder}/suites.h" CONTENT "SUITE($<JOIN:$<TARGET_PROPERTY:${target},CPODES_SUITES>,)\nSUITE(>)\n")
  target_include_directories(${target} PRIVATE "${folder}")
endfunction()

# cpodes_add_suite(target file): file.c ends with its TEST_SUITE.
function(cpodes_add_suite target file)
  cmake_path(GET file FILENAME suite)
  target_sources(${target} PRIVATE ${file}.c)
  set_property(TARGET ${target} APPEND PROPERTY CPODES_SUITES ${suite})
endfunction()

# cpodes_add_memcheck(test target [SUITE suite] [more labels]): memcheck.<test> is the program of target, or one suite of
# it, under valgrind, with `ctest -C memcheck`.
function(cpodes_add_memcheck test target)
  if(NOT CPODES_VALGRIND OR CPODES_SANITIZE)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "SUITE" "")
  set(environment ${cpodes_memcheck_environment})
  if(NOT long IN_LIST arg_UNPARSED_ARGUMENTS)
    list(APPEND environment CPODES_TEST_SHORT=1)
  endif()
  add_test(
    NAME memcheck.${test}
    CONFIGURATIONS memcheck
    COMMAND
      ${CPODES_VALGRIND} --quiet --error-exitcode=99 --leak-check=full
      --show-leak-kinds=definite,indirect,possible --errors-for-leak-kinds=definite,indirect,possible
      --suppressions=${PROJECT_SOURCE_DIR}/test/valgrind.supp $<TARGET_FILE:${target}> ${arg_SUITE})
  set_tests_properties(memcheck.${test} PROPERTIES LABELS "memcheck;${arg_UNPARSED_ARGUMENTS}" TIMEOUT 900 ENVIRONMENT
                                                   "${environment}")
  cpodes_set_cost(memcheck.${test})
endfunction()

# cpodes_add_room(room [sources]): the program test_<room> of the unit tests of test/unit/<room>, with the fixtures that
# they share. Its calls of allocation functions go to support/alloc.c, which makes the n-th of them fail on request.
function(cpodes_add_room room)
  string(REPLACE "/" "_" target "test_${room}")
  cpodes_add_suites(${target} ${ARGN} $<TARGET_OBJECTS:test_alloc>)
  foreach(function IN LISTS allocation_functions)
    target_link_options(${target} PRIVATE LINKER:--wrap=${function})
  endforeach()
endfunction()

# cpodes_add_unit_test(room/name [SLOW] [LENGTHY] [LONG] [VALGRIND_LONG] [SEPARATE [THREADS]])
#
# The suite of test/unit/room/name.c in the program test_<room>, test "unit.room.name". SLOW: it does not run under
# valgrind. LENGTHY: it is labelled lengthy unless there are sanitizers. LONG: it is labelled long. VALGRIND_LONG: its run under valgrind is labelled long. SEPARATE: it
# has a program test_<room>_<name> of its own, which links the system's allocation functions. THREADS: it links threads,
# and runs under the thread sanitizer.
function(cpodes_add_unit_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SLOW;LENGTHY;LONG;VALGRIND_LONG;SEPARATE;THREADS" "" "")
  cmake_path(GET name PARENT_PATH room)
  cmake_path(GET name FILENAME suite)
  string(REPLACE "/" "." test "${name}")
  if(arg_SEPARATE)
    string(REPLACE "/" "_" target "test_${name}")
    cpodes_add_suites(${target})
  else()
    string(REPLACE "/" "_" target "test_${room}")
  endif()
  cpodes_add_suite(${target} ${name})
  set(labels "")
  set(memcheck_labels "")
  if(arg_SLOW)
    list(APPEND labels slow)
  endif()
  if(arg_LENGTHY)
    list(APPEND labels ${cpodes_lengthy})
  endif()
  if(arg_LONG)
    list(APPEND labels long)
  endif()
  if(arg_VALGRIND_LONG)
    list(APPEND memcheck_labels long)
  endif()
  if(arg_THREADS)
    list(APPEND labels thread)
    target_link_libraries(${target} PRIVATE Threads::Threads)
    add_dependencies(thread_tests ${target})
  endif()
  cpodes_add_test(unit.${test} unit ${target} 300 SUITE ${suite} ${labels})
  if(NOT arg_SLOW)
    cpodes_add_memcheck(${test} ${target} SUITE ${suite} ${memcheck_labels})
  endif()
endfunction()

# cpodes_add_reference_test(name [SLOW] [LENGTHY] [LONG] [VALGRIND_LONG]): the suite of test/reference/name.c, which
# compares with stored trajectories; CPODES_REFERENCE_DIR is their directory. SLOW: it does not run under valgrind.
# LENGTHY or LONG: the test itself has this label. VALGRIND_LONG: its run under valgrind is labelled long.
function(cpodes_add_reference_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SLOW;LENGTHY;LONG;VALGRIND_LONG" "" "")
  set(labels "")
  if(arg_LENGTHY)
    list(APPEND labels lengthy)
  endif()
  if(arg_LONG)
    list(APPEND labels long)
  endif()
  set(memcheck_labels "")
  if(arg_VALGRIND_LONG)
    list(APPEND memcheck_labels long)
  endif()
  cpodes_add_suite(test_reference ${name})
  cpodes_add_test(reference.${name} reference test_reference 600 SUITE ${name} ${labels})
  if(NOT arg_SLOW)
    cpodes_add_memcheck(reference.${name} test_reference SUITE ${name} ${memcheck_labels})
  endif()
endfunction()

# cpodes_add_mpi_test(name label target ranks seconds): a Check program on MPI ranks, of which there may
# be more than processors (Open MPI 4, then 5), and by root, too. Memory that Open MPI never frees is no leak of ours.
function(cpodes_add_mpi_test name label target ranks seconds)
  add_test(NAME ${name} COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} ${MPIEXEC_PREFLAGS}
                                $<TARGET_FILE:${target}> ${MPIEXEC_POSTFLAGS})
  set_tests_properties(
    ${name}
    PROPERTIES LABELS ${label} TIMEOUT ${seconds} PROCESSORS ${ranks}
               ENVIRONMENT
               "${cpodes_test_environment};ASAN_OPTIONS=detect_leaks=0;OMPI_ALLOW_RUN_AS_ROOT=1;\
OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;OMPI_MCA_rmaps_base_oversubscribe=1;PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe")
  cpodes_set_cost(${name})
endfunction()
