# SPQR and CHOLMOD of SuiteSparse, together as SPQR::SPQR. SuiteSparse 7 has CMake packages, which are
# then used; older ones (Debian 12: 5.12) are searched for by name.

find_package(CHOLMOD CONFIG QUIET)
find_package(SPQR CONFIG QUIET)
if(TARGET SuiteSparse::SPQR AND TARGET SuiteSparse::CHOLMOD)
  if(NOT TARGET SPQR::SPQR)
    add_library(SPQR::SPQR INTERFACE IMPORTED)
    set_target_properties(SPQR::SPQR PROPERTIES INTERFACE_LINK_LIBRARIES
                                                "SuiteSparse::SPQR;SuiteSparse::CHOLMOD")
    if(TARGET SuiteSparse::SuiteSparseConfig) # its functions of memory, which the branch below links, too
      set_property(TARGET SPQR::SPQR APPEND PROPERTY INTERFACE_LINK_LIBRARIES SuiteSparse::SuiteSparseConfig)
    endif()
  endif()
  return()
endif()

find_path(SPQR_INCLUDE_DIR SuiteSparseQR_C.h PATH_SUFFIXES suitesparse)
set(_spqr_required SPQR_INCLUDE_DIR)
set(_spqr_others "")
foreach(_spqr_name IN ITEMS spqr cholmod amd camd colamd ccolamd suitesparseconfig)
  string(TOUPPER ${_spqr_name} _spqr_upper)
  find_library(SPQR_${_spqr_upper}_LIBRARY ${_spqr_name})
  list(APPEND _spqr_required SPQR_${_spqr_upper}_LIBRARY)
  if(NOT _spqr_name STREQUAL spqr)
    list(APPEND _spqr_others "${SPQR_${_spqr_upper}_LIBRARY}")
  endif()
endforeach()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(SPQR REQUIRED_VARS ${_spqr_required})
mark_as_advanced(${_spqr_required})

if(SPQR_FOUND AND NOT TARGET SPQR::SPQR)
  add_library(SPQR::SPQR UNKNOWN IMPORTED)
  set_target_properties(
    SPQR::SPQR
    PROPERTIES IMPORTED_LOCATION "${SPQR_SPQR_LIBRARY}"
               INTERFACE_INCLUDE_DIRECTORIES "${SPQR_INCLUDE_DIR}"
               INTERFACE_LINK_LIBRARIES "${_spqr_others}")
endif()
unset(_spqr_required)
unset(_spqr_others)
