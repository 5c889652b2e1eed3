"""Files for people who look at what became of a graph: every stage, and what is needed to see a failure again."""

import html
import os
import tempfile
from pathlib import Path

from .spelling import NotSpelled


class Stage:
    """The folder of one graph; does nothing without a folder for all."""

    def __init__(self, root, name):
        self.folder = Path(root) / name if root else None
        if self.folder:
            self.folder.mkdir(parents=True, exist_ok=True)

    def write(self, name, text):
        """Writes a file, whole or not at all."""
        if not self.folder:
            return
        write(self.folder / name, text)
        index(self.folder.parent)

    def graph(self, gm):
        """The graph as it came."""
        if self.folder:
            self.write("graph.ir", text_of(gm))

    def segment(self, name, text, pipeline, gpu):
        """A part that is compiled, at each level of the compiler; for a GPU its Triton module too."""
        if not self.folder:
            return
        self.write(f"segment-{name}.ir", text)
        from . import _core

        steps = {
            "loops": "aten-decompose,aten-canonicalize,cse,dce,lower-aten-to-loops,loops-inline,canonicalize,cse,dce",
            "kernels": pipeline,
        }
        for stage, pipeline in steps.items():
            try:
                module = _core.Module.parse(text, f"segment-{name}.ir")
                module.run(pipeline)
                self.write(f"segment-{name}.{stage}.ir", str(module))
                if gpu and stage == "kernels":
                    self.write(f"segment-{name}.py", module.emit("triton"))
            except _core.RinductorError as error:
                self.write(f"segment-{name}.{stage}.error.txt", str(error))

    def wrapper(self, text):
        """The function that calls all parts."""
        self.write("wrapper.py", text)


def text_of(gm):
    """A graph as `.ir`, or as torch prints it where it has no spelling."""
    from .export import graph_text

    try:
        return graph_text(gm).text
    except NotSpelled as why:
        return f"// not all of this graph has a spelling in .ir: {why}\n" + "".join(f"// {line}\n" for line in str(gm.graph).splitlines())


def write(path, text):
    """Writes a file, whole or not at all."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    with os.fdopen(handle, "w") as out:
        out.write(text)
    os.chmod(name, 0o644)
    os.replace(name, path)


def index(root):
    """A page with links to all files."""
    rows = []
    for folder in sorted(p for p in root.iterdir() if p.is_dir()):
        files = " ".join(
            f'<a href="{html.escape(folder.name)}/{html.escape(f.name)}">{html.escape(f.name)}</a>' for f in sorted(folder.iterdir())
        )
        rows.append(f"<tr><td>{html.escape(folder.name)}</td><td>{files}</td></tr>")
    write(root / "index.html", f"<!doctype html><title>rinductor</title><table>{''.join(rows)}</table>\n")


def failure(gm, kind, number, settings, trace):
    """A folder with what is needed to see a failure again; says where it is."""
    import logging

    try:
        root = Path(settings.dump_dir or tempfile.mkdtemp(prefix="rinductor-repro-"))
        folder = root / f"{number:03}-{kind}-failure"
        folder.mkdir(parents=True, exist_ok=True)
        write(folder / "error.txt", trace)
        write(folder / "graph.ir", text_of(gm))
        inputs = "".join(f"{n.name}: {n.meta.get('val')}\n" for n in gm.graph.find_nodes(op="placeholder"))
        write(folder / "inputs.txt", inputs)
        write(folder / "command.txt", "rinductor-opt graph.ir --pipeline=cpu\n")
        logging.getLogger("rinductor").error("a graph could not be compiled, and is left to torch; see %s", folder)
    except Exception as why:
        # What the compiler has failed at may be what the text of the graph fails at.
        logging.getLogger("rinductor").error("a graph could not be compiled, and is left to torch; no whole report could be written: %s", why)
