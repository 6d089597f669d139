#!/usr/bin/env python3
"""openmetrics_check.py PROGRAM FOLDER DOCUMENT: PROGRAM writes what its page serves; this reads it as other tools would.

/metrics is parsed by the OpenMetrics parser of prometheus-client, from the Python index, which is
installed in FOLDER if it is not there. Checked: each metric, with its type, is in the table of
DOCUMENT, and no other is. The two JSON texts are decoded, and have the fields that DOCUMENT lists.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

import python_package

VERSION = "0.26.0"


def parser(folder):
    """The parser."""
    python_package.use("prometheus-client", VERSION, folder)
    from prometheus_client.openmetrics.parser import text_string_to_metric_families  # noqa: PLC0415
    return text_string_to_metric_families


def documented(path):
    """The metrics, as (name of a sample, type), and the fields of the state, that the page lists."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    metrics = set(re.findall(r"^\| `(weft_\w+)`[^|]*\| (gauge|counter|histogram) \|", text, re.MULTILINE))
    state = text[text.index("weft.state/1"):]
    fields = {name for row in re.findall(r"^\| (`[^|]+) \|", state, re.MULTILINE) for name in re.findall(r"`(\w+)", row)}
    return metrics, fields


def check_metrics(families, table):
    families = list(families)
    found = {(f.name + ("_total" if f.type == "counter" else ""), f.type) for f in families}
    yield from (f"{name}, {kind}: not in the table" for name, kind in sorted(found - table))
    yield from (f"{name}, {kind}: only in the table" for name, kind in sorted(table - found))
    yield from (f"{f.name}: no help" for f in families if not f.documentation)
    histogram = next(f for f in families if f.type == "histogram")
    names = {sample.name.rsplit("_", 1)[1] for sample in histogram.samples}
    if names != {"bucket", "count", "sum"}:
        yield f"the histogram has {sorted(names)}"


def check_state(state, fields):
    if state["format"] != "weft.state/1":
        yield f"format {state['format']}"
    yield from (f"{name}: not listed" for name in state.keys() - fields)
    yield from (f"{name}: not listed, in procs" for p in state["procs"] for name in p.keys() - fields)
    yield from (f"{name}: not listed, in sites" for s in state["sites"] for name in s.keys() - fields)
    site = state["sites"][0]
    if site["name"] != "\ufffd\"<b>\\" or site["states"] != [["chan receive", 1]]:
        yield f"a site {site}"
    if sum(site["count"] for site in state["sites"]) != state["stats"]["live"]:
        yield "sites do not have all green threads"


def main():
    program, folder, page = sys.argv[1:]
    parse = parser(folder)
    table, fields = documented(page)
    with tempfile.TemporaryDirectory() as temporary:
        base = os.path.join(temporary, "page")
        subprocess.run([program, "--gtest_filter=Page.WritesFilesForOtherPrograms", "--gtest_brief=1"], check=True,
                       env={**os.environ, "WEFT_TEST_PAGE": base, "GTEST_TOTAL_SHARDS": "1", "GTEST_SHARD_INDEX": "0"})
        with open(base + ".metrics", encoding="utf-8") as file:
            families = list(parse(file.read()))
        with open(base + ".state.json", encoding="utf-8") as file:
            state = json.load(file)
        with open(base + ".stacks.json", encoding="utf-8") as file:
            stacks = json.load(file)
    complaints = [*check_metrics(families, table), *check_state(state, fields)]
    if stacks["format"] != "weft.dump/1" or len(stacks["groups"]) != 1:
        complaints.append(f"stacks: {stacks}")
    print(f"{len(families)} metrics, {len(table)} in the table, {len(complaints)} complaints")
    for complaint in complaints:
        print(f"  {complaint}")
    return 1 if complaints or not families else 0


if __name__ == "__main__":
    sys.exit(main())
