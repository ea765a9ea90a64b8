# KLU of SuiteSparse, as KLU::KLU.
include("${CMAKE_CURRENT_LIST_DIR}/CpodesSuiteSparse.cmake")
cpodes_find_suitesparse(KLU btf amd colamd suitesparseconfig)
