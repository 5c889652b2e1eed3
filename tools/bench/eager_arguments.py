"""Random arguments for the ops of PyTorch, made from their schemas, for eager_calls.py; and files that hold tensors of all dtypes."""

import json
import re
import struct

import torch

FLOATS = [torch.float32, torch.float32, torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTS = [torch.int64, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]
TORCH_NAMES = {torch.bool: "BOOL", torch.uint8: "U8", torch.int8: "I8", torch.int16: "I16", torch.int32: "I32", torch.int64: "I64", torch.float16: "F16",
               torch.bfloat16: "BF16", torch.float32: "F32", torch.float64: "F64", torch.complex64: "C64", torch.complex128: "C128"}
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, float("inf"), float("-inf"), float("nan"), 30.0, -30.0, 1e-3]


def write_safetensors(path, tensors):
    """Writes named tensors."""
    head, blobs, at = {}, [], 0
    for name, t in tensors:
        t = torch.empty(t.shape, dtype=t.dtype).copy_(t.detach())
        data = t.reshape(-1).view(torch.uint8).numpy().tobytes() if t.numel() else b""
        head[name] = {"dtype": TORCH_NAMES[t.dtype], "shape": list(t.shape), "data_offsets": [at, at + len(data)]}
        at += len(data)
        blobs.append(data)
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def read_safetensors(path):
    """The tensors of a file by name."""
    with open(path, "rb") as file:
        data = file.read()
    n = struct.unpack("<Q", data[:8])[0]
    dtypes = {w: d for d, w in TORCH_NAMES.items()}
    out = {}
    for name, entry in json.loads(data[8:8 + n]).items():
        if name == "__metadata__":
            continue
        a, b = entry["data_offsets"]
        raw = torch.frombuffer(bytearray(data[8 + n + a:8 + n + b]), dtype=torch.uint8) if b > a else torch.empty(0, dtype=torch.uint8)
        out[name] = raw.view(dtypes[entry["dtype"]]).reshape(entry["shape"]) if b > a else torch.empty(entry["shape"], dtype=dtypes[entry["dtype"]])
    return out


def tensor(rng, shape, dtype, low=None, high=None, plain=False):
    """A tensor of random elements and a random layout."""
    n = 1
    for s in shape:
        n *= s
    if dtype == torch.bool:
        data = [rng.random() < 0.5 for _ in range(n)]
    elif dtype.is_complex:
        data = [complex(round(rng.gauss(0, 2), 2), round(rng.gauss(0, 2), 2)) for _ in range(n)]
    elif dtype.is_floating_point:
        special = low is None and rng.random() < 0.2
        if low is not None:
            data = [rng.uniform(low, high) for _ in range(n)]
        else:
            data = [rng.choice(SPECIAL) if special and rng.random() < 0.4 else rng.gauss(0, 2) for _ in range(n)]
    else:
        a, b = (low, high) if low is not None else (0 if dtype == torch.uint8 else -9, 9)
        data = [rng.randint(a, max(a, b)) for _ in range(n)]
    t = torch.tensor(data, dtype=dtype).reshape(shape)
    way = rng.random()
    if plain or way < 0.6 or t.dim() == 0:
        return t
    if way < 0.8:
        order = list(range(t.dim()))
        rng.shuffle(order)
        back = [order.index(d) for d in range(t.dim())]
        return t.permute(order).contiguous().permute(back)
    if way < 0.9:
        wide = torch.zeros([*shape[:-1], 2 * shape[-1] + 1], dtype=dtype)
        wide[..., :2 * shape[-1]:2] = t
        return wide[..., :2 * shape[-1]:2]
    if t.dim() == 4:
        return t.contiguous(memory_format=torch.channels_last)
    return t


