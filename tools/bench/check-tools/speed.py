"""Measures the check tools against LLVM's, in one run.

    python3 speed.py target/release/rinductor-lit target/release/rinductor-filecheck /usr/lib/llvm-22/bin/FileCheck [--runs 3]

Needs PyPI's lit. Two measurements, the least of several runs each, the two sides taking turns:

- 2,000 tests of one check each: rinductor-lit against lit with LLVM's FileCheck, wall and CPU time of all processes;
- FileCheck alone on 50 MB with 20,000 checks: time and memory.

The exit status is 0 if the tests are 20 times faster in both, and FileCheck is no slower and takes no more memory.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time


def run(command, **options):
    """Wall and CPU seconds, and the most memory of one process in MiB."""
    begun = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, **options)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begun
    if status != 0:
        sys.exit(f"{command} failed")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def least(commands, runs, **options):
    """The least of each number for each command."""
    best = [(float("inf"),) * 3] * len(commands)
    for _ in range(runs):
        for i, command in enumerate(commands):
            best[i] = tuple(map(min, best[i], run(command, **options)))
    return best


def tests(directory, args, count):
    suite = os.path.join(directory, "suite")
    os.mkdir(suite)
    with open(os.path.join(suite, "lit.toml"), "w") as file:
        file.write("name = 'speed'\nsuffixes = ['.test']\n")
    with open(os.path.join(suite, "lit.cfg"), "w") as file:
        file.write("import lit.formats\nconfig.name = 'speed'\nconfig.suffixes = ['.test']\n")
        file.write("config.test_format = lit.formats.ShTest()\n")
    for i in range(count):
        with open(os.path.join(suite, f"t{i}.test"), "w") as file:
            file.write(f"RUN: FileCheck %s --input-file=%s\nCHECK: the value {i}{{{{$}}}}\nthe value {i}\n")
    links = os.path.join(directory, "links")
    os.mkdir(links)
    os.symlink(os.path.realpath(args.filecheck_llvm), os.path.join(links, "FileCheck"))
    environment = {**os.environ, "PATH": links + os.pathsep + os.environ["PATH"]}
    theirs = [sys.executable, "-c", "from lit.main import main; main()", "-q", suite]
    return least([[args.lit, "-q", suite], theirs], args.runs, env=environment)


def filecheck(directory, args, megabytes, checks):
    text, check = os.path.join(directory, "input.txt"), os.path.join(directory, "check.txt")
    line = "  %{} = arith.addf %a{}, %b{} : tensor<16x32xf32> loc(#loc{})\n"
    lines = megabytes * 1_000_000 // len(line.format(1000000, 10, 10, 100))
    step = lines // checks
    with open(text, "w") as file, open(check, "w") as out:
        for i in range(lines):
            file.write(line.format(i, i % 97, i % 89, i % 997))
            if i % step == 0 and i // step < checks:
                out.write(f"// CHECK: %{i} = arith.addf %a{i % 97}, %[[B:[a-z0-9]+]] : tensor<16x32xf32>\n")
    size = os.path.getsize(text) / 1e6
    commands = [[program, check, "--input-file", text] for program in (args.filecheck, args.filecheck_llvm)]
    return size, least(commands, args.runs)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("lit")
    parser.add_argument("filecheck")
    parser.add_argument("filecheck_llvm")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--tests", type=int, default=2000)
    args = parser.parse_args()
    args.lit, args.filecheck = os.path.abspath(args.lit), os.path.abspath(args.filecheck)
    with tempfile.TemporaryDirectory() as directory:
        ours, theirs = tests(directory, args, args.tests)
        wall, cpu = theirs[0] / ours[0], theirs[1] / ours[1]
        print(f"{args.tests} tests: {ours[0]:.2f} s wall, {ours[1]:.2f} s CPU; ", end="")
        print(f"lit with LLVM's FileCheck {theirs[0]:.2f} s, {theirs[1]:.2f} s: {wall:.0f} times, {cpu:.0f} times")
        size, (ours, theirs) = filecheck(directory, args, 50, 20_000)
        print(f"FileCheck on {size:.0f} MB with 20,000 checks: ", end="")
        print(f"{ours[0]:.2f} s wall, {ours[1]:.2f} s CPU, {ours[2]:.0f} MiB; ", end="")
        print(f"LLVM's {theirs[0]:.2f} s, {theirs[1]:.2f} s, {theirs[2]:.0f} MiB")
        good = wall >= 20 and cpu >= 20 and ours[1] <= theirs[1] and ours[2] <= theirs[2]
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
