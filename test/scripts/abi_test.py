"""scripts/abi: wrong arguments, which it refuses before anything is built, and what it calls compatible; the version is the same
everywhere."""
import importlib.machinery
import importlib.util
import re
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOADER = importlib.machinery.SourceFileLoader("abi", str(ROOT / "scripts" / "abi"))
abi = importlib.util.module_from_spec(importlib.util.spec_from_loader("abi", LOADER))
LOADER.exec_module(abi)
OLD = """liba.so.1
function int CPRun(CPThing, double)
struct CPGrows at 0: size_t size
struct CPGrows at 8: double t
struct CPGrows: 16 bytes

libcpodes_plugin.so.1
function int CPTry(void)
"""


def first(file, pattern):
    found = re.search(pattern, (ROOT / file).read_text(), re.M)
    return found.group(1) if found else None


class Abi(unittest.TestCase):
    def test_wrong_arguments_have_status_2_and_one_line_that_names_them(self):
        for arguments in (["--bogus"], ["-x"], ["no-such-tag"], ["--renew", "no-such-tag"], ["HEAD", "twice"]):
            with self.subTest(arguments):
                done = subprocess.run([ROOT / "scripts" / "abi", *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertIn(arguments[-1], done.stderr)

    def test_what_is_added_is_compatible_and_what_is_gone_is_not_unless_the_soname_changes(self):
        larger = OLD.replace("16 bytes", "24 bytes\nstruct CPGrows at 16: double end").replace("CPTry(void)", "CPTry(int)")
        self.assertEqual(list(abi.incompatible(OLD, larger)), [])
        other = OLD.replace("CPThing, double", "CPThing, float").replace("at 8: double t", "at 8: double s")
        self.assertEqual(list(abi.incompatible(OLD, other)),
                         ["liba.so.1: function int CPRun(CPThing, double)", "liba.so.1: struct CPGrows at 8: double t"])
        self.assertEqual(list(abi.incompatible(OLD, other.replace("so.1", "so.2"))), [])
        fixed = OLD.replace("size_t size", "size_t n") # a structure without its size may not grow
        self.assertEqual(list(abi.incompatible(fixed, fixed.replace("16 bytes", "24 bytes"))), ["liba.so.1: struct CPGrows: 16 bytes"])

    def test_the_version_is_the_same_everywhere(self):
        header = "include/cpodes/cpodes_types.h"
        version = first(header, r'^#define CP_VERSION +"(.*)"$')
        self.assertIsNotNone(version)
        numbers = ".".join(first(header, rf"^#define CP_VERSION_{part} (\d+)$") for part in ("MAJOR", "MINOR", "PATCH"))
        self.assertEqual(version.split("-")[0], numbers)
        v = r"([\d.]+[-~]?\w*)"
        for file, pattern in {"CITATION.cff": f"^version: {v}$",
                              "debian/changelog": rf"^cpodes \({v}-\d+\)", "doc/versions.rst": f"The version is {v}[.,] ",
                              "CHANGELOG.md": f"^## {v}$"}.items():
            with self.subTest(file):
                self.assertEqual((first(file, pattern) or "").replace("~", "-"), version)


if __name__ == "__main__":
    unittest.main()
