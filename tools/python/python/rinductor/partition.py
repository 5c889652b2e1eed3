"""Which parts of a graph become kernels, and which ops torch is called for.

Every node gets a level. What can be compiled and has level k is part of segment k; a call of torch of level k runs after segment k,
and what reads it has a later level. So there are as few segments as the order of the calls admits.
"""

import functools
import operator
from dataclasses import dataclass, field

import torch
from torch.fx import Node

from . import _core, spelling
from .export import op_name, parameters
from .spelling import NotSpelled

#: Element types that kernels compute with.
COMPILED = {
    torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
    torch.float16, torch.bfloat16, torch.float32, torch.float64,
}  # fmt: skip


#: Ops of which eager does not say which of equal elements they take, though people see it.
TIES = {"aten.topk", "aten.kthvalue", "aten.sort", "aten.sort.stable"}
#: Ops whose kernels are slower than eager's by so much that torch is called, though they have a definition: CPU time of one thread, in times of eager's.
#: Of the linear ones the one in two dimensions was measured; the others are made like it.
SLOW = {
    "aten._adaptive_avg_pool3d_backward": "eager is 21 times as fast",
    "aten.index_reduce": "eager is 13 times as fast",
} | dict.fromkeys(
    ("aten.upsample_linear1d_backward", "aten.upsample_bilinear2d_backward", "aten.upsample_trilinear3d_backward"), "eager is 9 times as fast in two dimensions"
)
#: Ops that torch is called for because a kernel would not give what eager does.
UNLIKE = {
    "aten.max_unpool2d": "torch's tracing takes it to have other strides than its results have",
    "aten.resize": "what it makes longer is filled as torch is told to fill new memory",
    "aten.histc": "what lies at the border of two bins is in the other one in eager, at times",
}
#: Products of matrices, with the number of the argument that is the first factor.
PRODUCTS = {"aten.mm": 0, "aten.bmm": 0, "aten.addmm": 1, "aten.baddbmm": 1}
#: Ops whose sizes depend on data though torch does not say so.
UNTAGGED = {"aten._unique"}
#: Calls of libraries that a module of kernels for a GPU makes itself, so that it need not be left for them.
CALLED_BY_MODULES = {"aten.mm", "aten.addmm", "aten.bmm", "aten.baddbmm", "aten.convolution", "aten.convolution_backward"}
#: Random ops whose numbers follow from a seed that they are given.
SEEDED = {"prims.inductor_random", "prims.inductor_randint", "prims.inductor_lookup_seed"}


@dataclass(eq=False)
class Segment:
    """Nodes that are compiled as one function."""

    level: int
    #: Where its kernels run.
    device: str = "cpu"
    nodes: list[Node] = field(default_factory=list)
    inputs: list[Node] = field(default_factory=list)
    outputs: list[Node] = field(default_factory=list)
    #: Of its executable, when it is compiled: the key, how many kernels it runs, and what its errors say of where it is.
    key: str = ""
    kernels: int = 0
    where: str = ""
    #: Whether others have looked at how its arguments lie.
    checked: bool = False

    @property
    def name(self):
        """What tells it from the others of its graph."""
        return str(self.level) if self.device == "cpu" else f"{self.level}-{self.device.replace(':', '-')}"

    @property
    def moved(self):
        """The inputs that are numbers on the CPU, which kernels of a GPU get there."""
        return {n for n in self.inputs if is_moved(n, self.device)}


@dataclass
class Plan:
    """A graph as steps."""

    #: Nodes that compute numbers from the symbols of the inputs.
    host: list[Node]
    #: Each a segment, or one node that torch is called for.
    steps: list
    #: Why nodes are calls of torch.
    reasons: dict[Node, str]


#: What becomes of an op, by its name: `_core.list_ops` would read the definitions of all ops.
treatment = functools.cache(_core.op_treatment)


def typical(size):
    """A size as a number: symbols as what they are taken to be where only an estimate is wanted."""
    if isinstance(size, int):
        return size
    expr = size.node.expr
    return int(expr.subs(dict.fromkeys(expr.free_symbols, _core.typical_size())))


def is_scalar(node):
    """Whether a node computes a number on the host."""
    value = node.meta.get("val")
    return isinstance(value, (*spelling.SYMBOLIC, bool, int, float))


