"""What passes say they did and did not do with a graph, and why: with the names of the graph's nodes and the lines of the model."""

import os
import re
import sys

from . import _core


def wanted(settings):
    """A pattern for the remarks that are asked for, or None: by `RINDUCTOR_REMARKS` (`all`, `fusion`, a regular expression) or by `rinductor.explain_fusion`."""
    asked = os.environ.get("RINDUCTOR_REMARKS")
    patterns = [{"1": "", "all": "", "fusion": _core.FUSION_REMARKS}.get(asked, asked)] if asked else []
    if settings.explain_fusion:
        patterns.append(_core.FUSION_REMARKS)
    return re.compile("|".join(f"(?:{p})" for p in patterns)) if patterns else None


def show(text, pipeline, pattern, line_of, to=True):
    """Writes the remarks that match, each with the model's line that it is about: to standard error, or after what a file holds.

    `text` has a function's nodes by their own names, `line_of` says where the model has a node.
    """
    said = []

    def hear(remark):
        if pattern.search(remark.message):
            node = text.lines.get(remark.line)
            said.append(f"{line_of(node)}: {remark.message}" if node is not None else remark.message)

    try:
        _core.Module.parse(text.text, "graph.ir").run(pipeline, on_remark=hear)
    except _core.RinductorError:
        pass  # whoever compiles it says so
    lines = "".join(f"rinductor: {line}\n" for line in said)
    if isinstance(to, str):
        with open(to, "a", encoding="utf-8") as file:
            file.write(lines)
    else:
        sys.stderr.write(lines)
