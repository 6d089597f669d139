#!/usr/bin/env python3
"""Measures versions of weft beside each other.

    bench/versions.py before=../before after=. --only pingpong --only echo-sparse --rounds 9

NAME=FOLDER is a checkout. Each is built with the flags of the native preset, in FOLDER/build/bench/weft. The versions run in
turns (A B C, B C A, …), so that a slow minute of the machine hits all of them. The table has the medians of the first version,
and for each other version the median and the range of its ratios to the first one in the same round.
"""

import argparse
import pathlib
import statistics
import sys

import toolchain
from report import number
from row import Row
from rows import ROWS
from run import run_once


def parse_version(text):
    name, _, folder = text.partition("=")
    path = pathlib.Path(folder).resolve()
    if not name or not (path / "CMakePresets.json").exists():
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=FOLDER with a checkout of weft in FOLDER")
    return name, path


def measure(programs, clients, row, p):
    """The figure of one run, or None; says why."""
    result = run_once(programs[row.suite], clients.get(row.suite), "weft", row, p, row.n)
    if result["failure"]:
        print(f"  FAILED: {result['failure']}", flush=True)
        return None
    return result["line"][row.metric]


def cell(figures, base):
    ratios = [ours / theirs for ours, theirs in zip(figures, base) if ours is not None and theirs]
    if not ratios:
        return "–"
    return f"×{statistics.median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})"


def table(versions, rows, procs, figures):
    names = [name for name, _ in versions]
    lines = [f"| | P | {names[0]} | " + " | ".join(names[1:]) + " |", "|---" * (len(names) + 2) + "|"]
    for row in rows:
        for p in procs:
            base = figures[row.id, p, names[0]]
            known = [figure for figure in base if figure is not None]
            middle = f"{number(statistics.median(known))} {row.unit}" if known else "–"
            cells = [cell(figures[row.id, p, name], base) for name in names[1:]]
            lines.append(f"| `{row.id}` | {p} | {middle} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def chosen_rows(words) -> list[Row]:
    return [row for row in ROWS if any(word == row.id or word == row.group for word in words)]


def main():
    parser = argparse.ArgumentParser(description="Measures versions of weft beside each other.", epilog=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="+", type=parse_version, metavar="NAME=FOLDER", help="the first one is what others are compared with")
    parser.add_argument("--only", action="append", required=True, metavar="ROW", help="a row or a group of rows of run.py; repeatable")
    parser.add_argument("--rounds", type=int, default=9, help="default %(default)s")
    parser.add_argument("--p", default="1,2", help="numbers of processors, default %(default)s")
    arguments = parser.parse_args()
    rows = chosen_rows(arguments.only)
    if not rows:
        parser.error("no row matches --only; the rows are: " + ", ".join(row.id for row in ROWS))
    procs = [int(p) for p in arguments.p.split(",")]
    suites = sorted({row.suite for row in rows})
    try:
        programs = {name: toolchain.build_version(path, suites) for name, path in arguments.versions}
        clients = toolchain.build_clients(suites)
    except toolchain.Missing as reason:
        sys.exit(f"versions.py: {reason}")

    figures = {(row.id, p, name): [] for row in rows for p in procs for name in programs}
    for index in range(arguments.rounds):
        for row in rows:
            for p in procs:
                order = list(programs)
                order = order[index % len(order):] + order[:index % len(order)]
                for name in order:
                    figures[row.id, p, name].append(measure(programs[name], clients, row, p))
        print(f"round {index + 1} of {arguments.rounds}", flush=True)
    print(table(arguments.versions, rows, procs, figures))


if __name__ == "__main__":
    main()
