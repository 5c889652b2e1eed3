"""How values of torch are spelled in `.ir` text: types, numbers, expressions over symbols, properties.

docs/python.md has the rules. Nothing here looks at a graph; `export` does.
"""

import functools
import math
import struct

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

#: What holds the place of a symbolic integer in a list.
PLACE_HELD = -(2**63)

#: The element types of tensors that the text has a word for.
DTYPES = {
    torch.bool: "i1",
    torch.uint8: "ui8",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.uint16: "ui16",
    torch.uint32: "ui32",
    torch.uint64: "ui64",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float32: "f32",
    torch.float64: "f64",
    torch.complex32: "complex<f16>",
    torch.complex64: "complex<f32>",
    torch.complex128: "complex<f64>",
    torch.float8_e4m3fn: "f8E4M3FN",
    torch.float8_e5m2: "f8E5M2",
}

SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)


class NotSpelled(Exception):
    """A value that the text has no word for; the message says which."""


def dtype(value):
    """The name of an element type."""
    try:
        return DTYPES[value]
    except KeyError:
        raise NotSpelled(f"the dtype {value}") from None


def expression(value):
    """A size: digits, or an expression over symbols as torch prints it, without blanks."""
    if isinstance(value, int):
        return str(value)
    return "1" if is_one(value) else str(value.node.expr).replace(" ", "")


def is_symbolic(value):
    """Whether a size is no plain integer."""
    return isinstance(value, torch.SymInt) and not value.node.expr.is_number and not is_one(value)


def is_one(value):
    """Whether what tracing has assumed says that a size is 1: tensors broadcast along it."""
    return value.node.hint == 1 and statically_known_true(value == 1)


def contiguous_strides(sizes):
    """The strides of a tensor whose elements lie in order."""
    strides, step = [], 1
    for size in reversed(sizes):
        strides.append(step)
        step *= max(int(size), 1)
    return strides[::-1]


def tensor_type(value, device):
    """The type of a (fake) tensor, in a function whose tensors are on `device`."""
    if value.layout != torch.strided or value.is_quantized:
        raise NotSpelled(f"a tensor of layout {value.layout}" if not value.is_quantized else "a quantized tensor")
    if value.is_conj() or value.is_neg():
        raise NotSpelled("a tensor with its conjugate or negative bit set")
    sizes, strides, offset = value.shape, value.stride(), value.storage_offset()
    try:
        return known_type(sizes, strides, offset, value.dtype, value.device, device)
    except TypeError:
        # Symbols have no hash.
        return type_of(sizes, strides, offset, value.dtype, value.device, device)


def type_of(sizes, strides, offset, element, own_device, device):
    """The type of a tensor from its parts."""
    symbolic = any(map(is_symbolic, sizes))
    fields = []
    if symbolic:
        fields.append("sizes = [" + ", ".join(map(expression, sizes)) + "]")
    plain = not symbolic and not any(map(is_symbolic, strides))
    if not plain or [int(s) for s in strides] != contiguous_strides(sizes):
        fields.append("strides = [" + ", ".join(map(expression, strides)) + "]")
    if is_symbolic(offset) or int(offset) != 0:
        fields.append("offset = " + expression(offset))
    if str(own_device) != device:
        fields.append(f'device = "{own_device}"')
    shape = "".join(("?" if is_symbolic(s) else expression(s)) + "x" for s in sizes)
    layout = ", #aten.layout<" + ", ".join(fields) + ">" if fields else ""
    return f"tensor<{shape}{dtype(element)}{layout}>"


#: The same for sizes without symbols: the tensors of a graph have few types.
known_type = functools.lru_cache(4096)(type_of)


def value_type(value, device):
    """The type of anything that a node computes."""
    if value is None:
        return "none"
    if isinstance(value, torch.Tensor):
        return tensor_type(value, device)
    if isinstance(value, (torch.SymBool, bool)):
        return "i1"
    if isinstance(value, (torch.SymInt, int)):
        return "index"
    if isinstance(value, (torch.SymFloat, float)):
        return "f64"
    raise NotSpelled(f"a value of type {type(value).__name__}")


def number(value):
    """A Python number with its type."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise NotSpelled(f"the integer {value}, which has more than 64 bits")
        return f"{value} : i64"
    return floating(value) + " : f64"


def floating(value):
    """The digits of a double: the shortest that read back, or its bits where it has no digits."""
    if not math.isfinite(value):
        return "0x%016X" % struct.unpack("<Q", struct.pack("<d", value))[0]
    text = repr(value)
    if "." not in text:
        mantissa, mark, exponent = text.partition("e")
        text = mantissa + ".0" + mark + exponent
    return text


def string(text):
    """A string literal."""
    out = []
    for byte in text.encode():
        if byte in b'"\\' or not 32 <= byte < 127:
            out.append("\\%02X" % byte)
        else:
            out.append(chr(byte))
    return '"' + "".join(out) + '"'


def plain(value, element=None):
    """An argument without tensors and symbols as a property. `element` is the kind of its schema type: a number where a float
    is asked for is written as one."""
    if isinstance(value, torch.dtype):
        return dtype(value)
    if isinstance(value, torch.memory_format):
        return string(str(value).removeprefix("torch."))
    if isinstance(value, torch.device):
        return string(str(value))
    if isinstance(value, str):
        return string(value)
    if isinstance(value, (bool, int, float)):
        return number(float(value) if element == "FloatType" and not isinstance(value, bool) else value)
    if isinstance(value, (list, tuple)):
        return plain_list(value, element)
    raise NotSpelled(f"an argument of type {type(value).__name__}")


def plain_list(values, element):
    """A list of numbers as a property."""
    if element == "BoolType" or (values and all(isinstance(v, bool) for v in values)):
        kind, items = "i1", ["true" if v else "false" for v in values]
    elif element in ("FloatType", "NumberType") and not all(isinstance(v, int) for v in values):
        kind, items = "f64", [floating(float(v)) for v in values]
    elif element == "FloatType":
        kind, items = "f64", [floating(float(v)) for v in values]
    elif all(isinstance(v, int) for v in values):
        kind, items = "i64", [str(int(v)) for v in values]
    else:
        raise NotSpelled("a list of " + ", ".join(sorted({type(v).__name__ for v in values})))
    return f"array<{kind}: {', '.join(items)}>" if items else f"array<{kind}>"


def tensor_literal(value):
    """A constant tensor as a `dense` attribute without its type."""
    if value.numel() == 0:
        return "dense<>"
    flat = value.detach().cpu().contiguous()
    size = flat.element_size()
    if flat.dtype == torch.bool or size == 1:
        data = flat.view(torch.uint8).reshape(-1).tolist()
    else:
        data = None
    if flat.dtype == torch.bool:
        items = ["true" if v else "false" for v in data]
    elif not flat.dtype.is_floating_point and not flat.dtype.is_complex:
        items = [str(v) for v in flat.reshape(-1).tolist()]
    elif flat.dtype.is_complex:
        raise NotSpelled("a complex constant")
    else:
        bits = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[size]
        mask = (1 << (8 * size)) - 1
        items = ["0x%0*X" % (2 * size, v & mask) for v in flat.reshape(-1).view(bits).tolist()]
    return "dense<" + nested(items, list(value.shape)) + ">"


def nested(items, shape):
    """A flat list in the brackets of its shape."""
    if not shape:
        return items[0]
    step = len(items) // shape[0]
    parts = [nested(items[k * step : (k + 1) * step], shape[1:]) for k in range(shape[0])]
    return "[" + ", ".join(parts) + "]"
