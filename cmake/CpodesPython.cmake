# The package of Python, built with the library of this tree and installed where the interpreter looks for packages of
# the system: CPODES_PYTHON_DIR, below the prefix.
find_program(CPODES_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(CPODES_PYTHON python3 REQUIRED)
mark_as_advanced(CPODES_PYTHON)
if(NOT CPODES_PYTHON_DIR)
  execute_process(
    COMMAND
      "${CPODES_PYTHON}" -c
      "import sysconfig as s; n = 'deb_system' if 'deb_system' in s.get_scheme_names() else 'posix_prefix'; print(s.get_path('platlib', n, vars={'platbase': '', 'base': ''}).lstrip('/'))"
    OUTPUT_VARIABLE dir OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set(CPODES_PYTHON_DIR "${dir}" CACHE STRING "Where the package of Python is installed, below the prefix")
endif()

set(stage "${PROJECT_BINARY_DIR}/python/stage") # the library as the package finds it, by pkg-config
set(package "${PROJECT_BINARY_DIR}/python/package")
set(rpath "")
if(NOT CMAKE_SKIP_INSTALL_RPATH)
  cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}/${CPODES_PYTHON_DIR}/cpodes"
             OUTPUT_VARIABLE rpath)
  string(PREPEND rpath "$ORIGIN/")
endif()
add_custom_target(
  python_package ALL
  COMMAND "${CMAKE_COMMAND}" -E rm -rf "${package}"
  COMMAND "${CMAKE_COMMAND}" --install "${PROJECT_BINARY_DIR}" --prefix "${stage}" --component libraries
  COMMAND "${CMAKE_COMMAND}" --install "${PROJECT_BINARY_DIR}" --prefix "${stage}" --component development
  COMMAND
    "${CMAKE_COMMAND}" -E env "PKG_CONFIG_PATH=${stage}/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "CPODES_RPATH=${rpath}"
    "${CPODES_PYTHON}" -m pip install --quiet --no-build-isolation --no-deps --no-compile --root-user-action=ignore
    --disable-pip-version-check --target "${package}" "${PROJECT_SOURCE_DIR}/python"
  DEPENDS cpodes cpodes_static cpodes_language cpodes_language_static cpodes_bodies cpodes_bodies_static cpodes_session cpodes_session_static cpodes_contact cpodes_contact_static cpodes_plugin
          cpodes_plugin_static
  VERBATIM)
install(DIRECTORY "${package}/" DESTINATION "${CPODES_PYTHON_DIR}" COMPONENT python)