class Maker:
    """Makes the arguments of one call."""

    def __init__(self, rng):
        self.rng = rng
        self.rank = rng.choice([0, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5])
        self.shape = [rng.choice([1, 2, 3, 3, 4, 5, 7, 8]) for _ in range(self.rank)]
        if rng.random() < 0.05 and self.shape:
            self.shape[rng.randrange(self.rank)] = 0
        self.family = rng.choice([FLOATS, FLOATS, FLOATS, INTS, INTS, [torch.bool], [torch.complex64, torch.complex128]] if rng.random() < 0.9 else [FLOATS])
        self.dtype = rng.choice(self.family)
        self.wild = rng.random() < 0.2

    def another_dtype(self):
        return self.rng.choice(FLOATS + INTS + [torch.bool]) if self.rng.random() < 0.2 else self.dtype

    def broadcast(self):
        shape = [1 if self.rng.random() < 0.2 else n for n in self.shape]
        return shape[self.rng.randrange(len(shape) + 1):] if shape and self.rng.random() < 0.25 else shape

    def dim(self):
        n = max(self.rank, 1)
        return self.rng.randrange(-n - self.wild, n + self.wild)

    def dims(self):
        n = max(self.rank, 1)
        dims = self.rng.sample(range(n), self.rng.randrange(0, n + 1))
        return [d - n if self.rng.random() < 0.3 else d for d in dims] + ([dims[0]] if self.wild and dims else [])

    def scalar(self):
        r = self.rng
        kind = r.random()
        if kind < 0.4:
            return r.choice([0, 1, 2, 3, -1, -2, 7])
        if kind < 0.9:
            return r.choice([0.5, 1.0, 2.0, -1.5, 0.1, 3.0, 0.0, float("inf") if self.wild else 1.25])
        return r.random() < 0.5

    def by_name(self, op, name, ty, first):
        """The argument of a parameter; the schema says the rest."""
        r = self.rng
        base = re.match(r"\w+", ty)[0]
        optional = ty.endswith("?")
        if base == "Tensor":
            if "[" in ty:
                if "index" in op:
                    return None
                return [tensor(r, self.shape, self.dtype) for _ in range(r.randrange(1, 4))]
            if optional and r.random() < 0.4:
                return None
            if name in ("index", "indices", "indexes"):
                return tensor(r, self.shape, torch.int64, 0, max(0, (min(self.shape) if self.shape else 1) - 1))
            if name in ("condition", "mask"):
                return tensor(r, self.broadcast(), torch.bool)
            shape = self.shape if first else self.broadcast()
            return tensor(r, shape, self.dtype if first else self.another_dtype())
        if base in ("int", "SymInt"):
            if "[" in ty:
                if optional and r.random() < 0.3:
                    return None
                if name in ("dim", "dims", "shifts") or "dim" in name:
                    return self.dims()
                if name in ("size", "shape", "normalized_shape", "sizes"):
                    return list(self.shape) if r.random() < 0.7 else [r.choice([1, 2, 3, -1 if self.wild else 4]) for _ in range(r.randrange(0, 4))]
                return [r.choice([0, 1, 1, 2, 3]) for _ in range(r.choice([1, 2, 2, 3]))]
            if optional and r.random() < 0.4:
                return None
            if "dim" in name:
                return self.dim()
            if name in ("start", "end", "index"):
                return r.randrange(-6, 7)
            if name == "reduction":
                return r.randrange(0, 3)
            return r.choice([1, 1, 2, 2, 3, 0, -1 if self.wild else 1])
        if base == "Scalar":
            return None if optional and r.random() < 0.4 else self.scalar()
        if base == "float":
            return None if optional and r.random() < 0.4 else r.choice([0.5, 1.0, 2.0, 0.1, 1e-5])
        if base == "bool":
            return r.random() < 0.5
        if base == "ScalarType":
            return r.choice(FLOATS + INTS) if not optional or r.random() < 0.3 else None
        if base == "MemoryFormat":
            return r.choice([None, torch.contiguous_format, torch.preserve_format, torch.channels_last if self.rank == 4 or self.wild else None])
        if base == "str":
            return {"approximate": r.choice(["none", "tanh"]), "rounding_mode": r.choice(["floor", "trunc"] + [None] * optional), "reduce": r.choice(["sum", "mean", "amax", "amin", "prod"]),
                    "side": "left", "ord": "fro"}.get(name, "none")
        return None


def make(op, parameters, schema, rng):
    """The arguments of a call by name; those that stay as their defaults are left out."""
    maker = Maker(rng)
    maker.op = op
    special = SPECIAL_OPS.get(op)
    if special is None:
        for pattern, function in FAMILIES:
            if re.fullmatch(pattern, op):
                special = function
                break
    given = special(maker) if special else {}
    defaults = {a.name: a.has_default_value() for a in schema.arguments}
    arguments, first = {}, True
    for name, ty in parameters:
        if given is not None and name in given:
            if given[name] is not ABSENT:
                arguments[name] = given[name]
            first = first and not ty.startswith("Tensor")
            continue
        base = re.match(r"\w+", ty)[0]
        if base in ("Layout", "Device", "Generator") or name in ("pin_memory", "non_blocking", "requires_grad"):
            if not defaults.get(name):
                arguments[name] = torch.device("cpu") if base == "Device" else None
            continue
        if defaults.get(name) and rng.random() < 0.4:
            continue
        value = maker.by_name(op, name, ty, first)
        if value is None and not ty.endswith("?"):
            if defaults.get(name):
                continue
            value = []
        if base == "Tensor":
            first = False
        if value is None and defaults.get(name):
            continue
        arguments[name] = value
    return arguments


ABSENT = object()


