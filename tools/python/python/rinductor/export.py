"""FX graphs of aten ops as `.ir` text.

    python -m rinductor.export mymodule:make_model --out model.ir

`function_text` writes a list of nodes as a function; the backend uses it for parts of graphs, `graph_text` for whole ones.
"""

import functools
import operator
from dataclasses import dataclass

import torch
from torch.fx import Node

from . import spelling
from .spelling import NotSpelled

#: Python's operators on symbolic integers that `arith` has.
ARITH = {operator.add: "addi", operator.sub: "subi", operator.mul: "muli", operator.floordiv: "floordivsi"}


@dataclass
class Text:
    """A function as text, and which node each line comes from."""

    text: str
    #: From the number of a line, counted from 1, to the node that it spells.
    lines: dict[int, Node]


def value_of(node):
    """What a node computes: fake tensors, symbols, or a tuple of them."""
    value = node.meta.get("val", node.meta.get("example_value"))
    if value is None and "val" not in node.meta:
        raise NotSpelled(f"node {node.name} has no value in its meta data; trace the graph with fake tensors first")
    return value


def kind_of(node):
    """What a node is called where its own name must not be seen: the word for its op."""
    if node.op == "call_function" and isinstance(node.target, torch._ops.OpOverload):
        return node.target._schema.name.split("::")[-1].strip("_")
    return "v"


@functools.cache
def op_name(target):
    """The name of an op in the text: `aten.add.Tensor`, without `.default`."""
    name = target._schema.name.replace("::", ".")
    overload = target._overloadname
    return name if overload in ("", "default") else f"{name}.{overload}"


