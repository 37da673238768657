#!/usr/bin/env python3
"""Checks of the source tree that no compiler makes: python3 lint.py ROOT tree|format. Prints a line a fault; exits with 1
if there are any, with 77 if it could not look.

tree:

- Layers: core <- codecs <- homomorphic <- collectives <- tools; an #include points to the same layer or to its left.
  tests, benchmarks and data may see all. HDF5 only in tools/hdf5 and tests, CUDA only in .cu, .cuh and NCCL's transport, MPI only in its transport, its
  benchmark, its simulation and tests. Examples are programs outside, which nothing includes and which may use all.
- Files have at most 400 lines (tests 500), begin with a comment that says what they are for, and name no machine's paths.
- Every codec folder has a spec.md.

format: clang-format finds nothing to change.
"""
import re
import shutil
import subprocess
import sys
from pathlib import Path

LAYERS = ["core", "codecs", "homomorphic", "collectives", "tools"]
SEES_ALL = ["tests", "benchmarks", "data", "examples"]
SOURCES = {".hpp", ".cpp", ".cu", ".cuh", ".h", ".c"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:work|home)/\w")
SKIPPED = 77
CLANG_FORMAT = 14  # versions differ in taste; this is Debian 12's
SHARED_ENGINES = {"cuszp", "simd"}  # folders whose sources other codec folders may include
NO_CODECS = {"simd"}  # folders of codecs/ that hold what several codecs use


def tracked_files(root):
    """What git tracks or would track; all files where there is no git."""
    try:
        names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=root, capture_output=True,
                               text=True, check=True).stdout.splitlines()
        return [root / name for name in names if (root / name).is_file()]
    except (OSError, subprocess.CalledProcessError):
        return [path for path in root.rglob("*")
                if path.is_file() and not path.relative_to(root).parts[0].startswith(("build", "."))]


def text_of(path):
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def include_faults(name, text):
    """Includes that point the wrong way, or to a library where it does not belong."""
    layer = name.parts[0]
    for bracket, target in INCLUDE.findall(text):
        first = Path(target).parts[0]
        if bracket == '"' and layer in LAYERS and first in LAYERS and LAYERS.index(first) > LAYERS.index(layer):
            yield f"{name}: {layer} must not include {target}"
        if bracket == '"' and layer in LAYERS[:-1] and first in SEES_ALL:
            yield f"{name}: {layer} must not include {target}"
        if bracket == '"' and name.parts[:1] == ("codecs",) and first == "codecs" and len(name.parts) > 2:
            folder = Path(target).parts[1] if len(Path(target).parts) > 2 else name.parts[1]
            if folder != name.parts[1] and folder not in SHARED_ENGINES:
                yield f"{name}: codec {name.parts[1]} must not include another codec's {target}"
        if target.startswith(("hdf5", "H5")) and bracket == "<" and layer != "tests" and name.parts[:2] != ("tools", "hdf5"):
            yield f"{name}: HDF5 belongs in tools/hdf5 and tests"
        if target == "mpi.h" and name.stem != "mpi" and not {"mpi_bench", "mpi_sim"} & set(name.parts) \
                and layer not in {"tests", "examples"}:
            yield f"{name}: MPI belongs in its transport, its benchmark and its simulation"
        if target.startswith(("cuda", "cub/", "nccl")) and name.suffix not in {".cu", ".cuh"} and "nccl" not in name.stem \
                and layer != "examples":
            yield f"{name}: CUDA headers belong in .cu and .cuh files"


def file_faults(name, text):
    lines = text.count("\n")
    if name.suffix in SOURCES:
        limit = 500 if name.parts[0] == "tests" else 400
        if lines > limit:
            yield f"{name}: {lines} lines, more than {limit}"
        # A source file may leave that to the header of its folder that it begins with.
        first = text.split('"')[1] if text.startswith('#include "') else ""
        told_in_header = name.suffix not in {".hpp", ".cuh", ".h"} and Path(first).parent == name.parent
        if not text.startswith("//") and not told_in_header:
            yield f"{name}: no first comment line that says what it is for"
        yield from include_faults(name, text)
    for number, line in enumerate(text.splitlines(), 1):
        if MACHINE_PATH.search(line) and "lint" not in name.parts:
            yield f"{name}:{number}: a path of somebody's machine"


def codec_faults(root):
    for folder in sorted(path for path in (root / "codecs").glob("*") if path.is_dir()):
        if folder.name not in NO_CODECS and not (folder / "spec.md").is_file():
            yield f"codecs/{folder.name}: no spec.md"


def format_faults(root, files):
    tool = shutil.which("clang-format")
    if tool is None:
        print("clang-format is not installed: formatting was not checked")
        sys.exit(SKIPPED)
    version = subprocess.run([tool, "--version"], capture_output=True, text=True).stdout
    if f"version {CLANG_FORMAT}." not in version:
        print(f"{version.strip()}: not version {CLANG_FORMAT}, whose taste counts: formatting was not checked")
        sys.exit(SKIPPED)
    sources = [str(path) for path in files if path.suffix in SOURCES]
    report = subprocess.run([tool, "--dry-run", "--style=file", *sources], cwd=root, capture_output=True, text=True)
    unformatted = {line.split(":")[0] for line in report.stderr.splitlines() if "clang-format-violations" in line}
    for path in sorted(unformatted):
        yield f"{Path(path).relative_to(root)}: clang-format would change it"


def tree_faults(root, files):
    for path in files:
        text = text_of(path)
        if text is not None:
            yield from file_faults(path.relative_to(root), text)
    yield from codec_faults(root)


def main():
    root = Path(sys.argv[1]).resolve()
    check = {"tree": tree_faults, "format": format_faults}[sys.argv[2]]
    found = list(check(root, tracked_files(root)))
    print("\n".join(found) if found else "no faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