def tensors_of(node):
    """The tensors that a node computes."""
    value = node.meta.get("val")
    return [v for v in (value if isinstance(value, (tuple, list)) else [value]) if isinstance(v, torch.Tensor)]


def sizes_of(node):
    """The symbolic numbers in what a node computes: sizes, strides and offsets of tensors, and itself."""
    value = node.meta.get("val")
    found = []
    for v in value if isinstance(value, (tuple, list)) else (value,):
        if isinstance(v, torch.Tensor):
            found += [n for n in (*v.shape, *v.stride(), v.storage_offset()) if type(n) is torch.SymInt]
        elif isinstance(v, torch.SymInt):
            found.append(v)
    return found


def puts_by_mask(node):
    """Whether a call of `index_put` has a mask among its indices, and what it puts is not known to be one number."""
    indices, values = node.args[1], node.args[2].meta["val"]
    masks = any(isinstance(i, Node) and i.meta["val"].dtype in (torch.bool, torch.uint8) for i in indices)
    return masks and not all(type(n) is int and n == 1 for n in values.shape)


def is_view(node):
    """Whether a node's result shares the memory of its argument and nothing is computed."""
    target = node.target
    if target is operator.getitem:
        return isinstance(node.args[0], Node) and is_view(node.args[0])
    return isinstance(target, torch._ops.OpOverload) and makes_views(target)


@functools.cache
def makes_views(target):
    """Whether all that an op returns shares memory with its arguments, which it does not write."""
    returns = target._schema.returns
    return not target._schema.is_mutable and bool(returns) and all(r.alias_info is not None for r in returns)


def device_of(node):
    """Where a node computes its tensors; None if that is not one device."""
    devices = {str(v.device) for v in tensors_of(node)}
    return devices.pop() if len(devices) == 1 else None


def is_moved(node, device):
    """Whether a node is a number on the CPU while who reads it is on another device."""
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.device.type == "cpu" and value.dim() == 0 and device != "cpu"


def is_called_by_modules(node):
    """Whether a node is a call of a library that a module of kernels makes."""
    device = device_of(node) if isinstance(node.target, torch._ops.OpOverload) and op_name(node.target) in CALLED_BY_MODULES else None
    return device is not None and device.startswith("cuda")


def unsupported(value):
    """Why kernels cannot have a tensor, if so."""
    if value.dtype not in COMPILED:
        return f"{value.dtype} is not compiled"
    if value.device.type not in ("cpu", "cuda"):
        return f"a tensor on {value.device}"
    if type(value) is not torch.Tensor and not isinstance(value, (torch._subclasses.FakeTensor, torch.nn.Parameter)):
        return f"a tensor subclass {type(value).__name__}"
    try:
        spelling.tensor_type(value, "cpu")
    except NotSpelled as why:
        return str(why)
    return None


