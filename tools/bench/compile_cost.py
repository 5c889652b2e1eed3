"""What compiling a model costs: CPU time of the cpu pipeline and of LLVM, for growing numbers of layers.

compile_cost.py GRAPH.ir makes the graph deeper (layers.py), lowers each with rinductor-opt --pipeline=cpu and turns it into an object with
rinductor-translate, several times, and shows the medians. A pass whose time for one layer grows with the number of layers is more than linear; the
last column says how much the time for a layer grew from the smallest to the largest.
"""

import argparse
import json
import os
import sys
import tempfile

import layers
import measure


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--opt", default=measure.program("rinductor-opt"))
    args.add_argument("--translate", default=measure.program("rinductor-translate"))
    args.add_argument("--layers", type=int, nargs="*", default=[2, 12, 48])
    args.add_argument("--pipeline", default="cpu")
    args.add_argument("--rounds", type=int, default=5)
    args.add_argument("--limit", type=float, default=1.0, help="fail if the first takes more CPU seconds")
    args.add_argument("graph")
    args = args.parse_args()
    with open(args.graph, encoding="utf-8") as file:
        text = file.read()
    columns, passes = [], {}
    with tempfile.TemporaryDirectory() as folder:
        for number in args.layers:
            path, kernels = os.path.join(folder, "graph.ir"), os.path.join(folder, "kernels.ir")
            with open(path, "w", encoding="utf-8") as out:
                out.write(layers.deeper(text, number))
            opt = [args.opt, path, f"--pipeline={args.pipeline}", "-o", kernels]
            translate = [args.translate, kernels, "--to=object", "-o", os.path.join(folder, "kernels.o")]
            lower = [measure.run(opt) for _ in range(args.rounds)]
            code = [measure.run(translate) for _ in range(args.rounds)]
            memory = max(r.memory for r in [*lower, *code])
            columns.append((measure.median([r.cpu for r in lower]), measure.median([r.cpu for r in code]), memory))
            for name, seconds in times(opt, folder, args.rounds).items():
                passes.setdefault(name, []).append(seconds)
    first, last = args.layers[0], args.layers[-1]
    grew = lambda list: f"{list[-1] / last / max(list[0] / first, 1e-9):.2f}"
    rows = [["passes, CPU s", *(f"{c[0]:.3f}" for c in columns), grew([c[0] for c in columns])],
            ["LLVM, CPU s", *(f"{c[1]:.3f}" for c in columns), grew([c[1] for c in columns])],
            ["together", *(f"{c[0] + c[1]:.3f}" for c in columns), grew([c[0] + c[1] for c in columns])],
            ["MiB", *(f"{c[2]:.0f}" for c in columns), ""]]
    rows += [[f"  {name}, ms", *(f"{1000 * s:.2f}" for s in list), grew(list)]
             for name, list in passes.items() if len(list) == len(args.layers)]
    measure.table(["layers", *args.layers, "growth a layer"], rows)
    sys.exit(columns[0][0] + columns[0][1] > args.limit)


def times(opt, folder, rounds):
    """Seconds of each pass: the least of the rounds, since they are wall time."""
    least = {}
    for _ in range(rounds):
        report = os.path.join(folder, "timing.json")
        command = ["sh", "-c", '"$@" 2> "$0"', report, *opt, "--timing=json"]
        measure.run(command)
        with open(report, encoding="utf-8") as file:
            for entry in json.load(file):
                name, seconds = entry["name"], entry["seconds"]
                least[name] = min(seconds, least.get(name, seconds))
    return least


if __name__ == "__main__":
    main()
