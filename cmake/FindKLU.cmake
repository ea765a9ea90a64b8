# KLU of SuiteSparse, as KLU::KLU. SuiteSparse 7 has a CMake package, which is then used; older ones
# (Debian 12: 5.12) are searched for by name.

find_package(KLU CONFIG QUIET)
if(TARGET SuiteSparse::KLU)
  if(NOT TARGET KLU::KLU)
    add_library(KLU::KLU INTERFACE IMPORTED)
    set_target_properties(KLU::KLU PROPERTIES INTERFACE_LINK_LIBRARIES SuiteSparse::KLU)
  endif()
  return()
endif()

find_path(KLU_INCLUDE_DIR klu.h PATH_SUFFIXES suitesparse)
set(_klu_required KLU_INCLUDE_DIR)
set(_klu_others "")
foreach(_klu_name IN ITEMS klu btf amd colamd suitesparseconfig)
  string(TOUPPER ${_klu_name} _klu_upper)
  find_library(KLU_${_klu_upper}_LIBRARY ${_klu_name})
  list(APPEND _klu_required KLU_${_klu_upper}_LIBRARY)
  if(NOT _klu_name STREQUAL klu)
    list(APPEND _klu_others "${KLU_${_klu_upper}_LIBRARY}")
  endif()
endforeach()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(KLU REQUIRED_VARS ${_klu_required})
mark_as_advanced(${_klu_required})

if(KLU_FOUND AND NOT TARGET KLU::KLU)
  add_library(KLU::KLU UNKNOWN IMPORTED)
  set_target_properties(
    KLU::KLU
    PROPERTIES IMPORTED_LOCATION "${KLU_KLU_LIBRARY}"
               INTERFACE_INCLUDE_DIRECTORIES "${KLU_INCLUDE_DIR}"
               INTERFACE_LINK_LIBRARIES "${_klu_others}")
endif()
unset(_klu_required)
unset(_klu_others)
