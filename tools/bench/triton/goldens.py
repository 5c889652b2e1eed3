"""The graphs of test/codegen/triton: where they come from, and how fast their kernels are.

    python goldens.py capture        writes test/codegen/triton/*.ir, which needs the package rinductor
    python goldens.py run            runs test/codegen/triton/*.ir.expected on a GPU: agreement with eager PyTorch, and times of the module, of
                                     eager and of torch.compile, each the median over calls with a cold cache
"""

import importlib.util
import json
import sys
from pathlib import Path

import torch
import torch.nn.functional as F

# The functions use their arguments in order: that is the order in which a captured graph has them.
FOLDER = Path(__file__).resolve().parents[3] / "test" / "codegen" / "triton"
RUN = "// RUN: rinductor-opt %s --pipeline=gpu | rinductor-translate --to=triton-kernels | diff %s.expected -\n\n"


def softmax(x):
    return torch.softmax(x, -1)


def layer_norm_gelu(x, w, b):
    return F.gelu(F.layer_norm(x, (768,), w, b)) + x


def gelu_bias(x, b):
    return F.gelu(x + b)


def cross_entropy(x, t):
    return F.cross_entropy(x, t)


def transpose(x):
    return x.t().contiguous() * 2


def cat(x, y):
    return torch.cat([x * 2, y], 1)


def embedding(i, w):
    return F.embedding(i, w) * 2


def scatter_add(x, i, v):
    return x.index_add(0, i, v)


def argmax(x):
    return x.argmax(1)


def cumsum(x):
    return x.cumsum(1)


def dropout(x):
    return F.dropout(x, 0.5, True)


def adam(m, g, v, p, m2, g2, v2, p2):
    results = []
    for m, g, v, p in ((m, g, v, p), (m2, g2, v2, p2)):
        m = m * 0.9 + g * 0.1
        v = v * 0.999 + g * g * 0.001
        results += [p - 1e-3 * m / (v.abs().sqrt() + 1e-8), m, v]
    return results


def dynamic(x, b):
    return torch.softmax(x + b, -1), x.sum(0)


def column_sum_bf16(x):
    return x.float().sum(0)


def batch_norm(x, w, b):
    v, m = torch.var_mean(x, (0, 2, 3), keepdim=True, correction=0)
    return (x - m) * torch.rsqrt(v + 1e-5) * w[:, None, None] + b[:, None, None]


def matmul_relu(x, w, b):
    return torch.relu(x @ w + b)


def arguments(device):
    """The functions with their arguments."""

    def r(*sizes, dtype=torch.float32):
        return torch.randn(sizes, device=device, dtype=dtype)

    def i(high, *sizes):
        return torch.randint(high, sizes, device=device)

    bf16 = torch.bfloat16
    return [
        (softmax, r(4096, 4000)),
        (layer_norm_gelu, r(32768, 768), r(768), r(768)),
        (gelu_bias, r(16384, 3072, dtype=bf16), r(3072, dtype=bf16)),
        (cross_entropy, r(2048, 32000), i(32000, 2048)),
        (transpose, r(8192, 4000)),
        (cat, r(30000, 512), r(30000, 256)),
        (embedding, i(50000, 16, 512), r(50000, 768)),
        (scatter_add, r(50000, 64), i(50000, 65536), r(65536, 64)),
        (argmax, r(2048, 32000)),
        (cumsum, r(2048, 10000)),
        (dropout, r(16384, 768)),
        (adam, *[r(10000, 768) for _ in range(4)], *[r(768) for _ in range(4)]),
        (dynamic, r(6000, 7000), r(7000)),
        (column_sum_bf16, r(32768, 768, dtype=bf16)),
        (batch_norm, r(32, 64, 56, 56), r(64), r(64)),
        (matmul_relu, r(1024, 256), r(256, 512), r(512)),
    ]


def capture():
    from functorch.compile import make_boxed_func
    from rinductor import backend
    from rinductor.export import graph_text

    settings = backend.Settings()
    for function, *inputs in arguments("cpu"):

        def compiler(kind, name=function.__name__.replace("_", "-")):
            def keep(gm, _):
                backend.random(gm, settings)
                (FOLDER / f"{name}.ir").write_text(RUN + graph_text(gm, kind=kind).text)
                return make_boxed_func(lambda *args: [torch.zeros(())] * len(list(gm.graph.nodes)[-1].args[0]))

            return keep

        torch._dynamo.reset()
        with torch.no_grad():
            torch.compile(function, backend=backend.aot(settings, compiler), dynamic=function is dynamic)(*inputs)


def load(name):
    path = FOLDER / f"{name}.ir.expected"
    loader = importlib.machinery.SourceFileLoader(name, str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


def run(names):
    from triton.testing import do_bench

    for function, *inputs in arguments("cuda"):
        name = function.__name__
        if names and name not in names:
            continue
        line = {"graph": name}
        try:
            module = load(name.replace("_", "-"))
            given = [*inputs[0].shape, *inputs] if function is dynamic else inputs
            found, wanted = list(module.call(list(given))), function(*inputs)
            wanted = list(wanted) if isinstance(wanted, (list, tuple)) else [wanted]
            if function is not dropout:
                exact = function(*[t.double() if t.is_floating_point() else t for t in inputs])
                exact = list(exact) if isinstance(exact, (list, tuple)) else [exact]
                norm = lambda a, b: float((a.double() - b.double()).norm() / b.double().norm().clamp_min(1e-30))
                line["error"] = max(norm(a, b) for a, b in zip(found, exact))
                line["eager_error"] = max(norm(a, b) for a, b in zip(wanted, exact))
            moved = sum(t.numel() * t.element_size() for t in [*inputs, *found])
            compiled = torch.compile(function, dynamic=function is dynamic)
            compiled(*inputs)
            times = {
                "ours": do_bench(lambda: module.call(list(given)), return_mode="median"),
                "inductor": do_bench(lambda: compiled(*inputs), return_mode="median"),
                "eager": do_bench(lambda: function(*inputs), return_mode="median"),
            }
            line.update({f"{k}_us": round(v * 1e3, 1) for k, v in times.items()}, GBs=round(moved / times["ours"] / 1e6))
        except Exception as error:
            line["failed"] = f"{type(error).__name__}: {str(error)[-600:]}"
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    {"capture": lambda _: capture(), "run": run}[sys.argv[1]](sys.argv[2:])
