"""bench, codecs and doctor."""

import csv
import io
import math
import os

import harness
from harness import DIFFERS, OK, Case


class BenchAndDoctor(Case):
    def test_bench_of_made_up_data(self):
        report = self.json("bench", "--data", "walk", "--count", "64K", "--threads", "1,2", "--repeat", "2")
        names = {codec["name"] for codec in self.json("codecs")["codecs"]}
        self.assertEqual({r["codec"] for r in report["results"]}, names)
        self.assertEqual({r["threads"] for r in report["results"]}, {1, 2})
        for r in report["results"]:
            self.assertEqual(r["space"], "host")
            self.assertEqual(r["original_bytes"], 4 * 65536)
            self.assertTrue(r["bound_ok"])
            self.assertLessEqual(r["max_abs_error"], r["bound"])
            for speed in ("compress_gbps", "decompress_gbps", "memcpy_gbps"):
                self.assertGreater(r[speed], 0)
            self.assertAlmostEqual(r["ratio"], r["original_bytes"] / r["compressed_bytes"])

    def test_kinds_and_types(self):
        for kind in ("normal", "walk", "longwalk", "smooth", "waves"):
            for dtype in ("f32", "f64"):
                report = self.json("bench", "--data", kind, "--count", "8000", "--type", dtype, "-c", "cuszp2",
                                   "--repeat", "1")
                self.assertEqual(len(report["results"]), 1)

    def test_bench_of_a_raw_file(self):
        self.write("in", [math.sin(i * 0.01) for i in range(6000)])
        raw = ("in", "--type", "f32", "--shape", "60x100", "--repeat", "1")
        (result,) = self.json("bench", *raw, "--abs", "1e-3", "-c", "cuszp2:mode=plain")["results"]
        self.assertEqual((result["codec"], result["bound"]), ("cuszp2:mode=plain", 1e-3))
        rows = list(csv.DictReader(io.StringIO(self.homz("bench", *raw, "--csv").text)))
        self.assertEqual(len(rows), len(self.json("codecs")["codecs"]))
        self.assertEqual(rows[0]["dataset"], "in")
        self.assertIn("memcpy GB/s", self.homz("bench", *raw).text)

    def test_bench_warns_of_outliers(self):
        self.write("in", [1e20] + [math.sin(i * 0.01) for i in range(5999)])
        raw = ("bench", "in", "--type", "f32", "--shape", "6000", "--repeat", "1", "--rel", "1e-3")
        self.assertEqual(self.homz(*raw, warning="--fill 1e+20").warnings.count("\n"), 1)  # not once a codec
        self.homz(*raw, "--fill", "1e20")
        self.homz(*raw, "-c", "zstd")

    def test_codecs(self):
        codecs = {codec["name"]: codec for codec in self.json("codecs")["codecs"]}
        self.assertEqual(codecs["zstd"]["id"], 1)
        self.assertTrue(codecs["zstd"]["lossless"])
        self.assertIn("level", codecs["zstd"]["options"])
        self.assertFalse(codecs["cuszp2"]["lossless"])
        self.assertIn("cuszp2", self.homz("codecs").text)

    def doctor(self, expect=OK, **variables):
        clean = {k: v for k, v in os.environ.items() if not k.startswith("HDF5_")}
        report = self.json("doctor", expect=expect, env={**clean, **variables})
        self.assertEqual(report["ok"], expect == OK)
        return report, {check["name"]: check for check in report["checks"]}

    def test_doctor(self):  # case 15
        report, checks = self.doctor()
        for name in ("arithmetic", "codecs", "HDF5", "plugin search", "locale"):
            self.assertTrue(checks[name]["ok"], name)
        self.assertGreater(report["hdf5_filter_id"], 0)
        text = self.homz("doctor", env={**os.environ, "HDF5_PLUGIN_PRELOAD": "::"}, expect=DIFFERS).text
        self.assertIn("WRONG", text)

    def test_doctor_knows_the_instructions(self):
        report, checks = self.doctor(HOMZ_SIMD="scalar")
        self.assertIn("scalar, by HOMZ_SIMD", checks["instructions"]["detail"])
        report, checks = self.doctor(expect=DIFFERS, HOMZ_SIMD="foo")
        self.assertFalse(report["ok"])
        self.assertIn("HOMZ_SIMD=foo is ignored: give one of scalar", checks["instructions"]["detail"])

    def test_doctor_tells_what_this_build_has(self):
        cache = {}
        with open(os.path.join(os.path.dirname(harness.PROGRAM), "..", "CMakeCache.txt"), encoding="utf-8") as file:
            for line in file:
                name, _, value = line.strip().partition("=")
                cache[name] = value
        report = self.json("doctor", env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})
        for key, option in (("mpi_standard", "HOMZ_MPI"), ("cuda", "HOMZ_CUDA"), ("nccl", "HOMZ_NCCL")):
            if cache[option + ":BOOL"] == "ON":
                self.assertRegex(report[key], r"\A[0-9]+[.][0-9]")
            else:
                self.assertIsNone(report[key])
        self.assertEqual(report["gpus"], [])
        self.assertRegex(report["gpu_problem"], "GPU|CUDA")
        text = self.homz("doctor").text
        for name in ("MPI", "CUDA", "NCCL", "GPUs"):
            self.assertRegex(text, f"(?m)^{name} +[^ ]")

    def test_plugin_search(self):
        os.mkdir(self.path("with"))
        os.mkdir(self.path("without"))
        self.write_bytes("with/libh5homz.so", b"")
        good, empty, missing = self.path("with"), self.path("without"), self.path("missing")
        self.doctor(HDF5_PLUGIN_PATH=good)
        self.doctor(HDF5_PLUGIN_PATH=empty + ":" + good)
        self.doctor(HDF5_PLUGIN_PATH=good + ":" + missing)
        for path in (missing + ":" + good, missing + ":" + empty):
            report, checks = self.doctor(HDF5_PLUGIN_PATH=path, expect=DIFFERS)
            self.assertFalse(checks["plugin search"]["ok"])
            self.assertIn(missing, checks["plugin search"]["detail"])
        for path in (missing, empty, empty + ":" + missing, ""):  # there is no plugin yet: a remark
            report, checks = self.doctor(HDF5_PLUGIN_PATH=path)
            self.assertIn("holds a homz plugin", checks["plugin search"]["detail"])
        report, checks = self.doctor(HDF5_PLUGIN_PATH=good, HDF5_PLUGIN_PRELOAD="::", expect=DIFFERS)
        self.assertIn("HDF5_PLUGIN_PRELOAD", checks["plugin search"]["detail"])
        self.write_bytes("file", b"")
        report, checks = self.doctor(HDF5_PLUGIN_PATH=self.path("file") + ":" + good, expect=DIFFERS)
        self.assertFalse(report["plugin_search"]["directories"][0]["usable"])


if __name__ == "__main__":
    harness.main()
