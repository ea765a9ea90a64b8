"""Commands "python3 ..." on the guide's pages print what the page shows."""
import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("pages_test", ROOT / "test" / "doc" / "pages_test.py")
pages = importlib.util.module_from_spec(spec)
spec.loader.exec_module(pages)
pages.OPTIONAL = set()
COMMANDS = [(command, shown) for page in pages.PAGES for command, shown in pages.blocks((ROOT / "doc" / page).read_text())
            if command.startswith("python3 ")]


@pytest.mark.parametrize("command, shown", COMMANDS, ids=[command for command, _ in COMMANDS])
def test_a_command_prints_what_the_page_shows(command, shown, tmp_path):
    pages.Pages().run_and_follow(command, shown, tmp_path)


def test_there_are_commands():
    assert COMMANDS
