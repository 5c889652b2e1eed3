"""Runs graphs op by op in eager PyTorch and compares with what stands beside them: eager.py FOLDER

For each NAME.ir (generic form, one op a line) there is NAME.npz with inputs in0, in1, …, results out0, … and tolerances tol0, …, as `fuzz_graphs
--samples FOLDER` writes them. Floats are kept in 64 bits there; an infinite tolerance says that anything is right.
"""

import collections
import os
import re
import struct
import sys

import numpy as np
import torch

DTYPES = {"i1": torch.bool, "ui8": torch.uint8, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64,
          "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64,
          "complex<f32>": torch.complex64, "complex<f64>": torch.complex128}
FORMATS = {"contiguous_format": torch.contiguous_format, "preserve_format": torch.preserve_format,
           "channels_last": torch.channels_last}
# What two implementations may differ by beside what the tolerance says, relative to the value.
SLACK = {torch.float16: 4e-3, torch.bfloat16: 3e-2, torch.float32: 2e-5, torch.float64: 1e-11}
OP = re.compile(r'^\s*(?:(?P<results>%[^=]+) = )?"(?P<name>[^"]+)"\((?P<operands>[^)]*)\)(?: <\{(?P<props>.*?)\}>)? : (?P<types>.*)$')
SYMBOL_WORDS = {"Max": max, "Min": min, "max": max, "min": min}


def split(text):
    """The parts of a text between commas that stand in no brackets or quotes."""
    parts, depth, start, quoted = [], 0, 0, False
    for k, c in enumerate(text):
        if c == '"':
            quoted = not quoted
        elif not quoted and c in "([{<":
            depth += 1
        elif not quoted and c in ")]}>" and text[k - 1] != "-":
            depth -= 1
        elif not quoted and c == "," and depth == 0:
            parts.append(text[start:k].strip())
            start = k + 1
    return [p for p in [*parts, text[start:].strip()] if p]


def number(text):
    """A number as IR writes it; infinities and NaN as the bits of 64-bit floats."""
    return struct.unpack(">d", bytes.fromhex(text[2:]))[0] if text.startswith("0x") else float(text)


def value(text):
    """A property."""
    if text in ("true", "false"):
        return text == "true"
    if text.startswith('"'):
        return text[1:-1]
    if text.startswith("array<"):
        kind, _, items = text[6:-1].partition(":")
        read = {"i1": lambda t: t == "true"}.get(kind, int if kind.startswith("i") else number)
        return [read(t) for t in split(items)]
    if text in DTYPES:
        return DTYPES[text]
    literal, _, ty = text.partition(" : ")
    return number(literal) if ty.startswith("f") else int(literal)


def expression(text, symbols):
    """A size, stride or offset."""
    text = text.replace("floordiv", "//").replace(" mod ", " % ")
    return eval(text, {"__builtins__": {}}, {**SYMBOL_WORDS, **symbols})


def tensor_type(text, symbols):
    """Dtype, sizes, strides and offset of a type; None where it does not say."""
    body = split(text[len("tensor<"):-1])
    *sizes, element = body[0].split("x") if "complex" not in body[0] else [*body[0].split("xcomplex")[0].split("x"), "complex" + body[0].split("complex")[1]]
    if body[0].startswith("complex"):
        sizes, element = [], body[0]
    layout = {}
    if len(body) > 1:
        for entry in split(body[1][len("#aten.layout<"):-1]):
            key, _, text = entry.partition(" = ")
            if key == "device":
                continue
            layout[key] = [expression(e, symbols) for e in split(text[1:-1])] if text.startswith("[") else expression(text, symbols)
    sizes = layout.get("sizes") or [int(s) for s in sizes]
    strides = layout.get("strides")
    if strides is None:
        strides, n = [], 1
        for size in reversed(sizes):
            strides.insert(0, n)
            n *= max(size, 1)
    return DTYPES[element], sizes, strides, layout.get("offset", 0)


def parameters(schema):
    """Name and type of each parameter of an op's schema."""
    text = str(schema)
    inside = text[text.index("(") + 1 : text.rindex(") ->")]
    found = []
    for part in split(inside.replace("*, ", "").replace("*", "")):
        ty, _, name = part.partition("=")[0].rpartition(" ")
        found.append((name, re.sub(r"\(\w+!?( -> \*)?\)", "", ty)))
    return found


def call(name, operands, props):
    """Runs an op."""
    dialect, op, *overload = name.split(".")
    function = getattr(getattr(getattr(torch.ops, dialect), op), overload[0] if overload else "default")
    segments = props.pop("operandSegmentSizes", None)
    arguments, rest = {}, list(operands)
    segments = None if segments is None else list(segments)
    for parameter, ty in parameters(function._schema):
        base = re.match(r"\w+", ty)[0]
        counted = base in ("Tensor", "int", "SymInt", "Scalar")
        if segments is not None and counted:
            count = segments.pop(0)
        else:
            count = int(base == "Tensor" and parameter not in props)
        mine, rest = rest[:count], rest[count:]
        if parameter in props:
            given = props[parameter]
            if isinstance(given, list) and mine:
                mine = iter(mine)
                given = [next(mine) if n == -(2**63) else n for n in given]
            if ty.startswith("MemoryFormat"):
                given = FORMATS[given]
            if base == "Tensor":
                given = torch.tensor(given)
                given._is_number = True
            arguments[parameter] = given
        elif count:
            is_list = "[" in ty
            arguments[parameter] = mine if is_list else mine[0]
        elif ty.endswith("?"):
            arguments[parameter] = None
    if rest:
        raise ValueError(f"{name}: {len(rest)} operands are left")
    for parameter, given in arguments.items():
        if isinstance(given, torch.Tensor) and getattr(given, "_is_number", False):
            # A wrapped number: the op takes it as Python does.
            arguments[parameter] = given.item()
    return function(**arguments)