class Judge:
    """Says of nodes whether they are compiled."""

    def __init__(self, refused, products="measured"):
        #: Which products of matrices are kernels: `measured`, `always`, `never`.
        self.products = products
        #: Nodes that a try to compile has found to be impossible, with the reason.
        self.refused = refused
        self.known = {}
        self.guesses = {}
        #: Why kernels cannot have what nodes compute, each looked at once though many read it.
        self.values = {}

    def reason(self, node):
        """Why torch must be called for a node; None if it is compiled."""
        if node not in self.known:
            self.known[node] = self.find(node)
        return self.known[node]

    def find(self, node):
        if node in self.refused:
            return self.refused[node]
        if self.is_guess(node):
            return "sizes that depend on data, which the graph gives as fixed"
        if node.op == "get_attr":
            return "a constant of the graph"
        if node.target is operator.getitem:
            return self.reason(node.args[0]) if isinstance(node.args[0], Node) else "an element of no op's result"
        target = node.target
        if not isinstance(target, torch._ops.OpOverload):
            return "not an op of a dialect"
        name = op_name(target)
        if draws(target):
            return "its numbers come from torch's generator"
        if name in TIES and node.kwargs.get("stable") is not True:
            return "which of equal elements it takes is eager's own choice"
        if name in SLOW or name in UNLIKE:
            return SLOW.get(name) or UNLIKE[name]
        if name in ("aten.index_put", "aten._unsafe_index_put") and puts_by_mask(node):
            return "a mask for other than one value: which goes where depends on all of the mask"
        if target is torch.ops.aten.copy_.default:
            if not (isinstance(node.args[0], Node) and node.args[0].op == "placeholder"):
                return "it writes what is no input"
        elif target._schema.is_mutable:
            return "it writes its arguments"
        how = treatment(name)
        if how is None:
            return "no dialect has it"
        if how == "extern" and not is_called_by_modules(node):
            why = self.library(node, name)
            if why:
                return why
        if how == "opaque":
            return "it has no definition"
        for arg in node.all_input_nodes:
            if isinstance(arg.meta.get("val"), (torch.SymFloat, torch.SymBool, float)):
                return "a symbolic number that is no integer"
        for what in map(self.value, (node, *node.all_input_nodes)):
            if what:
                return what
        if not tensors_of(node):
            return "it computes no tensor"
        device = device_of(node)
        for arg in (node, *node.all_input_nodes):
            if tensors_of(arg) and device_of(arg) != device and not is_moved(arg, device):
                return "tensors on several devices"
        value = node.meta.get("val")
        if isinstance(value, (list, tuple)) and not all(v is None or isinstance(v, torch.Tensor) for v in value):
            return "a result that is no tensor"
        return self.arguments(node, target)

    def library(self, node, name):
        """Why a library computes a node, if a kernel of ours is not faster."""
        if name not in PRODUCTS or self.products == "never":
            return "a library's kernel"
        a, b = (arg.meta["val"] for arg in node.args[PRODUCTS[name] : PRODUCTS[name] + 2])
        if a.dtype not in (torch.float32, torch.float64) or a.device.type != "cpu":
            return "a library's kernel"
        sizes = [typical(n) for n in (a.shape[0] if a.dim() == 3 else 1, a.shape[-2], b.shape[-1], a.shape[-1])]
        why = None if self.products == "always" else _core.product_refusal(*sizes, *(type(s) is int and s == 1 for s in (b.stride(-1), b.stride(-2))))
        return f"a library's kernel: {why}" if why else None

    def value(self, node):
        """Why kernels cannot have what a node computes, if so."""
        if node not in self.values:
            why = next(filter(None, map(unsupported, tensors_of(node))), None)
            self.values[node] = why
        return self.values[node]

    def is_guess(self, node):
        """Whether the sizes of a node may be others than the graph says: tracing has guessed what depends on data, for it or for what it reads."""
        if node not in self.guesses:
            target = node.target
            dynamic = isinstance(target, torch._ops.OpOverload) and (
                has_tag(target, torch.Tag.dynamic_output_shape) or op_name(target) in UNTAGGED
            )
            # Reading by index has the tag because of masks, which are no indices of ours.
            dynamic = dynamic and treatment(op_name(target)) != "lowered"
            symbols = [s for v in tensors_of(node) for s in v.shape if isinstance(s, torch.SymInt)]
            self.guesses[node] = (dynamic and not symbols) or any(
                a.op == "call_function" and self.is_guess(a) for a in node.all_input_nodes
            )
        return self.guesses[node]

    def arguments(self, node, target):
        """Why the arguments of a call have no spelling, if so."""
        given = {p[0]: a for p, a in zip(parameters(target), node.args)} | dict(node.kwargs)
        for name, _, _, element in parameters(target):
            value = given.get(name)
            if value is None or isinstance(value, (Node, torch.device, torch.layout)) or name in ("layout", "pin_memory"):
                continue
            if isinstance(value, (list, tuple)):
                value = [v for v in value if not isinstance(v, Node) and v is not None]
            try:
                spelling.plain(value, element)
            except NotSpelled as why:
                return str(why)
        return None


def sink_copies(gm):
    """Lets others than the output read what is copied into an input, not the input after the copy.

    What cannot be replaced, because the layouts differ, stays as it is. Returns nothing; the graph is changed.
    """
    for node in list(gm.graph.find_nodes(op="call_function", target=torch.ops.aten.copy_.default)):
        into, source = node.args[:2]
        if not isinstance(source, Node) or into.op != "placeholder":
            continue
        a, b = into.meta.get("val"), source.meta.get("val")
        same = (
            isinstance(b, torch.Tensor)
            and a.dtype == b.dtype
            and list(map(spelling.expression, (*a.shape, *a.stride()))) == list(map(spelling.expression, (*b.shape, *b.stride())))
        )
        if same:
            node.replace_all_uses_with(source, delete_user_cb=lambda user: user.op != "output")


