# cpodes_target_defaults(target): language, warnings, sanitizers and coverage of one of our targets.
# They go to the target itself, never to its users.

set(cpodes_warnings
    -Wall
    -Wextra
    -Wpedantic
    -Wshadow
    -Wconversion
    -Wno-sign-conversion # sunindextype is signed, sizes of memory are not
    -Wformat=2
    -Wwrite-strings
    -Wvla
    -Wundef)
set(cpodes_warnings_c -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition)
if(CMAKE_C_COMPILER_ID MATCHES Clang) # more than GCC means by -Wextra
  list(
    APPEND
    cpodes_warnings_c
    -Wno-enum-float-conversion # sizes are constants of enumerations, also in formulas
    -Wno-missing-field-initializers) # the rest of an initialiser with names is zero
endif()

function(cpodes_target_defaults target)
  set_target_properties(
    ${target}
    PROPERTIES C_STANDARD 11
               C_STANDARD_REQUIRED ON
               CXX_STANDARD 17
               CXX_STANDARD_REQUIRED ON
               CXX_EXTENSIONS OFF)
  target_compile_options(${target} PRIVATE ${cpodes_warnings}
                                           "$<$<COMPILE_LANGUAGE:C>:${cpodes_warnings_c}>")
  target_compile_definitions(${target} PRIVATE CPODES_GPL=$<BOOL:${CPODES_GPL}>)
  if(CPODES_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(CPODES_SANITIZE)
    set(sanitize -fsanitize=${CPODES_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_compile_options(${target} PRIVATE ${sanitize})
    target_link_options(${target} PRIVATE ${sanitize})
  endif()
  if(CPODES_COVERAGE)
    # atomic: threads that count at the same time leave negative counts, at which gcovr stops
    target_compile_options(${target} PRIVATE --coverage -fprofile-update=atomic)
    target_compile_definitions(${target} PRIVATE CPODES_COVERAGE) # one version of each function
    target_link_options(${target} PRIVATE --coverage)
  endif()
endfunction()