def odd(m, *values):
    """Mostly the first value; when wild, one of the others."""
    return values[0] if not (m.wild and len(values) > 1) or m.rng.random() < 0.5 else m.rng.choice(values[1:])


def floats(m):
    return m.rng.choice(FLOATS) if m.rng.random() < 0.85 else m.rng.choice(INTS)


def mm(m):
    r, d = m.rng, floats(m)
    a, b, c = (r.choice([1, 2, 3, 5]) for _ in range(3))
    return {"self": tensor(r, odd(m, [a, b], [a], [a, b, 2]), d, -2, 2), "mat2": tensor(r, odd(m, [b, c], [b + 1, c]), odd(m, d, torch.float64), -2, 2)}


def addmm(m):
    r, d = m.rng, floats(m)
    a, b, c = (r.choice([1, 2, 3, 5]) for _ in range(3))
    return {"self": tensor(r, r.choice([[a, c], [c], [1, c], [a, 1]]) if not m.wild else [c + 1], d, -2, 2), "mat1": tensor(r, odd(m, [a, b], [a, b, 1]), d, -2, 2),
            "mat2": tensor(r, [b, c], odd(m, d, torch.float64), -2, 2)}


def bmm(m):
    r, d = m.rng, floats(m)
    n, a, b, c = (r.choice([1, 2, 3, 5]) for _ in range(4))
    out = {"self": tensor(r, [n, a, b], d, -2, 2), "mat2": tensor(r, odd(m, [n, b, c], [n + 1, b, c], [b, c]), odd(m, d, torch.float64), -2, 2)}
    return out


def baddbmm(m):
    out = bmm(m)
    r = m.rng
    n, a, _ = out["self"].shape
    return {"self": tensor(r, odd(m, [n, a, out["mat2"].shape[-1]], [a], [n + 1, 1, 1]), out["self"].dtype, -2, 2), "batch1": out["self"], "batch2": out["mat2"]}


def index(m):
    r = m.rng
    m.rank = max(m.rank, 1)
    shape = m.shape or [3]
    out = []
    for d in range(r.randrange(1, len(shape) + 1 + m.wild)):
        if r.random() < 0.3:
            out.append(None)
        else:
            n = shape[d] if d < len(shape) else 1
            out.append(tensor(r, r.choice([[3], [1], [2, 3], []]), odd(m, torch.int64, torch.int32, torch.uint8, torch.float32), -n if n else 0, max(n - 1, 0)))
    first = next((t.shape for t in out if t is not None), [])
    out = [t if t is None or r.random() < 0.1 else tensor(r, list(first) if r.random() < 0.7 else [1], torch.int64, *((0, 0) if not shape[min(d, len(shape) - 1)] else (-shape[min(d, len(shape) - 1)], shape[min(d, len(shape) - 1)] - 1)))
           for d, t in enumerate(out)]
    return {"self": tensor(r, shape, m.dtype), "indices": out}


def index_put(m):
    given = index(m)
    try:
        region = torch.ops.aten.index.Tensor(given["self"], given["indices"]).shape
    except Exception:
        region = [1]
    shape = [1 if m.rng.random() < 0.2 else n for n in region]
    return {**given, "values": tensor(m.rng, shape, odd(m, m.dtype, torch.float64))}


def gather(m):
    r = m.rng
    shape = [max(1, n) for n in m.shape]
    d = r.randrange(max(m.rank, 1))
    n = shape[d] if shape else 1
    at = [r.randrange(1, s + 1) if k != d else r.randrange(0, 5) for k, s in enumerate(shape)]
    if m.wild and at:
        at[r.randrange(len(at))] += 3
    dtype = odd(m, torch.int64, torch.int32, torch.int16, torch.float32)
    return {"self": tensor(r, shape, m.dtype), "dim": d - max(m.rank, 1) if r.random() < 0.3 else d, "index": tensor(r, at, dtype, 0, n - 1), "_at": at, "_n": n}


def unique_index(m, given):
    """An index that names no place twice, for what is written in no order."""
    r, at, d = m.rng, given["_at"], given["dim"] % max(m.rank, 1)
    if not at:
        return torch.zeros([], dtype=torch.int64)
    at = list(at)
    at[d] = min(at[d], given["_n"])
    t = torch.zeros(at, dtype=torch.int64)
    flat = t.movedim(d, -1)
    for row in flat.reshape(-1, at[d]).unbind(0) if t.numel() else []:
        row.copy_(torch.tensor(r.sample(range(given["_n"]), at[d])))
    order = torch.tensor(r.sample(range(given["_n"]), at[d]), dtype=torch.int64)
    return order.reshape([-1 if k == d else 1 for k in range(len(at))]).expand(at).contiguous() if t.numel() else t


