#!/usr/bin/env python3
"""record_test.py: what a page says is read back, and rows measured anew take the place of the old ones and of no others."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import record  # noqa: E402
import report  # noqa: E402
from curves import CURVES, DETAILS  # noqa: E402
from rows import ROWS  # noqa: E402
from targets import TARGETS  # noqa: E402

MACHINE = {"cpu": "Example", "cores": 2, "virtual": True, "memory_gib": 24, "system": "Debian", "kernel": "6.1", "thp": "madvise",
           "max_map_count": "65530"}


def metrics_of(row):
    out = {row.metric} | {metric for details in DETAILS.values() for name, metric, _, _ in details if name == row.id}
    out |= {target.metric for target in TARGETS if target.row == row.id}
    return out | {metric for curve in CURVES for name, metric in curve.points.values() if name == row.id}


def raw_of(rows, factor=1.0, date="2026-01-02"):
    """Two rounds of these rows, with a figure of its own for each row, P, peer and metric."""
    runs = []
    for place, row in enumerate(ROWS):
        for p in row.procs if row in rows else ():
            for order, peer in enumerate(row.peers):
                for index in range(2):
                    line = {metric: factor * (100 + place + 10 * p + (17 * order) + index + 0.125 * len(metric))
                            for metric in metrics_of(row)}
                    runs.append({"row": row.id, "p": p, "peer": peer, "round": index, "failure": "", "disturbed": False,
                                 "line": {"version": f"{peer} 1", **line}})
    return {"machine": MACHINE, "weft": "0.1.0 (abc)", "missing": {}, "quick": False, "date": date, "rounds": 2, "skipped": [],
            "runs": runs, "retries": 0}


def page_of(raw, kept=None):
    return report.page(report.Results(raw, kept))


def row(name):
    return next(one for one in ROWS if one.id == name)


class Read(unittest.TestCase):
    def test_every_figure_of_a_page_is_read_back(self):
        results = report.Results(raw_of(ROWS))
        read = record.read(report.page(results))
        for one in ROWS:
            for p in one.procs:
                for peer in one.peers:
                    if one.group == "curve" and (peer not in report.MAIN_PEERS or one.metric == "ns_per_op" and
                                                 (one.id, "ns_per_op") not in [point for c in CURVES for point in c.points.values()]):
                        continue
                    self.assertAlmostEqual(read.middles[one.id, p, peer, one.metric],
                                           results.middle(one.id, p, peer, one.metric), delta=0.51, msg=f"{one.id} P={p} {peer}")
                    if peer != "weft" and one.group != "curve":
                        ratio = results.to_peer(one.id, p, peer, one.metric)
                        self.assertAlmostEqual(read.ratios[one.id, p, peer, one.metric].middle, ratio.middle, delta=0.006)

    def test_verdicts_are_read_back(self):
        results = report.Results(raw_of(ROWS))
        read = record.read(report.page(results))
        seen = set()
        for target in TARGETS:
            verdict = report.judge(results, target)
            seen.add(verdict.word)
            for p, figure in verdict.figures.items():
                self.assertEqual(read.verdicts[target.text, p], figure, target.text)
        self.assertLessEqual({"met", "missed"}, seen)

    def test_a_page_made_of_nothing_but_its_record_says_the_same(self):
        page = page_of(raw_of(ROWS))
        again = page_of(raw_of([]), record.read(page))

        def without_ranges(text):  # of P=2 against P=1, which the page knows by their medians
            before, _, after = text.partition("## A second P")
            return before.splitlines() + after[after.index("## "):].splitlines()

        self.assertEqual([line for line in without_ranges(again) if record.LATER not in line], without_ranges(page))

    def test_titles_tell_rows_apart(self):
        for titles in ([target.text for target in TARGETS], [detail[2] for details in DETAILS.values() for detail in details]):
            self.assertEqual(len(titles), len(set(titles)))


class Add(unittest.TestCase):
    def setUp(self):
        self.old = page_of(raw_of(ROWS))
        self.again = row("ring")
        self.new = page_of(raw_of([self.again], 0.5, "2026-03-04"), record.read(self.old))

    def line(self, page, title):
        return next(line for line in page.splitlines() if line.startswith(f"| {title} "))

    def test_the_row_has_its_new_figures_and_the_others_the_old_ones(self):
        self.assertNotEqual(self.line(self.old, self.again.title), self.line(self.new, self.again.title))
        for kept in ("yield, 2 tasks", "skynet, 1 000 000 leaves", "unbuffered round trip"):
            self.assertEqual(self.line(self.old, kept), self.line(self.new, kept))

    def test_the_header_says_which_rows_are_younger(self):
        later = [line for line in self.new.splitlines() if record.LATER in line]
        self.assertEqual(len(later), 1)
        self.assertIn("2026-03-04", later[0])
        self.assertIn("`ring`", later[0])
        self.assertIn("| date | 2026-01-02 |", self.new)

    def test_a_row_measured_a_third_time_is_named_once(self):
        both = page_of(raw_of([row("skynet"), row("cond")], 0.5, "2026-05-06"), record.read(self.new))
        third = page_of(raw_of([row("skynet"), self.again], 0.5, "2026-07-08"), record.read(both))
        later = [line for line in third.splitlines() if record.LATER in line]
        self.assertEqual(["2026-05-06" in line for line in later], [True, False])
        self.assertNotIn("`skynet`", later[0])
        self.assertIn("`cond`", later[0])
        self.assertIn("`skynet`", later[1])
        self.assertIn("`ring`", later[1])

    def test_failures_of_rows_measured_again_are_forgotten(self):
        raw = raw_of([row("skynet"), self.again])
        for run in raw["runs"]:
            if run["peer"] == "boost":
                run["failure"] = "signal 9"
        new = page_of(raw_of([self.again]), record.read(page_of(raw)))
        self.assertIn("Boost.Fiber, skynet, P=1: signal 9", new)
        self.assertNotIn("Boost.Fiber, ring", new)


if __name__ == "__main__":
    unittest.main()
