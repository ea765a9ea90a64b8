"""Completion of commands, options, models, methods, parameters and files, in the shells."""

import os
import pathlib
import pty
import select
import shutil
import subprocess
import time
import unittest

from runner import MODELS, PROGRAM, RunnerTest, cpodes, needs_terminal

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "runner" / "completion"
BASH, ZSH = shutil.which("bash"), shutil.which("zsh")

# The function alone: words up to the cursor, and the possible completions. "=" is a word, since readline breaks words
# there.
PROBE = """
source "$1"; shift
compopt() { :; }
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_cpodes
printf '%s\\n' "${COMPREPLY[@]}"
"""


def methods():
    return cpodes("list", "--methods", "--names").stdout.split()


@unittest.skipUnless(BASH, "no bash")
class Words(RunnerTest):
    def complete(self, *words):
        command = [BASH, "-c", PROBE, "bash", FOLDER / "cpodes.bash", PROGRAM, *words]
        probe = subprocess.run(command, capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(probe.stderr, "")
        return probe.stdout.split()

    def test_commands_are_those_of_the_help(self):
        self.assertEqual(self.complete(""), "list describe run compare check convert new".split())
        self.assertEqual(self.complete("c"), ["compare", "check", "convert"])

    def test_options_are_those_of_the_help(self):
        options = self.complete("run", "-")
        for option in "--method= --rtol= --csv= --report= --quiet --help".split():
            self.assertIn(option, options)
        self.assertEqual(self.complete("list", "--m"), ["--methods"])
        self.assertEqual(self.complete("check", "pendulum", "--time"), ["--time-limit="])

    def test_a_model_is_completed_wherever_it_stands(self):
        self.assertEqual(self.complete("run", ""), MODELS)
        for before in [], ["-q"], ["-m", "bdf"], ["--method", "bdf"], ["--method", "=", "bdf"], ["-p", "L", "=", "2"]:
            self.assertEqual(self.complete("run", *before, "pend"), ["pendulum"], before)

    def test_there_is_one_model_only(self):
        self.assertEqual(self.complete("run", "pendulum", "a"), [])
        self.assertEqual(self.complete("new", "a"), [])

    def test_shared_objects_and_folders_are_models(self):
        (self.folder / "rod.so").touch()
        (self.folder / "rod.c").touch()
        (self.folder / "rods").mkdir()
        self.assertEqual(sorted(self.complete("check", "rod")), ["rod.so", "rods"])

    def test_values_are_completed_after_each_form_of_an_option(self):
        for before in ["-m"], ["--method"], ["--method", "="]:
            self.assertEqual(self.complete("run", *before, "do"), ["dop853", "dopri5"])
        self.assertEqual(self.complete("run", "--method", "="), methods())
        self.assertEqual(self.complete("run", "--method=do"), ["dop853", "dopri5"])
        self.assertIn("kkt", self.complete("run", "--linsol", ""))
        self.assertIn("kinetic", self.complete("run", "--norm", ""))
        self.assertEqual(self.complete("run", "--form", "o"), ["ode"])

    def test_the_last_of_several_methods_is_completed(self):
        self.assertEqual(self.complete("compare", "--methods", "="), methods())
        self.assertEqual(self.complete("compare", "-m", "bdf,do"), ["bdf,dop853", "bdf,dopri5"])

    def test_every_value_is_one_that_the_program_takes(self):
        # of dense and sparse models, each in one of the forms
        models = ["pendulum"], ["chain", "-p", "n=30"]
        for option in "--linsol", "--norm", "--form":
            for value in self.complete("run", option, ""):
                runs = (
                    cpodes("run", *model, "--t-end", 0.01, "--form", form, option, value, "--quiet").returncode
                    for model in models
                    for form in ("mech", "ode")
                )
                self.assertIn(0, runs, f"{option} {value}")

    def test_parameters_are_those_of_the_model(self):
        self.assertEqual(self.complete("run", "pendulum", "-p", ""), ["L=", "g="])
        self.assertEqual(self.complete("run", "--quiet", "pendulum", "--param", "=", "L"), ["L="])
        self.assertEqual(self.complete("run", "-p", ""), [])

    def test_files_are_completed(self):
        (self.folder / "out.csv").touch()
        (self.folder / "outer").mkdir()
        self.assertEqual(sorted(self.complete("run", "pendulum", "--csv", "ou")), ["out.csv", "outer"])
        self.assertEqual(self.complete("new", "a", "--directory", "ou"), ["outer"])


@needs_terminal
class Terminal(RunnerTest):
    """A shell on a terminal into which keys are typed"""

    def start(self, *command):
        keys = self.folder / "inputrc"  # not /dev/null, which somebody may have replaced by a file with key bindings
        keys.touch()
        pid, self.terminal = pty.fork()
        if pid == 0:
            path = f"{pathlib.Path(PROGRAM).parent}:{os.environ['PATH']}"
            os.chdir(self.folder)
            os.execve(command[0], command,
                      os.environ | {"PATH": path, "TERM": "dumb", "INPUTRC": str(keys), "PS1": "your keys> "})
        self.addCleanup(os.waitpid, pid, 0)
        self.addCleanup(os.close, self.terminal)  # comes first, since it ends the shell
        self.type_and_wait("", "your keys> ")  # Keys that arrive before the shell has set up its terminal may be lost.

    def type_and_wait(self, keys, wanted, seconds=20):
        """Does the text appear in time?"""
        os.write(self.terminal, keys.encode())
        seen, end = "", time.monotonic() + seconds
        while wanted not in seen and time.monotonic() < end:
            if select.select([self.terminal], [], [], 0.2)[0]:
                seen += os.read(self.terminal, 4096).decode(errors="replace")
        self.assertIn(wanted, seen)

    def try_keys(self):
        # $((...)): the answer appears, and not the echo of the keys
        self.type_and_wait("cpodes describe pendu\t--parameters && echo a$((1 + 1))z\n", "a2z")
        self.type_and_wait("cpodes run knife\t--meth\tadams-n\t-q && echo b$((1 + 1))z\n", "b2z")
        self.type_and_wait("cpodes compare pendulum --methods ad\t,bd\t,dopri\t >/dev/null --to 1e-4 && echo d$((1 + 1))z\n", "d2z")
        self.type_and_wait("cpodes run pendulum -qp L\t2 && echo c$((1 + 1))z\n", "c2z")

    @unittest.skipUnless(BASH, "no bash")
    def test_bash_completes_what_is_typed(self):
        self.start(BASH, "--norc", "--noprofile", "-i")
        self.type_and_wait(f"source '{FOLDER}/cpodes.bash' && echo ready$((1 + 1))\n", "ready2")
        self.try_keys()

    @unittest.skipUnless(ZSH, "no zsh")
    def test_zsh_completes_what_is_typed(self):
        self.start(ZSH, "-f", "-i")
        self.type_and_wait(f"fpath=('{FOLDER}' $fpath); autoload -Uz compinit; compinit -u -D; echo ready$((1 + 1))\n", "ready2")
        self.try_keys()


if __name__ == "__main__":
    unittest.main()
