"""Convolutions on a GPU with their channels last, as its matrix units want them.

    convolution(x, w, bias) -> convolution(channels_last(x), channels_last(w)) + bias

What lies between convolutions follows their layout; what the graph gives its caller lies as it did. A bias is a kernel's, which computes more at once.
"""

import contextlib
import logging

import torch
from torch.fx import Graph
from torch.fx.node import map_arg

aten = torch.ops.aten
log = logging.getLogger("rinductor")
#: Ops that compute by where elements lie, and those that fail where elements lie otherwise.
BY_MEMORY = {aten.as_strided.default, aten.view_as_complex.default, aten.view_as_real.default, aten.view.dtype}
VIEWS = {aten.view.default, aten._unsafe_view.default}
FORMATS = {4: torch.channels_last, 5: torch.channels_last_3d}


def split_biases(gm):
    """Takes the biases out of the convolutions of a graph on a GPU."""
    found = False
    for node in gm.graph.find_nodes(op="call_function", target=aten.convolution.default):
        value, bias = node.meta.get("val"), node.args[2]
        if value is None or value.device.type != "cuda" or bias is None:
            continue
        found = True
        with gm.graph.inserting_after(node):
            shape = [-1] + [1] * (value.dim() - 2)
            view = gm.graph.call_function(aten.view.default, (bias, shape))
        with gm.graph.inserting_after(view):
            total = gm.graph.call_function(aten.add.Tensor, (node, view))
        total.meta = dict(node.meta)
        node.replace_all_uses_with(total, delete_user_cb=lambda user: user is not total)
        node.update_arg(2, None)
        mode = torch._guards.detect_fake_mode([value])
        with mode:
            view.meta["val"] = bias.meta["val"].view(shape)
            total.meta["val"] = value + view.meta["val"]
    if found:
        gm.recompile()


def channels_last(gm):
    """Puts the channels last in all convolutions of a graph on a GPU, if they are such that this pays and all else can follow."""
    nodes = gm.graph.find_nodes(op="call_function", target=aten.convolution.default)
    if not nodes or not all(map(wants, nodes)):
        return
    mode = torch._guards.detect_fake_mode([n.meta.get("val") for n in gm.graph.find_nodes(op="placeholder")])
    if mode is None:
        return
    try:
        with mode:
            gm.graph = Follower(gm.graph).follow()
    except Unfollowed as why:
        log.info("channels stay where they are: %s", why)
        return
    gm.recompile()


def wants(node):
    """Whether a convolution is one of known sizes on a GPU that is faster with channels last: with matrix units, and not in groups of several channels."""
    x, weight, groups = node.args[0].meta["val"], node.args[1].meta["val"], node.args[8]
    whole = all(isinstance(s, int) for t in (x, weight) for s in (*t.shape, *t.stride()))
    fast = x.dtype in (torch.float16, torch.bfloat16) or (x.dtype is torch.float32 and torch.backends.cudnn.allow_tf32)
    return x.device.type == "cuda" and x.dim() in FORMATS and whole and fast and (groups == 1 or weight.shape[1] == 1)


class Follower:
    """A graph like another, with channels last in its convolutions, and what is around them as it comes."""

    def __init__(self, old):
        self.old, self.new, self.made = old, Graph(), {}
        #: For each tensor and layout what has it.
        self.laid = {}

    def follow(self):
        """The new graph."""
        for node in self.old.nodes:
            if node.op == "output":
                self.new.output(map_arg(node.args[0], self.returned)).meta = dict(node.meta)
                continue
            copy = self.new.node_copy(node, self.made.__getitem__)
            self.made[node] = copy
            if node.op != "call_function":
                continue
            if node.target is aten.convolution.default:
                for k in (0, 1):
                    copy.update_arg(k, self.with_channels_last(copy.args[k], copy))
            elif not any(changed(a) for a in copy.all_input_nodes):
                continue
            copy.meta["was"] = node.meta.get("val")
            self.follow_arguments(copy)
        for node in self.new.nodes:
            node.meta.pop("was", None)
        return self.new

    def with_channels_last(self, node, user):
        """A tensor with its channels last."""
        layout = FORMATS[node.meta["val"].dim()]
        if node.meta["val"].is_contiguous(memory_format=layout):
            return node
        return self.in_layout(node, layout, user)

    def in_layout(self, node, layout, user=None):
        """A copy of a tensor, made once; without a user at the end."""
        if (node, layout) not in self.laid:
            with self.new.inserting_before(user) if user is not None else contextlib.nullcontext():
                copy = self.new.call_function(aten.clone.default, (node,), {"memory_format": layout})
            copy.meta["val"] = torch.clone(node.meta["val"], memory_format=layout)
            self.laid[node, layout] = copy
        return self.laid[node, layout]

    def follow_arguments(self, node):
        """Finds the value of a node whose arguments may lie otherwise than before."""
        if node.target in BY_MEMORY and changed(node.all_input_nodes[0]):
            self.in_order(node)
        try:
            self.compute(node)
        except (RuntimeError, ValueError) as why:
            if node.target not in VIEWS:
                raise Unfollowed(f"{node.name}: {why}") from None
            self.in_order(node)
            self.compute(node)

    def compute(self, node):
        args, kwargs = map_arg((node.args, node.kwargs), lambda n: n.meta["val"])
        node.meta["val"] = node.target(*args, **kwargs)

    def in_order(self, node):
        """Gives a node that looks at memory what lies in order, as before."""
        before = node.args[0].meta.get("was")
        if not isinstance(before, torch.Tensor) or not before.is_contiguous():
            raise Unfollowed(f"{node.name} looks at memory that did not lie in order")
        node.update_arg(0, self.in_layout(node.args[0], torch.contiguous_format, node))

    def returned(self, node):
        """What the caller gets for a node: it lies as it did."""
        copy = self.made[node]
        before, now = copy.meta.get("was"), copy.meta.get("val")
        if not isinstance(before, torch.Tensor) or now.stride() == before.stride():
            return copy
        for layout in (torch.contiguous_format, FORMATS.get(now.dim())):
            if layout is not None and before.is_contiguous(memory_format=layout):
                return self.in_layout(copy, layout)
        raise Unfollowed(f"the result {node.name} has strides that no format says")


class Unfollowed(Exception):
    """Something cannot follow another layout."""


def changed(node):
    """Whether a node's value lies otherwise than before."""
    before, now = node.meta.get("was"), node.meta.get("val")
    pairs = zip(before, now) if isinstance(now, (tuple, list)) and isinstance(before, (tuple, list)) else [(before, now)]
    return any(isinstance(b, torch.Tensor) and isinstance(n, torch.Tensor) and b.stride() != n.stride() for b, n in pairs)
