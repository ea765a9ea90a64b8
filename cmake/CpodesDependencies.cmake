# The packages that cpodes is built on.
#
#   cpodes_public_libraries   what a user's own code calls too: CVODES, ARKODE, vectors, matrices, solvers
#   cpodes_private_libraries  what only cpodes calls
#   cpodes_cvodes_target      CVODES' real library behind the alias SUNDIALS::cvodes
#   cpodes_sundials_libdir    the folder of SUNDIALS' libraries
#   cpodes_sundials_has_mpi   do SUNDIALS' headers include mpi.h, so that SUN_COMM_NULL is MPI's? Since SUNDIALS 7

# SUNDIALS' own version file never accepts a newer major version, so the range is checked here.
find_package(SUNDIALS REQUIRED COMPONENTS cvodes arkode nvecserial)
if(SUNDIALS_VERSION VERSION_LESS 6.4 OR SUNDIALS_VERSION VERSION_GREATER_EQUAL 8)
  message(FATAL_ERROR "cpodes needs SUNDIALS 6.4 to 7.x; ${SUNDIALS_DIR} has ${SUNDIALS_VERSION}")
endif()
set(cpodes_sundials_has_mpi OFF)
if(SUNDIALS_VERSION VERSION_GREATER_EQUAL 7 AND TARGET MPI::MPI_C) # which SUNDIALS has looked for
  set(cpodes_sundials_has_mpi ON)
endif()
find_package(CHOLMOD REQUIRED)
find_package(KLU REQUIRED)
find_package(LAPACK REQUIRED) # brings BLAS

# The core is a library of its own since SUNDIALS 7, "generic" before.
if(TARGET SUNDIALS::core)
  set(cpodes_sundials_core core)
else()
  set(cpodes_sundials_core generic)
endif()

set(cpodes_sundials_components
    cvodes
    arkode
    nvecserial
    sunmatrixdense
    sunmatrixsparse
    sunlinsoldense
    sunnonlinsolnewton
    sunnonlinsolfixedpoint
    ${cpodes_sundials_core})
list(TRANSFORM cpodes_sundials_components PREPEND SUNDIALS:: OUTPUT_VARIABLE cpodes_public_libraries)
list(APPEND cpodes_public_libraries m) # what a user's f and c call is there without asking
set(cpodes_private_libraries CHOLMOD::CHOLMOD KLU::KLU LAPACK::LAPACK BLAS::BLAS)

get_target_property(cpodes_cvodes_target SUNDIALS::cvodes INTERFACE_LINK_LIBRARIES)
get_target_property(cpodes_cvodes_file ${cpodes_cvodes_target} LOCATION)
cmake_path(GET cpodes_cvodes_file PARENT_PATH cpodes_sundials_libdir)
