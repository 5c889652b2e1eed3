"""Calls ops with random arguments in eager PyTorch and here: eager_calls.py [--calls N] [--seed S] [--bin FOLDER] [--dialects FOLDER] [--no-run] [OP…]

Every op that the dialect files declare (or the named ones) is called N times, with arguments made from PyTorch's schema. What PyTorch refuses must be refused; types with
strides must be those of PyTorch; values are those that the machine code computes. One line is printed for each kind of difference of an op, with a call that
shows it; at the end stand the counts.
"""

import argparse
import collections
import copyreg
import importlib
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import traceback
import warnings

import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import eager  # noqa: E402
import eager_arguments  # noqa: E402

WORDS = {t: w for w, t in eager.DTYPES.items()}
# PyTorch decides by data, by chance, or by what is not in the arguments.
NOT_COMPARED = {"aten.empty.memory_format", "aten.empty_strided", "aten.empty_like", "aten.new_empty", "aten.new_empty_strided", "aten.empty_permuted", "aten.multinomial", "aten.bernoulli.p",
                "aten.none", "aten.constant", "aten.copy_", "prims.inductor_seeds", "prims.inductor_random"}
# What PyTorch finds while it computes, and the machine code too.
DATA = re.compile(r"ZeroDivision|index .* out of (bounds|range)|out of bounds")
RANDOM = re.compile(r"rand|bernoulli|dropout|multinomial|normal|poisson|exponential|geometric|cauchy|uniform|binomial|rrelu")


def declared(folder):
    """The names of ops with a schema that dialect files declare, with whether they are extern without a kernel."""
    found = []
    for file in sorted(os.listdir(folder)):
        if file.endswith(".dialect"):
            text = open(os.path.join(folder, file), encoding="utf-8").read()
            found += re.findall(r"^op ((?:aten|prims)\.[\w.]+)\(", text, re.M)
    return found


def memory_format(name):
    return getattr(torch, name)


copyreg.pickle(torch.memory_format, lambda m: (memory_format, (str(m).removeprefix("torch."),)))


def operator(name):
    dialect, op, *overload = name.split(".")
    return getattr(getattr(getattr(torch.ops, dialect), op), overload[0] if overload else "default")


def type_text(t):
    """The type of a tensor, with its strides where they are not contiguous."""
    sizes = "x".join([*map(str, t.shape), WORDS[t.dtype]])
    contiguous, n = [], 1
    for size in reversed(t.shape):
        contiguous.insert(0, n)
        n *= max(size, 1)
    layout = []
    if list(t.stride()) != contiguous:
        layout.append(f"strides = [{', '.join(map(str, t.stride()))}]")
    return f"tensor<{sizes}{', #aten.layout<' + ', '.join(layout) + '>' if layout else ''}>"


def number_text(x):
    if isinstance(x, bool):
        return str(x).lower()
    if isinstance(x, int):
        return f"{x} : i64"
    return f"{float_text(x)} : f64"


def float_text(x):
    if x != x or x in (float("inf"), float("-inf")):
        import struct
        return "0x" + struct.pack(">d", x).hex().upper()
    text = repr(float(x))
    return text if "." in text or "e" not in text else text.replace("e", ".0e")


def property_text(x):
    """A property, or None if it cannot be written."""
    if isinstance(x, str):
        return f'"{x}"'
    if isinstance(x, torch.dtype):
        return WORDS.get(x)
    if isinstance(x, torch.memory_format):
        return f'"{str(x).removeprefix("torch.")}"'
    if isinstance(x, (bool, int, float)):
        return number_text(x)
    if isinstance(x, (list, tuple)):
        if all(isinstance(i, bool) for i in x) and x:
            return "array<i1: " + ", ".join(str(i).lower() for i in x) + ">"
        if all(isinstance(i, int) for i in x):
            return "array<i64" + (": " + ", ".join(map(str, x)) if x else "") + ">"
        if all(isinstance(i, (int, float)) for i in x):
            return "array<f64: " + ", ".join(float_text(i) for i in x) + ">"
    return None


def own(result):
    """A result with memory of its own, as far as its strides allow."""
    if not isinstance(result, torch.Tensor) or result.layout != torch.strided or any(s == 0 and n > 1 for s, n in zip(result.stride(), result.shape)):
        return result
    try:
        return torch.empty_strided(result.shape, result.stride(), dtype=result.dtype).copy_(result)
    except RuntimeError:
        return result  # windows that overlap


