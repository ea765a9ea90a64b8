"""scripts/test: its table of stages, and arguments that it and scripts/demo refuse before anything is built."""
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "test"


def run(*arguments, script=SCRIPT):
    done = subprocess.run([script, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL)
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

    def test_the_demo_refuses_what_is_no_folder(self):
        for arguments, status in {("--fast",): 2, ("a", "b"): 2, (str(SCRIPT),): 1}.items():
            with self.subTest(arguments):
                done = run(*arguments, script=SCRIPT.parent / "demo")
                self.assertEqual(done[:2], (status, ""))
                self.assertEqual(done[2].count("\n"), 1)
                self.assertIn(arguments[-1], done[2])


if __name__ == "__main__":
    unittest.main()
