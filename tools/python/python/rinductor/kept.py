"""Graphs that any process has compiled before, in the cache on disk.

What is kept of a graph is the source of its function, the keys of its segments, and how each object that the source names is found again.
Its key is all that the backend looks at: nodes, their arguments, types and symbols, and the backend's own source.
"""

import functools
import hashlib
import importlib
import json
import logging
import math
import operator
from pathlib import Path

import torch

from . import _core, gpu, spelling
from .export import range_attrs

log = logging.getLogger("rinductor")


@functools.cache
def own_source():
    """A hash of this package's Python and of torch's version."""
    whole = hashlib.blake2b(torch.__version__.encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        whole.update(path.read_bytes())
    return whole.digest()


def key(gm, kind, settings, line_of):
    """The parts of the key of a graph; `settings` says how it is compiled, `line_of` gives the model's line of a node where the function speaks of it."""
    lines, symbols = [f"{kind} {settings} {torch.get_float32_matmul_precision()} {torch.backends.cudnn.allow_tf32}"], {}
    values = {}
    for node in gm.graph.nodes:
        target = node.target
        called = target if isinstance(target, str) else op_text(target) if isinstance(target, torch._ops.OpOverload) else full_name(target)
        value = node.meta.get("val")
        try:
            shown = values.get(id(value)) or value_text(value, symbols)
        except (spelling.NotSpelled, TypeError):
            return None
        values[id(value)] = shown
        lines.append(f"{node.op} {node.name} {called} {node.args!r} {node.kwargs!r} {shown} {line_of(node)}")
    lines += (f"{symbol} {range_attrs(symbol, env)}" for symbol, env in symbols.items())
    return [own_source(), "\n".join(lines).encode()]


@functools.cache
def op_text(op):
    """An op: its name; of one that is not torch's own, which may change as its library does, all that the backend asks of it."""
    return str(op) if op.namespace in ("aten", "prims") else f"{op._schema} {sorted(map(str, op.tags))}"


def full_name(function):
    """What tells a Python function from others."""
    return f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', function)}"


def value_text(value, symbols):
    """All that the backend asks of what a node computes. The symbols in it are noted with their environments."""
    if isinstance(value, torch.Tensor):
        fake = type(value) is torch._subclasses.FakeTensor
        if value.layout is torch.strided:
            note(value.shape, symbols)
            note(value.stride(), symbols)
            note((value.storage_offset(),), symbols)
        return spelling.tensor_type(value, "cpu") + ("" if fake else full_name(type(value)))
    if isinstance(value, (tuple, list)):
        return "(" + ", ".join(value_text(v, symbols) for v in value) + ")"
    if isinstance(value, spelling.SYMBOLIC):
        note((value,), symbols)
        return f"{type(value).__name__} {value.node.expr} {value.node.hint}"
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    raise spelling.NotSpelled(f"a value of type {type(value).__name__}")


def note(sizes, symbols):
    """Notes the symbols of sizes."""
    for size in sizes:
        if isinstance(size, spelling.SYMBOLIC):
            for symbol in size.node.expr.free_symbols:
                symbols.setdefault(symbol, size.node.shape_env)


def recipe(value):
    """How an object that the source of a function names is found in another process; None if it cannot be."""
    if isinstance(value, torch._ops.OpOverload):
        made = ["op", str(value)]
    elif isinstance(value, torch._ops.HigherOrderOperator):
        made = ["op", f"higher_order.{value.name()}"]
    elif isinstance(value, float):
        return ["float", value.hex()]
    elif isinstance(value, torch.device):
        made = ["device", str(value)]
    elif isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
        made = ["torch", str(value).removeprefix("torch.")]
    elif callable(value):
        made = ["function", getattr(value, "__module__", None), getattr(value, "__qualname__", None)]
    else:
        return None
    try:
        return made if found(made) is value or made[0] == "device" else None
    except (AttributeError, ImportError, TypeError, RuntimeError):
        return None


def found(recipe):
    """The object of a recipe."""
    match recipe:
        case ["op", name]:
            return functools.reduce(getattr, name.split("."), torch.ops)
        case ["float", text]:
            return float.fromhex(text)
        case ["device", name]:
            return torch.device(name)
        case ["torch", name]:
            return getattr(torch, name)
        case ["function", module, name]:
            return operator.attrgetter(name)(importlib.import_module(module))
    raise TypeError(f"no object is found by {recipe}")


def keep(parts, source, calls):
    """Keeps a graph. `calls` are the segments: the name of each in the source, the key of its executable, and what `placed` is given with it."""
    recipes = {}
    named = {name for name, *_ in calls}
    for name, value in source.globals.items():
        if name in named or value is torch or value is math:
            continue
        attribute = source.attributes.get(name)
        how = ["attribute", attribute] if attribute else recipe(value)
        if how is None:
            return
        recipes[name] = how
    _core.keep(parts, json.dumps({"source": source.text(), "calls": calls, "objects": recipes}).encode())


def find(parts, gm, executables, placed, cpu=None):
    """The source of the function, the objects that it names, and its executables, if all of it was kept.

    `executables` are those of this process by their keys, and gets those that are found; `placed` makes the call of a segment from its executable.
    """
    kept = _core.kept(parts)
    if kept is None:
        return None
    try:
        kept = json.loads(kept)
        keys = {key for _, key, _, _ in kept["calls"]}
        missing = sorted(k for k in keys - executables.keys() if not gpu.is_key(k))
        loaded = _core.kept_executables(missing, cpu) if missing else []
        programs = {k: gpu.kept(k) for k in keys - executables.keys() if gpu.is_key(k)}
        if loaded is None or None in programs.values():
            return None
        executables.update(zip(missing, loaded))
        executables.update(programs)
        scope = {"torch": torch, "math": math}
        for name, how in kept["objects"].items():
            scope[name] = operator.attrgetter(how[1])(gm) if how[0] == "attribute" else found(how)
        for name, key, *rest in kept["calls"]:
            scope[name] = placed(executables[key], *rest)
        return kept["source"], scope, [executables[k] for k in sorted(keys)]
    except (ValueError, KeyError, TypeError, AttributeError, ImportError) as why:
        log.warning("what the cache has of a graph is not used: %s", why)
        return None