def run(path):
    """Compares one graph; gives the differences in words."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    data = np.load(path[:-3] + ".npz")
    at = next(k for k, line in enumerate(lines) if '"func.func"' in line)
    arguments = []
    if lines[at + 1].strip().startswith("^"):
        at += 1
        arguments = split(lines[at].strip().partition("(")[2].rpartition(")")[0])
    symbols, values = {}, {}
    types = [a.split(": ", 1) for a in arguments]
    head = "".join(lines[:at])
    named = re.findall(r'aten\.symbol = "(\w+)"', head)
    for k, (name, ty) in enumerate(types):
        if ty == "index":
            values[name] = int(data[f"in{k}"])
            symbols[named.pop(0)] = values[name]
    for k, (name, ty) in enumerate(types):
        sizes = re.search(r"sizes = \[([^\]]*)\]", ty)
        for size, n in zip(split(sizes[1]), data[f"in{k}"].shape) if sizes else []:
            if re.fullmatch(r"s\d+", size):
                symbols.setdefault(size, n)
    for k, (name, ty) in enumerate(types):
        if ty != "index":
            dtype, sizes, strides, _ = tensor_type(ty, symbols)
            there = torch.empty_strided(sizes, strides, dtype=dtype)
            if there.numel():
                room = torch.zeros(1 + sum((n - 1) * s for n, s in zip(sizes, strides)), dtype=dtype)
                there = room.as_strided(sizes, strides)
                plain = torch.from_numpy(np.ascontiguousarray(data[f"in{k}"])).reshape(sizes).to(dtype)
                # All points of an expanded dimension are one element.
                once = tuple(slice(0, 1) if s == 0 else slice(None) for s in strides)
                there[once].copy_(plain[once])
            values[name] = there
    for line in lines[at + 1 :]:
        match = OP.match(line)
        if not match:
            continue
        operands = [values[o] for o in match["operands"].split(", ") if o]
        if match["name"] == "func.return":
            return compare(operands, match["types"], data, symbols)
        props = {p.partition(" = ")[0]: value(p.partition(" = ")[2]) for p in split(match["props"] or "")}
        results = call(match["name"], operands, props)
        results = list(results) if isinstance(results, (tuple, list)) else [results]
        values.update(zip([r.strip() for r in match["results"].split(",")], results))
    raise ValueError("the graph returns nothing")


def compare(results, types, data, symbols):
    """The differences of results from what is expected."""
    wrong = []
    types = split(types[types.index("(") + 1 : types.rindex(") ->")])
    for k, (result, ty) in enumerate(zip(results, types)):
        dtype, sizes, strides, _ = tensor_type(ty, symbols)
        if result.dtype != dtype or list(result.shape) != sizes:
            wrong.append(f"result {k} is {result.dtype}{list(result.shape)}, the graph says {dtype}{sizes}")
            continue
        seen = lambda list: [s for s, n in zip(list, sizes) if n > 1] if result.numel() else []
        if seen(result.stride()) != seen(strides):
            wrong.append(f"result {k} has strides {list(result.stride())}, the graph says {strides}")
        if dtype.is_complex:
            now, expected = result.to(torch.complex128).numpy(), data[f"out{k}"]
        elif dtype.is_floating_point:
            now, expected = result.double().numpy(), data[f"out{k}"]
        else:
            now, expected = result.to(torch.int64).numpy(), data[f"out{k}"].astype(np.int64)
        tolerance = data[f"tol{k}"]
        with np.errstate(all="ignore"):
            finite = np.abs(expected[np.isfinite(expected)])
            slack = SLACK.get(dtype, 0.0) * (np.abs(expected) + 0.1 * (finite.max() if finite.size else 0.0))
            slack = np.where(np.isfinite(slack), slack, 0)
            same = (now == expected) | (np.isnan(now) & np.isnan(expected)) | ~np.isfinite(tolerance)
            same |= np.abs(now - expected) <= 4 * tolerance + slack
        if not same.all():
            i = tuple(np.argwhere(~same)[0])
            wrong.append(f"result {k}, element {list(map(int, i))} ({dtype}): PyTorch has {now[i]}, the graph gives {expected[i]} (±{tolerance[i]:g})")
    return wrong


def main():
    torch.set_num_threads(1)
    counts = collections.Counter()
    for file in sorted(os.listdir(sys.argv[1])):
        if not file.endswith(".ir"):
            continue
        try:
            wrong = run(os.path.join(sys.argv[1], file))
        except Exception as error:
            counts["not run by PyTorch"] += 1
            print(f"{file}: PyTorch does not run it: {type(error).__name__}: {(str(error).splitlines() or [''])[0][:200]}")
            continue
        counts["different" if wrong else "same"] += 1
        for what in wrong:
            print(f"{file}: {what}")
    print(", ".join(f"{n} {what}" for what, n in counts.items()))
    sys.exit(counts["different"] > 0)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main()