class Call:
    """One call: the arguments by name, and what PyTorch makes of it."""

    def __init__(self, name, arguments):
        warnings.simplefilter("ignore")
        self.name, self.arguments = name, arguments
        self.results, self.refused = None, None
        function = operator(name)
        try:
            with torch.no_grad():
                given = {k: v.clone() if isinstance(v, torch.Tensor) and v.numel() == 0 else v for k, v in arguments.items()}
                results = function(**given)
            self.results = [own(r) for r in (results if isinstance(results, (tuple, list)) else [results])]
            if any(isinstance(r, torch.Tensor) and (r.dtype not in WORDS or r.layout != torch.strided) for r in self.results):
                self.results, self.refused = None, "odd"
        except Exception as error:
            self.refused = (str(error).splitlines() or [type(error).__name__])[0][:160]

    def text(self, number, results):
        """The function that calls the op; None if an argument cannot be written."""
        operands, types, props, counts = [], [], [], []
        several = False
        parameters = eager.parameters(operator(self.name)._schema)
        for parameter, ty in parameters:
            base = re.match(r"\w+", ty)[0]
            counted = base in ("Tensor", "int", "SymInt", "Scalar")
            before = len(operands)
            if parameter in self.arguments:
                value = self.arguments[parameter]
                if isinstance(value, torch.Tensor):
                    operands.append(value)
                elif base == "Tensor" and isinstance(value, list):
                    operands += value
                elif value is not None and not isinstance(value, torch.device):
                    text = property_text(value)
                    if text is None:
                        return None
                    props.append(f"{parameter} = {text}")
            if base == "Tensor" and ("[" in ty or ty.endswith("?")):
                several = True
            if counted:
                counts.append(len(operands) - before)
        if several:
            props.append(f"operandSegmentSizes = array<i32: {', '.join(map(str, counts))}>")
        names, lines = [], []
        for k, t in enumerate(operands):
            names.append(f"%n{number}_{k}" if t is None else f"%a{number}_{k}")
            types.append("none" if t is None else type_text(t))
            if t is None:
                lines.append(f'  {names[-1]} = "aten.none"() : () -> none')
        out = [f"%r{number}_{k}" for k in range(len(results))]
        left = ", ".join(out) + " = " if out else ""
        shown = f" <{{{', '.join(props)}}}>" if props else ""
        line = f'  {left}"{self.name}"({", ".join(names)}){shown} : ({", ".join(types)}) -> ({", ".join(results)})'
        inputs = [(n[1:], t) for n, t in zip(names, operands) if t is not None]
        return inputs, [*lines, line], out

    def tensors(self):
        """All that is an argument or a result."""
        given = [list(v) if isinstance(v, (list, tuple)) else [v] for v in self.arguments.values()]
        return [*sum(given, []), *(self.results or [])]

    def shown(self):
        def one(v):
            if isinstance(v, torch.Tensor):
                return type_text(v) + (f"={v.tolist()}" if v.numel() <= 6 and not v.is_floating_point() else "")
            if isinstance(v, list):
                return "[" + ", ".join(map(one, v)) + "]"
            return str(v)
        return f"{self.name}({', '.join(f'{k}={one(v)}' for k, v in self.arguments.items())})"


def module(calls, stated):
    """A function that makes several calls; stated says whether results have types."""
    inputs, lines, outs, types = [], [], [], []
    for number, call in calls:
        results = [type_text(r) if r is not None else "none" for r in call.results] if stated else []
        i, l, o = call.text(number, results)
        inputs += i
        lines += l
        keep = [k for k, r in enumerate(call.results or []) if r is not None] if stated else []
        outs += [o[k] for k in keep]
        types += [results[k] for k in keep]
    head = ", ".join(f"%{n}: {type_text(t)}" for n, t in inputs)
    text = f"func.func @calls({head}) -> ({', '.join(types)}) {{\n" + "\n".join(lines)
    return text + f"\n  return {', '.join(outs)} : {', '.join(types)}\n}}\n" if types else text + "\n  return\n}\n", inputs, outs


class Host:
    """The program `call_ops`, which is started again if a call ends it."""

    def __init__(self, binary, files):
        self.command, self.process = [binary, *files], None

    def ask(self, question):
        """The lines of an answer; None and what happened if there is none."""
        if self.process is None:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.process.stdin.write(question + "\n")
        self.process.stdin.flush()
        watch = threading.Timer(120, self.process.kill)
        watch.start()
        lines = []
        for line in self.process.stdout:
            if line == ".\n":
                watch.cancel()
                return lines, None
            lines.append(line.rstrip("\n"))
        watch.cancel()
        errors = self.process.stderr.read().splitlines() or [""]
        code, self.process = self.process.wait(), None
        at = next((k for k, l in enumerate(errors) if "panicked" in l or "error" in l), 0)
        return None, f"ended with {code}: {' '.join(errors[at:at + 2])[:300]}"