class Writer:
    """Writes the body of one function."""

    def __init__(self, device, anonymous=False, moved=()):
        self.device = device
        #: Nodes that are on another device, and are moved to this one before the function is called.
        self.moved = moved
        #: Whether values are called by their ops and numbered instead of named, so that equal parts of a graph have equal texts.
        self.anonymous = anonymous
        self.lines = []
        self.nodes = []
        self.names = {}
        self.types = {}
        self.fresh = 0

    def emit(self, text, node=None):
        self.lines.append("    " + text)
        self.nodes.append(node)

    def call(self, node, kind=None):
        """Gives a node its name."""
        self.names[node] = f"%{kind or kind_of(node)}_{len(self.names)}" if self.anonymous else f"%{node.name}"
        return self.names[node]

    def fresh_name(self, base):
        self.fresh += 1
        return f"%{base}__{self.fresh}"

    def none(self, node=None):
        """A new value that is None."""
        name = self.fresh_name("none")
        self.emit(f'{name} = "aten.none"() : () -> none', node)
        return name

    def constant(self, number, node):
        """A Python number as an operand."""
        name = self.fresh_name("c")
        if isinstance(number, bool):
            self.emit(f"{name} = arith.constant {'true' if number else 'false'}", node)
        elif isinstance(number, int):
            self.emit(f"{name} = arith.constant {number} : index", node)
        else:
            self.emit(f"{name} = arith.constant {spelling.floating(number)} : f64", node)
        return name

    def ref(self, node):
        """How an earlier value is used: its name and type."""
        try:
            name = self.names[node]
        except KeyError:
            raise NotSpelled(f"{node.name}, which this function does not compute") from None
        return name, self.type_of(node)

    def type_of(self, node):
        """The type of a node."""
        if node not in self.types:
            value = value_of(node)
            self.types[node] = spelling.value_type(value, str(value.device) if node in self.moved else self.device)
        return self.types[node]

    def node(self, node):
        """One node as a line, or none for a getitem."""
        if node.op == "get_attr":
            return self.attribute(node)
        target = node.target
        if target is operator.getitem:
            source, k = node.args
            base = self.names.get(source)
            if base is None:
                raise NotSpelled(f"{source.name}, which this function does not compute")
            many = isinstance(value_of(source), (tuple, list)) and len(value_of(source)) != 1
            self.names[node] = f"{base}#{k}" if many else base
            return None
        if isinstance(target, torch._ops.OpOverload):
            return self.overload(node, target)
        return self.symbolic(node, target)

    def attribute(self, node):
        """A constant of the graph module."""
        owner = node.graph.owning_module
        for part in node.target.split("."):
            owner = getattr(owner, part)
        if not isinstance(owner, torch.Tensor):
            raise NotSpelled(f"the attribute {node.target}, which is no tensor")
        ty = spelling.tensor_type(owner, self.device)
        if owner.numel() > 4096:
            raise NotSpelled(f"the constant {node.target} of {owner.numel()} elements")
        plain = f"tensor<{''.join(f'{n}x' for n in owner.shape)}{spelling.dtype(owner.dtype)}>"
        if ty != plain:
            raise NotSpelled(f"the constant {node.target}, whose elements do not lie in order")
        name = self.call(node)
        with torch._subclasses.fake_tensor.unset_fake_temporarily():
            literal = spelling.tensor_literal(owner)
        self.emit(f'{name} = "aten.constant"() <{{value = {literal} : {ty}}}> : () -> {ty}', node)

    def symbolic(self, node, target):
        """Arithmetic on symbols."""
        if not (callable(target) and not node.kwargs and isinstance(value_of(node), (*spelling.SYMBOLIC, int, float, bool))):
            raise NotSpelled(f"the function {getattr(target, '__name__', target)}")
        operands = []
        for arg in node.args:
            if isinstance(arg, Node):
                operands.append(self.ref(arg))
            elif isinstance(arg, (bool, int, float)):
                operands.append((self.constant(arg, node), spelling.value_type(arg, self.device)))
            else:
                raise NotSpelled(f"an argument of type {type(arg).__name__}")
        result = spelling.value_type(value_of(node), self.device)
        names, types = [o[0] for o in operands], [o[1] for o in operands]
        name = self.call(node)
        if target in ARITH and result == "index" and types == ["index", "index"]:
            self.emit(f"{name} = arith.{ARITH[target]} {', '.join(names)} : index", node)
            return
        word = getattr(target, "__name__", str(target)).removeprefix("sym_").strip("_")
        self.emit(f'{name} = "sym.{word}"({", ".join(names)}) : ({", ".join(types)}) -> {result}', node)

    def overload(self, node, target):
        """A call of an op with a schema."""
        schema = target._schema
        given = dict(node.kwargs)
        for param, arg in zip(parameters(target), node.args):
            given[param[0]] = arg
        operands, types, props, counts = [], [], [], []
        segments = False

        def operand(pair):
            operands.append(pair[0])
            types.append(pair[1])

        for name, optional, many, element in parameters(target):
            tensor = element == "TensorType"
            segments |= tensor and (optional or many)
            counted = element in ("TensorType", "IntType", "SymIntType", "NumberType")
            before = len(operands)
            if given.get(name) is not None:
                segments |= self.argument(node, name, given[name], tensor, many, element, operand, props)
            if counted:
                counts.append(len(operands) - before)
        if segments:
            props.append(("operandSegmentSizes", f"array<i32: {', '.join(map(str, counts))}>"))
        value = value_of(node)
        many = isinstance(value, (tuple, list))
        results = [spelling.value_type(v, self.device) for v in value] if many else [spelling.value_type(value, self.device)]
        if value is None and not schema.returns:
            results, left = [], ""
        else:
            name = self.call(node)
            left = f"{name} = " if len(results) == 1 else f"{name}:{len(results)} = "
            left = left if results else ""
        shown = results[0] if len(results) == 1 else "(" + ", ".join(results) + ")"
        properties = " <{" + ", ".join(f"{k} = {v}" for k, v in props) + "}>" if props else ""
        self.emit(f'{left}"{op_name(target)}"({", ".join(operands)}){properties} : ({", ".join(types)}) -> {shown}', node)

    def argument(self, node, name, value, tensor, many, element, operand, props):
        """Adds one argument; gives whether the counts of operands must be written because of it."""
        if name in ("layout", "pin_memory"):
            return False
        if isinstance(value, torch.device) or (name == "device" and isinstance(value, str)):
            here = str(value) == self.device or (str(value) == "cuda" and self.device.startswith("cuda"))
            if not here:
                props.append((name, spelling.string(str(value))))
            return False
        if isinstance(value, Node):
            operand(self.ref(value))
            return not isinstance(value_of(value), torch.Tensor)
        if tensor and isinstance(value, (list, tuple)):
            for item in value:
                operand((self.none(node), "none") if item is None else self.ref(item))
            return False
        if isinstance(value, (list, tuple)) and any(isinstance(v, Node) for v in value):
            places = [spelling.PLACE_HELD if isinstance(v, Node) else v for v in value]
            props.append((name, spelling.plain_list(places, "IntType")))
            for v in value:
                if isinstance(v, Node):
                    operand(self.ref(v))
            return True
        if many and isinstance(value, (int, float)) and not isinstance(value, bool):
            value = [value]
        props.append((name, spelling.plain(value, element)))
        return tensor


@functools.cache
def parameters(target):
    """The arguments of an op: for each its name, and what `unwrap` says of its type."""
    return [(p.name, *unwrap(p.type)[1:]) for p in target._schema.arguments]


def unwrap(ty):
    """A schema type without its `?` and `[]`: itself, whether it was optional, whether a list, and the kind of what is inside."""
    optional = many = False
    while ty.kind() in ("OptionalType", "ListType"):
        optional |= ty.kind() == "OptionalType" and not many
        many |= ty.kind() == "ListType"
        ty = ty.getElementType()
    return ty, optional, many, ty.kind()