def scatter(m):
    given = gather(m)
    at = unique_index(m, given)
    return {"self": given["self"], "dim": given["dim"], "index": at if not m.wild else given["index"],
            "src": tensor(m.rng, odd(m, [n + m.rng.randrange(2) for n in at.shape], list(at.shape)[1:]), odd(m, m.dtype, torch.float64)), "value": m.scalar(),
            "reduce": ABSENT}


def scatter_reduce(m):
    given = scatter(m)
    given["reduce"] = m.rng.choice(["sum", "prod", "mean", "amax", "amin"])
    return given


def image(m, dims=2, dtype=None):
    r = m.rng
    shape = [r.choice([1, 2, 3]) for _ in range(r.choice([1, 2]))] + [r.choice([4, 5, 6, 7]) for _ in range(dims)]
    if m.wild and r.random() < 0.3:
        shape = shape[1:]
    return tensor(r, shape, dtype or (floats(m) if not m.wild else m.dtype))


def window(m, dims=2):
    r = m.rng
    k = [r.choice([1, 2, 3]) for _ in range(dims)]
    out = {"kernel_size": r.choice([k, [k[0]]]), "stride": r.choice([[], [r.choice([1, 2, 3])] * dims, [r.choice([1, 2])]]), "padding": r.choice([[0] * dims, [x // 2 for x in k]]),
           "dilation": r.choice([[1] * dims, [1], [2] * dims]), "ceil_mode": r.random() < 0.4, "count_include_pad": r.random() < 0.5, "divisor_override": r.choice([None, None, 3])}
    if len(out["kernel_size"]) == 1:
        out["padding"] = r.choice([[0], [k[0] // 2]])
    if m.wild:
        out[r.choice(["kernel_size", "stride", "padding", "dilation"])] = [r.choice([0, -1, 3])] * r.choice([1, dims])
    return out


def pool(name, dims=2):
    def make(m):
        return {"self": image(m, dims), **window(m, dims)}

    def backward(m):
        given = {"self": image(m, dims, m.rng.choice(FLOATS)), **window(m, dims)}
        try:
            if name == "avg":
                out = getattr(torch.ops.aten, f"avg_pool{dims}d")(given["self"], *(given[k] for k in ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override")))
            else:
                out, at = getattr(torch.ops.aten, f"max_pool{dims}d_with_indices")(given["self"], *(given[k] for k in ("kernel_size", "stride", "padding", "dilation", "ceil_mode")))
                given["indices"] = at
        except Exception:
            out = given["self"]
        given["grad_output"] = tensor(m.rng, list(out.shape), odd(m, given["self"].dtype, torch.int8, torch.float64))
        return given
    return make, backward


def adaptive(dims):
    def make(m):
        return {"self": image(m, dims), "output_size": [m.rng.choice([1, 2, 3, 5, 9]) for _ in range(odd(m, dims, dims + 1))]}

    def backward(m):
        given = make(m)
        given["grad_output"] = tensor(m.rng, [*given["self"].shape[:-dims], *given["output_size"]], odd(m, given["self"].dtype, torch.float64))
        return given
    return make, backward


def convolution(m):
    r = m.rng
    n = r.choice([1, 2, 2, 2, 3])
    groups, transposed = r.choice([1, 1, 2]), r.random() < 0.3
    d = r.choice([torch.float32, torch.float64])
    cin, cout = groups * r.choice([1, 2, 3]), groups * r.choice([1, 2, 3])
    k = [r.choice([1, 2, 3]) for _ in range(n)]
    weight = [cin, cout // groups, *k] if transposed else [cout, cin // groups, *k]
    given = {"input": tensor(r, [r.choice([1, 2]), cin + (m.wild and r.random() < 0.3), *[r.choice([5, 6, 7]) for _ in range(n)]], d, -2, 2), "weight": tensor(r, weight, odd(m, d, torch.float16), -2, 2),
             "bias": r.choice([None, tensor(r, [cout], d, -2, 2)]), "stride": [r.choice([1, 2])] * n, "padding": [r.choice([0, 1])] * n, "dilation": [r.choice([1, 1, 2])] * n, "transposed": transposed,
             "output_padding": [0] * n, "groups": groups}
    if m.wild:
        given[r.choice(["stride", "padding", "dilation", "output_padding"])] = [r.choice([0, -1, 2])] * r.choice([n, n + 1])
    return given


def convolution_backward(m):
    given = convolution(m)
    try:
        out = torch.ops.aten.convolution(**given).shape
    except Exception:
        out = [2, 2, 2, 2]
    given.pop("bias")
    given["grad_output"] = tensor(m.rng, list(out), given["input"].dtype, -2, 2)
    given["bias_sizes"] = m.rng.choice([None, [out[1]]])
    given["output_mask"] = m.rng.choice([[True, True, True], [True, True, False], [False, True, False], [True, False, False]])
    return given


def attention(m):
    r, d = m.rng, m.rng.choice([torch.float32, torch.float64])
    b, h, q, k, e = (r.choice([1, 2, 3, 4]) for _ in range(5))
    # PyTorch reads elements of a row as neighbours, without looking at their stride.
    return {"query": tensor(r, [b, h, q, e], d, -2, 2, plain=True), "key": tensor(r, odd(m, [b, h, k, e], [b, h, k, e + 1], [h, k, e]), d, -2, 2, plain=True),
            "value": tensor(r, [b, h, k, e], odd(m, d, torch.float16), -2, 2, plain=True), "dropout_p": odd(m, 0.0, 0.5),
            "is_causal": r.random() < 0.3, "attn_mask": r.choice([None, tensor(r, [q, k], d, -2, 2)]), "scale": r.choice([None, 0.5])}


def attention_backward(m):
    given = attention(m)
    given["is_causal"] = False
    try:
        out, lse = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(**given)
    except Exception:
        out, lse = given["query"], given["query"][..., 0]
    return {**given, "out": out, "logsumexp": lse, "grad_out": torch.randn(out.shape, dtype=out.dtype)}


def embedding(m):
    r = m.rng
    rows = r.choice([2, 4, 7])
    return {"weight": tensor(r, odd(m, [rows, 3], [rows], [rows, 3, 2]), m.dtype), "indices": tensor(r, r.choice([[3], [2, 3], []]), odd(m, torch.int64, torch.int32, torch.int8, torch.float32), 0, rows - 1),
            "scale_grad_by_freq": False, "sparse": False}


def embedding_bag(m):
    r, rows = m.rng, 5
    n = r.choice([3, 6])
    d = r.choice(FLOATS)
    mode = r.randrange(3)
    return {"weight": tensor(r, [rows, 3], d), "indices": tensor(r, odd(m, [n], [n, 1]), torch.int64, 0, rows - 1, plain=True), "offsets": torch.tensor(odd(m, [0, 2], [[0, 2]])), "mode": mode,
            "per_sample_weights": tensor(r, [n], d) if mode == 0 and r.random() < 0.4 else None, "sparse": False, "scale_grad_by_freq": False, "include_last_offset": False, "padding_idx": -1}


def iota(m):
    r = m.rng
    return {"length": r.choice([0, 1, 5]), "start": r.choice([0, -3, 2]), "step": odd(m, r.choice([1, 2, -1]), 0), "dtype": odd(m, r.choice([torch.int64, torch.int32]), torch.float32), "requires_grad": False,
            "device": torch.device("cpu")}


def offsets_to_indices(m):
    given = low_memory_pool(m)
    try:
        at = torch.ops.prims._low_memory_max_pool_with_offsets(**given)[1]
    except Exception:
        at = torch.zeros([1, 2, 2], dtype=torch.int8)
    return {**given, "input_size": list(given.pop("self").shape[-2:]), "self": at}


def fma(m):
    d = m.rng.choice(FLOATS)
    return {k: tensor(m.rng, m.shape, d) for k in "abc"}


def lookup_seed(m):
    return {"seeds": tensor(m.rng, [3], torch.int64), "index": odd(m, m.rng.randrange(3), 5, -1)}


def norm_shape(m):
    r = m.rng
    shape = [r.choice([1, 2, 3, 5]) for _ in range(r.choice([1, 2, 3, 4]))]
    n = r.randrange(1, len(shape) + 1)
    d = floats(m)
    tail = shape[-n:]
    return {"input": tensor(r, shape, d), "normalized_shape": odd(m, tail, tail[1:], [*tail, 3]), "weight": r.choice([None, tensor(r, tail, d)]), "bias": r.choice([None, tensor(r, tail, d)])}


def where(m):
    return {"condition": tensor(m.rng, m.broadcast(), odd(m, torch.bool, torch.uint8, torch.float32, torch.int64))}


def views(m):
    r = m.rng
    t = tensor(r, m.shape, m.dtype)
    n = t.numel()
    parts = [d for d in range(1, n + 1) if n % d == 0] or [0]
    a = r.choice(parts)
    size = r.choice([list(t.shape), [n], [-1], [a, -1] if a else [0, 3], [1, *t.shape], [*t.shape, 1], [a, n // a if a else 0]])
    return {"self": t, "size": odd(m, size, [-1, -1], [-2], [n + 1]), "shape": size}


def expand(m):
    r = m.rng
    base = [1 if r.random() < 0.5 else n for n in m.shape]
    size = [*[r.choice([1, 2]) for _ in range(r.randrange(2))], *[-1 if r.random() < 0.2 else n for n in m.shape]]
    return {"self": tensor(r, base, m.dtype), "size": odd(m, size, size[1:], [*size, 3], [-1, *m.shape])}


def as_strided(m):
    r = m.rng
    t = tensor(r, m.shape, m.dtype, plain=True)
    n = max(t.numel(), 1)
    size = [r.choice([1, 2, 3]) for _ in range(r.randrange(0, 3))]
    stride = [r.choice([0, 1, 2]) for _ in size]
    last = sum((s - 1) * st for s, st in zip(size, stride))
    given = {"self": t, "size": size, "stride": odd(m, stride, [9] * len(size), [1]), "storage_offset": r.choice([None, 0, max(0, n - 1 - last)])}
    unique = []
    step = 1
    for s in reversed(size):
        unique.insert(0, step)
        step *= s
    given["src"] = tensor(r, size, m.dtype)
    return given


def as_strided_scatter(m):
    given = as_strided(m)
    step = 1
    stride = []
    for s in reversed(given["size"]):
        stride.insert(0, step)
        step *= s
    return {**given, "stride": stride, "storage_offset": m.rng.choice([None, 0])}


def slice_scatter(m):
    r = m.rng
    t = tensor(r, m.shape, m.dtype)
    given = {"self": t, "dim": m.dim(), "start": r.choice([None, 0, 1, -2]), "end": r.choice([None, 2, -1, 9]), "step": r.choice([1, 1, 2, 0 if m.wild else 1])}
    try:
        part = torch.ops.aten.slice.Tensor(**given).shape
    except Exception:
        part = m.shape
    return {**given, "src": tensor(r, odd(m, list(part), [1]), m.another_dtype())}


def select_scatter(m):
    r = m.rng
    given = {"self": tensor(r, m.shape, m.dtype), "dim": m.dim(), "index": r.choice([0, 0, -1, 1])}
    try:
        part = torch.ops.aten.select.int(**given).shape
    except Exception:
        part = m.shape
    return {**given, "src": tensor(r, odd(m, list(part), [1]), m.another_dtype())}


def copy(m):
    return {"self": tensor(m.rng, m.shape, m.dtype)}


def cat(m):
    r = m.rng
    d = r.randrange(max(m.rank, 1))
    parts = []
    for _ in range(r.randrange(1, 4)):
        shape = list(m.shape)
        if shape:
            shape[d] = r.choice([0, 1, 2, 3])
            if m.wild:
                shape[r.randrange(len(shape))] += 1
        parts.append(tensor(r, shape, m.another_dtype()))
    if r.random() < 0.1:
        parts.append(torch.zeros([0]))
    return {"tensors": parts, "dim": d}


def pad(m):
    r = m.rng
    n = r.randrange(0, m.rank + 1 + m.wild)
    return {"self": tensor(r, m.shape, m.dtype), "pad": [r.choice([0, 1, 2, -1]) for _ in range(2 * n + (m.wild and r.random() < 0.3))]}


def low_memory_pool(m):
    given = {"self": image(m), **window(m)}
    given["kernel_size"], given["stride"] = (given["kernel_size"] * 2)[:2], (given["stride"] * 2)[:2] or (given["kernel_size"] * 2)[:2]
    given["padding"], given["dilation"] = (given["padding"] * 2)[:2], (given["dilation"] * 2)[:2]
    return given


def permute(m):
    order = list(range(m.rank))
    m.rng.shuffle(order)
    order = [d - m.rank if m.rng.random() < 0.2 else d for d in order]
    return {"self": tensor(m.rng, m.shape, m.dtype), "dims": odd(m, order, order[1:], [*order, 0])}


def softmax(m):
    return {"self": tensor(m.rng, m.shape, floats(m)), "half_to_float": odd(m, False, True)}


def topk(m):
    # Equal elements come in any order.
    n = 1
    for s in m.shape:
        n *= s
    values = list(range(n))
    m.rng.shuffle(values)
    dtype = m.dtype if not m.dtype.is_floating_point and n < 100 else torch.float32
    return {"self": (torch.tensor(values).to(dtype) if dtype != torch.bool or m.wild else torch.tensor(values).float()).reshape(m.shape), "k": m.rng.choice([1, 1, 2, 0, -1 if m.wild else 1]), "sorted": True}


def pow_tensor(m):
    return {"self": tensor(m.rng, m.shape, m.dtype), "exponent": m.rng.choice([0, 1, 2, 3, -1, 0.5, -0.5, 2.5, True])}


MAX2, MAX2_BACK = pool("max")
AVG2, AVG2_BACK = pool("avg")
AVG3, AVG3_BACK = pool("avg", 3)
MAX3, MAX3_BACK = pool("max", 3)
AVG1, _ = pool("avg", 1)
ADAPT2, ADAPT2_BACK = adaptive(2)
ADAPT3, ADAPT3_BACK = adaptive(3)

SPECIAL_OPS = {
    "aten.mm": mm, "aten.addmm": addmm, "aten.bmm": bmm, "aten.baddbmm": baddbmm, "aten.index.Tensor": index, "aten._unsafe_index.Tensor": index, "aten.index_put": index_put,
    "aten._unsafe_index_put": index_put,
    "aten.gather": lambda m: {k: v for k, v in gather(m).items() if k[0] != "_"}, "aten.scatter.src": scatter, "aten.scatter.value": scatter, "aten.scatter_add": scatter,
    "aten.scatter_reduce.two": scatter_reduce, "aten.max_pool2d_with_indices": MAX2, "aten.max_pool2d_with_indices_backward": MAX2_BACK, "aten.avg_pool2d": AVG2, "aten.avg_pool2d_backward": AVG2_BACK,
    "aten.avg_pool3d": AVG3, "aten.avg_pool3d_backward": AVG3_BACK, "aten.max_pool3d_with_indices": MAX3, "aten.max_pool3d_with_indices_backward": MAX3_BACK, "aten.avg_pool1d": AVG1,
    "aten._adaptive_avg_pool2d": ADAPT2, "aten._adaptive_avg_pool2d_backward": ADAPT2_BACK, "aten._adaptive_avg_pool3d": ADAPT3, "aten._adaptive_avg_pool3d_backward": ADAPT3_BACK,
    "aten.adaptive_max_pool2d": ADAPT2, "aten.adaptive_max_pool3d": ADAPT3,
    "aten.convolution": convolution, "aten.convolution_backward": convolution_backward, "aten._scaled_dot_product_flash_attention_for_cpu": attention,
    "aten._scaled_dot_product_flash_attention_for_cpu_backward": attention_backward, "aten.embedding": embedding, "aten._embedding_bag": embedding_bag,
    "aten.native_layer_norm": norm_shape, "aten.where.self": where, "aten.view": views, "aten.reshape": views, "aten._unsafe_view": views, "aten._reshape_copy": views, "aten.view_copy": views,
    "aten.expand": expand, "aten.expand_copy": expand,
    "aten.as_strided": as_strided, "aten.as_strided_copy": as_strided, "aten.as_strided_scatter": as_strided_scatter, "aten.slice_scatter": slice_scatter, "aten.select_scatter": select_scatter,
    "aten.cat": cat, "aten.constant_pad_nd": pad, "prims._low_memory_max_pool_with_offsets": low_memory_pool, "aten.permute": permute, "aten.permute_copy": permute,
    "prims.iota": iota, "prims.fma": fma, "prims._low_memory_max_pool_offsets_to_indices": offsets_to_indices, "prims.inductor_lookup_seed": lookup_seed, "aten._softmax": softmax, "aten._log_softmax": softmax, "aten.topk": topk, "aten.pow.Tensor_Scalar": pow_tensor,
}


def padding(m):
    dims = int(re.search(r"(\d)d", m.op)[1])
    r = m.rng
    shape = [r.choice([1, 2, 3]) for _ in range(r.choice([1, 2]))] + [r.choice([3, 4, 5]) for _ in range(dims)]
    return {"self": tensor(r, shape, m.dtype if m.wild else floats(m)), "padding": [r.choice([0, 1, 2, -1, 5 if m.wild else 2]) for _ in range(2 * dims + (m.wild and r.random() < 0.3))]}


def upsample(m):
    dims = int(re.search(r"(\d)d", m.op)[1])
    r = m.rng
    shape = [r.choice([1, 2]), r.choice([1, 3]), *[r.choice([2, 3, 5]) for _ in range(dims)]]
    given = {"self": tensor(r, shape if not m.wild else shape[1:], odd(m, r.choice(FLOATS), torch.uint8, torch.int64)), "output_size": [r.choice([1, 3, 4, 7]) for _ in range(dims)], "align_corners": r.random() < 0.5}
    return {**given, **{k: ABSENT for k in ("scales", "scales_h", "scales_w", "scales_d")}}


def scatter_two(m):
    return {**scatter(m), "reduce": odd(m, m.rng.choice(["add", "multiply"]), "sum")}


def diagonal_scatter(m):
    r = m.rng
    given = {"self": tensor(r, m.shape, m.dtype), "offset": r.choice([0, 0, 1, -1, 2]), "dim1": m.dim(), "dim2": m.dim()}
    try:
        part = torch.ops.aten.diagonal.default(**given).shape
    except Exception:
        part = m.shape
    return {**given, "src": tensor(r, odd(m, list(part), [1]), m.another_dtype())}


def empty_permuted(m):
    order = list(range(m.rank))
    m.rng.shuffle(order)
    return {"size": m.shape, "physical_layout": odd(m, order, order[1:])}


def index_dim(m):
    r = m.rng
    shape = [max(1, n) for n in m.shape]
    d = r.randrange(max(m.rank, 1))
    n = shape[d] if shape else 1
    count = r.randrange(1, n + 1)
    at = torch.tensor(r.sample(range(n), count))
    part = [count if k == d else s for k, s in enumerate(shape)]
    return {"self": tensor(r, shape, m.dtype), "dim": d, "index": odd(m, at, at.to(torch.int32), at.to(torch.float32), at.reshape(1, -1)), "source": tensor(r, odd(m, part, [*part, 1]), odd(m, m.dtype, torch.float64))}


def put(m):
    r = m.rng
    t = tensor(r, [max(1, n) for n in m.shape], m.dtype)
    k = r.randrange(1, min(t.numel(), 6) + 1)
    return {"self": t, "index": torch.tensor(r.sample(range(t.numel()), k)), "source": tensor(r, [k], odd(m, m.dtype, torch.float64))}


def take(m):
    r = m.rng
    t = tensor(r, [max(1, n) for n in m.shape], m.dtype)
    return {"self": t, "index": tensor(r, r.choice([[3], [2, 2], []]), torch.int64, -t.numel(), t.numel() - 1)}


def embedding_backward(m):
    r, rows = m.rng, 5
    shape = r.choice([[4], [2, 3]])
    return {"grad_output": tensor(r, [*shape, 3], r.choice(FLOATS), -2, 2), "indices": tensor(r, shape, odd(m, torch.int64, torch.int32), 0, rows - 1), "num_weights": rows, "padding_idx": r.choice([-1, 2]), "scale_grad_by_freq": False}


def kthvalue(m):
    given = topk(m)
    return {"self": given["self"], "k": given["k"]}


def gradients(m):
    """Tensors of one dtype."""
    d = m.dtype if m.wild else floats(m)
    return {k: tensor(m.rng, m.shape, odd(m, d, torch.float64)) for k in ("grad_output", "self", "grad_out", "output", "buffer", "self_or_result")} | {"input_dtype": d}


def targets(m):
    d = m.dtype if m.wild else floats(m)
    return {"self": tensor(m.rng, m.shape, d), "target": tensor(m.rng, m.broadcast() if m.wild else m.shape, odd(m, d, torch.float64)), "grad_output": tensor(m.rng, m.shape, d)}


def probabilities(m):
    d = m.rng.choice(FLOATS)
    return {"self": tensor(m.rng, m.shape, d, 0, 1), "target": tensor(m.rng, m.shape, odd(m, d, torch.float64), 0, 1), "weight": None if m.rng.random() < 0.5 else tensor(m.rng, m.shape, d, 0, 1)}


def tame(low, high):
    """Operands of a range in which functions are well conditioned."""
    def make(m):
        d = m.dtype if m.wild else floats(m)
        return {k: tensor(m.rng, m.shape, d, *(() if m.wild or not d.is_floating_point else (low, high))) for k in ("self", "x", "n", "other", "a", "b")} if "scalar" not in m.op else {}
    return make


def one_dtype(m):
    d = m.dtype
    return {k: tensor(m.rng, m.shape, odd(m, d, torch.float64), *((1, 9) if not d.is_floating_point and d != torch.bool and not d.is_complex else ())) for k in ("self", "other", "a", "b")}


FAMILIES = [
    (r"aten\.(reflection|replication)_pad\dd", padding), (r"aten\._?upsample_\w+\dd", upsample), (r"aten\.scatter\.(value_)?reduce", scatter_two),
    (r"aten\.diagonal_scatter", diagonal_scatter), (r"aten\.empty_permuted", empty_permuted), (r"aten\.index_(add|copy|select|fill\.int_Scalar)", index_dim), (r"aten\.put", put), (r"aten\.take", take),
    (r"aten\.embedding_dense_backward", embedding_backward), (r"aten\.kthvalue", kthvalue), (r"aten\.\w+_backward(_data)?", gradients), (r"aten\.\w+_loss(_backward)?", targets),
    (r"aten\.binary_cross_entropy", probabilities), (r"prims\.(igamma|igammac|zeta)|aten\.(igamma|igammac|special_gammainc|special_gammaincc|special_zeta)", tame(1.1, 6)),
    (r"aten\.special_\w+_polynomial_\w+", tame(0, 3)),
    (r"prims\.(add|sub|mul|div|maximum|minimum|fmod|remainder|atan2|hypot|nextafter|bitwise_\w+|eq|ne|lt|le|gt|ge)", one_dtype),
]
