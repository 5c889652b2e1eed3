"""The Python function that runs a graph: calls of compiled segments and of torch, as source that people can read."""

import functools
import math

import torch
from torch.fx import Node
from torch.utils._sympy.printers import PythonPrinter

from .partition import Segment, bound_symbols, is_scalar, sizes_of
from .spelling import SYMBOLIC


class Source:
    """The source of a function `call(args)`, and the objects that it refers to."""

    def __init__(self):
        self.lines = []
        #: Names that variables of the function have.
        self.reserved = set()
        self.globals = {"torch": torch, "math": math}
        self.objects = {}
        #: Which of the globals are constants of the graph, and which.
        self.attributes = {}

    def emit(self, text):
        self.lines.append("    " + text)

    def object(self, base, value):
        """A name for an object that source cannot spell."""
        key = id(value)
        if key not in self.objects:
            self.objects[key] = self.fresh(base, value)
        return self.objects[key]

    def attribute(self, target, value):
        """A name for a constant of the graph. Each has its own: what is one object in this process may be two in another."""
        for name, known in self.attributes.items():
            if known == target:
                return name
        name = self.fresh(target.replace(".", "_"), value)
        self.attributes[name] = target
        return name

    def fresh(self, base, value):
        """A new name for an object."""
        name, k = base, 1
        while name in self.globals or name in self.reserved:
            name, k = f"{base}_{k}", k + 1
        self.globals[name] = value
        return name

    def text(self):
        """The function as Python."""
        return "def call(args):\n" + "\n".join(self.lines) + "\n"


def function(text, scope, filename):
    """The function `call` of a source, whose globals are `scope`."""
    exec(compile(text, filename, "exec"), scope)
    return scope["call"]


def python_expression(expr):
    """A size as Python, with variables for symbols."""
    return PythonPrinter().doprint(expr)


