# cpodes_add_library(name [ON library] source...): a library on the public interface of libcpodes and base/object.h, or on another such library, with the header
# cpodes/cpodes_<name>.h: from the same objects, the targets cpodes_<name> (shared) and cpodes_<name>_static, for users cpodes::<name> and
# cpodes::<name>_static.
function(cpodes_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "ON" "")
  set(below cpodes)
  if(arg_ON)
    set(below ${arg_ON})
  endif()
  add_library(cpodes_${name}_objects OBJECT ${arg_UNPARSED_ARGUMENTS})
  cpodes_target_defaults(cpodes_${name}_objects)
  set_target_properties(
    cpodes_${name}_objects
    PROPERTIES C_EXTENSIONS OFF
               C_VISIBILITY_PRESET hidden
               POSITION_INDEPENDENT_CODE ON)
  target_include_directories(cpodes_${name}_objects PRIVATE "${PROJECT_SOURCE_DIR}") # cpodes/base/object.h
  target_link_libraries(cpodes_${name}_objects PRIVATE cpodes::${below})
  add_library(cpodes_${name} SHARED $<TARGET_OBJECTS:cpodes_${name}_objects>)
  add_library(cpodes_${name}_static STATIC $<TARGET_OBJECTS:cpodes_${name}_objects>)
  foreach(suffix IN ITEMS "" _static)
    set(target cpodes_${name}${suffix})
    add_library(cpodes::${name}${suffix} ALIAS ${target})
    cpodes_target_defaults(${target})
    set_target_properties(
      ${target}
      PROPERTIES EXPORT_NAME ${name}${suffix}
                 OUTPUT_NAME cpodes_${name}
                 LINKER_LANGUAGE C)
    target_sources(
      ${target} PUBLIC FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/include" FILES
                       "${PROJECT_SOURCE_DIR}/include/cpodes/cpodes_${name}.h")
    target_link_libraries(${target} PUBLIC cpodes::${below}${suffix})
  endforeach()
  set_target_properties(
    cpodes_${name}
    PROPERTIES VERSION ${PROJECT_VERSION}
               SOVERSION ${PROJECT_VERSION_MAJOR}
               INSTALL_RPATH "$ORIGIN" # libcpodes, wherever the tree is moved
               INSTALL_RPATH_USE_LINK_PATH ON)
  if(NOT CPODES_SANITIZE AND NOT APPLE)
    target_link_options(cpodes_${name} PRIVATE LINKER:--no-undefined)
  endif()
endfunction()
