"""Reads docs/benchmarks.md back, so that some rows can be measured again while the others keep the figures they have.

The page is the record: medians, ratios and verdicts are taken as they stand there. What was measured round by round is not in
it, so a ratio of a new figure to a kept one is the quotient of two medians, without a range.
"""

import re
from dataclasses import dataclass, field

from curves import CURVES, DETAILS
from row import EVERY_ROUND, MAIN_PEERS, PEERS
from rows import GROUPS, ROWS

PEER_OF = {title: peer for peer, title in PEERS.items()}
RATIO = re.compile(r"×([\d.e+-]+) \(([\d.e+-]+)–([\d.e+-]+)\)(?:, n=(\d+))?")
LATER = "measured later"


@dataclass(frozen=True)
class Ratio:
    """Of figures of the same round; without rounds, of two medians."""

    middle: float
    low: float
    high: float
    rounds: int

    def __str__(self):
        return f"×{factor(self.middle)}" + (f" ({factor(self.low)}–{factor(self.high)})" if self.rounds else "")


def factor(value):
    """A ratio: two digits after the point, or two that are not zero."""
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


@dataclass
class Record:
    header: list = field(default_factory=list)  # lines of the first table: what was measured with
    failures: list = field(default_factory=list)
    middles: dict = field(default_factory=dict)  # (row, p, peer, metric): value
    ratios: dict = field(default_factory=dict)  # the same: Ratio
    verdicts: dict = field(default_factory=dict)  # (text of the target, p): (figure, met)

    def machine(self):
        return next((line for line in self.header if line.startswith("| machine ")), "")

    def has(self, row, p, peer):
        return any(key[:3] == (row, p, peer) for key in self.middles)

    def forget(self, rows):
        """They have been measured again."""
        self.middles = {key: value for key, value in self.middles.items() if key[0] not in rows}
        self.ratios = {key: value for key, value in self.ratios.items() if key[0] not in rows}
        self.failures = [line for line in self.failures if line.split(", ")[1] not in rows]
        self.header = [line for line in (without(line, rows) for line in self.header) if line]

    def put_middle(self, row, p, peer, metric, text):
        if value := parse_number(text):
            self.middles[row, p, peer, metric] = value[0]

    def put_ratio(self, row, p, peer, metric, text):
        if found := RATIO.search(text):
            middle, low, high = map(float, found.groups()[:3])
            self.ratios[row, p, peer, metric] = Ratio(middle, low, high, int(found[4] or EVERY_ROUND))


def without(line, rows):
    """A line of the header that names the rows measured later, without these; "" when none is left."""
    if not line.startswith(f"| {LATER} "):
        return line
    how, _, named = line.rstrip(" |").rpartition(": ")
    left = [name for name in re.findall(r"`([^`]+)`", named) if name not in rows]
    return f"{how}: {', '.join(f'`{name}`' for name in left)} |" if left else ""


def parse_number(text):
    found = re.match(r"\**(-?[\d,]*\.?\d+)\**", text)
    return (float(found[1].replace(",", "")),) if found else None


def tables(lines):
    """The tables among these lines: (titles of the columns, [cells of a line])."""
    table = None
    for line in [*lines, ""]:
        if not line.startswith("|"):
            if table:
                yield table
            table = None
        elif table is None:
            table = ([cell.strip() for cell in line.strip()[1:-1].split("|")], [])
        elif not line.startswith("|---"):
            table[1].append([cell.strip() for cell in re.sub(r"\|$", "", line.strip())[1:].split("|")])


def sections(text):
    """{heading: its lines}; those before the first heading under ""."""
    out, heading = {"": []}, ""
    for line in text.splitlines():
        if line.startswith(("## ", "### ")):
            heading = line.lstrip("# ")
            out[heading] = []
        else:
            out[heading].append(line)
    return out


def read_group(record, group, lines):
    unread = [row for row in ROWS if row.group == group]
    for titles, body in tables(lines):
        peers = [PEER_OF[title] for title in titles[3:]]
        row = None
        for title, _, p, *cells in body:
            if title:
                plain = title.split(" <sub>")[0]
                row = next((one for one in unread if one.title == plain), None)
                if row is not None:
                    unread.remove(row)
            if row is None:
                continue  # The row has been removed.
            for peer, cell in zip(peers, cells):
                record.put_middle(row.id, int(p), peer, row.metric, cell)
                record.put_ratio(row.id, int(p), peer, row.metric, cell)


def read_details(record, details, lines):
    named = {title: (row, metric) for row, metric, title, _ in details}
    for titles, body in tables(lines):
        peers = [PEER_OF[title] for title in titles[3:]]
        for title, _, p, *cells in body:
            if title in named:
                for peer, cell in zip(peers, cells):
                    record.put_middle(named[title][0], int(p), peer, named[title][1], cell)


def read_curve(record, curve, lines):
    for titles, body in tables(lines):
        peers = [PEER_OF[title] for title in titles[1:]]
        for n, *cells in body:
            if point := curve.points.get(int(n.replace(",", ""))):
                for peer, cell in zip(peers, cells):
                    if peer in MAIN_PEERS:
                        record.put_middle(point[0], 1, peer, point[1], cell)


def read_losses(record, lines):
    """Ratios of what has none in its table."""
    named = {title: (row, metric) for details in DETAILS.values() for row, metric, title, _ in details}
    named.update({row.title: (row.id, row.metric) for row in ROWS if row.group == "curve"})
    for line in lines:
        found = re.match(r"- (.*), P=(\d+): against (.*)$", line)
        if found and found[1] in named:
            for slower in found[3].split("; "):
                title, _, ratio = slower.partition(" ×")
                if title in PEER_OF:
                    record.put_ratio(named[found[1]][0], int(found[2]), PEER_OF[title], named[found[1]][1], f"×{ratio}")


def read_verdicts(record, lines):
    for _, body in tables(lines):
        for text, *figures, word in body:
            for p, figure in enumerate(figures, start=1):
                if figure:
                    met = word == "met" or ("missed at" in word and f"P={p}" not in word)
                    record.verdicts[text, p] = (figure, met)


def read(text):
    """The record that the page is."""
    record = Record()
    parts = sections(text)
    record.header = [line for line in parts[""] if line.startswith("|")]
    record.failures = [line for line in parts[""] if line.startswith("- ")]
    for group, title in GROUPS.items():
        if group != "curve":
            read_group(record, group, parts.get(title, []))
    for curve in CURVES:
        read_curve(record, curve, parts.get(f"{curve.title}, {curve.unit}", []))
    for title, details in DETAILS.items():
        read_details(record, details, parts.get(title, []))
    read_losses(record, parts.get("Where weft is slower, or larger", []))
    read_verdicts(record, parts.get("Targets", []))
    return record
