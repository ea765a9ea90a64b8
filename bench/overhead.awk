# Splits the instructions of a callgrind profile (--compress-strings=no --compress-pos=no) among the callers:
#
#   user     functions of the program itself that the libraries call
#   cpodes   libcpodes, and its calls: vectors, LAPACK, libm, and queries of CVODES
#   CVODES   the rest of CVode, including the solvers inside the projecting one
#
# A call from one of them to another moves its inclusive cost from the caller to the callee. Everything else
# (N_V..., BLAS, libc) belongs to its caller. Prints "cpodes CVODES user".

function owner_of(object, fn) {
  if (object ~ /libcpodes/) return "cpodes"
  if (object == program) return "user"
  if (object ~ /libsundials/ && fn !~ /^(N_V|SUNMat|SUNDense|SUNSparse|SUNDlsMat|SUNContext)/) return "CVODES"
  return ""
}

# cpodes returns control to CVODES by these, and by the functions that wrap its own; all other calls are its own queries
function is_question(fn, callee) {
  return fn !~ /^(keptSystem|finiteTest|residual|setUp|solveLinear)$/ && callee !~ /^(CVode|SUNNonlinSolSolve|SUNNonlinSolSetup)('[0-9]+)?$/
}

/^cmd:/ { program = $2 }
/^ob=/ { object = substr($0, 4) }
/^fn=/ { fn = substr($0, 4) }
/^cob=/ { callee_object = substr($0, 5) }
/^cfn=/ { callee = substr($0, 5) }
/^calls=/ {
  if ((getline) <= 0) exit 1
  from = owner_of(object, fn)
  to = owner_of(callee_object == "" ? object : callee_object, callee)
  callee_object = ""
  if (from == to || from == "" || to == "" || (from == "cpodes" && to == "CVODES" && is_question(fn, callee))) next
  if (from != "user") cost[from] -= $2
  cost[to] += $2
}
END { printf "%d %d %d\n", cost["cpodes"], cost["CVODES"], cost["user"] }
