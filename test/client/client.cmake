# Run by CTest. BUILD: build tree of cpodes; WORK: folder to work in; CLIENT: the user's project; LIBDIR:
# library folder in a prefix; SUNDIALS_DIR, SUNDIALS_LIBDIR: where SUNDIALS is; CC, GENERATOR: as for BUILD;
# README: the README; ALL_STATIC: also link everything statically; RUNNER: is there the program cpodes?
# YAML: are files of mechanisms read?

function(run)
  string(JOIN " " line ${ARGN})
  message(STATUS "${line}")
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY "${WORK}" COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")
set(prefix "${WORK}/prefix")
run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${prefix}")

# As a CMake package, with the shared library and with the static one.
foreach(library IN ITEMS cpodes cpodes_static)
  run("${CMAKE_COMMAND}" -S "${CLIENT}" -B "${WORK}/${library}" -G "${GENERATOR}"
      "-DCMAKE_C_COMPILER=${CC}" "-DCMAKE_PREFIX_PATH=${prefix}" "-DSUNDIALS_DIR=${SUNDIALS_DIR}"
      "-DLIBRARY=${library}")
  run("${CMAKE_COMMAND}" --build "${WORK}/${library}")
  run("${WORK}/${library}/pendulum")
  run("${WORK}/${library}/mechanism")
endforeach()

# Through pkg-config, by the line of the README.
set(ENV{PKG_CONFIG_PATH} "${prefix}/${LIBDIR}/pkgconfig")
run(sh -c "${CC} '${CLIENT}/pendulum.c' $(pkg-config --cflags --libs cpodes) -o pendulum")
set(ENV{LD_LIBRARY_PATH} "${prefix}/${LIBDIR}:${SUNDIALS_LIBDIR}")
run("${WORK}/pendulum")
run(sh -c "${CC} '${CLIENT}/mechanism.c' $(pkg-config --cflags --libs cpodes_bodies) -lm -o mechanism")
run("${WORK}/mechanism")

# The README's lines in C: block n of its code is readme_n.h, which a program in readme/ includes.
run(awk "/^```c$/ { n++
                    file = \"readme_\" n \".h\"
                    next }
         /^```/   { file = \"\" }
         file     { print > file }" "${README}")
file(GLOB blocks RELATIVE "${WORK}" "${WORK}/readme_*.h")
if(NOT blocks STREQUAL "readme_1.h;readme_2.h;readme_3.h")
  message(FATAL_ERROR "The README has the blocks of C ${blocks}; each needs a program in test/client/readme")
endif()
file(COPY "${CLIENT}/../../../examples/mechanisms/crank_rocker.yaml" DESTINATION "${WORK}") # the README's, by doc.readme
set(programs equations matrices)
if(YAML)
  list(APPEND programs linkage)
endif()
foreach(program IN LISTS programs)
  run(sh -c "${CC} -I. '${CLIENT}/../readme/${program}.c' $(pkg-config --cflags --libs cpodes_bodies) -lm -o ${program}")
  run("${WORK}/${program}")
endforeach()

if(ALL_STATIC)
  run(sh -c "${CC} -static '${CLIENT}/pendulum.c' $(pkg-config --static --cflags --libs cpodes) -o static")
  run("${WORK}/static")
endif()

# The installed program, with a user's model, by the commands that it prints
if(RUNNER)
  set(ENV{LD_LIBRARY_PATH})
  run("${prefix}/bin/cpodes" new swing)
  run("${CMAKE_COMMAND}" -S swing -B swing/build -G "${GENERATOR}" "-DCMAKE_C_COMPILER=${CC}"
      "-DCMAKE_PREFIX_PATH=${prefix}")
  run("${CMAKE_COMMAND}" --build swing/build)
  run("${prefix}/bin/cpodes" check swing/build/swing.so)
  file(COPY_FILE "${WORK}/swing/build/swing.so" "${WORK}/swing.so")
  run("${prefix}/bin/cpodes" describe swing.so) # in this folder, which is not searched for libraries
  run("${prefix}/bin/cpodes" run swing/build/swing.so --csv swing.csv --param phi2=1)
  run(sh -c "${CC} -shared -fPIC swing/swing.c $(pkg-config --cflags --libs cpodes_plugin) -o swing.so")
  set(ENV{LD_LIBRARY_PATH} "${SUNDIALS_LIBDIR}") # the flags of pkg-config do not put it into the shared object
  run("${prefix}/bin/cpodes" run swing.so)
endif()
