"""scripts/test: its table of stages, and arguments that it and scripts/demo refuse before anything is built."""
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "test"


def run(*arguments, script=SCRIPT, **environment):
    done = subprocess.run([script, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL, env=os.environ | environment)
    return done.returncode, done.stdout, done.stderr


class Stages(unittest.TestCase):
    def setUp(self):
        self.stages = re.findall(r"^  --(\S+) +(quick|all|long) +(\d+)  \S", run("--help")[1], re.M)

    def budget(self, *sets):
        return sum(int(seconds) for _, part, seconds in self.stages if part in sets)

    def test_quick_stages_fit_into_5_minutes_and_those_of_ci_into_35_with_the_packages(self):
        self.assertLessEqual(self.budget("quick"), 250)
        self.assertLessEqual(self.budget("quick", "all"), 1900)

    def test_every_stage_of_the_table_has_its_function(self):
        functions = re.findall(r"^stage_([\w-]+)\(\)", SCRIPT.read_text(), re.M)
        self.assertEqual(sorted(functions), sorted(name for name, _, _ in self.stages))
        self.assertGreater(len(functions), 8)

    def test_wrong_arguments_have_status_2_and_one_line_that_names_them(self):
        with tempfile.NamedTemporaryFile() as file:
            for arguments in (["--bogus"], ["dev"], ["--"], ["-x"], [""], ["--dev", "--dve"], ["--sundials"],
                              ["--sundials", ""], ["--sundials", "/no/such/folder"], ["--sundials", file.name]):
                with self.subTest(arguments):
                    status, output, message = run(*arguments)
                    self.assertEqual((status, output), (2, ""))
                    self.assertEqual(message.count("\n"), 1)
                    self.assertIn(arguments[-1], message)

    def test_packages_are_installed_only_with_the_option(self):
        with tempfile.TemporaryDirectory() as folder:
            calls = Path(folder) / "calls"
            for name, text in {"dpkg-query": "echo unknown ok not-installed", "sudo": '"$@"', "apt-get": f'echo "$@" >>{calls}'}.items():
                (Path(folder) / name).write_text(f"#!/bin/sh\n{text}\n")
                (Path(folder) / name).chmod(0o755)
            path = f"{folder}:{os.environ['PATH']}"
            for script, arguments in ((SCRIPT, ["--rooms"]), (SCRIPT.parent / "demo", [folder])):
                status, output, message = run(*arguments, script=script, PATH=path)
                self.assertEqual((status, output), (2, ""))
                self.assertRegex(message, r"\A.*apt-get install --no-install-recommends( [\w.+-]+)+\n\Z")
                self.assertFalse(calls.exists())
            status, output, message = run("--rooms", "--install", PATH=path)
            self.assertEqual((status, message), (0, ""))
            self.assertIn("Installing: python3\n", output)
            self.assertEqual([re.sub("^.*-qq ", "", call) for call in calls.read_text().splitlines()],
                             ["update", "install -y --no-install-recommends python3"])

    def test_the_demo_refuses_what_is_no_folder(self):
        for arguments, status in {("--fast",): 2, ("a", "b"): 2, (str(SCRIPT),): 1}.items():
            with self.subTest(arguments):
                done = run(*arguments, script=SCRIPT.parent / "demo")
                self.assertEqual(done[:2], (status, ""))
                self.assertEqual(done[2].count("\n"), 1)
                self.assertIn(arguments[-1], done[2])


if __name__ == "__main__":
    unittest.main()