def share_views(gm):
    """Gives outputs that are views of one tensor a chain of views of their own at the end of the graph, and gives these nodes.

    torch makes them, so that they share memory as they do in eager; what else reads a view reads the old one.
    """
    output = gm.graph.output_node()
    root = aliases_of(gm)
    outputs = output.args[0] if isinstance(output.args[0], (list, tuple)) else [output.args[0]]
    bases = [root.get(o, o) for o in outputs if isinstance(o, Node)]
    made = {}
    with gm.graph.inserting_before(output):
        for node in dict.fromkeys(o for o in outputs if isinstance(o, Node) and o in root):
            if bases.count(root[node]) > 1:
                chain = [node]
                while chain[-1].all_input_nodes[0] != root[node]:
                    chain.append(chain[-1].all_input_nodes[0])
                for old in reversed(chain):
                    if old not in made:
                        made[old] = gm.graph.node_copy(old, lambda n: made.get(n, n))
                output.replace_input_with(node, made[node])
    return list(made.values())


def bound_symbols(gm):
    """For each symbol that the inputs of a graph bind: the placeholder and the dimension whose size it is, None for its own value."""
    bound = {}
    placeholders = gm.graph.find_nodes(op="placeholder")
    for node in placeholders:
        value = node.meta.get("val")
        if isinstance(value, torch.SymInt) and value.node.expr.is_symbol:
            bound.setdefault(value.node.expr, (node, None))
    for node in placeholders:
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor):
            for dim, size in enumerate(value.shape):
                if isinstance(size, torch.SymInt) and size.node.expr.is_symbol:
                    bound.setdefault(size.node.expr, (node, dim))
    return bound


def known_symbols(gm):
    """The symbols that have a value when a graph runs: those that the inputs bind, and those that appear with a result."""
    known = set(bound_symbols(gm))
    for node in gm.graph.nodes:
        if node.op == "call_function":
            sizes = [s for v in tensors_of(node) for s in v.shape] + [node.meta.get("val")]
            # A symbol with a hint is bound by an input or by nothing: results are only written with it.
            known |= {s.node.expr for s in sizes if isinstance(s, torch.SymInt) and s.node.expr.is_symbol and not s.node.has_hint()}
    return known


def host_nodes(gm, bound):
    """The nodes that compute a number from the symbols of the inputs alone, in order."""
    free = {}
    for node in gm.graph.nodes:
        if node.op != "call_function" or not is_scalar(node):
            continue
        value = node.meta["val"]
        symbols = value.node.expr.free_symbols if isinstance(value, spelling.SYMBOLIC) else ()
        known = isinstance(value, torch.SymInt) or not isinstance(value, spelling.SYMBOLIC)
        computed = all(a in free or (a.op == "placeholder" and is_scalar(a)) for a in node.all_input_nodes)
        if all(s in bound for s in symbols) and (known or computed):
            free[node] = None
    return free


