"""Writes IR of a given size for measurements: generate_ir.py KIND OPS > file.mlir

KIND is one of
  graph    functions of 40 tensor ops of an unregistered dialect, with attributes
  scalar   functions of 60 ops of arith, in generic form
  chain    one function in which each op uses results from far back
  nest     ops with regions, four deep
All of it is in generic form, so that mlir-opt reads it with --allow-unregistered-dialect.
"""

import random
import sys


def graph(ops, out, per_function=40):
    """Tensor ops as a model's graph has them: long types, few distinct ones, some with properties."""
    rng = random.Random(1)
    shapes = ["4x128x64xf32", "4x64xf32", "512x64xbf16", "4x128xi64"]
    for f in range(max(1, ops // per_function)):
        ty = f"tensor<{shapes[f % len(shapes)]}>"
        out.write(f'  "func.func"() <{{function_type = ({ty}, {ty}) -> {ty}, sym_name = "graph_{f}"}}> ({{\n')
        out.write(f"  ^bb0(%x: {ty}, %y: {ty}):\n")
        names = ["%x", "%y"]
        for k in range(per_function):
            a, b = names[-1], names[rng.randrange(len(names))]
            match k % 4:
                case 0:
                    out.write(f'    %add_{k} = "net.add"({a}, {b}) <{{alpha = {k} : i64}}> : ({ty}, {ty}) -> {ty}\n')
                case 1:
                    out.write(f'    %add_{k} = "net.gate"({a}) {{mode = "soft", slope = {k}.5 : f32}} : ({ty}) -> {ty}\n')
                case 2:
                    out.write(f'    %add_{k}:2 = "net.split"({a}, {b}) : ({ty}, {ty}) -> ({ty}, {ty})\n')
                    names.append(f"%add_{k}#1")
                    out.write(f'    "net.note"(%add_{k}#0) : ({ty}) -> ()\n')
                    continue
                case _:
                    out.write(f'    %add_{k} = "net.mul"({a}, {b}) : ({ty}, {ty}) -> {ty}\n')
            names.append(f"%add_{k}")
        out.write(f'    "func.return"({names[-1]}) : ({ty}) -> ()\n  }}) : () -> ()\n')


def scalar(ops, out, per_function=60):
    """Integer arithmetic with constants."""
    words = ["addi", "subi", "muli", "andi", "ori", "xori", "maxsi", "minsi"]
    for f in range(max(1, ops // per_function)):
        out.write(f'  "func.func"() <{{function_type = (i64, i64) -> i64, sym_name = "sum_{f}"}}> ({{\n')
        out.write("  ^bb0(%a: i64, %b: i64):\n")
        last, before = "%a", "%b"
        for k in range(per_function):
            if k % 6 == 5:
                out.write(f'    %{k} = "arith.constant"() <{{value = {k * 37 + f} : i64}}> : () -> i64\n')
            else:
                out.write(f'    %{k} = "arith.{words[k % len(words)]}"({last}, {before}) : (i64, i64) -> i64\n')
            last, before = f"%{k}", last
        out.write(f'    "func.return"({last}) : (i64) -> ()\n  }}) : () -> ()\n')


def chain(ops, out):
    """One long block."""
    rng = random.Random(2)
    out.write('  "func.func"() <{function_type = (f32) -> f32, sym_name = "chain"}> ({\n  ^bb0(%x: f32):\n')
    out.write('    %v0 = "net.start"(%x) : (f32) -> f32\n')
    for k in range(1, ops):
        far = rng.randrange(k)
        out.write(f'    %v{k} = "net.step"(%v{k - 1}, %v{far}) : (f32, f32) -> f32\n')
    out.write(f'    "func.return"(%v{ops - 1}) : (f32) -> ()\n  }}) : () -> ()\n')


def nest(ops, out):
    """Regions inside regions."""
    for k in range(max(1, ops // 9)):
        out.write(f'  "net.outer"() <{{number = {k} : i64}}> ({{\n')
        for _ in range(2):
            out.write('    "net.inner"() ({\n    ^bb0(%i: index, %j: index):\n')
            out.write('      "net.use"(%i, %j) ({\n        "net.leaf"(%j) : (index) -> ()\n')
            out.write("      }) : (index, index) -> ()\n")
            out.write('      "net.end"() : () -> ()\n    }) : () -> ()\n')
        out.write("  }) : () -> ()\n")


KINDS = {"graph": graph, "scalar": scalar, "chain": chain, "nest": nest}


def write(kind, ops, out):
    """Writes a module of about so many ops."""
    out.write('"builtin.module"() ({\n')
    KINDS[kind](ops, out)
    out.write("}) : () -> ()\n")


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in KINDS:
        sys.exit(__doc__)
    write(sys.argv[1], int(sys.argv[2]), sys.stdout)
