#!/usr/bin/env python3
"""Products of matrices as kernels against eager PyTorch, over a grid of sizes: what `sched::product_rule` is made from.

    python tools/bench/products.py --threads 1 --forms linear,mm,gradient

Each line has eager's time and how many times as fast the kernel is: the median of the ratios of rounds in which both ran.
"""

import argparse
import statistics
import time

import torch
import torch.nn.functional as F

#: What is computed, and its inputs for m rows, n columns and k summed points.
FORMS = {
    "linear": (F.linear, lambda m, n, k: (torch.randn(m, k), torch.randn(n, k), torch.randn(n))),
    "linear-gelu": (lambda x, w, b: F.gelu(F.linear(x, w, b)), lambda m, n, k: (torch.randn(m, k), torch.randn(n, k), torch.randn(n))),
    "mm": (torch.mm, lambda m, n, k: (torch.randn(m, k), torch.randn(k, n))),
    "gradient": (lambda x, y: x.t() @ y, lambda m, n, k: (torch.randn(k, m), torch.randn(k, n))),
    "bmm": (lambda x, y: x @ y.transpose(1, 2), lambda m, n, k: (torch.randn(16, m, k), torch.randn(16, n, k))),
}


def measure(old, new, args):
    """Seconds of `old`, and how many times as fast `new` is."""
    for f in (old, new, old, new):
        f(*args)
    start = time.perf_counter()
    old(*args)
    inner = max(1, int(5e-4 / max(time.perf_counter() - start, 1e-6)))
    times = {old: [], new: []}
    for r in range(15):
        for f in (old, new) if r % 2 else (new, old):
            start = time.perf_counter()
            for _ in range(inner):
                f(*args)
            times[f].append((time.perf_counter() - start) / inner)
    return statistics.median(times[old]), statistics.median(a / b for a, b in zip(times[old], times[new]))


def main():
    """Runs the grid."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--forms", default="linear,mm,gradient", help=", ".join(FORMS))
    parser.add_argument("--rows", default="1,2,4,8,16,32,64,128,256")
    parser.add_argument("--sizes", default="512x512,2048x512,2048x2048", help="columns x summed points")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    for form in args.forms.split(","):
        f, inputs = FORMS[form]
        for m in map(int, args.rows.split(",")):
            for n, k in (map(int, s.split("x")) for s in args.sizes.split(",")):
                torch.compiler.reset()
                ours = torch.compile(f, backend="rinductor", dynamic=False, options={"rinductor.products": "always", "rinductor.strict": True})
                with torch.no_grad():
                    seconds, ratio = measure(f, ours, inputs(m, n, k))
                print(f"{form:12} m={m} n={n} k={k}: eager {seconds * 1e3:.4f} ms, kernel x{ratio:.2f}", flush=True)


if __name__ == "__main__":
    main()
