"""scripts/abi refuses wrong arguments before anything is built, and the version is the same everywhere."""
import re
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def first(file, pattern):
    found = re.search(pattern, (ROOT / file).read_text(), re.M)
    return found.group(1) if found else None


class Abi(unittest.TestCase):
    def test_wrong_arguments_have_status_2_and_one_line_that_names_them(self):
        for arguments in (["--bogus"], ["-x"], ["no-such-tag"], ["--strict", "no-such-tag"]):
            with self.subTest(arguments):
                done = subprocess.run([ROOT / "scripts" / "abi", *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertIn(arguments[-1], done.stderr)

    def test_the_version_is_the_same_everywhere(self):
        header = "include/cpodes/cpodes_types.h"
        version = first(header, r'^#define CP_VERSION +"(.*)"$')
        self.assertIsNotNone(version)
        numbers = ".".join(first(header, rf"^#define CP_VERSION_{part} (\d+)$") for part in ("MAJOR", "MINOR", "PATCH"))
        self.assertEqual(version.split("-")[0], numbers)
        v = r"([\d.]+[-~]?\w*)"
        for file, pattern in {"CITATION.cff": f"^version: {v}$",
                              "cmake/package/changelog": rf"^cpodes \({v}-\d+\)", "doc/versions.rst": f"The version is {v}[.,] ",
                              "CHANGELOG.md": f"^## {v}$"}.items():
            with self.subTest(file):
                self.assertEqual((first(file, pattern) or "").replace("~", "-"), version)


if __name__ == "__main__":
    unittest.main()
