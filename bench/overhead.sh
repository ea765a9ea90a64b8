#!/usr/bin/env bash
# The cost of cpodes per step compared with that of CVODES, in instructions that valgrind's callgrind counts, for the
# pendulum (overhead.c). Exit code 1: a ratio of form "projector" is above the bound.
#
#   overhead.sh [directory]      directory: the build folder, default build/release
#
# cpodes: the library with the vector operations, LAPACK calls and queries of CVODES that it makes, without the user's
# functions. CVODES: the rest of CVode, including its nonlinear and linear solvers. With CPMech the right-hand side and
# (BDF) the solution of Newton's systems belong to cpodes, with a projector to the user and to CVODES; they have
# separate columns. The last lines compare all instructions of DOP853, including the user's functions, for f, c and G
# by hand and for a CPMech, from the second step on.
set -eu
here=$(realpath "$(dirname "$0")")
program=$(realpath -e "${1-$here/../build/release}/bench/overhead")
bound=0.5
profile=$(mktemp)
trap 'rm -f "$profile"' EXIT
export LD_BIND_NOW=1 # otherwise the first call of each function includes the loader
# memset and memcpy use `rep stosb` and `rep movsb` from 2 and 4 KB on, of which callgrind counts each byte
export GLIBC_TUNABLES=glibc.cpu.x86_rep_stosb_threshold=1000000000:glibc.cpu.x86_rep_movsb_threshold=1000000000

# count METHOD FORM TOGGLE: "cpodes CVODES user" within the functions TOGGLE
count() {
  valgrind --tool=callgrind --callgrind-out-file="$profile" --compress-strings=no --compress-pos=no \
    --toggle-collect="$3" "$program" "$1" "$2" >/dev/null 2>&1
  awk -f "$here/overhead.awk" "$profile"
}

status=0
printf '%-6s %-10s %7s   %-25s %7s   %s\n' '' '' '' 'instructions per step' '' ''
printf '%-6s %-10s %7s %9s %9s %7s %9s %9s %10s\n' method form steps cpodes CVODES ratio f Newton \
  'projection / CVODES'
for method in bdf adams; do
  for form in projector mechanics; do
    read -r steps _ < <("$program" "$method" "$form")
    read -r cpodes cvodes _ < <(count "$method" "$form" CPIntegratorEvolve)
    [ "$cpodes" -gt 0 ] || { echo 'overhead.sh: no instructions within CPIntegratorEvolve' >&2 && exit 1; }
    read -r f _ < <(count "$method" "$form" CPMechRhs)
    newton=0
    for function in solverSetup solverSolve linearSystem; do
      read -r part _ < <(count "$method" "$form" $function)
      newton=$((newton + part))
    done
    awk -v m="$method" -v form="$form" -v n="$steps" -v c="$cpodes" -v v="$cvodes" -v f="$f" -v w="$newton" \
      'BEGIN { printf "%-6s %-10s %7d %9.0f %9.0f %7.2f %9.0f %9.0f %10.2f\n", m, form, n, c / n, v / n, c / v,
               f / n, w / n, (c - f - w) / v }'
    [ "$form" != projector ] || awk -v c="$cpodes" -v v="$cvodes" -v b=$bound 'BEGIN { exit c > b * v }' || status=1
  done
done

# total FORM MECHANISM: instructions of each step of DOP853 but the first one, which includes the start
total() {
  steps=$(valgrind --tool=callgrind --callgrind-out-file="$profile" --toggle-collect=remaining_steps \
    "$program" dop853 "$1" "$2" 2>/dev/null)
  awk -v n="${steps%% *}" '/^totals:/ { print $2 / (n - 1) }' "$profile"
}
printf '\ndop853: instructions per step\n%-12s %9s %9s %7s\n' mechanism 'by hand' CPMech ratio
for mechanism in pendulum slider_crank car_axis chain10 chain100; do
  awk -v name=$mechanism -v h="$(total projector $mechanism)" -v m="$(total mechanics $mechanism)" \
    'BEGIN { printf "%-12s %9.0f %9.0f %7.2f\n", name, h, m, m / h }'
done
exit $status
