"""Error bounds from the command line to the header: lines P1 to P6, cases 13 and 15."""

import math
import random
import struct

import harness
from harness import USAGE, Case

LOSSY = ("cuszp", "cuszp2", "cuszp2:mode=plain", "cuszp2:mode=fixed")


def to_float(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


class Parameters(Case):
    def compress(self, values, form, *options, shape=None, warning=None):
        self.write("in", values, form)
        kind = {"f": "f32", "d": "f64"}[form[1]] + ("be" if form[0] == ">" else "")
        report = self.json("compress", "in", "out", "--type", kind, "--shape", shape or str(len(values)), "--force",
                           *options, warning=warning)
        return report["datasets"][0]

    def check(self, values, form, bound):
        """Decompresses and compares with exact arithmetic: Python's fractions are too slow, its integers are not."""
        self.homz("decompress", "out", "back", "--force")
        for x, y in zip(values, self.read("back", form)):
            if math.isfinite(x):
                a, b = x.as_integer_ratio(), y.as_integer_ratio()
                e, f = bound.as_integer_ratio()
                self.assertLessEqual(abs(a[0] * b[1] - b[0] * a[1]) * f, e * a[1] * b[1], (x, y, bound))
            else:
                self.assertEqual(struct.pack(form, x), struct.pack(form, y))

    def test_bound_of_zero(self):  # P1
        self.write("in", [1.0, 2.0])
        run = self.homz("compress", "in", "out", "--type", "f32", "--shape", "2", "--abs", "0", expect=USAGE)
        self.assertIn("lossless", run.errors)

    def test_enormous_bound(self):  # P3
        values = [math.sin(i) for i in range(4096)]
        report = self.compress(values, "<d", "--abs", "1e30", warning="flat")
        self.assertGreater(report["ratio"], 25)
        self.check(values, "<d", 1e30)
        self.assertEqual(self.compress(values, "<d", "--abs", "1.7976931348623157e308", warning="flat")["abs_bound"],
                         1.7976931348623157e308)

    def test_warnings(self):
        values = [math.sin(i) for i in range(4096)]
        self.compress(values, "<d", "--abs", "1.9")
        self.compress(values, "<d", "--abs", "2.1", "-c", "zstd")
        self.compress([1.0] * 100, "<d", "--abs", "2.1")
        values[7] = -9e33
        for bound in (("--rel", "1e-3"), ("--psnr", "60")):
            report = self.compress(values, "<f", *bound, warning="--fill -9e+33")
            self.assertIn("outliers", report["warnings"][0])
            self.compress(values, "<f", *bound, "--fill", "-9e33")
            self.compress(values, "<f", *bound, "-c", "zstd")
        self.write("in", values)
        run = self.homz("compress", "in", "out", "--type", "f32", "--shape", "4096", "--rel", "1e-3", "--force", "-q",
                        warning="outliers")
        self.assertEqual(run.text, "")

    def test_bound_is_the_double_nearest_to_its_text(self):  # P4, case 13
        values = [math.sin(i * 0.01) * 3 for i in range(3000)]
        for codec in LOSSY:
            for text in ("0.001", "1e-10", "0.1", "3e-05", "2.2250738585072014e-308", "0.30000000000000004"):
                report = self.compress(values, "<d", "--abs", text, "-c", codec)
                self.assertEqual(report["abs_bound"], float(text))
                self.assertEqual(report["requested"]["value"], float(text))
                self.assertEqual(report["requested"]["text"], "abs:" + text)
                self.assertIn(text + " absolute", self.homz("info", "out").text)
                self.check(values, "<d", float(text))
                self.assertTrue(self.json("verify", "in", "out")["ok"])

    def test_relative_bound_over_valid_values(self):  # P5
        field = [10 * math.sin(i * 0.01) for i in range(5000)]
        field[3], field[7], field[100] = math.nan, math.inf, -math.inf
        for i in range(2000, 2600):
            field[i] = 1e20
        field = [to_float(x) for x in field]
        valid = [x for x in field if math.isfinite(x) and x < 1e19]
        report = self.compress(field, "<f", "--rel", "1e-3", "--fill", "1e20")
        width = max(valid) - min(valid)
        self.assertLessEqual(report["abs_bound"], 1e-3 * width)
        self.assertGreater(report["abs_bound"], 0.999e-3 * width)
        self.assertEqual(report["fill"], to_float(1e20))
        self.check(field, "<f", report["abs_bound"])
        verdict = self.json("verify", "in", "out")["datasets"][0]
        self.assertEqual((verdict["non_finite"], verdict["fill"], verdict["violations"]), (3, 600, 0))
        self.assertIn("fill value", self.homz("info", "out").text)

    def test_relative_bound_without_a_range(self):  # P5
        for values in ([7.25] * 1000, [0.0] * 1000, [-0.0] * 1000, [math.nan] * 1000, [1e-310] * 1000):
            report = self.compress(values, "<d", "--rel", "1e-3")
            self.assertEqual(report["abs_bound"], 0)
            self.assertLess(report["stored_bytes"], 200)
            self.homz("decompress", "out", "back", "--force")
            self.assertEqual(self.read_bytes("back"), self.read_bytes("in"))
            self.assertTrue(self.json("verify", "in", "out")["ok"])

    def test_range_beyond_the_largest_double(self):  # P5
        values = [1.7e308, -1.7e308, 1.0, 2.0] * 100
        report = self.compress(values, "<d", "--rel", "1e-3")
        self.assertAlmostEqual(report["abs_bound"] / 3.4e305, 1)
        self.check(values, "<d", report["abs_bound"])
        self.write("in", values, "<d")
        run = self.homz("compress", "in", "out", "--type", "f64", "--shape", "400", "--rel", "1", "--force",
                        expect=USAGE)
        self.assertIn("largest double", run.errors)

    def test_psnr(self):
        values = [math.sin(i * 0.01) for i in range(5000)]
        self.compress(values, "<d", "--psnr", "60")
        verdict = self.json("verify", "in", "out")["datasets"][0]
        self.assertGreaterEqual(verdict["psnr"], 60)
        self.assertEqual(verdict["min_psnr"], 60)
        self.assertTrue(verdict["bound_ok"])

    def test_modes_are_spelled(self):  # case 15
        draw = random.Random(2)
        values = [0.0] * 10 + [draw.choice((-1, 1)) * 10 ** draw.uniform(-6, 6) for _ in range(2000)]
        values = [to_float(x) for x in values]
        report = self.compress(values, "<f", "--rel", "1e-2")
        width = max(values) - min(values)
        self.assertEqual(report["requested"]["mode"], "relative to the value range")
        self.assertTrue(0.999e-2 * width < report["abs_bound"] <= 1e-2 * width)
        self.check(values, "<f", report["abs_bound"])
        for text in (self.homz("info", "out").text, self.homz("verify", "in", "out").text,
                     self.homz("compress", "in", "out", "--type", "f32", "--shape", "2010", "--rel", "1e-2",
                               "--force").text):
            self.assertIn("0.01 relative to the value range", text)
        self.assertIn("value range (max - min", " ".join(self.homz("compress", "--help").text.split()))

    def test_every_codec_and_type(self):
        values = [to_float(300 + 50 * math.sin(i * 0.003) + (i * 7919 % 1009) * 1e-4) for i in range(24 * 33 * 10)]
        for codec in LOSSY:
            for form in ("<f", "<d", ">f", ">d"):
                for shape in ("7920", "24x330", "24x33x10", "2x12x33x10", "1x7920x1"):
                    with self.subTest(codec=codec, form=form, shape=shape):
                        report = self.compress(values, form, "--abs", "0.01", "-c", codec, shape=shape)
                        self.assertEqual("x".join(map(str, report["shape"])), shape)
                        self.check(values, form, 0.01)
                        self.assertTrue(self.json("verify", "in", "out")["ok"])

    def test_lossless_codecs(self):
        data = random.Random(3).randbytes(8000)
        self.write_bytes("in", data)
        for codec in ("zstd", "zstd:level=9,shuffle=0", "identity"):
            for kind, shape in (("f32", "2000"), ("f64be", "10x100")):
                report = self.json("compress", "in", "out", "--type", kind, "--shape", shape, "-c", codec, "--force")
                self.assertEqual(report["datasets"][0]["requested"]["mode"], "lossless")
                self.assertLessEqual(report["output_bytes"], 8000 + 128)
                self.homz("decompress", "out", "back", "--force")
                self.assertEqual(self.read_bytes("back"), data)
                self.assertTrue(self.json("verify", "in", "out")["ok"])

    def test_same_bytes_for_any_number_of_threads(self):
        values = [math.sin(i * 0.001) + (i * 7919 % 1009) * 1e-4 for i in range(300000)]
        for codec in ("cuszp2", "cuszp", "zstd"):
            streams = set()
            for threads in ("1", "2", "7"):
                self.compress(values, "<f", "--abs", "1e-3", "-c", codec, "--threads", threads)
                streams.add(self.read_bytes("out"))
            self.assertEqual(len(streams), 1)


if __name__ == "__main__":
    harness.main()
