# Installs the libraries, the headers, the CMake package, the pkg-config files and the licence. The components are those
# libraries, development, program, guide and python (debian/*.install makes packages of them).

include(CMakePackageConfigHelpers)
set(cpodes_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/cpodes")

install(
  TARGETS cpodes cpodes_static cpodes_language cpodes_language_static cpodes_bodies cpodes_bodies_static cpodes_session cpodes_session_static cpodes_contact cpodes_contact_static
          cpodes_plugin cpodes_plugin_static
  EXPORT cpodesTargets
  LIBRARY COMPONENT libraries NAMELINK_COMPONENT development
  ARCHIVE COMPONENT development
  FILE_SET HEADERS COMPONENT development)
if(TARGET cpodes_hidden)
  install(TARGETS cpodes_hidden EXPORT cpodesTargets)
endif()
install(
  EXPORT cpodesTargets
  NAMESPACE cpodes::
  DESTINATION "${cpodes_package_dir}"
  COMPONENT development)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT libraries)

configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/cpodesConfig.cmake.in" "${PROJECT_BINARY_DIR}/cpodesConfig.cmake"
  INSTALL_DESTINATION "${cpodes_package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/cpodesConfigVersion.cmake"
                                 COMPATIBILITY SameMajorVersion)
install(
  FILES "${PROJECT_BINARY_DIR}/cpodesConfig.cmake" "${PROJECT_BINARY_DIR}/cpodesConfigVersion.cmake"
        "${PROJECT_SOURCE_DIR}/cmake/FindCHOLMOD.cmake" "${PROJECT_SOURCE_DIR}/cmake/FindKLU.cmake"
        "${PROJECT_SOURCE_DIR}/cmake/CpodesSuiteSparse.cmake"
  DESTINATION "${cpodes_package_dir}"
  COMPONENT development)

# The build tree is a package, too: -D CMAKE_PREFIX_PATH=<it>
export(EXPORT cpodesTargets NAMESPACE cpodes:: FILE "${PROJECT_BINARY_DIR}/cpodesTargets.cmake")
foreach(module IN ITEMS FindCHOLMOD.cmake FindKLU.cmake CpodesSuiteSparse.cmake)
  configure_file("${PROJECT_SOURCE_DIR}/cmake/${module}" "${PROJECT_BINARY_DIR}/${module}" COPYONLY)
endforeach()

# --- pkg-config: neither SUNDIALS nor SuiteSparse 5 has .pc files, so their libraries are named ---

# Appends " <flag><dir>" to the variable for each directory that the compiler does not search anyway.
function(cpodes_pc_append variable flag implicit)
  set(flags "${${variable}}")
  foreach(dir IN LISTS ARGN)
    cmake_path(NORMAL_PATH dir)
    if(NOT dir IN_LIST implicit AND NOT " ${flags} " MATCHES " ${flag}${dir} ")
      string(APPEND flags " ${flag}${dir}")
    endif()
  endforeach()
  set(${variable} "${flags}" PARENT_SCOPE)
endfunction()

# Appends " -l<name>" for each library, with " -L<dir>" where it needs one, and what is no file as it stands.
function(cpodes_pc_append_libraries variable)
  set(flags "${${variable}}")
  foreach(library IN LISTS ARGN)
    if(IS_ABSOLUTE "${library}")
      cmake_path(GET library PARENT_PATH dir)
      cmake_path(GET library STEM name)
      cpodes_pc_append(flags -L "${CMAKE_C_IMPLICIT_LINK_DIRECTORIES}" "${dir}")
      string(REGEX REPLACE "^lib" "-l" library "${name}")
    endif()
    string(APPEND flags " ${library}")
  endforeach()
  set(${variable} "${flags}" PARENT_SCOPE)
endfunction()

get_target_property(cvodes_includes ${cpodes_cvodes_target} INTERFACE_INCLUDE_DIRECTORIES)
if(cpodes_sundials_has_mpi)
  get_target_property(mpi_includes MPI::MPI_C INTERFACE_INCLUDE_DIRECTORIES)
  list(APPEND cvodes_includes ${mpi_includes})
endif()
cpodes_pc_append(cpodes_pc_cflags -I "${CMAKE_C_IMPLICIT_INCLUDE_DIRECTORIES}" ${cvodes_includes})

cpodes_pc_append(cpodes_pc_libs -L "${CMAKE_C_IMPLICIT_LINK_DIRECTORIES}" "${cpodes_sundials_libdir}")
foreach(component IN LISTS cpodes_sundials_components)
  string(APPEND cpodes_pc_libs " -lsundials_${component}")
endforeach()
if(cpodes_sundials_has_mpi) # a program that creates a context names MPI's null communicator
  get_target_property(mpi_libraries MPI::MPI_C INTERFACE_LINK_LIBRARIES)
  cpodes_pc_append_libraries(cpodes_pc_libs ${mpi_libraries})
endif()
string(APPEND cpodes_pc_libs " -lm")

set(cpodes_pc_libs_private
    " -lcholmod -lklu -lbtf -lamd -lcamd -lcolamd -lccolamd -lsuitesparseconfig")
cpodes_pc_append_libraries(cpodes_pc_libs_private ${LAPACK_LIBRARIES})
# of a static CHOLMOD; of a static LAPACK that gfortran compiled
foreach(runtime IN ITEMS metis gomp gfortran quadmath)
  find_library(CPODES_${runtime}_LIBRARY ${runtime} PATHS ${CMAKE_C_IMPLICIT_LINK_DIRECTORIES})
  mark_as_advanced(CPODES_${runtime}_LIBRARY)
  if(CPODES_${runtime}_LIBRARY)
    string(APPEND cpodes_pc_libs_private " -l${runtime}")
  endif()
endforeach()
string(APPEND cpodes_pc_libs_private " -lm")

set(cpodes_pc_licence "BSD-3-Clause AND LGPL-2.1-or-later") # of CHOLMOD, KLU and BTF: doc/licences.rst
if(CPODES_GPL)
  string(APPEND cpodes_pc_licence " AND GPL-2.0-or-later")
endif()

set(cpodes_pc_formats "")
if(CPODES_YAML_LIBRARY)
  set(cpodes_pc_formats " -lyaml")
endif()
if(CPODES_XML_LIBRARY)
  string(APPEND cpodes_pc_formats " -lxml2")
endif()

# The prefix is found from the file's own place, so that an installed tree can be moved.
set(cpodes_pc_dir "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig")
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY "${cpodes_pc_dir}" OUTPUT_VARIABLE
           cpodes_pc_prefix)
foreach(name IN ITEMS cpodes cpodes_language cpodes_bodies cpodes_session cpodes_contact cpodes_plugin)
  configure_file("${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in" "${PROJECT_BINARY_DIR}/${name}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${name}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
          COMPONENT development)
endforeach()
