"""What is written of the figures: lines while they are measured, a table in Markdown, and a plot in SVG."""

import math
from html import escape


def mean(values):
    """The geometric mean of what there is."""
    values = [v for v in values if v]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def ours(backends):
    """The backends that are compared with the others."""
    return [b for b in backends if b.startswith("rinductor")]


def speed(record, backend, other):
    """How many times as fast a backend is as another, if both were timed."""
    return record.get("backends", {}).get(backend, {}).get("speed", {}).get(other)


def fraction(record, backend):
    """The part of the bandwidth that a backend reaches."""
    return speed(record, backend, "roof")


def cell(value, form="{:.2f}"):
    return "–" if value is None else form.format(value)


def line(record, backends):
    """One variant, while it is measured."""
    start = f"{record['case']:26} {record['dtype']:4} {record['mode']}"
    if "error" in record:
        return f"{start} {record['error']}"
    parts = []
    for backend in backends:
        result = record["backends"][backend]
        if "seconds" not in result:
            parts.append(f"{backend} failed: {result.get('failed', '')[:80]}")
            continue
        text = f"{backend} {result['seconds'] * 1e3:.3f} ms"
        if (part := fraction(record, backend)) is not None:
            text += f" {part:.0%}"
        if backend in ours(backends):
            text += "".join(f", {speed(record, backend, b):.2f} x {b}" for b in backends if speed(record, backend, b) and b not in ours(backends))
        parts.append(text + ("" if result.get("right", True) else " WRONG"))
    return f"{start} | {' | '.join(parts)}"


def cold_line(record):
    """One fresh process."""
    start = f"{record['case']:26} {record['dtype']:4} {record['mode']} {record.get('backend', '')}"
    if "error" in record:
        return f"{start} {record['error']}"
    return f"{start}: compiled in {record['compile']:.2f} s; peak {record['peak compiling']:.0f} MiB compiling, {record['peak running']:.0f} running"


def groups(report):
    """The variants of each suite, forward alone and with backward."""
    found = {}
    for record in report["runs"]:
        if "error" not in record:
            found.setdefault((record["suite"], record["mode"]), []).append(record)
    return found


def slow(report, bound=0.95):
    """Variants in which one of ours is slower than `bound` of another: record, ours, the other, how fast."""
    backends = report["backends"]
    for record in report["runs"]:
        for mine in ours(backends):
            for other in backends:
                if other not in ours(backends) and (s := speed(record, mine, other)) is not None and s < bound:
                    yield record, mine, other, s


def summary(report):
    """The means, in lines."""
    lines = []
    for (suite, mode), records in groups(report).items():
        for mine in ours(report["backends"]):
            for other in [b for b in report["backends"] if b not in ours(report["backends"])]:
                value = mean(speed(r, mine, other) for r in records)
                lines.append(f"{suite} {mode}: {mine} is {cell(value)} times as fast as {other} ({len(records)} variants)")
    return "\n".join(lines)