class Wrapper:
    """Writes the function of one graph."""

    def __init__(self, gm, plan, executables):
        self.gm, self.plan, self.executables = gm, plan, executables
        self.source = Source()
        self.bound = bound_symbols(gm)
        self.calls = {s for s in plan.steps if isinstance(s, Node)}
        self.known = set()
        #: What the source calls each segment.
        self.segments = {}
        self.names = {}
        self.taken = {"args", "call", *(str(s) for s in symbols_of(gm))}
        for node in gm.graph.nodes:
            self.name(node)
        self.source.reserved = self.taken

    def name(self, node):
        """The variable of a node."""
        if node not in self.names:
            name = node.name
            while name in self.taken or name in self.source.globals:
                name += "_"
            self.taken.add(name)
            self.names[node] = name
        return self.names[node]

    def symbol(self, symbol):
        """Makes the variable of a symbol, which has the symbol's own name."""
        if symbol in self.known:
            return
        node, dim = self.bound[symbol]
        self.source.emit(f"{symbol} = {self.name(node)}" + ("" if dim is None else f".shape[{dim}]"))
        self.known.add(symbol)

    def argument(self, value):
        """An argument of a call of torch."""
        if isinstance(value, Node):
            return self.name(value)
        if isinstance(value, (list, tuple)):
            items = ", ".join(map(self.argument, value))
            if isinstance(value, tuple):
                return f"({items},)" if value else "()"
            return f"[{items}]"
        if isinstance(value, dict):
            return "{" + ", ".join(f"{k!r}: {self.argument(v)}" for k, v in value.items()) + "}"
        if isinstance(value, slice):
            return f"slice({self.argument(value.start)}, {self.argument(value.stop)}, {self.argument(value.step)})"
        if value is None or isinstance(value, (bool, int, str)) or value is Ellipsis:
            return repr(value)
        return self.source.object("const", value)

    def write(self):
        """The function, and its source."""
        gm, emit = self.gm, self.source.emit
        placeholders = gm.graph.find_nodes(op="placeholder")
        output = gm.graph.output_node().args[0]
        outputs = [self.returned(o) for o in (output if isinstance(output, (list, tuple)) else [output])]
        if placeholders:
            emit(unpacked([self.name(p) for p in placeholders]) + " = args")
        emit("args.clear()")
        needed = set()
        for node in self.plan.host:
            needed |= free_symbols(node.meta["val"])
        for step in self.plan.steps:
            if isinstance(step, Segment):
                needed |= set(step.symbols)
        for symbol in sorted(needed & set(self.bound), key=str):
            self.symbol(symbol)
        for node in self.plan.host:
            self.host(node)
        last = self.last_uses(outputs)
        dead = {}
        for node, k in last.items():
            dead.setdefault(k, []).append(self.name(node))
        for node in placeholders:
            if node not in last and node not in outputs and not is_scalar(node):
                emit(f"del {self.name(node)}")
        for k, step in enumerate(self.plan.steps):
            if isinstance(step, Segment):
                self.segment(step)
            else:
                self.call(step)
            if k in dead:
                emit("del " + ", ".join(dead[k]))
        emit("return [" + ", ".join(map(self.argument, outputs)) + "]")
        return self.source

    def last_uses(self, outputs):
        """The step after which nobody reads a node."""
        last = {}
        for k, step in enumerate(self.plan.steps):
            if isinstance(step, Segment):
                reads, makes = step.inputs, step.outputs
            else:
                reads, makes = step.all_input_nodes, [step]
            for node in (*makes, *reads):
                last[node] = k
        outputs = {o for o in outputs if isinstance(o, Node)}
        return {n: k for n, k in last.items() if n not in outputs and not is_scalar(n)}

    def host(self, node):
        """A number from symbols."""
        value = node.meta["val"]
        if isinstance(value, torch.SymInt):
            self.source.emit(f"{self.name(node)} = {python_expression(value.node.expr)}")
        elif isinstance(value, SYMBOLIC):
            self.call(node)
        else:
            self.source.emit(f"{self.name(node)} = {value!r}")

    def call(self, node):
        """A call of torch."""
        if node.op == "get_attr":
            owner = self.gm
            for part in node.target.split("."):
                owner = getattr(owner, part)
            self.source.emit(f"{self.name(node)} = {self.source.attribute(node.target, owner)}")
            return
        target = node.target
        if isinstance(target, torch._ops.OpOverload):
            function = path_of(target) or self.source.object("op", target)
        else:
            function = self.source.object(getattr(target, "__name__", "function"), target)
        args = [self.argument(a) for a in node.args] + [f"{k}={self.argument(v)}" for k, v in node.kwargs.items()]
        self.source.emit(f"{self.name(node)} = {function}({', '.join(args)})")
        self.bind(node)

    def bind(self, node):
        """Makes the variables of symbols that appear with a result, such as how many elements are not zero."""
        value = node.meta.get("val")
        values = value if isinstance(value, (tuple, list)) else [value]
        for k, v in enumerate(values):
            at = self.name(node) + (f"[{k}]" if isinstance(value, (tuple, list)) else "")
            if isinstance(v, torch.SymInt) and v.node.expr.is_symbol and v.node.expr not in self.bound:
                self.define(v.node.expr, at)
            elif isinstance(v, torch.Tensor) and v.layout == torch.strided:
                for dim, size in enumerate(v.shape):
                    if isinstance(size, torch.SymInt) and size.node.expr.is_symbol and size.node.expr not in self.bound:
                        self.define(size.node.expr, f"{at}.shape[{dim}]")

    def define(self, symbol, text):
        if symbol not in self.known:
            self.known.add(symbol)
            self.source.emit(f"{symbol} = {text}")

    def segment(self, segment):
        """A call of compiled code."""
        run = self.source.object(f"segment_{segment.level}", self.executables[segment])
        self.segments[segment] = run
        moved = segment.moved
        device = self.source.object("device", torch.device(segment.device)) if moved else None
        values = [f"{self.name(n)}.to({device})" if n in moved else self.name(n) for n in segment.inputs]
        values += [str(s) for s in segment.symbols]
        call = f"{run}([{', '.join(values)}])"
        if segment.outputs:
            self.source.emit(f"{unpacked([self.name(n) for n in segment.outputs])} = {call}")
        else:
            self.source.emit(call)
        for node in segment.outputs:
            self.bind(node)

    def returned(self, value):
        """What an output is: of a copy into an input that is part of a segment, the input itself."""
        if isinstance(value, Node) and value.target is torch.ops.aten.copy_.default and value not in self.calls:
            return value.args[0]
        return value


def unpacked(names):
    """The left side that takes a list apart."""
    return f"({names[0]},)" if len(names) == 1 else ", ".join(names)


def symbols_of(gm):
    """All symbols of a graph."""
    return {s for n in gm.graph.nodes for size in sizes_of(n) for s in size.node.expr.free_symbols}


@functools.cache
def path_of(target):
    """Where Python finds an op, if it is there."""
    found = torch.ops
    for name in str(target).split("."):
        found = getattr(found, name, None)
    return f"torch.ops.{target}" if found is target else None


def free_symbols(value):
    """The symbols of a number."""
    return set(value.node.expr.free_symbols) if isinstance(value, SYMBOLIC) else set()
