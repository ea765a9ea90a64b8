# What is built only where something is found, and what is left out, which the last lines of the configuration say.

# cpodes_leave_out(what needs)
function(cpodes_leave_out what needs)
  set_property(GLOBAL APPEND PROPERTY cpodes_left_out "${what} (needs ${needs})")
endfunction()

function(cpodes_say_what_is_left_out)
  get_property(left_out GLOBAL PROPERTY cpodes_left_out)
  foreach(line IN LISTS left_out)
    message(STATUS "Left out: ${line}")
  endforeach()
endfunction()

# cpodes_optional_module(OPTION module what name): the option is ON, OFF, or AUTO, which is ON where pkg-config finds the
# module; PkgConfig::<MODULE> is then its target. Where the option is ON the module must exist.
function(cpodes_optional_module option module what name)
  set(value "${${option}}")
  if(value)
    string(TOUPPER "${module}" prefix)
    if(value STREQUAL "AUTO")
      find_package(PkgConfig QUIET)
      if(PkgConfig_FOUND)
        pkg_check_modules(${prefix} QUIET IMPORTED_TARGET GLOBAL ${module})
      endif()
    else()
      find_package(PkgConfig REQUIRED)
      pkg_check_modules(${prefix} REQUIRED IMPORTED_TARGET GLOBAL ${module})
    endif()
    if(NOT ${prefix}_FOUND)
      cpodes_leave_out("${what}" "${name}, pkg-config")
      set(${option} OFF PARENT_SCOPE)
    endif()
  endif()
endfunction()

# Enables C++. A SUNDIALS that was built with MPI names MPI's target for C++ where a program in C++ is linked.
macro(cpodes_enable_cxx)
  enable_language(CXX)
  if(TARGET MPI::MPI_C AND NOT TARGET MPI::MPI_CXX)
    find_package(MPI QUIET COMPONENTS CXX)
    if(TARGET MPI::MPI_CXX)
      set_target_properties(MPI::MPI_CXX PROPERTIES IMPORTED_GLOBAL TRUE) # SUNDIALS' targets are of the top directory
    endif()
  endif()
endmacro()
