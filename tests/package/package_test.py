#!/usr/bin/env python3
"""Installs a build beside, builds examples/ with it and runs every program:
python3 package_test.py CMAKE BUILD SOURCE [--mpi] [--launcher "mpirun -n"] [--gpu] CMAKE_ARGUMENT..."""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

parser = argparse.ArgumentParser()
for name in ("cmake", "build", "source"):
    parser.add_argument(name, type=Path)
parser.add_argument("--mpi", action="store_true")  # the build has it
parser.add_argument("--launcher", default="")      # none: nothing is run with it
parser.add_argument("--gpu", action="store_true")
given, configuration = parser.parse_known_args()
LAUNCHER = given.launcher.split()
NO_GPU, USAGE = 77, 2


def run(*words, **options):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, timeout=300, **options)


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        prefix, cls.made = Path(folder.name, "prefix"), Path(folder.name, "build")
        examples = given.source / "examples"
        for command in ((given.cmake, "--install", given.build, "--prefix", prefix),
                        (given.cmake, "-S", examples, "-B", cls.made, f"-DCMAKE_PREFIX_PATH={prefix}", *configuration),
                        (given.cmake, "--build", cls.made, "--parallel", "2")):
            done = run(*command)
            if done.returncode != 0:
                raise RuntimeError(f"{command}: {done.returncode}\n{done.stdout}{done.stderr}")

    def example(self, name, *arguments, ranks=0, expect=0, **options):
        """What the program says, on both streams; on `ranks` ranks, or by itself."""
        launcher = [*LAUNCHER, ranks] if ranks else []
        done = run(*launcher, self.made / name, *arguments, **options)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def number(self, pattern, text):
        found = re.search(pattern, text)
        self.assertIsNotNone(found, f"{pattern} in\n{text}")
        return float(found[1])

    def test_compress(self):
        said = self.example("compress")
        self.assertGreater(self.number(r"ratio ([0-9.]+);", said), 5)
        self.assertLessEqual(self.number(r"largest error ([0-9.e-]+),", said), 1e-3)

    def test_sum_of_streams(self):
        said = self.example("sum_of_streams")
        self.assertLess(self.number(r"make one of ([0-9]+);", said), (1 << 22) / 5)
        error = self.number(r"largest error ([0-9.e-]+),", said)
        self.assertGreater(error, 0)
        self.assertLessEqual(error, 2.001e-3)

    def check_allreduce(self, said, *kinds):
        self.assertRegex(said, r"(?m)^automatic: algorithm \S+, scheme \S+.*, ratio [0-9.]+ \(.+\)$")
        self.assertGreater(self.number(r"forced: algorithm \S+, scheme homcomp-fused.*, ratio ([0-9.]+) ", said), 3)
        for kind in ("automatic", "forced", *kinds):
            self.assertLessEqual(self.number(kind + r": largest error ([0-9.e-]+), bound 0.001", said), 1e-3)

    def test_allreduce(self):
        self.assertEqual((self.made / "allreduce").exists(), given.mpi)
        if not LAUNCHER:
            self.skipTest("no MPI, or no mpiexec")
        profile = given.source / "docs/profile_example.json"
        for ranks, arguments in ((2, ()), (3, (profile,))):  # without a profile it measures
            said = self.example("allreduce", *arguments, ranks=ranks)
            self.check_allreduce(said, "non-blocking", "after renew")
            self.assertEqual(said.count("plan: largest error"), 3)
            self.assertRegex(said, "as it should be: ranks disagree.*bound 0.002.*bound 0.001")

    def test_allreduce_without_its_profile(self):
        if not LAUNCHER:
            self.skipTest("no MPI, or no mpiexec")
        done = run(*LAUNCHER, 2, self.made / "allreduce", "no_profile.json")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("no_profile.json: cannot be read", done.stderr)

    def test_gpu_allreduce(self):
        self.assertEqual((self.made / "gpu_allreduce").exists(), given.gpu and given.mpi)
        if not given.gpu or not LAUNCHER:
            self.skipTest("no MPI, no mpiexec, or neither CUDA nor NCCL")
        profile = self.made / "gpu.json"
        hidden = dict(os.environ, CUDA_VISIBLE_DEVICES="")
        said = self.example("gpu_allreduce", "--tune", profile, ranks=2, expect=NO_GPU, env=hidden)
        self.assertRegex(said, "gpu_allreduce: rank [01] needs a GPU of its own; this host has 0")
        self.assertIn("usage:", self.example("gpu_allreduce", ranks=1, expect=USAGE, env=hidden))
        done = run(*LAUNCHER, 2, self.made / "gpu_allreduce", "--tune", profile)
        if done.returncode == NO_GPU:
            self.skipTest("fewer than two GPUs")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.check_allreduce(done.stdout)
        self.check_allreduce(self.example("gpu_allreduce", profile, ranks=2))

    def test_all_are_told_of(self):
        page = (given.source / "examples/README.md").read_text(encoding="utf-8")
        for source in (given.source / "examples").glob("*.cpp"):
            self.assertIn(f"({source.name})", page)
            self.assertIn(f"./{source.stem}", page)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
