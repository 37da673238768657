#!/usr/bin/env python3
"""Installs a build beside, builds a program with it and runs that: python3 package_test.py CMAKE BUILD CONSUMER COMPILER"""
import subprocess
import sys
import tempfile
from pathlib import Path


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def main():
    cmake, build, consumer, compiler = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        prefix, made = Path(folder, "prefix"), Path(folder, "build")
        run(cmake, "--install", build, "--prefix", prefix)
        run(cmake, "-S", consumer, "-B", made, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER={compiler}")
        run(cmake, "--build", made)
        print(run(made / "consumer"), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
