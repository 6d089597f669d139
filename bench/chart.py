"""The charts, as SVG text: bars in small multiples, and lines on logarithmic axes. No library."""

import math
from xml.sax.saxutils import escape

COLOURS = {
    "weft": "#d1495b",
    "go": "#00798c",
    "go-nogc": "#58a4b0",
    "tokio": "#d9a021",
    "boost": "#5b8e6d",
    "std": "#8d96a3",
    "tbb": "#7b5ea7",
    "asio": "#3f6fb5",
    "epoll": "#8d96a3",
}
STYLE = """
  text { font-family: system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif; font-size: 12px; fill: #24292f; }
  .page { fill: #ffffff; }
  .title { font-size: 15px; font-weight: 600; }
  .row { font-weight: 600; }
  .quiet { fill: #6e7781; }
  .ours { font-weight: 600; }
  .grid { stroke: #d0d7de; stroke-width: 1; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .page { fill: #0d1117; }
    .quiet { fill: #9198a1; }
    .grid { stroke: #30363d; }
  }
"""


class Drawing:
    def __init__(self, width, height, title):
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'role="img" aria-label="{escape(title)}">',
            f"<style>{STYLE}</style>",
            f'<rect class="page" width="{width}" height="{height}"/>',
        ]

    def text(self, x, y, words, classes="", anchor="start", fill=None):
        style = f' style="fill:{fill}"' if fill else ""
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" class="{classes}" text-anchor="{anchor}"{style}>{escape(words)}</text>')

    def bar(self, x, y, width, height, colour):
        self.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="1.5" fill="{colour}"/>')

    def line(self, x1, y1, x2, y2, classes="grid"):
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{classes}"/>')

    def path(self, points, colour, width):
        joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="{width}" stroke-linejoin="round"/>')

    def dot(self, x, y, colour, radius):
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{colour}"/>')

    def cut(self, x, y, height):
        """The mark on a bar that goes on beyond the page."""
        self.parts.append(f'<path class="page" d="M{x:.1f} {y - 1:.1f} l5 0 l-5 {height + 2:.1f} l-5 0 z"/>')

    def done(self):
        return "\n".join([*self.parts, "</svg>", ""])


def bars(title, rows, names, number):
    """rows: [(title, unit, {p: {peer: value}})]. Each row has a scale of its own, common to both P.

    The scale ends at the slowest of the runtimes that keep within a factor of ten of weft; longer bars are cut.
    """
    bar_height, gap, label, value = 13, 4, 84, 72
    column, margin = 410, 16
    bar_space = column - label - value

    def height_of(row):
        return 26 + max(len(values) for values in row[2].values()) * (bar_height + gap) + 10

    drawing = Drawing(2 * column + 2 * margin, 62 + sum(map(height_of, rows)), title)
    drawing.text(margin, 26, title, "title")
    y = 48
    for p in (1, 2):
        drawing.text(margin + (p - 1) * column + label, y, f"P = {p}", "quiet")
    y += 6
    for row_title, unit, by_p in rows:
        drawing.line(margin, y, 2 * column + margin, y)
        drawing.text(margin, y + 17, f"{row_title}, {unit}", "row")
        figures = [v for values in by_p.values() for v in values.values()]
        ours = [values["weft"] for values in by_p.values() if "weft" in values]
        near = [v for v in figures if not ours or v <= 10 * max(ours)]
        scale = bar_space / (max(near or figures) or 1)  # all of them may be nothing
        for p, values in by_p.items():
            x, at = margin + (p - 1) * column, y + 26
            for peer, figure in values.items():
                width = min(figure * scale, bar_space)
                classes = "ours" if peer == "weft" else ""
                drawing.text(x + label - 6, at + 11, names[peer], classes, "end")
                drawing.bar(x + label, at, max(width, 1), bar_height, COLOURS[peer])
                if figure * scale > bar_space * 1.001:
                    drawing.cut(x + label + bar_space - 16, at, bar_height)
                drawing.text(x + label + width + 5, at + 11, number(figure), classes)
                at += bar_height + gap
        y += height_of((row_title, unit, by_p))
    return drawing.done()


def _ticks(low, high):
    """1, 2, 5, 10, … around low..high; decades only when there are many."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if len(decades) <= 4 else (1,)
    all_ticks = [step * 10.0**decade for decade in decades for step in steps]
    first = max((t for t in all_ticks if t <= low), default=low)
    last = min((t for t in all_ticks if t >= high), default=high)
    return [t for t in all_ticks if first <= t <= last]


def lines(title, unit, series, names, number, of="tasks"):
    """series: {peer: {x: y}}, on logarithmic axes; of: what x counts."""
    left, right, top, bottom, width, height = 84, 130, 46, 48, 760, 420
    drawing = Drawing(width, height, title)
    drawing.text(16, 26, f"{title}, {unit}", "title")
    xs = sorted({x for points in series.values() for x in points})
    ys = [y for points in series.values() for y in points.values()]
    if not xs:
        return drawing.done()
    y_ticks = _ticks(min(ys), max(ys))
    x_low, x_high = math.log10(xs[0]), math.log10(xs[-1])
    y_low, y_high = math.log10(y_ticks[0]), math.log10(y_ticks[-1])

    def at(x, y):
        across = (math.log10(x) - x_low) / ((x_high - x_low) or 1)
        up = (math.log10(y) - y_low) / ((y_high - y_low) or 1)
        return left + across * (width - left - right), height - bottom - up * (height - top - bottom)

    for tick in y_ticks:
        _, y = at(xs[0], tick)
        drawing.line(left, y, width - right, y)
        drawing.text(left - 8, y + 4, f"{tick:,.0f}" if tick >= 1 else f"{tick:g}", "quiet", "end")
    for tick in xs:
        x, _ = at(tick, y_ticks[0])
        drawing.text(x, height - bottom + 18, f"{tick:,}", "quiet", "middle")
    drawing.text(left + (width - left - right) / 2, height - 10, f"N, {of}", "quiet", "middle")

    ends = []
    for peer, points in reversed(series.items()):
        path = [at(x, y) for x, y in sorted(points.items())]
        drawing.path(path, COLOURS[peer], 3 if peer == "weft" else 2)
        for x, y in path:
            drawing.dot(x, y, COLOURS[peer], 4 if peer == "weft" else 3)
        last = points[max(points)]
        ends.append([path[-1][1], path[-1][0], f"{names[peer]} {number(last)}", peer])
    ends.sort()
    for above, below in zip(ends, ends[1:]):  # Labels keep apart.
        below[0] = max(below[0], above[0] + 15)
    for y, x, words, peer in ends:
        drawing.text(x + 10, y + 4, words, "ours" if peer == "weft" else "", fill=COLOURS[peer])
    return drawing.done()
