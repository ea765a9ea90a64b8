# CHOLMOD of SuiteSparse, as CHOLMOD::CHOLMOD.
include("${CMAKE_CURRENT_LIST_DIR}/CpodesSuiteSparse.cmake")
cpodes_find_suitesparse(CHOLMOD amd camd colamd ccolamd suitesparseconfig)
