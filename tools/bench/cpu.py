#!/usr/bin/env python3
"""Speed on the CPU against eager PyTorch and TorchInductor: one command from cases to a table and a plot.

    python tools/bench/cpu.py --cases FOLDER --out target/bench      # writes cpu.json, cpu.md and cpu.svg there

FOLDER has `cases.py`, whose dictionary `CASES` has for each case a function that makes a callable and its inputs; with `roof.c`, a loop that only
moves bytes, the table has the fraction of bandwidth. README.md beside this file says what the columns mean.
"""

import argparse
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from cpu import table  # noqa: E402

#: Cases of which compile time and peak memory are measured in fresh processes if nothing else is asked for.
COLD = "^(norm_add_layernorm|blk_encoder|blk_unet_res)$"


def load_cases(folder):
    """The cases of a folder."""
    sys.path.insert(0, str(folder))
    spec = importlib.util.spec_from_file_location("cases", Path(folder) / "cases.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["cases"] = module
    spec.loader.exec_module(module)
    return module.CASES


def chosen(cases, args):
    """The variants that are asked for: case, dtype, mode."""
    for c in cases.values():
        if c.held and not args.held or args.suite not in ("all", c.suite) or not re.search(args.only, c.name):
            continue
        for dtype in c.dtypes:
            for mode in c.modes:
                if dtype in args.dtypes.split(",") and mode in args.modes.split(","):
                    yield c.name, dtype, mode


def environment(args, folder, caches=False, keep=True):
    """Of a process that measures. Where freed memory is kept, no page is touched for the first time again and again; where peaks are measured it is not."""
    threads = str(args.threads)
    env = dict(os.environ, OMP_NUM_THREADS=threads, MKL_NUM_THREADS=threads)
    if keep:
        env.update(MALLOC_MMAP_MAX_="0", MALLOC_TRIM_THRESHOLD_=str(1 << 40))
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")]))
    # Inductor's cache does not know for how many threads its code is.
    env["TORCHINDUCTOR_CACHE_DIR"] = str(folder / f"inductor-{threads}")
    env.setdefault("TORCHINDUCTOR_VEC_ISA_OK", "1")
    if caches:
        env["RINDUCTOR_CACHE_DIR"] = str(folder / "rinductor")
    else:
        env.update(TORCHINDUCTOR_FORCE_DISABLE_CACHES="1", RINDUCTOR_CACHE="0")
    return env


def work(job, env, todo):
    """The records of a worker; what a crash leaves goes to another."""
    todo = list(todo)
    while todo:
        with tempfile.TemporaryFile() as errors:
            command = [sys.executable, "-m", "cpu.worker", json.dumps(dict(job, variants=todo))]
            process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=errors, text=True)
            done = 0
            for line in process.stdout:
                if line.startswith("{"):
                    done += 1
                    yield json.loads(line)
            process.wait()
            errors.seek(0, os.SEEK_END)
            errors.seek(max(0, errors.tell() - 500))
            last = errors.read().decode(errors="replace").strip().rpartition("\n")[2]
        todo = todo[done:]
        if todo:
            case, dtype, mode = todo.pop(0)
            yield {"case": case, "dtype": dtype, "mode": mode, "error": f"the process ended with {process.returncode}: {last}"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", required=True, metavar="FOLDER", help="the folder of cases.py")
    parser.add_argument("--backends", default="eager,inductor,rinductor", help="names, with commas: eager, inductor, rinductor, rinductor:cpp, or what torch.compile knows, each with a mode after a colon")
    parser.add_argument("--only", default="", metavar="REGEX", help="names of cases")
    parser.add_argument("--suite", default="all", help="kernels, blocks or all")
    parser.add_argument("--held", action="store_true", help="also cases that are held back from tuning")
    parser.add_argument("--modes", default="fwd,bwd", help="fwd, and bwd for forward and backward together")
    parser.add_argument("--dtypes", default="f32,i64")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1.0, help="how long a variant is measured for")
    parser.add_argument("--cached", action="store_true", help="let the compilers keep what they compiled: compile seconds mean nothing then")
    parser.add_argument("--cold", default=COLD, metavar="REGEX", help="cases of which a fresh process measures compile seconds and peak memory; '' for none")
    parser.add_argument("--only-cold", action="store_true", help="measure nothing else")
    parser.add_argument("--chunk", type=int, default=8, help="variants for one process")
    parser.add_argument("--out", default="target/bench", help="the folder for cpu.json, cpu.md and cpu.svg")
    args = parser.parse_args()
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    variants = list(chosen(load_cases(args.cases), args))
    if not variants:
        sys.exit("no case is asked for")
    backends = args.backends.split(",")
    report = {"threads": args.threads, "backends": backends, "cpu": cpu_name(), "runs": [], "cold": []}
    job = {"cases": str(args.cases), "threads": args.threads, "backends": backends, "seconds": args.seconds, "roof": str(build_roof(args.cases, out) or "")}
    try:
        for start in range(0, 0 if args.only_cold else len(variants), args.chunk):
            for record in work(dict(job, kind="time"), environment(args, out, args.cached), variants[start : start + args.chunk]):
                report["runs"].append(record)
                print(table.line(record, backends), flush=True)
        for variant in variants if args.cold else ():
            for backend in backends if re.search(args.cold, variant[0]) else ():
                for record in work(dict(job, kind="cold", backends=[backend]), environment(args, out, keep=False), [variant]):
                    report["cold"].append(record)
                    print(table.cold_line(record), flush=True)
    finally:
        # Also of what was measured before an interruption.
        (out / "cpu.json").write_text(json.dumps(report, indent=1))
        (out / "cpu.md").write_text(table.markdown(report))
        (out / "cpu.svg").write_text(table.svg(report))
    print(f"\n{table.summary(report)}\n{out}/cpu.md, cpu.json, cpu.svg")


def cpu_name():
    """What the machine calls its processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return "?"
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "?")


def build_roof(folder, out):
    """The loop that only moves bytes, if the folder has one and a compiler is there."""
    source, library = Path(folder) / "roof.c", out.resolve() / "roof.so"
    if not source.exists():
        return None
    command = ["cc", "-O3", "-march=native", "-fopenmp", "-shared", "-fPIC", str(source), "-o", str(library)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as why:
        print(f"no fraction of bandwidth: roof.c cannot be built: {why}", file=sys.stderr)
        return None
    return library


if __name__ == "__main__":
    main()
