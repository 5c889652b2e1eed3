"""Products of matrices on a GPU whose sizes its matrix units take: where a size is no multiple of 16 bytes, zeros are put behind.

    mm(a, b) -> mm(constant_pad_nd(a), constant_pad_nd(b))[:m, :n]

What is cut off is a copy, so that the result lies as it did; kernels read through copies.
"""

import torch
from torch.fx import Node

aten = torch.ops.aten

#: Rough rates of a large GPU: products with matrix units, the same where sizes do not fit them, and memory; in operations and bytes a second.
FITTING, ODD, MEMORY = 500e12, 100e12, 3e12
#: What a kernel more costs, in seconds.
LAUNCH = 4e-6

PRODUCTS = {aten.mm.default, aten.bmm.default, aten.addmm.default}
TRANSPOSED = {aten.permute.default, aten.t.default, aten.transpose.int}


def pad(gm):
    """Pads the products of a graph where that pays. The graph must have fake tensors."""
    products = [n for n in gm.graph.nodes if n.target in PRODUCTS and worth(n)]
    if not products:
        return
    mode = torch._guards.detect_fake_mode([n.meta.get("val") for n in gm.graph.find_nodes(op="placeholder")])
    if mode is None:
        return
    with mode:
        made = {}
        for node in products:
            padded_product(gm.graph, node, made)
    gm.recompile()


def operands(node):
    """The matrices of a product."""
    return node.args[1:3] if node.target is aten.addmm.default else node.args[:2]


def sizes(node):
    """Rows, columns and the length of what is summed, of a product, and how many there are."""
    a, b = (x.meta["val"] for x in operands(node))
    return a.shape[-2], b.shape[-1], a.shape[-1], a.shape[0] if a.dim() == 3 else 1


def missing(node):
    """What the sizes of a product lack, for rows, columns and the summed length; 0 where the size is no stride of what is contiguous along it."""
    a, b = (x.meta["val"] for x in operands(node))
    m, n, k, _ = sizes(node)
    unit = 16 // a.element_size()
    lacks = [-s % unit for s in (m, n, k)]
    if a.stride(-2) != 1:
        lacks[0] = 0
    if a.stride(-1) != 1 and b.stride(-2) != 1:
        lacks[2] = 0
    return lacks


def worth(node):
    """Whether a product is faster with zeros, by rough rates."""
    a, b = (x.meta["val"] for x in operands(node))
    whole = all(isinstance(s, int) for x in (a, b, node.meta["val"]) for s in (*x.shape, *x.stride()))
    if not whole or a.device.type != "cuda" or not on_matrix_units(a.dtype) or 0 in (*a.shape, *b.shape):
        return False
    if node.target is aten.addmm.default and (len(node.args) > 3 or node.kwargs):
        return False
    lacks = missing(node)
    if not any(lacks):
        return False
    m, n, k, count = sizes(node)
    gain = 2 * m * n * k * count * (1 / ODD - 1 / FITTING)
    bytes_moved, kernels = 0, 0
    for matrix, odd in zip(operands(node), (lacks[0] or lacks[2], lacks[1] or lacks[2])):
        if odd:
            bytes_moved += 2 * matrix.meta["val"].numel() * a.element_size()
            kernels += 1
    if any(user.op == "output" for user in node.users):
        bytes_moved += 2 * m * n * count * a.element_size()
        kernels += 1
    return gain > bytes_moved / MEMORY + kernels * LAUNCH


def on_matrix_units(dtype):
    """Whether products of a type are made by matrix units that want aligned rows."""
    return dtype in (torch.float16, torch.bfloat16) or (dtype is torch.float32 and torch.get_float32_matmul_precision() != "highest")


def padded_product(graph, node, made):
    """Puts a product with zeros in the place of one."""
    lack_m, lack_n, lack_k = missing(node)
    m, n, _, _ = sizes(node)
    a, b = operands(node)
    product = aten.bmm.default if a.meta["val"].dim() == 3 else aten.mm.default
    with graph.inserting_before(node):
        whole = call(graph, product, padded(graph, a, lack_m, lack_k, made), padded(graph, b, lack_k, lack_n, made))
        if lack_m:
            whole = call(graph, aten.slice.Tensor, whole, -2, 0, m)
        if lack_n:
            whole = call(graph, aten.slice.Tensor, whole, -1, 0, n)
        if node.target is aten.addmm.default:
            whole = call(graph, aten.add.Tensor, whole, node.args[0])
        if lack_m or lack_n:
            whole = call(graph, aten.clone.default, whole, memory_format=torch.contiguous_format)
    node.replace_all_uses_with(whole)
    whole.meta = {**node.meta, "val": whole.meta["val"]}
    graph.erase_node(node)


def padded(graph, matrix, rows, columns, made):
    """A matrix with zeros behind its rows and columns; of a transposed one, what is transposed gets them."""
    if not rows and not columns:
        return matrix
    if (matrix, rows, columns) in made:
        return made[matrix, rows, columns]
    source = transposed_from(matrix)
    if source is not None:
        inner = padded(graph, source, columns, rows, made)
        result = call(graph, aten.transpose.int, inner, -2, -1)
    else:
        result = call(graph, aten.constant_pad_nd.default, matrix, [0, columns, 0, rows], 0.0)
    made[matrix, rows, columns] = result
    return result


def transposed_from(node):
    """What a node is the transpose of, in its last two dimensions; None if it is none."""
    if node.op != "call_function" or node.target not in TRANSPOSED:
        return None
    rank = node.meta["val"].dim()
    if node.target is aten.t.default:
        return node.args[0] if rank == 2 else None
    if node.target is aten.transpose.int:
        return node.args[0] if sorted(d % rank for d in node.args[1:3]) == [rank - 2, rank - 1] else None
    return node.args[0] if [d % rank for d in node.args[1]] == [*range(rank - 2), rank - 1, rank - 2] else None


def call(graph, target, *args, **kwargs):
    """A new node with its value."""
    node = graph.call_function(target, args, kwargs)
    value = lambda a: a.meta["val"] if isinstance(a, Node) else a
    node.meta["val"] = target(*map(value, args), **kwargs)
    return node