def function_text(
    nodes,
    inputs,
    outputs,
    *,
    device="cpu",
    static=(),
    user_visible=None,
    symbols=(),
    head="",
    module=None,
    anonymous=False,
    moved=(),
):
    """Nodes in their order as a module with one function `@forward`.

    `inputs` are the nodes that are its arguments, `outputs` nodes or None; `static` are indices of inputs whose address does not change;
    `moved` are inputs that are on another device and will be moved; `symbols` are sympy symbols with a shape environment, as pairs, for `index` arguments behind the inputs that give their values.

    Raises `NotSpelled` for what the text has no word for.
    """
    writer = Writer(device, anonymous, moved)
    arguments = []
    for k, node in enumerate(inputs):
        value = value_of(node)
        ty = writer.type_of(node)
        attrs = symbol_attrs(value) if isinstance(value, torch.SymInt) else []
        if k in static:
            attrs.append("aten.static")
        arguments.append(f"{writer.call(node, 'v')}: {ty}" + (" {" + ", ".join(attrs) + "}" if attrs else ""))
    for symbol, env in symbols:
        arguments.append(f"%{symbol}__value: index {{{', '.join(range_attrs(symbol, env))}}}")
    for node in nodes:
        writer.node(node)
    names, types = [], []
    for node in outputs:
        if node is None:
            names.append(writer.none())
            types.append("none")
        elif isinstance(node, Node):
            name, ty = writer.ref(node)
            names.append(name)
            types.append(ty)
        else:
            names.append(writer.constant(node, None))
            types.append(spelling.value_type(node, device))
    if user_visible is None:
        user_visible = range(len(outputs))
    visible = ", ".join(map(str, user_visible))
    visible = f"array<i64: {visible}>" if visible else "array<i64>"
    results = "(" + ", ".join(types) + ")"
    attributes = f'{{aten.device = "{device}", aten.user_visible_outputs = {visible}}}'
    out = ([head] if head else []) + [f"module{' attributes {' + module + '}' if module else ''} {{"]
    out.append(f"  func.func @forward({', '.join(arguments)}) -> {results} attributes {attributes} {{")
    first = len(out) + 1
    out += writer.lines
    out.append(f"    return {', '.join(names)} : {', '.join(types)}" if names else "    return")
    out += ["  }", "}", ""]
    lines = {first + k: node for k, node in enumerate(writer.nodes) if node is not None}
    return Text("\n".join(out), lines)


def symbol_attrs(value):
    """What an argument says of the symbol that it binds."""
    expr, env = value.node.expr, value.node.shape_env
    if not expr.is_symbol:
        return [f"aten.symbol = {spelling.string(spelling.expression(value))}"]
    return range_attrs(expr, env)


def range_attrs(symbol, env):
    """Name, hint and bounds of a symbol."""
    attrs = [f'aten.symbol = "{symbol}"']
    hint = env.backed_var_to_val if hasattr(env, "backed_var_to_val") else env.var_to_val
    # The length of ragged rows has no number for a hint.
    if getattr(hint.get(symbol), "is_Integer", isinstance(hint.get(symbol), int)):
        attrs.append(f"aten.hint = {int(hint[symbol])} : i64")
    bounds = env.var_to_range.get(symbol)
    if bounds is not None:
        lower, upper = bounds.lower, bounds.upper
        # Without a word a symbol is a size, which is not negative.
        lower = int(lower) if lower.is_Integer and int(lower) > -(2**62) else spelling.PLACE_HELD
        attrs.append(f"aten.min = {lower} : i64")
        if upper.is_Integer and int(upper) < 2**62:
            attrs.append(f"aten.max = {int(upper)} : i64")
    return attrs


def device_of(nodes):
    """The device that most tensors of a graph are on."""
    count = {}
    for node in nodes:
        value = node.meta.get("val")
        for v in value if isinstance(value, (tuple, list)) else [value]:
            if isinstance(v, torch.Tensor):
                count[str(v.device)] = count.get(str(v.device), 0) + 1
    return max(count, key=count.get) if count else "cpu"


def graph_text(gm, *, static=(), user_visible=None, model=None, kind=None):
    """A whole graph as it stands."""
    nodes = list(gm.graph.nodes)
    inputs = [n for n in nodes if n.op == "placeholder"]
    body = [n for n in nodes if n.op in ("call_function", "get_attr")]
    outputs = nodes[-1].args[0]
    outputs = outputs if isinstance(outputs, (tuple, list)) else [outputs]
    if user_visible is None:
        user_visible = nodes[-1].meta.get("user_visible_output_idxs")
    head = f"// {model}: {kind} graph, {len(body)} nodes, captured with torch {torch.__version__}." if model else ""
    module = f'aten.model = {spelling.string(model)}, aten.graph = "{kind}"' if model else None
    return function_text(
        body, inputs, outputs, device=device_of(nodes), static=set(static), user_visible=user_visible, head=head, module=module
    )


def main(argv=None):
    """The command."""
    from . import capture

    return capture.main(argv)


if __name__ == "__main__":
    raise SystemExit(main())
