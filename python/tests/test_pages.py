"""Commands "python3 ..." on the guide's pages print what the page shows."""
import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_commands_print_what_the_page_shows(tmp_path):
    spec = importlib.util.spec_from_file_location("pages_test", ROOT / "test" / "doc" / "pages_test.py")
    pages = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pages)
    pages.PACKAGE = True
    case, ran = pages.Pages(), 0
    for page in pages.PAGES:
        for command, shown in pages.blocks((ROOT / "doc" / page).read_text()):
            if command.startswith("python3 "):
                case.run_and_follow(command, shown, tmp_path)
                ran += 1
    assert ran
