# Functions that register tests and examples. All programs are built by the target "all"; CTest labels
# group them: unit, reference, example, client, headers; thread for those that run integrators in several
# threads, slow for those that take more than some seconds, long for those that scripts/test leaves to its
# later stages. `ctest -C memcheck` runs, on top, a copy of each unit test (unless slow), reference test and
# example under valgrind; the label long marks those that take long there and reach no line of the library
# that the others do not reach. The others run with CPODES_TEST_SHORT, where loops take few of their cases.

find_program(CPODES_VALGRIND valgrind)
find_program(CPODES_SETARCH setarch)
mark_as_advanced(CPODES_VALGRIND CPODES_SETARCH)

# What the preset tsan builds.
add_custom_target(thread_tests)

# No forks below a sanitizer or valgrind: leaks are then counted once, for the whole program.
set(cpodes_test_environment OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1)
set(cpodes_memcheck_environment ${cpodes_test_environment} CK_FORK=no)
# OpenBLAS sums the squares of a norm with the 80 bits of x87, whose range valgrind does not have. Debian's reference
# libraries take its place there, loaded first because a program may be linked with libopenblas itself.
set(cpodes_reference_blas /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/blas/libblas.so.3)
if(EXISTS ${cpodes_reference_blas})
  list(APPEND cpodes_memcheck_environment LD_PRELOAD=${cpodes_reference_blas})
endif()
set(cpodes_test_launcher "")
if(CPODES_SANITIZE)
  list(APPEND cpodes_test_environment CK_FORK=no)
  if(CPODES_SANITIZE MATCHES thread AND CPODES_SETARCH)
    # gcc's thread sanitizer does not start where the kernel spreads addresses over more than 28 bits
    set(cpodes_test_launcher ${CPODES_SETARCH} ${CMAKE_HOST_SYSTEM_PROCESSOR} -R)
  endif()
else()
  list(APPEND cpodes_test_environment CK_TIMEOUT_MULTIPLIER=30)
endif()
if(CPODES_COVERAGE) # a program whose files may not grow cannot write its counts either; tests compare stderr
  list(APPEND cpodes_test_environment GCOV_ERROR_FILE=/dev/null)
endif()

# WRAP ${allocation_functions} together with support/alloc.c counts allocations and makes the n-th fail.
set(allocation_functions
    malloc
    calloc
    realloc
    free
    strdup
    N_VClone
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

# cpodes_add_test(name label target seconds [more labels])
function(cpodes_add_test name label target seconds)
  add_test(NAME ${name} COMMAND ${cpodes_test_launcher} $<TARGET_FILE:${target}>)
  set_tests_properties(
    ${name} PROPERTIES LABELS "${label};${ARGN}" TIMEOUT ${seconds}
                       ENVIRONMENT "${cpodes_test_environment}")
  cpodes_set_cost(${name})
endfunction()

# cpodes_add_check_program(target SOURCES ...): linked statically, so that it reaches what is private.
function(cpodes_add_check_program target)
  add_executable(${target} ${ARGN})
  cpodes_target_defaults(${target})
  # A third of the whole compilation is tests, which run once; the library has the optimisation of its users.
  target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
  if(CPODES_SANITIZE) # GCC warns wrongly of instrumented code; the preset dev has these warnings as errors
    target_compile_options(${target} PRIVATE -Wno-error)
  endif()
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/test")
  target_link_libraries(
    ${target} PRIVATE test_support cpodes_models cpodes::bodies_static cpodes::contact_static
                      cpodes::model_static
                      ${cpodes_private_libraries})
endfunction()

# cpodes_add_memcheck(test target [more labels]): memcheck.<test> is the program of target under valgrind, with
# `ctest -C memcheck`.
function(cpodes_add_memcheck test target)
  if(NOT CPODES_VALGRIND OR CPODES_SANITIZE)
    return()
  endif()
  add_test(
    NAME memcheck.${test}
    CONFIGURATIONS memcheck
    COMMAND
      ${CPODES_VALGRIND} --quiet --error-exitcode=99 --leak-check=full
      --show-leak-kinds=definite,indirect,possible --errors-for-leak-kinds=definite,indirect,possible
      --suppressions=${PROJECT_SOURCE_DIR}/test/valgrind.supp $<TARGET_FILE:${target}>)
  set(environment ${cpodes_memcheck_environment})
  if(NOT long IN_LIST ARGN)
    list(APPEND environment CPODES_TEST_SHORT=1)
  endif()
  set_tests_properties(memcheck.${test} PROPERTIES LABELS "memcheck;${ARGN}" TIMEOUT 900 ENVIRONMENT "${environment}")
  cpodes_set_cost(memcheck.${test})
endfunction()

# cpodes_add_unit_test(part/name [more sources] [SLOW] [LONG] [VALGRIND_LONG] [THREADS] [WRAP functions])
#
# A Check program test/unit/part/name.c, test "unit.part.name". SLOW: it does not run under valgrind. LONG: the test
# itself is labelled long. VALGRIND_LONG: its run under valgrind is labelled long. THREADS: it links threads, and runs under the thread
# sanitizer. WRAP malloc: calls of malloc in the library and the test go to the test's __wrap_malloc, which
# finds the real one as __real_malloc.
function(cpodes_add_unit_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SLOW;LONG;VALGRIND_LONG;THREADS" "" "WRAP")
  string(REPLACE "/" "_" target "test_${name}")
  string(REPLACE "/" "." test "${name}")
  cpodes_add_check_program(${target} ${name}.c ${arg_UNPARSED_ARGUMENTS})
  foreach(function IN LISTS arg_WRAP)
    target_link_options(${target} PRIVATE LINKER:--wrap=${function})
  endforeach()
  set(labels "")
  set(memcheck_labels "")
  if(arg_SLOW)
    list(APPEND labels slow)
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
  cpodes_add_test(unit.${test} unit ${target} 300 ${labels})
  if(NOT arg_SLOW)
    cpodes_add_memcheck(${test} ${target} ${memcheck_labels})
  endif()
endfunction()

# cpodes_add_reference_test(name [SLOW] [LENGTHY] [LONG] [VALGRIND_LONG]): a Check program test/reference/name.c that
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
  cpodes_add_check_program(reference_${name} ${name}.c)
  target_link_libraries(reference_${name} PRIVATE reference_support)
  target_compile_definitions(reference_${name}
                             PRIVATE CPODES_REFERENCE_DIR="${PROJECT_SOURCE_DIR}/test/reference")
  cpodes_add_test(reference.${name} reference reference_${name} 600 ${labels})
  if(NOT arg_SLOW)
    cpodes_add_memcheck(reference.${name} reference_${name} ${memcheck_labels})
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
               "${cpodes_test_environment};CK_FORK=no;ASAN_OPTIONS=detect_leaks=0;OMPI_ALLOW_RUN_AS_ROOT=1;\
OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;OMPI_MCA_rmaps_base_oversubscribe=1;PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe")
  cpodes_set_cost(${name})
endfunction()
