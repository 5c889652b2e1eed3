"""Runs LLVM's own tests of FileCheck (llvm/test/FileCheck) with another FileCheck in its place.

    python3 filecheck_suite.py llvm/test/FileCheck target/release/rinductor-filecheck /usr/lib/llvm-22/bin

Needs PyPI's lit. Where a test reads the diagnostics of a command (`2>&1 | FileCheck`), LLVM's own FileCheck reads them, so that the one under test
does not judge itself. The directory with LLVM's programs gives that one, `not`, `count` and `split-file`. The exit status is 0 if no test fails.
"""

import os
import shutil
import subprocess
import sys
import tempfile

CONFIG = r"""
import os
import lit.formats

config.name = "FileCheck"
config.suffixes = [".txt", ".test", ".ll"]
config.excludes = ["Inputs", "CMakeLists.txt", "lit.cfg", "lit.local.cfg"]
config.test_format = lit.formats.ShTest()
config.environment["PATH"] = os.pathsep.join([LINKS, config.environment["PATH"]])
# Continued lines are joined before this is applied.
config.substitutions.append((r"2>&1\s*\|\s*FileCheck\b", "2>&1 | judge"))
"""


def main(suite, subject, tools):
    with tempfile.TemporaryDirectory() as directory:
        copy, links = os.path.join(directory, "FileCheck"), os.path.join(directory, "links")
        shutil.copytree(suite, copy)
        os.mkdir(links)
        programs = {name: os.path.join(tools, name) for name in ("not", "count", "split-file")}
        programs["judge"] = os.path.join(tools, "FileCheck")
        programs["FileCheck"] = os.path.abspath(subject)
        for name, program in programs.items():
            # A script, since programs may look at the name that they are called by.
            path = os.path.join(links, name)
            with open(path, "w") as file:
                file.write(f'#!/bin/sh\nexec "{program}" "$@"\n')
            os.chmod(path, 0o755)
        with open(os.path.join(copy, "lit.cfg"), "w") as file:
            file.write(f"LINKS = {links!r}\n{CONFIG}")
        environment = {k: v for k, v in os.environ.items() if not k.startswith("FILECHECK_")}
        command = [sys.executable, "-c", "from lit.main import main; main()", copy]
        return subprocess.call(command, env=environment)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
