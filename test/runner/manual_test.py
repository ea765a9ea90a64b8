"""The man page agrees with the program."""

import pathlib
import re
import shutil
import subprocess
import unittest

from runner import MODELS, RunnerTest, cpodes

RUNNER = pathlib.Path(__file__).resolve().parents[2] / "runner"
PAGE = RUNNER / "cpodes.1"
COMMON = {"--help", "--usage", "-?"}


def plain(text):
    """Without fonts and escapes"""
    return re.sub(r"\\f.", "", text).replace("\\-", "-")


def sections(text, macro):
    """Title and text of each"""
    parts = re.split(rf"^\.{macro} (.*)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def commands():
    return re.findall(r"^  ([a-z]+) ", cpodes("--help").stdout, re.MULTILINE)


def options_of(command):
    """-m, --method=NAME, ... of its help"""
    options = set()
    for line in cpodes(command, "--help").stdout.splitlines():
        found = re.match(r"(?: {2}(-.), | {6})(--[a-z-]+)(?:=(\S+))?", line)
        if found:
            options |= {found[1], found[2] + (f"={found[3]}" if found[3] else "")} - {None}
    return options - COMMON


def options_in_page(section):
    options = set()
    for entry in re.findall(r"^\.TP\n(.*)$", section, re.MULTILINE):
        options |= {word for word in plain(entry).split(", ") if word.startswith("-")}
    return options


class ManualTest(RunnerTest):
    def setUp(self):
        super().setUp()
        self.page = PAGE.read_text()
        body = sections(self.page, "SH")["COMMANDS"]
        self.commands = {plain(title).split()[1]: text for title, text in sections(body, "SS").items()}

    def test_every_command_has_a_section_and_a_line(self):
        self.assertEqual(sorted(self.commands), sorted(commands()))
        overview = sections(self.page, "SH")["COMMANDS"].split(".SS")[0]
        for line in cpodes("--help").stdout.splitlines():
            found = re.match(r"  ([a-z]+) +(.*)", line)
            if found:
                self.assertIn(f".B {found[1]}\n{found[2]}\n", overview)

    def test_options_are_those_of_the_help(self):
        for command in commands():
            with self.subTest(command):
                self.assertEqual(options_in_page(self.commands[command]), options_of(command))

    def test_exit_statuses_are_those_of_the_program(self):
        header = (RUNNER / "command.h").read_text()
        statuses = re.findall(r"STATUS_[A-Z]+ += (\d+)", header)
        self.assertGreater(len(statuses), 3)
        page = re.findall(r"^\.B (\d+)$", sections(self.page, "SH")['EXIT STATUS'], re.MULTILINE)
        self.assertEqual(page, statuses)

    def assert_in_order(self, words, text):
        places = [text.index(word) for word in words]
        self.assertEqual(places, sorted(places), text)

    def test_columns_of_the_table_are_in_the_order_of_the_program(self):
        header = cpodes("run", "pendulum", "--t-end", 1, "--quiet", "--csv", "-").stdout.splitlines()[0]
        self.assert_in_order(["t,", "x'", "energy", "violation", "lambda"], header)
        entry = plain(self.commands["run"]).split("--csv=FILE")[1].split(".TP")[0]
        self.assert_in_order(["t, ", "state", "quantities", "violations", "multipliers"], entry)

    def test_options_that_change_the_number_of_outputs_are_named(self):
        usage = re.search(r"default 200 \(600 with ([^)]*)\)", " ".join(cpodes("run", "--help").stdout.split()))
        entry = plain(self.commands["run"]).split("--outputs=N")[1].split(".TP")[0]
        for option in usage[1].split(", "):
            self.assertIn(option, entry)

    def test_verdicts_of_a_check_are_named(self):
        source = (RUNNER / "commands" / "check.c").read_text()
        verdicts = re.findall(r'\[MODEL_[A-Z]+\]\s*= "([^"]*)"', source)
        self.assertEqual(len(verdicts), 4)
        for verdict in verdicts:
            self.assertRegex(" ".join(self.commands["check"].split()), rf"\b{verdict}\b")

    def test_names_of_solvers_and_norms_are_in_the_page(self):
        for option in "linsol", "norm":
            text = plain(re.search(rf"--{option}=.*?\.TP", plain(self.page), re.DOTALL)[0])
            for name in cpodes("list", f"--{option}s").stdout.split():
                self.assertRegex(text, rf"\b{name}\b")

    def test_the_models_of_examples_are_there(self):
        for model in re.findall(r"^cpodes (?:run|check|describe|compare) (\S+)", self.page, re.MULTILINE):
            self.assertTrue(model in MODELS or model.endswith(".so"), model)

    @unittest.skipUnless(shutil.which("man"), "no man")
    def test_man_has_nothing_to_complain_about(self):
        shown = subprocess.run(["man", "--warnings=w", "-l", PAGE], capture_output=True, text=True)
        self.assertEqual(shown.returncode, 0)
        self.assertEqual(shown.stderr, "")
        self.assertIn("cpodes list", shown.stdout)


if __name__ == "__main__":
    unittest.main()
