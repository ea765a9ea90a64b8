#!/usr/bin/env python3
"""Makes the tables of the guide's chapter about the race from the programs' output.

    bench/race/guide_tables.py RACE.MD...
    bench/race/guide_tables.py RACE.CSV

The first writes doc/race_cpu.csv and doc/race_evaluations.csv: the ratios of all these files, in their order, with the
names of problems in words and without "cpodes-" before those of methods. The second writes doc/race_curves.csv, with the
runs that succeeded, from which guide_pictures.py draws work-precision plots."""
import csv
import pathlib
import re
import sys

TABLES = {"CPU time": "race_cpu.csv", "evaluations of f": "race_evaluations.csv"}
TITLE = "## Best cpodes method over best peer, "
WORDS = {"slider_crank": "slider-crank", "andrews": "Andrews", "car_axis": "car axis",
         "flexible_crank": "flexible slider-crank", "bushing_crank": "slider-crank in a bushing",
         "dense": "dense, 1,000 coordinates", "four_bar": "40 four-bars"}


def in_words(label):
    name, _, parameters = label.partition(":")
    values = dict(pair.split("=") for pair in parameters.split(",") if pair)
    count = values.pop("n", None)
    words = WORDS.get(name, name.replace("_", " ")) + (f" of {int(count):,}" if count else "")
    return ", ".join([words] + [f"{key} = {value}" for key, value in values.items()])


def in_cell(text):
    text = text.replace("cpodes-", "").strip()
    return "none" if text == "-" else text


def tables(text):
    """{kind: rows} of one file"""
    found = {}
    for part in re.split(r"^(?=## )", text, flags=re.M):
        if not part.startswith(TITLE):
            continue
        kind = part[len(TITLE):].splitlines()[0]
        rows = [[cell.strip() for cell in line.strip("| \n").split("|")] for line in part.splitlines()
                if line.startswith("|")]
        found[kind] = rows[2:]  # below the header and its rule
    return found


def write_curves(runs, target):
    columns = ["problem", "method", "tol", "seconds", "error"]
    with open(runs, encoding="utf-8", newline="") as source, open(target, "w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(row for row in csv.DictReader(source) if row["flag"] == "0" and float(row["error"]) > 0)


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 2
    doc = pathlib.Path(__file__).resolve().parents[2] / "doc"
    if sys.argv[1].endswith(".csv"):
        write_curves(sys.argv[1], doc / "race_curves.csv")
        return 0
    files = [tables(pathlib.Path(name).read_text(encoding="utf-8")) for name in sys.argv[1:]]
    for kind, name in TABLES.items():
        with open(doc / name, "w", encoding="utf-8", newline="") as out:
            writer = csv.writer(out, lineterminator="\n")
            for found in files:
                for label, *cells in found[kind]:
                    writer.writerow([in_words(label)] + [in_cell(cell) for cell in cells])
    return 0


if __name__ == "__main__":
    sys.exit(main())
