#!/usr/bin/env python3
"""homz-mpi-bench under mpirun: what it prints and how it ends. python3 bench_test.py BENCH MPIEXEC... (without the count)"""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BENCH, LAUNCHER = Path(sys.argv[1]), sys.argv[2:]
KEYS = ["collective", "size_bytes", "ranks", "scheme", "algorithm", "codec", "seconds", "plain_seconds", "algbw_gbps", "busbw_gbps",
        "wire_bytes_per_rank", "ratio", "max_error", "bound", "identical"]


def run(ranks, *arguments):
    return subprocess.run([*LAUNCHER, str(ranks), BENCH, *arguments], capture_output=True, text=True, check=False, timeout=300)


class Bench(unittest.TestCase):
    def results(self, ranks, *arguments):
        done = run(ranks, *arguments, "-i", "2", "-x", "0", "--timeout", "60", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(done.stdout.splitlines()), 1, "rank 0 alone prints")
        return json.loads(done.stdout)["results"]

    def check(self, result, factor):
        for key in KEYS:
            self.assertIn(key, result)
        self.assertTrue(result["identical"])
        if result["bound"] > 0:
            self.assertLessEqual(result["max_error"], result["bound"])
        self.assertAlmostEqual(result["algbw_gbps"], result["size_bytes"] / result["seconds"] / 1e9)
        self.assertAlmostEqual(result["busbw_gbps"], result["algbw_gbps"] * factor)

    def test_sizes_and_schemes(self):
        results = self.results(3, "allreduce", "--size", "4:64KiB,100000", "--rel", "1e-3", "--scheme",
                               "auto,plain,ccoll,hzccl,homcomp-fused")
        self.assertEqual(len(results), 5 * 16)
        for result in results:
            self.check(result, 4 / 3)
            self.assertEqual(result["ranks"], 3)
        schemes = [result["scheme"] for result in results if result["size_bytes"] == 100000]
        self.assertEqual(schemes[1:], ["plain", "ccoll", "hzccl", "homcomp-fused"])
        compressed = results[-1]
        self.assertGreater(compressed["ratio"], 4)
        self.assertLess(compressed["wire_bytes_per_rank"], 4 / 3 * 100000 / 4)
        self.assertGreater(compressed["max_error"], 0)

    def test_all_collectives(self):
        for collective, factor in (("allreduce", 4 / 3), ("reduce_scatter", 2 / 3), ("reduce", 1), ("allgather", 2 / 3), ("bcast", 1),
                                   ("scatter", 2 / 3), ("gather", 2 / 3), ("alltoall", 2 / 3)):
            of_data = ["f32", "walk"] if collective.startswith("all") else ["f64", "incompressible"]
            for result in self.results(3, collective, "--size", "0,48000", "--type", of_data[0], "--data", of_data[1],
                                       "--rel", "1e-4", "--scheme", "ccoll"):
                self.check(result, factor)

    def test_files(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"\0\0\x80\x3f" * 1000 + b"\0\0\0\x40" * 1000)  # 1 and 2
            file.flush()
            result, = self.results(2, "allreduce", "--file", file.name, "--size", "16KiB", "--rel", "1e-2", "--scheme", "hzccl")
            self.assertAlmostEqual(result["bound"], 2e-2)  # sums are 2 to 4
            self.check(result, 1)

    def test_one_message_and_no_hang(self):
        for arguments, status, text in (
                (["allreduce", "--size", "many"], 2, "size 'many': give bytes, or a number with KiB, MiB or GiB"),
                (["allsum"], 2, "unknown collective 'allsum'"),
                (["--op", "none"], 2, "--op none: a reduction needs an operation"),
                (["--abs", "1", "--rel", "1"], 2, "--abs and --rel: give one of them"),
                (["--op", "max", "--rel", "1e-3", "--scheme", "homcomp-fused"], 2, "homcomp-fused"),
                (["--file", "nowhere"], 1, "nowhere: No such file"),
                (["--profile", "nowhere"], 1, "nowhere: cannot be read")):
            with self.subTest(arguments):
                done = run(2, *arguments)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertEqual(done.stderr.count(text), 1, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