def run(host, calls, folder):
    """Runs calls as machine code: the results of each, or what went wrong."""
    text, inputs, outs = module(calls, True)
    path, given, made = (os.path.join(folder, n) for n in ("calls.ir", "in.safetensors", "out.safetensors"))
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    eager_arguments.write_safetensors(given, inputs)
    lines, wrong = host.ask(f"run {path} {given} {made}")
    if lines is None:
        return None, wrong
    return (eager_arguments.read_safetensors(made), None) if lines == ["done"] else (None, lines[0].removeprefix("failed ")[:300])


def differ(now, expected):
    """Where values differ by more than two implementations may; None if nowhere."""
    if list(now.shape) != list(expected.shape) or now.dtype != expected.dtype:
        return f"{now.dtype}{list(now.shape)} instead of {expected.dtype}{list(expected.shape)}"
    if expected.numel() == 0:
        return None
    dtype = expected.dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        same = now == expected
    else:
        wide = torch.complex128 if dtype.is_complex else torch.float64
        a, b = now.to(wide), expected.to(wide)
        if dtype.is_complex:
            a, b = torch.view_as_real(a), torch.view_as_real(b)
        slack = eager.SLACK.get(dtype, {torch.complex64: 2e-5, torch.complex128: 1e-11}.get(dtype, 0.0))
        finite = b[torch.isfinite(b)].abs()
        tolerance = slack * (b.abs() + 0.1 * (finite.max() if finite.numel() else 0.0) + 0.01)
        same = (a == b) | (a.isnan() & b.isnan()) | ((a - b).abs() <= tolerance.nan_to_num(0.0, 0.0))
        now, expected = a, b
    if bool(same.all()):
        return None
    at = tuple(int(i) for i in torch.argwhere(~same)[0]) if same.dim() else ()
    return f"element {list(at)}: {now[at].item()} instead of {expected[at].item()}"


def calls_of(name, function, options, counts):
    """Calls of an op with random arguments, most of which PyTorch takes. They are made in a process of their own: PyTorch does not survive all that it is given."""
    deadly = set()
    with tempfile.TemporaryDirectory() as folder:
        path, progress = os.path.join(folder, "calls"), os.path.join(folder, "number")
        while True:
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    torch.save(some_calls(name, function, options, deadly, progress), path)
                    code = 0
                except Exception:
                    traceback.print_exc()
                finally:
                    os._exit(code)
            status = os.waitpid(child, 0)[1]
            if not os.WIFSIGNALED(status):
                break
            deadly.add(int(open(progress, encoding="utf-8").read()))
            counts["calls that PyTorch does not survive"] += 1
        if os.WEXITSTATUS(status):
            sys.exit(1)
        made, odd = torch.load(path, weights_only=False)
    counts["calls that cannot be written"] += odd
    return made


