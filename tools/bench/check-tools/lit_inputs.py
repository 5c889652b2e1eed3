"""Runs lit's own test inputs with lit and with rinductor-lit, and compares the verdicts test by test.

    python3 lit_inputs.py llvm/utils/lit/tests/Inputs target/release/rinductor-lit [DIRECTORY…]

Needs PyPI's lit, and LLVM's FileCheck and not in PATH under these names (/usr/lib/llvm-22/bin). Each directory's `lit.cfg` is executed, and what it sets is written as `lit.toml`; a directory whose configuration does what a
table cannot say (another test format, the external shell, test updaters) is listed as left out, with the reason. Both runners work on a copy.
The exit status is 0 if no verdict differs.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import types

import lit.formats
import lit.LitConfig  # noqa: F401 -- some configurations use it through `lit`
import lit.util  # noqa: F401


class NeedsPython(Exception):
    """A configuration that a table of settings cannot say."""


def load(path, params):
    """What a lit.cfg sets, as lit would see it."""
    environment = {"PATH": os.environ["PATH"]}
    config = types.SimpleNamespace(
        name=None,
        suffixes=[],
        excludes=[],
        environment=environment,
        substitutions=[],
        available_features=set(),
        unsupported=False,
        test_format=None,
        recursiveExpansionLimit=None,
        standalone_tests=False,
        pipefail=True,
        limit_to_features=set(),
        test_source_root=None,
        test_exec_root=None,
        target_triple=None,
        parent=None,
        test_retry_attempts=None,
    )
    known = set(vars(config)) | {"parallelism_group"}
    settings = types.SimpleNamespace(params=params, parallelism_groups={}, maxIndividualTestTime=0, per_test_coverage=False)
    settings.fatal = settings.error = lambda message: (_ for _ in ()).throw(NeedsPython(message))
    settings.note = settings.warning = print
    settings.test_updaters = []
    try:
        code = compile(open(path).read(), path, "exec")
        exec(code, {"config": config, "lit_config": settings, "lit": lit, "os": os, "sys": sys, "__file__": path})
    except NeedsPython:
        raise
    except Exception as error:
        raise NeedsPython(f"it cannot be run by itself: {error}")
    unknown = sorted(set(vars(config)) - known)
    if unknown:
        raise NeedsPython(f"it sets {', '.join(unknown)}")
    if settings.test_updaters or settings.per_test_coverage:
        raise NeedsPython("it changes the runner")
    if type(config.test_format) is not lit.formats.ShTest:
        raise NeedsPython("its tests are of another format")
    if config.test_format.execute_external:
        raise NeedsPython("its tests run in the external shell")
    config.timeout = settings.maxIndividualTestTime
    return config


def toml(value):
    """A value as TOML; strings in basic form."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return json.dumps(value.replace("@{", "@{at}{") if "@{" in value else value, ensure_ascii=False)
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + " }"
    return "[" + ", ".join(map(toml, value)) + "]"


def write(config, path):
    environment = {k: v for k, v in config.environment.items() if k != "PATH"}
    lines = [f"name = {toml(config.name)}", f"suffixes = {toml(sorted(config.suffixes))}"]
    lines.append(f"excludes = {toml(sorted(config.excludes))}")
    lines.append(f"features = {toml(sorted(config.available_features))}")
    lines.append(f"substitutions = {toml([list(pair) for pair in config.substitutions])}")
    lines.append(f"preamble = {toml(list(config.test_format.preamble_commands))}")
    lines.append(f"limit_to_features = {toml(sorted(config.limit_to_features))}")
    lines.append(f"unsupported = {toml(config.unsupported)}\nstandalone = {toml(config.standalone_tests)}")
    lines.append(f"pipefail = {toml(config.pipefail)}\nenvironment = {toml(environment)}")
    if config.recursiveExpansionLimit is not None:
        lines.append(f"recursive_expansion_limit = {config.recursiveExpansionLimit}")
    if config.test_retry_attempts is not None:
        lines.append(f"retries = {config.test_retry_attempts}")
    if config.timeout:
        lines.append(f"timeout = {config.timeout}")
    path_before = config.environment["PATH"].split(os.pathsep)
    extra = [p for p in path_before if p not in os.environ["PATH"].split(os.pathsep)]
    if extra:
        lines.append(f"path = {toml(extra)}")
    lines.append('params = { at = "@" }')
    with open(path, "w") as file:
        file.write("\n".join(lines) + "\n")


def verdicts(command, json_path, cwd):
    subprocess.run(command + ["-o", json_path], cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if not os.path.exists(json_path):
        return {}
    with open(json_path) as file:
        return {test["name"]: test["code"] for test in json.load(file)["tests"]}


def main(inputs, runner, only):
    total, differ, left_out = 0, [], []
    runner = os.path.abspath(runner)
    for name in sorted(only or os.listdir(inputs)):
        source = os.path.join(inputs, name)
        if not os.path.exists(os.path.join(source, "lit.cfg")):
            continue
        with tempfile.TemporaryDirectory() as temporary:
            copy = os.path.join(temporary, name)
            shutil.copytree(source, copy, symlinks=True)
            # What lit's own tests give on the command line.
            params = {"python": sys.executable, "counter": os.path.join(temporary, "counter")}
            defines = [f"-D{key}={value}" for key, value in params.items()]
            try:
                for directory, _, files in os.walk(copy):
                    if "lit.local.cfg" in files:
                        raise NeedsPython("it has a lit.local.cfg")
                    if "lit.cfg" in files:
                        write(load(os.path.join(directory, "lit.cfg"), params), os.path.join(directory, "lit.toml"))
            except NeedsPython as why:
                left_out.append(f"{name}: {why}")
                continue
            theirs = verdicts([sys.executable, "-c", "from lit.main import main; main()", copy, *defines], os.path.join(temporary, "lit.json"), temporary)
            if os.path.exists(params["counter"]):
                os.remove(params["counter"])
            for directory, folders, _ in os.walk(copy):
                for output in [f for f in folders if f == "Output"]:
                    shutil.rmtree(os.path.join(directory, output))
            ours = verdicts([runner, copy], os.path.join(temporary, "ours.json"), temporary)
        for test in sorted({**theirs, **ours}):
            total += 1
            pair = theirs.get(test, "not run"), ours.get(test, "not run")
            if pair[0] != pair[1]:
                differ.append(f"{name}: {test}: lit {pair[0]}, rinductor-lit {pair[1]}")
    for line in left_out:
        print(f"left out: {line}")
    for line in differ:
        print(f"differs: {line}")
    print(f"{total} tests, {len(differ)} verdicts differ; {len(left_out)} directories left out")
    return 1 if differ or not total else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
