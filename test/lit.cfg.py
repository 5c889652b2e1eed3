"""Gives the settings of lit.toml to LLVM's lit (`pip install lit`), so that both runners run the same tests."""

import os
import platform
import re
import shutil
import subprocess

import lit.formats

try:
    import tomllib
except ImportError:  # before Python 3.11
    import tomli as tomllib

root = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(root, "lit.toml"), "rb") as file:
    settings = tomllib.load(file)

params = {**settings.get("params", {}), **lit_config.params, "root": root}


def expand(text):
    return re.sub(r"@\{([^}]*)\}", lambda match: params[match.group(1)], text)


def path(text):
    return os.path.normpath(os.path.join(root, expand(text)))


config.name = settings["name"]
config.test_format = lit.formats.ShTest()
config.suffixes = settings["suffixes"]
config.excludes = settings.get("excludes", [])
config.test_source_root = root
config.test_exec_root = path(settings.get("exec_root", "."))
config.pipefail = settings.get("pipefail", True)
config.environment.update({name: expand(value) for name, value in settings.get("environment", {}).items()})
config.substitutions.extend((name, expand(value)) for name, value in settings.get("substitutions", []))
if "recursive_expansion_limit" in settings:
    config.recursiveExpansionLimit = settings["recursive_expansion_limit"]
if "retries" in settings:
    config.test_retry_attempts = settings["retries"]
try:
    import psutil  # lit needs it to end tests

    config.maxIndividualTestTime = settings.get("timeout", 0)
except ImportError:
    pass

# Tools get the names that RUN lines use by links in a directory of their own; the project's tools have theirs.
links = os.path.join(config.test_exec_root, "tools")
os.makedirs(links, exist_ok=True)
directories = [path(directory) for directory in settings.get("tool_dirs", [])]
directories += [path(directory) for directory in settings.get("path", [])]
config.environment["PATH"] = os.pathsep.join([links, *directories, config.environment["PATH"]])
for name, candidates in settings.get("tools", {}).items():
    candidates = [candidates] if isinstance(candidates, str) else candidates
    search = os.pathsep.join([*directories, os.environ["PATH"]])
    program = next(filter(None, (shutil.which(expand(c), path=search) for c in candidates)), None)
    link = os.path.join(links, name)
    if os.path.lexists(link):
        os.remove(link)
    if program:
        os.symlink(os.path.realpath(program), link)


def holds(feature):
    which = lambda name: shutil.which(name, path=config.environment["PATH"])
    if "exists" in feature and not any(os.path.exists(path(p)) for p in feature["exists"]):
        return False
    if not all(which(tool) for tool in feature.get("tools", [])):
        return False
    if "param" in feature and params.get(feature["param"], "").lower() in ("", "0", "false", "no", "off"):
        return False
    if not feature.get("run"):
        return True
    program, *arguments = map(expand, feature["run"])
    if not which(program):
        return False
    run = subprocess.run(
        [which(program), *arguments],
        cwd=root,
        env=config.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    return run.returncode == 0 and re.search(feature.get("match", ""), run.stdout) is not None


system = {"Darwin": "macos"}.get(platform.system(), platform.system().lower())
machine = {"arm64": "aarch64", "AMD64": "x86_64"}.get(platform.machine(), platform.machine())
config.available_features.update([f"target={machine}-{system}", f"system-{system}"])
config.available_features.update(map(expand, settings.get("features", [])))
config.available_features.update(f["name"] for f in settings.get("feature", []) if holds(f))
