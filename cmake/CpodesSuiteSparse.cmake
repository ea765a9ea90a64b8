# For FindCHOLMOD.cmake and FindKLU.cmake. cpodes_find_suitesparse(name others...): the library `name` of SuiteSparse, as
# name::name, with the others that it needs. SuiteSparse 7 has a CMake package, which is then used; older ones (Debian
# 12: 5.12) are searched for by name.
include(FindPackageHandleStandardArgs)

macro(cpodes_find_suitesparse _name)
  find_package(${_name} CONFIG QUIET)
  if(TARGET SuiteSparse::${_name})
    if(NOT TARGET ${_name}::${_name})
      add_library(${_name}::${_name} INTERFACE IMPORTED)
      set_target_properties(${_name}::${_name} PROPERTIES INTERFACE_LINK_LIBRARIES SuiteSparse::${_name})
      if(TARGET SuiteSparse::SuiteSparseConfig) # its functions of memory, which the branch below links, too
        set_property(TARGET ${_name}::${_name} APPEND PROPERTY INTERFACE_LINK_LIBRARIES SuiteSparse::SuiteSparseConfig)
      endif()
    endif()
    return() # from the module
  endif()

  string(TOLOWER ${_name} _suitesparse_own)
  find_path(${_name}_INCLUDE_DIR ${_suitesparse_own}.h PATH_SUFFIXES suitesparse)
  set(_suitesparse_required ${_name}_INCLUDE_DIR)
  set(_suitesparse_others "")
  foreach(_suitesparse_name IN ITEMS ${_suitesparse_own} ${ARGN})
    string(TOUPPER ${_suitesparse_name} _suitesparse_upper)
    find_library(${_name}_${_suitesparse_upper}_LIBRARY ${_suitesparse_name})
    list(APPEND _suitesparse_required ${_name}_${_suitesparse_upper}_LIBRARY)
    if(NOT _suitesparse_name STREQUAL _suitesparse_own)
      list(APPEND _suitesparse_others "${${_name}_${_suitesparse_upper}_LIBRARY}")
    endif()
  endforeach()

  find_package_handle_standard_args(${_name} REQUIRED_VARS ${_suitesparse_required})
  mark_as_advanced(${_suitesparse_required})

  if(${_name}_FOUND AND NOT TARGET ${_name}::${_name})
    add_library(${_name}::${_name} UNKNOWN IMPORTED)
    set_target_properties(
      ${_name}::${_name}
      PROPERTIES IMPORTED_LOCATION "${${_name}_${_name}_LIBRARY}"
                 INTERFACE_INCLUDE_DIRECTORIES "${${_name}_INCLUDE_DIR}"
                 INTERFACE_LINK_LIBRARIES "${_suitesparse_others}")
  endif()
  unset(_suitesparse_own)
  unset(_suitesparse_required)
  unset(_suitesparse_others)
endmacro()
