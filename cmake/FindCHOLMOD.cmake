# CHOLMOD of SuiteSparse, as CHOLMOD::CHOLMOD. SuiteSparse 7 has a CMake package, which is then used; older ones
# (Debian 12: 5.12) are searched for by name.

find_package(CHOLMOD CONFIG QUIET)
if(TARGET SuiteSparse::CHOLMOD)
  if(NOT TARGET CHOLMOD::CHOLMOD)
    add_library(CHOLMOD::CHOLMOD INTERFACE IMPORTED)
    set_target_properties(CHOLMOD::CHOLMOD PROPERTIES INTERFACE_LINK_LIBRARIES SuiteSparse::CHOLMOD)
    if(TARGET SuiteSparse::SuiteSparseConfig) # its functions of memory, which the branch below links, too
      set_property(TARGET CHOLMOD::CHOLMOD APPEND PROPERTY INTERFACE_LINK_LIBRARIES SuiteSparse::SuiteSparseConfig)
    endif()
  endif()
  return()
endif()

find_path(CHOLMOD_INCLUDE_DIR cholmod.h PATH_SUFFIXES suitesparse)
set(_cholmod_required CHOLMOD_INCLUDE_DIR)
set(_cholmod_others "")
foreach(_cholmod_name IN ITEMS cholmod amd camd colamd ccolamd suitesparseconfig)
  string(TOUPPER ${_cholmod_name} _cholmod_upper)
  find_library(CHOLMOD_${_cholmod_upper}_LIBRARY ${_cholmod_name})
  list(APPEND _cholmod_required CHOLMOD_${_cholmod_upper}_LIBRARY)
  if(NOT _cholmod_name STREQUAL cholmod)
    list(APPEND _cholmod_others "${CHOLMOD_${_cholmod_upper}_LIBRARY}")
  endif()
endforeach()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CHOLMOD REQUIRED_VARS ${_cholmod_required})
mark_as_advanced(${_cholmod_required})

if(CHOLMOD_FOUND AND NOT TARGET CHOLMOD::CHOLMOD)
  add_library(CHOLMOD::CHOLMOD UNKNOWN IMPORTED)
  set_target_properties(
    CHOLMOD::CHOLMOD
    PROPERTIES IMPORTED_LOCATION "${CHOLMOD_CHOLMOD_LIBRARY}"
               INTERFACE_INCLUDE_DIRECTORIES "${CHOLMOD_INCLUDE_DIR}"
               INTERFACE_LINK_LIBRARIES "${_cholmod_others}")
endif()
unset(_cholmod_required)
unset(_cholmod_others)