def plan(gm, refused, products="measured"):
    """Levels, segments and calls of a graph."""
    judge = Judge(refused, products)
    host = host_nodes(gm, bound_symbols(gm))
    level = {}
    order = [n for n in gm.graph.nodes if n.op in ("call_function", "get_attr") and n not in host]
    aliases, readers = aliases_of(gm), {}
    last_ordered = 0

    def after(arg):
        """The earliest level of a segment that reads a node. Of a level's segments that on the CPU runs first: the others may read its numbers."""
        if arg not in level:
            return 0
        return level[arg] + (1 if judge.reason(arg) else 0)

    def behind(reader, node):
        """The earliest level of a segment whose copies into an input must not come before a reader of it."""
        apart = judge.reason(reader) is None and device_of(reader) != device_of(node)
        return after(reader) + (1 if apart else 0)

    for node in order:
        compiled = judge.reason(node) is None
        if compiled:
            wanted = [after(a) for a in node.all_input_nodes]
        else:
            # A call runs after the segment of its level, and calls of a level run in their order.
            wanted = [level.get(a, 0) for a in node.all_input_nodes]
            if is_ordered(node):
                wanted.append(last_ordered)
        if writes(node):
            for arg in node.all_input_nodes:
                for reader in readers.get(aliases.get(arg, arg), ()):
                    wanted.append(behind(reader, node) if compiled else level[reader])
        level[node] = max(wanted, default=0)
        if not compiled and is_ordered(node):
            last_ordered = level[node]
        for arg in node.all_input_nodes:
            readers.setdefault(aliases.get(arg, arg), []).append(node)
    segments, calls = {}, {}
    for node in order:
        if judge.reason(node) is None:
            # The CPU's before those of others.
            device = device_of(node)
            place = level[node], device != "cpu", device
            if place not in segments:
                segments[place] = Segment(level[node], device)
            segments[place].nodes.append(node)
        else:
            calls.setdefault(level[node], []).append(node)
    reasons = {n: judge.reason(n) for ns in calls.values() for n in ns}
    for k, segment in list(segments.items()):
        if all(is_view(n) or is_called_by_modules(n) for n in segment.nodes):
            # Nothing to compute: torch makes views as well, and calls libraries.
            reasons |= {n: "a view alone" if is_view(n) else "a library's kernel" for n in segment.nodes}
            calls[segment.level] = segment.nodes + calls.get(segment.level, [])
            del segments[k]
    steps = []
    for k in sorted({s.level for s in segments.values()} | set(calls)):
        for place in sorted(p for p in segments if p[0] == k):
            segment = segments[place]
            views = finish(segment)
            reasons |= dict.fromkeys(views, "a view of a result")
            steps += [segment, *views]
        steps += calls.get(k, [])
    return Plan(list(host), steps, reasons)


def is_ordered(node):
    """Whether a call must keep its place among the others: it draws random numbers, writes memory, or has another effect."""
    target = node.target
    if isinstance(target, torch._ops.OpOverload):
        return target._schema.is_mutable or draws(target) or not target._schema.returns
    return isinstance(target, torch._ops.HigherOrderOperator)


@functools.cache
def draws(target):
    """Whether an op draws from torch's generator."""
    name = op_name(target)
    return name == "prims.inductor_seeds" or (has_tag(target, torch.Tag.nondeterministic_seeded) and name not in SEEDED)


@functools.cache
def has_tag(target, tag):
    """Whether an op has a tag."""
    return tag in target.tags


def writes(node):
    """Whether a node writes an argument."""
    return isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable


def aliases_of(gm):
    """For each view the tensor whose memory it shares; chains of views are followed."""
    root = {}
    for node in gm.graph.nodes:
        if node.op == "call_function" and is_view(node) and node.all_input_nodes:
            source = node.all_input_nodes[0]
            root[node] = root.get(source, source)
    return root


def finish(segment):
    """Orders a segment, copies into inputs last, and finds what goes in and out.

    Gives views of results that torch alone reads: torch is to make them too, so that what is in them is not stored twice.
    """
    views = []
    connect(segment)
    while (node := trailing_view(segment)) is not None:
        views.insert(0, node)
        segment.nodes.remove(node)
        connect(segment)
    return views


def trailing_view(segment):
    """The last view of a result that nobody in the segment reads, nor the caller of the graph."""
    inside, results = set(segment.nodes), set(segment.outputs)
    for node in reversed(segment.nodes):
        if node in results and is_view(node) and node.all_input_nodes and node.all_input_nodes[0] in results:
            if not any(user in inside or user.op == "output" for user in node.users):
                return node
    return None


def connect(segment):
    """Orders a segment, copies into inputs last, and finds what goes in and out."""
    segment.outputs = []
    copies = {n: None for n in segment.nodes if n.target is torch.ops.aten.copy_.default}
    segment.nodes = [n for n in segment.nodes if n not in copies] + list(copies)
    inside = set(segment.nodes)
    seen = dict.fromkeys(a for n in segment.nodes for a in n.all_input_nodes if a not in inside)
    segment.inputs = list(seen)
    for node in segment.nodes:
        if node in copies:
            continue
        if isinstance(node.meta.get("val"), (tuple, list)):
            continue
        if any(user not in inside for user in node.users):
            segment.outputs.append(node)
