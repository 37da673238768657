#!/usr/bin/env python3
"""homz-gpu-bench: its command line, how it refuses to run without a GPU, and what benchmarks/gpu_collectives.py makes of its
results: python3 bench_test.py BENCH"""
import os
import subprocess
import sys
import unittest
from pathlib import Path

BENCH = Path(sys.argv[1])
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
import gpu_collectives  # noqa: E402

NO_GPU = dict(os.environ, CUDA_VISIBLE_DEVICES="")


def run(*arguments):
    return subprocess.run([BENCH, *arguments], capture_output=True, text=True, check=False, timeout=120, env=NO_GPU)


class Bench(unittest.TestCase):
    def test_help(self):
        done = run("--help")
        self.assertEqual(done.returncode, 0, done.stderr)
        for word in ("--transport", "--gpus", "--size", "--data", "--rel", "--seconds", "Examples:"):
            self.assertIn(word, done.stdout)

    def test_refuses_without_a_gpu(self):
        for arguments in ([], ["allreduce", "--size", "1MiB", "--rel", "1e-3", "--json"]):
            done = run(*arguments)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertRegex(done.stderr, r"\Ahomz-gpu-bench: [^\n]*GPU[^\n]*\n\Z")

    def test_one_message(self):
        for arguments, text in (
                (["--size", "many"], "--size 'many': give a whole number of bytes, or with a unit (KiB, MiB"),
                (["--size", "6"], "--size 6: a value of f32 has 4 bytes, and this is no multiple of that; give 4 or 8"),
                (["alltoall"], "alltoall: measured are allreduce, reduce_scatter, allgather and bcast"),
                (["--transport", "tcp"], "--transport 'tcp': must be peer, nccl, staged"),
                (["--data", "smooth,rough"], "--data 'rough': must be one of normal, walk, longwalk, smooth, waves, noise"),
                (["--tune", "--write-profile", __file__], "the output exists; use --force to replace it"),
                (["--gpus", "-1"], "--gpus -1: give at least 1, or 0 for all"),
                (["--seconds", "-1"], "--seconds -1: give 0 for no limit, or more"),
                (["--limit", "0"], "--limit 0: must be above 0"),
                (["--tune", "--profile", "file"], "--tune and --profile: give one of them"),
                (["--abs", "1", "--rel", "1"], "--abs and --rel: give one of them")):
            with self.subTest(arguments):
                done = run(*arguments)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertRegex(done.stderr, r"\Ahomz-gpu-bench: [^\n]+\n\Z")
                self.assertIn(text, done.stderr)


class Report(unittest.TestCase):
    RESULT = {"collective": "allreduce", "size_bytes": 2**30, "ranks": 2, "scheme": "hzccl", "algorithm": "ring", "seconds": 2e-3,
              "least_seconds": 1.9e-3, "most_seconds": 2.1e-3, "plain_seconds": 6e-3, "algbw_gbps": 500.0, "busbw_gbps": 500.0,
              "wire_bytes_per_rank": 1e8, "ratio": 10.0, "max_error": 1.0, "bound": 2.0, "identical": True, "encode_seconds": 1e-4,
              "combine_seconds": 2e-4, "decode_seconds": 1e-4, "wait_seconds": 5e-4, "data": "walk", "calls": 11}

    def test_row(self):
        cells = gpu_collectives.row("NVLink", "peer", self.RESULT)
        self.assertEqual(len(cells), len(gpu_collectives.HEAD))
        self.assertIn("1024 MiB", cells)
        self.assertIn("3.00", cells)   # times faster
        self.assertIn("0.30", cells)   # of the ratio
        self.assertIn("0.500", cells)  # error / bound

    def test_row_of_a_broken_result(self):  # JSON has no infinity
        cells = gpu_collectives.row("NVLink", "peer", dict(self.RESULT, max_error=None, identical=False))
        self.assertIn("infinite", cells)
        self.assertIn("NO", cells)

    def test_tiers(self):
        for tier in gpu_collectives.TIERS.values():
            self.assertTrue(set(tier.transports) <= {"peer", "nccl", "staged"})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