def markdown(report):
    """The whole report."""
    backends = report["backends"]
    others = [b for b in backends if b not in ours(backends)]
    out = ["# CPU", "", f"{report['cpu']}, {report['threads']} threads. Speed: how many times as fast, the median over rounds. Bandwidth: against a loop that only moves the bytes.", ""]
    head = ["case", "dtype", "mode"] + [f"{b} ms" for b in backends] + [f"{b} bandwidth" for b in backends]
    head += [f"{m} / {o}" for m in ours(backends) for o in others] + [f"{b} compile s" for b in backends if b != "eager"]
    if report["runs"]:
        out += [row(head), row(["---"] * len(head))]
    for record in report["runs"]:
        cells = [record["case"], record["dtype"], record["mode"]]
        if "error" in record:
            out.append(row(cells + [record["error"].replace("|", "/")]))
            continue
        of = lambda b: record["backends"].get(b, {})
        wrong = lambda b: "" if of(b).get("right", True) else " **wrong**"
        cells += [cell(of(b).get("seconds", 0) * 1e3 or None, "{:.3f}") + wrong(b) for b in backends]
        cells += [cell(fraction(record, b), "{:.0%}") for b in backends]
        cells += [cell(speed(record, m, o)) for m in ours(backends) for o in others]
        cells += [cell(of(b).get("compile")) for b in backends if b != "eager"]
        out.append(row(cells))
    if report["runs"]:
        out += ["", "## Geometric means", "", row(["suite", "mode", "variants"] + [f"{m} / {o}" for m in ours(backends) for o in others] + [f"{b} bandwidth" for b in backends])]
        out.append(row(["---"] * (3 + len(ours(backends)) * len(others) + len(backends))))
        for (suite, mode), records in groups(report).items():
            cells = [suite, mode, str(len(records))] + [cell(mean(speed(r, m, o) for r in records)) for m in ours(backends) for o in others]
            out.append(row(cells + [cell(mean(fraction(r, b) for r in records), "{:.0%}") for b in backends]))
        out += ["", "## Slower than 0.95 of another", ""]
        out += [f"- {r['case']} {r['dtype']} {r['mode']}: {mine} is {s:.2f} times as fast as {other}" for r, mine, other, s in slow(report)] or ["None."]
    if report["cold"]:
        out += ["", "## Fresh processes", "", row(["case", "dtype", "mode", "backend", "compile s", "peak MiB compiling", "peak MiB running"]), row(["---"] * 7)]
        for r in report["cold"]:
            figures = [cell(r.get(k), form) for k, form in (("compile", "{:.2f}"), ("peak compiling", "{:.0f}"), ("peak running", "{:.0f}"))]
            out.append(row([r["case"], r["dtype"], r["mode"], r.get("backend", ""), *figures] if "error" not in r else [r["case"], r["error"]]))
    return "\n".join(out) + "\n"


def row(cells):
    return f"| {' | '.join(cells)} |"


#: One colour for each backend that something is compared with.
COLOURS = ["#888888", "#d95f02", "#7570b3", "#1b9e77"]


def svg(report):
    """How fast ours is against each other backend, a line for each variant, on a logarithmic axis."""
    backends = report["backends"]
    others = [b for b in backends if b not in ours(backends)]
    records = [r for r in report["runs"] if "error" not in r]
    left, width, step, top = 260, 520, 16, 46
    values = [s for r in records for m in ours(backends) for o in others if (s := speed(r, m, o))]
    low, high = min([0.5, *values]), max([4.0, *values])
    place = lambda v: left + width * math.log(v / low) / math.log(high / low)
    height = top + step * len(records) + 20
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 30}" height="{height}" font-family="sans-serif" font-size="11">', '<rect width="100%" height="100%" fill="white"/>']
    for k, (mine, other) in enumerate((m, o) for m in ours(backends) for o in others):
        x, colour = left + 190 * k, COLOURS[k % len(COLOURS)]
        out += [f'<circle cx="{x}" cy="12" r="4" fill="{colour}"/>', f'<text x="{x + 8}" y="16">{escape(mine)} against {escape(other)}</text>']
    mark = 2.0 ** math.ceil(math.log2(low))
    while mark <= high:
        colour = "#000" if mark == 1 else "#ddd"
        out.append(f'<line x1="{place(mark):.1f}" x2="{place(mark):.1f}" y1="{top - 8}" y2="{height - 14}" stroke="{colour}"/>')
        out.append(f'<text x="{place(mark):.1f}" y="{top - 12}" text-anchor="middle">{mark:g}</text>')
        mark *= 2
    for k, record in enumerate(records):
        y = top + step * k + 8
        out.append(f'<text x="{left - 8}" y="{y + 4}" text-anchor="end">{escape(record["case"])} {record["dtype"]} {record["mode"]}</text>')
        for i, (mine, other) in enumerate((m, o) for m in ours(backends) for o in others):
            if s := speed(record, mine, other):
                out.append(f'<circle cx="{place(s):.1f}" cy="{y}" r="4" fill="{COLOURS[i % len(COLOURS)]}" fill-opacity="0.8"/>')
    return "\n".join([*out, "</svg>"]) + "\n"
