"""Commands in the guide, run as they stand on the page, print what the page shows.

A block of code-block:: console has commands after "$ " and lines of their output. A line "..." stands for any lines. Numbers may
differ as those of two machines do: counts by a fifth, and others by a half, since they are errors for the most part."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ["tutorial_first.rst", "troubleshooting.rst"]
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?!\w)")


def blocks(text):
    for block in re.findall(r"\.\. code-block:: console\n\n((?:   .*\n|\n)+)", text):
        lines = [line[3:] for line in block.splitlines()]
        starts = [i for i, line in enumerate(lines) if line.startswith("$ ")]
        for begin, end in zip(starts, starts[1:] + [len(lines)]):
            yield lines[begin][2:], [line.rstrip() for line in lines[begin + 1:end] if line.strip()]


def alike(shown, printed):
    if NUMBER.sub("#", shown).split() != NUMBER.sub("#", printed).split():
        return False
    for a, b in zip(NUMBER.findall(shown), NUMBER.findall(printed)):
        a, b = float(a), float(b)
        part = 0.2 if a.is_integer() and abs(a) >= 10 else 0.5
        if abs(a - b) > part * max(abs(a), abs(b)) + 1e-6:
            return False
    return True


def without_time(line):
    return line.rsplit(None, 1)[0] if re.match("(bdf|adams|dop853|radau) ", line) else line # a row of `cpodes compare`


class Pages(unittest.TestCase):
    def follow(self, command, shown, printed):
        position, anywhere = 0, False
        for line in shown:
            if line == "...":
                anywhere = True
                continue
            found = next((i for i in range(position, len(printed) if anywhere else min(position + 1, len(printed)))
                          if alike(*map(without_time, (line, printed[i])))), None)
            self.assertIsNotNone(found, f"$ {command}\nshows   {line!r}\nprints\n" + "\n".join(printed))
            position, anywhere = found + 1, False

    def test_commands_print_what_the_page_shows(self):
        for page in PAGES:
            commands = list(blocks((ROOT / "doc" / page).read_text()))
            self.assertTrue(commands, page)
            with tempfile.TemporaryDirectory() as folder:
                for file in (ROOT / "examples" / "mechanisms").iterdir():
                    shutil.copy(file, folder)
                for command, shown in commands:
                    with self.subTest(page=page, command=command):
                        self.assertTrue(command.startswith("cpodes "))
                        run = subprocess.run([RUNNER, *command.split()[1:]], cwd=folder, capture_output=True, text=True,
                                             timeout=60, env=dict(os.environ, LC_ALL="C"))
                        self.assertEqual(run.returncode, 0, run.stderr)
                        self.follow(command, shown, [line for line in run.stdout.splitlines() if line.strip()])


if __name__ == "__main__":
    RUNNER = sys.argv.pop(1)
    unittest.main()
