# CPack's description of the packages of Debian, one for each component of the installation; scripts/package makes them.
if(NOT CMAKE_INSTALL_PREFIX STREQUAL "/usr") # a build tree of the preset "package"
  return()
endif()

set(lib libcpodes${PROJECT_VERSION_MAJOR}) # the name follows the soname
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME cpodes)
string(REPLACE "-" "~" CPACK_PACKAGE_VERSION "${CPODES_VERSION}") # Debian sorts 1.0.0~dev before 1.0.0
set(CPACK_PACKAGE_VENDOR "The cpodes authors")
set(CPACK_PACKAGE_CONTACT "The cpodes authors <authors@cpodes.invalid>")
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL libraries development program guide python)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_BINARY_DIR}/package/finish.cmake")
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}/python/stage/${CMAKE_INSTALL_LIBDIR}")
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# cpodes_package(component package section summary text)
set(cpodes_packages "")
macro(cpodes_package component package section summary text)
  string(TOUPPER ${component} COMPONENT)
  set(CPACK_DEBIAN_${COMPONENT}_PACKAGE_NAME ${package})
  set(CPACK_DEBIAN_${COMPONENT}_PACKAGE_SECTION ${section})
  set(CPACK_COMPONENT_${COMPONENT}_DESCRIPTION "${summary}\n${text}")
  list(APPEND cpodes_packages ${component}=${package})
endmacro()
set(about
    "cpodes integrates differential equations that keep invariants, such as the
motion of mechanisms with closed loops: CVODES of SUNDIALS, and one-step
methods, with every step projected onto the constraints.")
cpodes_package(libraries ${lib} libs "integrators with coordinate projection - libraries"
               "${about}\n.\nThese are the libraries, which programs need at run time.")
cpodes_package(development libcpodes-dev libdevel "integrators with coordinate projection - development files"
               "${about}\n.\nThese are the headers, static libraries, and files for CMake and pkg-config.")
cpodes_package(program cpodes science "runs mechanisms and shows their motion"
               "${about}\n.\nThis is the program, which runs mechanisms from a catalogue, from files, or in\nC, and writes reports.")
cpodes_package(guide cpodes-doc doc "integrators with coordinate projection - guide"
               "${about}\n.\nThis is the guide, for a browser.")
cpodes_package(python python3-cpodes python "integrators with coordinate projection - Python"
               "${about}\n.\nThis is the package of Python 3.")

set(version "${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}")
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_LIBRARIES_PACKAGE_CONTROL_EXTRA "${PROJECT_SOURCE_DIR}/cmake/package/triggers")
set(CPACK_POST_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/cmake/package/triggers.cmake")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "${lib} (= ${version}), libsundials-dev, libsuitesparse-dev, liblapack-dev, libyaml-dev, libxml2-dev")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "cpodes-doc, pkg-config, cmake")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS "${lib} (>= ${version})")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS gnuplot-nox)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "libcpodes-dev, cpodes-doc")
set(CPACK_DEBIAN_GUIDE_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_GUIDE_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_GUIDE_PACKAGE_DEPENDS "libjs-mathjax, libjs-sphinxdoc")
set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS "python3-scipy, python3-matplotlib, python3-sympy, cpodes")
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA "${PROJECT_SOURCE_DIR}/cmake/package/postinst"
                                              "${PROJECT_SOURCE_DIR}/cmake/package/prerm")
if(CPODES_PYTHON_PACKAGE)
  execute_process(
    COMMAND "${CPODES_PYTHON}" -c "import sys; print('python3 (>= 3.%d), python3 (<< 3.%d)' % (sys.version_info[1], sys.version_info[1] + 1))"
    OUTPUT_VARIABLE python OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS
      "${lib} (>= ${version}), ${python}, python3-numpy, python3-cffi-backend")
else()
  list(REMOVE_ITEM CPACK_COMPONENTS_ALL python)
endif()

configure_file("${PROJECT_SOURCE_DIR}/cmake/package/finish.cmake.in" package/finish.cmake @ONLY)
include(CPack)
