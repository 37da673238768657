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
        self.assertEqual(len(results), 5 * 15 + 2)  # one value has no range: nothing to lose, so nothing is compressed
        for result in results:
            self.check(result, 4 / 3)
            self.assertEqual(result["ranks"], 3)
        schemes = [result["scheme"] for result in results if result["size_bytes"] == 100000]
        self.assertEqual(schemes[1:], ["plain", "ccoll", "hzccl", "homcomp-fused"])
        self.assertEqual({result["asked"] for result in results if result["size_bytes"] == 4}, {"auto, auto", "plain, auto"})
        compressed = results[-1]
        self.assertGreater(compressed["ratio"], 4)
        self.assertLess(compressed["wire_bytes_per_rank"], 4 / 3 * 100000 / 4)
        self.assertGreater(compressed["max_error"], 0)

    def test_uncompressed_rows(self):
        for algorithm in ("native", "ring"):
            for scheme in ("auto", "plain"):
                result, = self.results(2, "--size", "4KiB", "--abs", "0.25", "--algorithm", algorithm, "--scheme", scheme)
                self.assertEqual((result["scheme"], result["algorithm"], result["bound"]), ("plain", algorithm, 0.25))
                if algorithm == "native":  # MPI does not say what it sends
                    self.assertEqual((result["wire_bytes_per_rank"], result["ratio"]), (None, 1))
                else:
                    self.assertGreaterEqual(result["wire_bytes_per_rank"], 4096)
                    self.assertLess(result["ratio"], 1)
        # What is not compressed keeps no bound that the type cannot keep, and is no broken one.
        result, = self.results(3, "--size", "4KiB", "--abs", "1e-30", "--algorithm", "native")
        self.assertEqual(result["bound"], 1e-30)

    def test_all_that_can_run(self):
        def ways(ranks, *arguments):
            results = self.results(ranks, *arguments, "--size", "4kB", "--algorithm", "all", "--scheme", "all")
            self.assertEqual({result["size_bytes"] for result in results}, {4000})
            pairs = [tuple(result["asked"].split(", ")) for result in results]
            self.assertEqual(len(pairs), len(set(pairs)))
            self.assertEqual({algorithm for scheme, algorithm in pairs if scheme == "plain"}, {pair[1] for pair in pairs})
            self.assertEqual([pair for pair in pairs if pair[1] == "native"], [("plain", "native")])
            return {pair[1] for pair in pairs}, {pair[0] for pair in pairs}

        homomorphic = {"hzccl", "homcomp-ahead", "homcomp-step", "homcomp-fused"}
        decoding = {"plain", "cprp2p", "ccoll"}
        rings = {"native", "ring", "recursive-doubling", "rabenseifner", "direct", "binomial"}
        self.assertEqual(ways(2, "allreduce", "--rel", "1e-3"), (rings, decoding | homomorphic))
        self.assertEqual(ways(2, "allreduce", "--rel", "1e-3", "--op", "prod"), (rings, decoding))
        self.assertEqual(ways(2, "allreduce"), (rings, {"plain"}))
        self.assertEqual(ways(2, "allreduce", "--rel", "1e-3", "-c", "zstd"), (rings, decoding))
        self.assertEqual(ways(3, "allgather", "--rel", "1e-3"), ({"native", "ring", "direct", "bruck"}, decoding))
        self.assertEqual(ways(2, "bcast", "--rel", "1e-3", "--plain", "all"), ({"native", "ring", "binomial"}, decoding))

    def test_what_is_there_stays(self):
        with tempfile.TemporaryDirectory() as folder:
            profile = Path(folder) / "profile.json"
            profile.write_text("mine", encoding="utf-8")
            for name, text in ((profile, "the output exists; use --force to replace it"), (folder, "the output is a directory")):
                done = run(2, "--tune", name)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertEqual(done.stderr.count(text), 1, done.stderr)
            self.assertEqual(profile.read_text(encoding="utf-8"), "mine")
            done = run(2, "--tune", profile, "--force")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json.loads(profile.read_text(encoding="utf-8"))["format"], 1)

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
                (["--size", "3"], 2, "--size 3: a value of f32 has 4 bytes, and this is no multiple of that; give 0 or 4"),
                (["--op", "max", "--rel", "1e-3", "--scheme", "homcomp-fused"], 2, "homcomp-fused has no minima and maxima"),
                (["--algorithm", "native", "--scheme", "hzccl"], 2, "native is the transport's own collective and never compresses"),
                (["--algorithm", "two-level"], 2, "all 2 ranks are on one node"),
                (["bcast", "--algorithm", "bruck,direct"], 2, "nothing of --algorithm and --scheme can do bcast here"),
                (["--file", "nowhere"], 1, "nowhere: No such file"),
                (["--profile", "nowhere"], 1, "nowhere: cannot be read")):
            with self.subTest(arguments):
                done = run(2, *arguments)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertEqual(done.stderr.count(text), 1, done.stderr)

    def test_what_has_no_meaning(self):  # which one rank finds out, without a launcher
        for arguments, text in (
                (["allreduce", "--size", "many"], "--size 'many': give a whole number of bytes, or with a unit (KiB, MiB"),
                (["--size", "4:64", "--type", "f64"], "give 0 or 8"),
                (["--size", "64:4"], "--size 64:4: give the smaller size first"),
                (["--size", "2TiB"], "at most 1 TiB"),
                (["allsum"], "unknown collective 'allsum': must be one of allreduce, reduce_scatter"),
                (["--op", "none"], "--op none: a reduction needs an operation: sum, average, min, max or prod"),
                (["--op", "median"], "--op: unknown operation 'median': must be one of sum, average, min, max, prod"),
                (["--type", "f16"], "--type 'f16': must be f32 or f64"),
                (["--data", "rough"], "--data 'rough': must be one of normal, walk, longwalk, smooth, waves, incompressible"),
                (["--algorithm", "circle"], "--algorithm: unknown algorithm 'circle': must be one of auto, native, ring"),
                (["--scheme", "best"], "--scheme: unknown scheme 'best': must be one of auto, plain"),
                (["--codec", "zip"], "--codec: unknown codec 'zip'; known are identity"),
                (["--abs", "1", "--rel", "1"], "--abs and --rel: give one of them")):
            with self.subTest(arguments):
                done = subprocess.run([BENCH, *arguments], capture_output=True, text=True, check=False, timeout=60)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertEqual(done.stderr.count(text), 1, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