def some_calls(name, function, options, deadly, progress):
    parameters = eager.parameters(function._schema)
    made, accepted, odd = [], 0, 0
    for k in range(options.calls * 5):
        if k in deadly:
            continue
        with open(progress, "w", encoding="utf-8") as file:
            file.write(str(k))
        rng = random.Random(f"{options.seed} {name} {k}")
        torch.manual_seed(options.seed)
        call = Call(name, eager_arguments.make(name, parameters, function._schema, rng))
        if call.refused == "odd" or call.text(0, []) is None:
            odd += 1
        elif not call.refused or len(made) - accepted < options.calls // 3 + accepted:
            accepted += not call.refused
            made.append(call)
        if accepted >= options.calls:
            break
    return made, odd


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("--calls", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--bin", default=os.path.join(here, "../../target/debug"))
    parser.add_argument("--dialects", default=os.path.join(here, "../../dialects"))
    parser.add_argument("--no-run", action="store_true")
    parser.add_argument("ops", nargs="*")
    options = parser.parse_args()
    torch.set_num_threads(1)
    # Declares the prims of Inductor.
    importlib.import_module("torch._inductor.inductor_prims")
    names = [n for n in declared(options.dialects) if not options.ops or any(re.fullmatch(o, n) for o in options.ops)]
    order = re.findall(r'"(\w+\.(?:dialect|rules))"', open(os.path.join(options.dialects, "../src/dialects/build.rs"), encoding="utf-8").read())
    host = Host(os.path.join(options.bin, "examples/call_ops"), [os.path.join(options.dialects, n) for n in order])
    calls, found, counts = [], collections.OrderedDict(), collections.Counter()

    def note(call, kind, text):
        counts[kind.split(":")[0]] += 1
        found.setdefault((call if isinstance(call, str) else call.name, kind), text)

    for name in names:
        try:
            function = operator(name)
        except AttributeError:
            if name not in NOT_COMPARED:
                note(name, "PyTorch has no such op", "")
            continue
        made = calls_of(name, function, options, counts)
        accepted = sum(not c.refused for c in made)
        calls += made
        if not accepted:
            note(name, "PyTorch took no call", made[-1].refused if made else "")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "types.ir")
        with open(path, "w", encoding="utf-8") as file:
            for k, call in enumerate(calls):
                file.write(module([(k, call)], False)[0].replace("@calls", f"@calls{k}"))
        lines, wrong = host.ask(f"types {path}")
        if lines is None or len(lines) != len(calls):
            sys.exit(wrong or lines[0])
        ready = []
        for call, line in zip(calls, lines, strict=True):
            kind, _, text = line.partition(" ")
            if call.refused and DATA.search(call.refused):
                counts["stopped by data"] += 1
            elif call.refused:
                if kind in ("types", "unknown"):
                    note(call, "PyTorch refuses", f"{call.refused} | {call.shown()}")
                else:
                    counts["refused by both"] += 1
            elif kind in ("refused", "undefined"):
                note(call, f"{kind} here: {re.sub(r'[0-9]+', 'N', text)[:60]}", f"{text} | {call.shown()}")
            else:
                if kind == "types":
                    here_types = text.split("; ")
                    there = [type_text(r) if isinstance(r, torch.Tensor) else "index" for r in call.results]
                    masked = [h for h, t in zip(here_types, call.results) if t is not None]
                    there = [t for t, r in zip(there, call.results) if r is not None]
                    plain = lambda t: re.sub(r", #aten.*", ">", t)
                    if len(here_types) != len(call.results) or list(map(plain, masked)) != list(map(plain, there)):
                        note(call, "another type", f"{masked}, PyTorch {there} | {call.shown()}")
                        continue
                    if [strides_of(t) for t in masked] != [strides_of(t) for t in there]:
                        note(call, "other strides", f"{masked}, PyTorch {there} | {call.shown()}")
                if any(isinstance(t, torch.Tensor) and t.dtype.is_complex for t in call.tensors()):
                    # Machine code has no complex numbers.
                    counts["complex, types only"] += 1
                    continue
                ready.append(call)
        if not options.no_run:
            execute(ready, host, folder, note, counts)
    for (name, kind), text in found.items():
        print(f"{name}: {kind}: {text}")
    print(f"{len(names)} ops, {len(calls)} calls; " + ", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
    sys.exit(bool(found))


def strides_of(text):
    """Strides that matter: of dimensions with more than one place, of tensors that are not empty."""
    dtype, sizes, strides, _ = eager.tensor_type(text, {}) if text.startswith("tensor") else (None, [], [], 0)
    return [] if 0 in sizes else [s for s, n in zip(strides, sizes) if n > 1]


def execute(ready, host, folder, note, counts):
    """Runs the calls, several in a function, and compares."""
    groups = [(k, c) for k, c in enumerate(ready) if all(isinstance(r, torch.Tensor) or r is None for r in c.results) and not RANDOM.search(c.name) and c.name not in NOT_COMPARED]
    work = [groups[k:k + 16] for k in range(0, len(groups), 16)]
    while work:
        group = work.pop()
        out, wrong = run(host, group, folder)
        if out is None:
            if len(group) > 1:
                half = len(group) // 2
                work += [group[:half], group[half:]]
                continue
            if "there is no extern op" in wrong:
                counts["extern without a kernel"] += 1
                continue
            note(group[0][1], f"does not run: {re.sub(r'[0-9]+', 'N', wrong)[:60]}", f"{wrong} | {group[0][1].shown()}")
            continue
        for number, call in group:
            counts["run"] += 1
            for k, expected in enumerate(call.results):
                if expected is None:
                    continue
                now = out.get(f"r{number}_{k}")
                what = "is not there" if now is None else differ(now, expected.detach())
                if what:
                    note(call, "other values", f"result {k}, {what} | {call.shown()}")
                    break
            else:
                counts["right"] += 1


if __name__ == "__main__":
    main()
