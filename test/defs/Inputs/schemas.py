"""Compares the signature of each op of `aten` and `prims` in dialect files with the schema of the torch that is installed.

  schemas.py FILE-OR-FOLDER...

Both are read by torch's own schema parser and printed by it, so that only differences of meaning count. Ends with the number of ops that agree;
its exit status is 1 if one does not, or if an op is none of torch and not in OURS.
"""

import pathlib
import re
import sys

import torch
import torch._inductor.inductor_prims  # registers what Inductor adds to prims

# Ops of these dialects that PyTorch does not have: what a graph needs beside its computations.
OURS = {"aten.constant", "aten.none"}
# Graphs leave out where a tensor lies and that it needs no gradient, so these have defaults here.
WITH_DEFAULTS = {
    "prims.device_put": {"Device? device=None": "Device device"},
    "prims.inductor_seed": {"Device? device=None": "Device device"},
    "prims.inductor_seeds": {"Device? device=None": "Device device"},
    "prims.iota": {"Device? device=None": "Device device", "bool requires_grad=False": "bool requires_grad"},
}


def declared(path):
    """The name and the schema, from its parenthesis on, of each op of a file."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for match in re.finditer(r"^op ((?:aten|prims)\.[\w.]+)(\(.*?)\s*(?:\{|;)\s*$", text, re.M | re.S):
        yield match[1], " ".join(match[2].split())


def of_torch(name):
    """The schema that torch gives to an op, or None."""
    dialect, op, *overload = name.split(".")
    packet = getattr(getattr(torch.ops, dialect), op, None)
    found = getattr(packet, overload[0] if overload else "default", None)
    return None if found is None else found._schema


def main(paths):
    agree, wrong = 0, []
    files = [f for p in map(pathlib.Path, paths) for f in (sorted(p.glob("*.dialect")) if p.is_dir() else [p])]
    for path in files:
        for name, text in declared(path):
            theirs = of_torch(name)
            if theirs is None or name in OURS:
                if name not in OURS:
                    wrong.append(f"{name}: torch has no such op")
                continue
            for here, there in WITH_DEFAULTS.get(name, {}).items():
                text = text.replace(here, there)
            # The parser of schemas has its own names for overloads; what follows the name is compared.
            ours = str(torch._C.parse_schema(f"{theirs.name}{text}")).partition("(")[2]
            if ours == str(theirs).partition("(")[2]:
                agree += 1
            else:
                wrong.append(f"{name}\n  declared: {ours}\n  torch:    {str(theirs).partition('(')[2]}")
    print("\n".join(wrong))
    print(f"{agree} ops agree with torch {torch.__version__}, {len(wrong)} do not")
    return bool(wrong) or agree == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
