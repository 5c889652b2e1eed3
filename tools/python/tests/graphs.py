"""Graphs that several tests use."""

SOFTMAX = """
func.func @forward(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %max = "aten.amax"(%x) <{dim = array<i64: -1>, keepdim = true}> : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %sub = "aten.sub.Tensor"(%x, %max) : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %exp = "aten.exp"(%sub) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %sum = "aten.sum.dim_IntList"(%exp) <{dim = array<i64: -1>, keepdim = true}> : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %div = "aten.div.Tensor"(%exp, %sum) : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  return %div : tensor<4x8xf32>
}
"""


def binary(op, dtype, sizes=(4, 8)):
    """A graph of one op with two arguments."""
    t = f"tensor<{'x'.join(map(str, sizes))}x{dtype}>" if sizes else f"tensor<{dtype}>"
    return f"""
func.func @forward(%x: {t}, %y: {t}) -> {t} {{
  %z = "{op}"(%x, %y) : ({t}, {t}) -> {t}
  return %z : {t}
}}
"""


# x + y over a symbolic size; the symbol is an argument too.
SYMBOLIC = """
func.func @forward(%s: index {aten.symbol = "s0"}, %x: tensor<?x4xf32, #aten.layout<sizes = [s0, 4]>>, %y: tensor<4xf32>) -> (tensor<?x4xf32, #aten.layout<sizes = [s0, 4]>>, index) {
  %z = "aten.add.Tensor"(%x, %y) : (tensor<?x4xf32, #aten.layout<sizes = [s0, 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #aten.layout<sizes = [s0, 4]>>
  return %z, %s : tensor<?x4xf32, #aten.layout<sizes = [s0, 4]>>, index
}
"""

# Writes 2 * x into x.
MUTATING = """
func.func @forward(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %two = "aten.mul.Scalar"(%x) <{other = 2 : i64}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %c = "aten.copy_"(%x, %two) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %c : tensor<4x8xf32>
}
"""

GATHER = """
func.func @forward(%x: tensor<5x3xf32>, %i: tensor<2xi64>) -> tensor<2x3xf32> {
  %y = "aten.index_select"(%x, %i) <{dim = 0 : i64}> : (tensor<5x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}
"""

MATMUL = """
func.func @forward(%x: tensor<?x8xf32, #aten.layout<sizes = [s0, 8]>>, %w: tensor<8x3xf32>) -> tensor<?x3xf32, #aten.layout<sizes = [s0, 3]>> {
  %y = "aten.mm"(%x, %w) : (tensor<?x8xf32, #aten.layout<sizes = [s0, 8]>>, tensor<8x3xf32>) -> tensor<?x3xf32, #aten.layout<sizes = [s0, 3]>>
  %z = "aten.relu"(%y) : (tensor<?x3xf32, #aten.layout<sizes = [s0, 3]>>) -> tensor<?x3xf32, #aten.layout<sizes = [s0, 3]>>
  return %z : tensor<?x3xf32, #aten.layout<sizes = [s0, 3]>>
}
"""

# An op that the runtime has not.
OPAQUE = """
func.func @forward(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %y = "aten.linalg_matrix_exp"(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %z = "aten.relu"(%y) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %z : tensor<4x4xf32>
}
"""
