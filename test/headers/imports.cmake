# Fails if the shared library LIBRARY calls a function of SuiteSparse that may be under the GPL. (CPODES_GPL=ON adds no call:
# CHOLMOD itself calls its supernodal functions.)
execute_process(COMMAND "${NM}" --dynamic --undefined-only --format=posix "${LIBRARY}"
                OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" symbols "${symbols}")
list(FILTER symbols INCLUDE REGEX "^(cholmod|klu|btf|amd|camd|colamd|ccolamd|umfpack|spqr|SuiteSparse)")
list(LENGTH symbols count)
set(core "start|finish|allocate_(dense|sparse|factor)|copy_factor|zeros|free_(dense|sparse|factor)|transpose|aat|add")
set(cholesky "analyze|factorize_p|solve2")
list(FILTER symbols EXCLUDE REGEX "^cholmod_l_(${core}|${cholesky}) ")
list(FILTER symbols EXCLUDE REGEX "^(klu|btf|amd|colamd)_|^SuiteSparse_config")
if(symbols OR NOT count)
  message(FATAL_ERROR "${LIBRARY} calls ${count} functions of SuiteSparse; maybe under the GPL: ${symbols}")
endif()
