"""Reads, verifies and writes IR with rinductor-opt and with mlir-opt, and compares CPU time and memory.

The two take turns, so that what else the machine does meets both; the ratio is the median of the rounds. mlir-opt runs on one thread:
CPU time of all threads is what counts.
"""

import argparse
import os
import sys
import tempfile

import generate_ir
import measure


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--opt", default=measure.program("rinductor-opt"))
    args.add_argument("--mlir-opt", default="mlir-opt-22")
    args.add_argument("--ops", type=int, nargs="*", default=[100_000, 1_000_000], help="sizes of generated IR")
    args.add_argument("--kinds", nargs="*", default=list(generate_ir.KINDS))
    args.add_argument("--rounds", type=int, default=5)
    args.add_argument("--limit", type=float, default=0.5, help="fail if a ratio of CPU time is larger")
    args.add_argument("files", nargs="*", help="IR to measure too")
    args = args.parse_args()
    ours = [args.opt, "--allow-unregistered-dialect", "-o", os.devnull]
    theirs = [args.mlir_opt, "--allow-unregistered-dialect", "--mlir-disable-threading", "-o", os.devnull]
    rows, failed = [], False
    with tempfile.TemporaryDirectory() as folder:
        files = [(os.path.basename(f), f) for f in args.files]
        for kind in args.kinds:
            for ops in args.ops:
                path = os.path.join(folder, f"{kind}_{ops}.mlir")
                with open(path, "w", encoding="utf-8") as out:
                    generate_ir.write(kind, ops, out)
                files.append((f"{kind} {ops}", path))
        for name, path in files:
            pairs = [(measure.run([*ours, path]), measure.run([*theirs, path])) for _ in range(args.rounds)]
            ratio = measure.median([a.cpu / b.cpu for a, b in pairs])
            cpu = [measure.median([p[k].cpu for p in pairs]) for k in range(2)]
            memory = [max(p[k].memory for p in pairs) for k in range(2)]
            failed |= ratio > args.limit or memory[0] >= memory[1]
            rows.append([name, f"{cpu[0]:.2f}", f"{cpu[1]:.2f}", f"{ratio:.2f}", f"{memory[0]:.0f}", f"{memory[1]:.0f}"])
    measure.table(["input", "CPU s", "mlir-opt", "ratio", "MiB", "mlir-opt"], rows)
    sys.exit(failed)


if __name__ == "__main__":
    main()
