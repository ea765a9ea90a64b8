"""scripts/check_rooms on a small correct tree of two rooms, and on trees with one fault each."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "check_rooms"
MAP = """
The sources are listed in `cpodes/list.txt`, and what they share is in `low.h`.

| room | what it is | public headers | may include |
|---|---|---|---|
| `cpodes/low` | below | `types.h` | |
| `cpodes/high` | above | | low |
"""
TREE = {
    "CONTRIBUTING.md": MAP,
    "cpodes/list.txt": "",
    "include/cpodes/types.h": "#include <stdio.h>\n",
    "cpodes/low/low.h": "#include <cpodes/types.h>\n",
    "cpodes/low/low.c": '#include "low.h"\n',
    "cpodes/high/high.h": "",
    "cpodes/high/high.c": '#include "cpodes/low/low.h"\n#include "high.h"\n',
}


class Rooms(unittest.TestCase):
    def check(self, changes, *arguments):
        """The exit status and the output for TREE with changes; a file that changes to None is absent."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (TREE | changes).items():
                if text is not None:
                    (Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
                    (Path(folder) / name).write_text(text)
            run = subprocess.run([sys.executable, SCRIPT, folder, *arguments], capture_output=True, text=True)
            return run.returncode, run.stdout + run.stderr

    def test_a_tree_that_follows_its_map_passes(self):
        self.assertEqual(self.check({}), (0, "5 files in 2 rooms; every include follows the map.\n"))

    def test_each_fault_is_named(self):
        faults = {
            "cpodes/low/low.c:2: low may not include cpodes/high/high.h (high)":
                {"cpodes/low/low.c": '#include "low.h"\n # include "cpodes/high/high.h"\n'},
            "cpodes/low/low.c:1: low may not include cpodes/high/high.h (high)":
                {"cpodes/low/low.c": '#include "../high/high.h"\n'},
            "cpodes/high/high.h: files include each other: cpodes/high/high.h, cpodes/high/other.h":
                {"cpodes/high/high.h": '#include "other.h"\n', "cpodes/high/other.h": '#include "high.h"\n'},
            "cpodes/high/high.h: files include each other: cpodes/high/high.h":
                {"cpodes/high/high.h": '#include "high.h"\n'},
            "cpodes/high/high.c:1: gone.h is not in the tree": {"cpodes/high/high.c": '#include "gone.h"\n'},
            "cpodes/high/high.c:1: cpodes/gone.h is not in the tree": {"cpodes/high/high.c": "#include <cpodes/gone.h>\n"},
            "cpodes/attic/old.c: is in no room of the map": {"cpodes/attic/old.c": ""},
            "include/cpodes/new.h: is in no room of the map": {"include/cpodes/new.h": ""},
            "CONTRIBUTING.md:2: there is no cpodes/list.txt": {"cpodes/list.txt": None},
            "CONTRIBUTING.md:9: there is no test/gone": {"CONTRIBUTING.md": MAP + "\n`test/gone`\n"},
            "CONTRIBUTING.md:9: there is no gone.c": {"CONTRIBUTING.md": MAP + "\nSee (`gone.c`).\n"},
            "CONTRIBUTING.md:9: there is no scripts/gone": {"CONTRIBUTING.md": MAP + "\n    scripts/gone --all\n"},
        }
        for message, changes in faults.items():
            with self.subTest(message):
                status, output = self.check(changes)
                self.assertEqual(status, 1)
                self.assertIn(message, output.splitlines())

    def test_options_placeholders_and_results_of_building_are_no_files(self):
        line = "\n`cpodes/<name>.c`, `build/dev/x`, `.c`, `--all`, `cpodes/*/low.h`, `cpodes/low/`, `high.c`\n"
        self.assertEqual(self.check({"CONTRIBUTING.md": MAP + line})[0], 0)

    def test_the_longer_path_decides_where_two_rooms_claim_a_file(self):
        inner = MAP + "| `cpodes/low/mech_*` | within low | | low, high |\n"
        changes = {"CONTRIBUTING.md": inner, "cpodes/low/mech_x.c": '#include "cpodes/high/high.h"\n'}
        self.assertEqual(self.check(changes)[0], 0)

    def test_wrong_arguments_and_tables_are_told_apart_from_faults(self):
        for changes in (
            {"CONTRIBUTING.md": None},
            {"CONTRIBUTING.md": "No table.\n"},
            {"CONTRIBUTING.md": MAP.replace("| low |", "| lwo |")},
            {"CONTRIBUTING.md": MAP.replace("| low |", "low |")},
            {name: None for name in TREE if name.endswith((".c", ".h"))},
        ):
            with self.subTest(changes):
                self.assertEqual(self.check(changes)[0], 2)
        self.assertEqual(self.check({}, "twice")[0], 2)


if __name__ == "__main__":
    unittest.main()
