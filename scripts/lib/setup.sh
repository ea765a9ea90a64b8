# shellcheck shell=bash disable=SC2034
# Sourced by the scripts: changes to the top of the tree, and defines the function that looks for the packages of a job.

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1

# Debian's packages, by job
packages_build='gcc libc6-dev cmake ninja-build pkg-config libsundials-dev libsuitesparse-dev liblapack-dev libopenblas0-serial libjansson-dev libyaml-dev libxml2-dev'
packages_plot='gnuplot-nox'
packages_python='python3'
packages_numpy='python3-dev python3-pip python3-venv python3-setuptools python3-wheel python3-cffi python3-numpy python3-scipy python3-matplotlib python3-numba python3-sympy python3-pytest python3-pytest-xdist'
packages_browser='chromium chromium-driver python3-selenium fonts-dejavu-core'
packages_test='g++ pkg-config check locales libopenmpi-dev libgsl-dev python3 zsh man-db'
packages_sanitizers='util-linux'
packages_clang='clang-14 libclang-rt-14-dev libomp-14-dev'
packages_valgrind='valgrind libblas3'
packages_coverage='gcovr'
packages_format='git clang-format-14'
packages_simbody='libsimbody-dev g++ pkg-config check'
packages_package='build-essential debhelper dh-python doxygen libjs-mathjax lintian pybuild-plugin-pyproject python3-breathe python3-cffi python3-dev python3-setuptools python3-sphinx python3-wheel' # with those of the job build: debian/control
packages_bare='debootstrap'
packages_abi='abigail-tools python3'
packages_doc='doxygen python3-sphinx python3-breathe libjs-mathjax'

# The same for the user, if there is no apt
names_build='a C11 compiler, CMake >= 3.25, Ninja, SUNDIALS 6.4 to 7.x (CVODES, ARKODE), SuiteSparse (CHOLMOD, KLU), LAPACK (of OpenBLAS if possible), Jansson, libyaml, libxml2, pkg-config'
names_plot='gnuplot (with its SVG, pngcairo and pdfcairo terminals)'
names_python='Python 3'
names_numpy='Python 3.9 with headers, pip, venv, setuptools, cffi, numpy, pytest; if they are there, scipy, matplotlib, numba, sympy, pytest-xdist'
names_browser='Chromium, its WebDriver, Selenium for Python 3 (else the tests of reports are left out)'
names_test='a C++17 compiler, pkg-config, Check >= 0.15; if they are there, MPI, GSL, Python 3, zsh and man'
names_sanitizers='a compiler with -fsanitize=address,undefined and -fsanitize=thread'
names_clang='clang 14 with its sanitizers, libFuzzer and OpenMP'
names_valgrind='valgrind, the reference BLAS (libblas3)'
names_coverage='gcovr'
names_format='git, clang-format 14'
names_simbody='Simbody 3.7, a C++17 compiler, pkg-config, Check >= 0.15'
names_package='debhelper, lintian (packages of Debian are made on Debian only)'
names_bare='debootstrap'
names_abi='abidw of libabigail, Python 3'
names_doc='Doxygen, Sphinx, Breathe, and MathJax 2 in /usr/share/javascript/mathjax'

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

# apt COMMAND...: runs apt-get and waits up to ten minutes for another process that holds a lock. DPkg::Lock::Timeout
# applies only to dpkg's lock. With the locks of the package lists and of the downloads apt-get fails at once, hence the
# loop.
apt() {
  local deadline=$((SECONDS + 600)) said=''
  until said=$(as_root env LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 -qq "$@" \
    2>&1 >/dev/null </dev/null); do
    if [[ $said != *'Could not get lock'* ]] || [ $SECONDS -ge $deadline ]; then
      printf '%s\n' "$said" >&2
      return 1
    fi
    echo 'Another process is installing packages; waiting for it.'
    sleep 5
  done
}

# need job...: the packages of these jobs must be there. With install=1 (--install) missing ones are installed, on a terminal
# after a question. Otherwise the script ends with status 2 and one line, the command to type. If there is no apt, need lists
# what is needed.
need() {
  local job list missing='' name answer='' sudo=''
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    echo 'There is no apt here. If something is not found below, please install:'
    for job in "$@"; do name=names_$job && echo "  ${!name}"; done
    return 0
  fi
  for job in "$@"; do
    list=packages_$job
    for name in ${!list}; do
      [[ " $missing " == *" $name "* ]] || dpkg-query -W -f '${Status}\n' "$name" 2>/dev/null | grep -q ' installed$' || missing+=" $name"
    done
  done
  [ -z "$missing" ] && return 0
  if [ -z "${install-}" ] && [ -t 0 ] && [ -t 2 ]; then
    read -r -p "Install by apt:$missing? [y/N] " answer
    [[ $answer == [yY]* ]] && install=1
  fi
  [ "$(id -u)" = 0 ] || sudo='sudo '
  if [ -z "${install-}" ]; then
    echo "$0 needs packages, which --install or this command installs: ${sudo}apt-get install --no-install-recommends$missing" >&2
    exit 2
  fi
  echo "Installing:$missing"
  # shellcheck disable=SC2086 # a list of words
  apt update && apt install -y --no-install-recommends $missing || exit 1
}
