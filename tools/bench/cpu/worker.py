"""The process that measures: compiles each variant with every backend, compares with float64, and times all of them in turn."""

import copy
import ctypes
import gc
import json
import math
import statistics
import sys
import time
import types

import torch
from torch.utils._pytree import tree_leaves

#: How far off a result may be, relative to the largest value, by the dtype of the inputs.
TOLERANCE = {"f32": 1e-4, "f64": 1e-8, "f16": 5e-3, "bf16": 2e-2}


def tensors(value):
    """The tensors in a result."""
    return [t for t in tree_leaves(value) if isinstance(t, torch.Tensor)]


class Variant:
    """A case with a dtype, forward alone or with its backward."""

    def __init__(self, case, dtype, backward, kinds):
        self.case, self.backward = case, backward
        torch.manual_seed(case.seed)
        self.function, self.inputs = case.build(kinds[dtype])
        if isinstance(self.function, torch.nn.Module):
            self.function.train(backward and "trainbn" in case.tags).requires_grad_(backward)
        wanted = range(len(self.inputs)) if case.diff is None else case.diff
        self.differentiated = [i for i in wanted if self.inputs[i].is_floating_point()]
        function, inputs = self.fresh(torch.Tensor.clone)
        versions = [t._version for t in inputs]
        torch.manual_seed(1)
        self.gradients = None
        if backward:
            outputs = tensors(function(*inputs))
            self.gradients = [torch.randn_like(t) for t in outputs if t.requires_grad]
        results = self.step(function, inputs)()
        written = [t for t, version in zip(inputs, versions) if t._version != version]
        read = case.in_bytes(inputs) if case.in_bytes else size(inputs)
        #: What must be moved; a backward reads the inputs once more, and the gradients of the outputs.
        self.bytes = read, size(results) + size(written)
        if backward:
            self.bytes = read * (2 if case.reread else 1) + size(self.gradients), self.bytes[1]

    def fresh(self, convert=None):
        """A function and inputs of its own: they are shared where nothing writes to them."""
        function, inputs = self.function, list(self.inputs)
        if isinstance(function, torch.nn.Module):
            function = copy.deepcopy(function)
        if convert or self.case.mutates:
            inputs = [(convert or torch.Tensor.clone)(t.detach()) for t in inputs]
        for i in self.differentiated if self.backward else ():
            inputs[i] = inputs[i].detach().requires_grad_(True)
        return function, inputs

    def step(self, function, inputs, called=None):
        """What is timed: one call, with the gradients of all that wants one."""
        called = called or function
        if not self.backward:

            def forward():
                with torch.no_grad():
                    return tensors(called(*inputs))

            return forward
        wanted = [inputs[i] for i in self.differentiated]
        wanted += list(function.parameters()) if isinstance(function, torch.nn.Module) else []

        def both():
            outputs = tensors(called(*inputs))
            ends = [t for t in outputs if t.requires_grad]
            gradients = [g.to(t.dtype) for g, t in zip(self.gradients, ends)]
            return outputs + list(torch.autograd.grad(ends, wanted, gradients, allow_unused=True, materialize_grads=True))

        return both

    def exact(self):
        """The results in double precision."""
        function, inputs = self.fresh(lambda t: t.double() if t.is_floating_point() else t.clone())
        if isinstance(function, torch.nn.Module):
            function.double()
        torch.manual_seed(2)
        return self.step(function, inputs)() + (inputs if self.case.mutates else [])


def size(values):
    """Bytes of tensors."""
    return sum(t.nbytes for t in values)


def compiled(function, backend, number):
    """A function by a backend: a code object of its own, so that Dynamo shares nothing between backends."""
    name, _, mode = backend.partition(":")
    if name == "eager":
        return function
    if isinstance(function, torch.nn.Module):
        module = function

        def function(*inputs):
            return module(*inputs)

    code = function.__code__.replace(co_name=f"measured_{number}")
    function = types.FunctionType(code, function.__globals__, code.co_name, function.__defaults__, function.__closure__)
    options = {}
    if name == "rinductor" and mode in ("llvm", "cpp"):
        options["options"] = {"rinductor.cpu": mode}
    elif mode:
        options["mode"] = mode
    return torch.compile(function, backend=name, dynamic=False, **options)


def difference(got, want):
    """The largest difference, relative to the largest value of its tensor."""
    worst = 0.0
    for a, b in zip(got, want):
        if a.shape != b.shape:
            return math.inf
        if not b.numel():
            continue
        a, b = a.detach().double(), b.detach().double()
        apart = torch.where((a == b) | (a.isnan() & b.isnan()), 0.0, (a - b).abs())
        largest = torch.where(b.isfinite(), b.abs(), 0.0).max().item()
        found = apart.max().item()
        worst = max(worst, found / max(largest, 1e-30) if math.isfinite(found) else math.inf)
    return worst


def prepare(variant, dtype, backends, record):
    """The steps to time, by backend: each was compiled, run once, and compared."""
    case, steps, first = variant.case, {}, None
    want = variant.exact() if case.check == "close" else None
    for number, backend in enumerate(backends):
        result = record["backends"][backend] = {}
        try:
            function, inputs = variant.fresh()
            step = variant.step(function, inputs, compiled(function, backend, number))
            torch.manual_seed(2)
            start = time.perf_counter()
            got = step()
            result["first"] = time.perf_counter() - start
            got = got + (inputs if case.mutates else [])
            first = first or got
            if case.check != "none":
                result["error"] = difference(got, want or first)
                result["right"] = result["error"] <= TOLERANCE.get(dtype, 0.0) if want else result["error"] == 0
            steps[backend] = step
        except Exception as why:  # a backend that fails has no figure; the others have
            result["failed"] = f"{type(why).__name__}: {str(why).strip()}"[:300]
    return steps


def roof_step(library, moved, threads):
    """A step that only moves these bytes."""
    roof = ctypes.CDLL(library).roof
    roof.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int]
    counts = [max(64, n // 4) for n in moved]
    source, target = (torch.ones(n + 64) for n in counts)
    past_caches = int(sum(moved) > 32 << 20)
    return lambda: roof(source.data_ptr(), counts[0], target.data_ptr(), counts[1], threads, past_caches)


def measure(steps, seconds):
    """The seconds of each step in each round; steps take turns, in an order that is reversed each time."""
    repeats, clock = {}, time.perf_counter
    for name, step in steps.items():
        step()
        start = clock()
        step()
        repeats[name] = max(1, min(1000, int(0.005 / max(clock() - start, 1e-7))))
    rounds, names, start = [], list(steps), clock()
    while len(rounds) < 5 or clock() - start < seconds and len(rounds) < 200:
        row = {}
        for name in names:
            step = steps[name]
            step()  # its data is in the caches again
            began = clock()
            for _ in range(repeats[name]):
                step()
            row[name] = (clock() - began) / repeats[name]
        rounds.append(row)
        names.reverse()
    return rounds


def timed(variant, dtype, job):
    """The record of one variant."""
    record = {"bytes": variant.bytes, "suite": variant.case.suite, "group": variant.case.group, "backends": {}}
    steps = prepare(variant, dtype, job["backends"], record)
    if job["roof"] and variant.case.membound:
        steps["roof"] = roof_step(job["roof"], variant.bytes, job["threads"])
    gc.collect()
    gc.disable()
    rounds = measure(steps, job["seconds"])
    gc.enable()
    record["rounds"] = len(rounds)
    for name in steps:
        median = statistics.median(row[name] for row in rounds)
        if name == "roof":
            record["roof"] = median
            continue
        result = record["backends"][name]
        result["seconds"] = median
        result["compile"] = max(0.0, result["first"] - median)
        for other in steps:
            # Of rounds, not of medians: what disturbs a round disturbs both.
            result.setdefault("speed", {})[other] = statistics.median(row[other] / row[name] for row in rounds)
    return record


def peak_memory(reset=False):
    """The most memory that the process had, in MiB; and from now on, counted anew."""
    with open("/proc/self/status", encoding="utf-8") as file:
        line = next(line for line in file if line.startswith("VmHWM"))
    if reset:
        try:
            with open("/proc/self/clear_refs", "w", encoding="utf-8") as file:
                file.write("5")
        except OSError:
            pass  # the peak is then that of the whole process
    return int(line.split()[1]) / 1024


def cold(variant, dtype, job):
    """Compile seconds and peak memory of one backend in this process, in which nothing was compiled before."""
    (backend,) = job["backends"]
    record = {"backend": backend}
    function, inputs = variant.fresh()
    step = variant.step(function, inputs, compiled(function, backend, 0))
    start = time.perf_counter()
    step()
    first = time.perf_counter() - start
    record["peak compiling"] = peak_memory()
    times = []
    for _ in range(3):
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    gc.collect()
    # What compiling has freed is no part of the peak of a step.
    ctypes.CDLL(None).malloc_trim(0)
    peak_memory(reset=True)
    step()
    record.update({"peak running": peak_memory(), "compile": max(0.0, first - min(times)), "seconds": min(times)})
    return record


def main():
    job = json.loads(sys.argv[1])
    sys.path.insert(0, job["cases"])
    import cases

    torch.set_num_threads(job["threads"])
    for name, dtype, mode in job["variants"]:
        torch._dynamo.reset()
        record = {"case": name, "dtype": dtype, "mode": mode}
        try:
            variant = Variant(cases.CASES[name], dtype, mode == "bwd", cases.DT)
            record |= (cold if job["kind"] == "cold" else timed)(variant, dtype, job)
        except Exception as why:  # also of a case that eager cannot run
            record["error"] = f"{type(why).__name__}: {str(why).strip()}"[:300]
        print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main()
