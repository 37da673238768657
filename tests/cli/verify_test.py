"""verify: figures against the definitions, offenders by place and value, exit statuses."""

import math
import struct

import harness
from harness import DIFFERS, FAILED, OK, USAGE, Case


class Verify(Case):
    def setUp(self):
        super().setUp()
        self.values = [float(i % 17) + 0.25 * math.sin(i) for i in range(6 * 5 * 4)]
        self.write("a", self.values, "<d")
        self.raw = ("--type", "f64", "--shape", "6x5x4")

    def changed(self, changes):
        values = list(self.values)
        for index, value in changes.items():
            values[index] = value
        return self.write("b", values, "<d")

    def verdict(self, *options, expect=OK):
        report = self.json("verify", "a", "b", *self.raw, *options, expect=expect)
        self.assertEqual(report["ok"], expect == OK)
        return report["datasets"][0]

    def test_figures(self):
        decoded = [x + 0.001 * ((i * 37) % 11 - 5) for i, x in enumerate(self.values)]
        self.write("b", decoded, "<d")
        got = self.verdict()
        n = len(decoded)
        errors = [x - y for x, y in zip(self.values, decoded)]
        mse = math.fsum(e * e for e in errors) / n
        width = max(self.values) - min(self.values)
        mean_x, mean_y = math.fsum(self.values) / n, math.fsum(decoded) / n
        xx = math.fsum((x - mean_x) ** 2 for x in self.values)
        yy = math.fsum((y - mean_y) ** 2 for y in decoded)
        xy = math.fsum((x - mean_x) * (y - mean_y) for x, y in zip(self.values, decoded))
        expected = {"max_abs_error": max(map(abs, errors)), "max_error_over_range": max(map(abs, errors)) / width,
                    "mse": mse, "rmse": math.sqrt(mse), "nrmse": math.sqrt(mse) / width,
                    "psnr": 20 * math.log10(width / math.sqrt(mse)), "snr": 10 * math.log10(xx / n / mse),
                    "pearson": xy / math.sqrt(xx * yy)}
        for name, value in expected.items():
            self.assertAlmostEqual(got[name] / value, 1, 12, name)
        self.assertIsNone(got["bound"])
        self.assertIsNone(got["bound_ok"])
        self.assertIsNone(got["ratio"])

    def test_first_offender(self):
        self.changed({47: self.values[47] + 0.5, 90: 7.5})
        got = self.verdict("--abs", "0.25", expect=DIFFERS)
        self.assertFalse(got["bound_ok"])
        self.assertEqual(got["first_violation"]["index"], [2, 1, 3])
        self.assertEqual(got["first_violation"]["original"], self.values[47])
        self.assertEqual(got["first_violation"]["decoded"], self.values[47] + 0.5)
        text = self.homz("verify", "a", "b", *self.raw, "--abs", "0.25", expect=DIFFERS).text
        self.assertIn("VIOLATED", text)
        self.assertIn("first at [2, 1, 3]", text)
        self.assertIn(repr(self.values[47]), text)
        self.verdict("--abs", "100")

    def test_no_slack(self):
        self.values[0] = 1.0
        self.write("a", self.values, "<d")
        self.changed({0: 1.25})
        self.assertEqual(self.verdict("--abs", "0.25")["max_abs_error"], 0.25)
        self.changed({0: math.nextafter(1.25, 2)})
        self.assertGreater(self.verdict("--abs", "0.25", expect=DIFFERS)["max_abs_error"], 0.25)
        self.changed({0: -2.0**-60})  # the distance rounds to 1
        self.assertGreater(self.verdict("--abs", "1", expect=DIFFERS)["max_abs_error"], 1)

    def test_relative_and_psnr(self):
        self.changed({3: self.values[3] + 0.1})
        width = max(self.values) - min(self.values)
        got = self.verdict("--rel", "1e-2")
        self.assertAlmostEqual(got["bound"], width * 1e-2)
        self.verdict("--rel", "1e-3", expect=DIFFERS)
        psnr = got["psnr"]
        self.verdict("--psnr", str(psnr - 1))
        self.assertEqual(self.verdict("--psnr", str(psnr + 1), expect=DIFFERS)["min_psnr"], psnr + 1)
        self.assertIn("was asked for", self.homz("verify", "a", "b", *self.raw, "--psnr", "200", expect=DIFFERS).text)

    def test_fill(self):
        fill = 1e20
        self.values[3] = self.values[4] = fill
        self.write("a", self.values, "<d")
        self.changed({9: self.values[9] + 0.01})
        self.json("verify", "a", "b", *self.raw, "--rel", "1e-2", warning="--fill 1e+20")
        self.assertEqual(self.verdict("--rel", "1e-2", "--fill", "1e20")["fill"], 2)
        self.verdict("--rel", "1e-4", "--fill", "1e20", expect=DIFFERS)
        self.changed({3: math.nextafter(fill, 0)})
        text = self.homz("verify", "a", "b", *self.raw, "--abs", "1e20", "--fill", "1e20", expect=DIFFERS).text
        self.assertIn("(1 fill or non-finite value changed)", text)
        self.homz("compress", "a", "s", *self.raw, "--rel", "1e-2", "--fill", "1e20")
        self.assertEqual(self.json("verify", "a", "s")["datasets"][0]["fill"], 2)
        self.json("verify", "a", "s", "--fill", "none", warning="outliers")
        self.homz("verify", "a", "s", "--fill", "x", expect=USAGE)

    def test_rounded_figures(self):
        """An error never looks larger than the bound that it keeps, nor equal to one that it breaks."""
        self.values[0] = 0.0
        self.write("a", self.values, "<d")
        bound = 0.0123456789
        for error, expect in ((bound, OK), (math.nextafter(bound, 1), DIFFERS)):
            self.changed({0: error})
            text = self.homz("verify", "a", "b", *self.raw, "--abs", repr(bound), expect=expect).text
            shown = float(text.split("max abs error")[1].split()[0])
            tested = float(text.split("tested:")[1].split()[0])
            self.assertEqual(shown <= tested, expect == OK)

    def test_identical(self):
        self.changed({})
        self.assertRegex(self.homz("verify", "a", "b", *self.raw).text, r"verdict +equal\n\Z")
        self.assertTrue(self.verdict()["identical"])
        self.changed({5: 0.5})
        self.assertTrue(self.homz("verify", "a", "b", *self.raw).text.endswith(
            "no bound was tested; give --abs, --rel or --psnr\n"))
        self.changed({})
        got = self.verdict("--psnr", "100")
        self.assertEqual((got["max_abs_error"], got["psnr"], got["snr"], got["pearson"]), (0, "inf", "inf", 1))
        self.assertIn("inf dB", self.homz("verify", "a", "b", *self.raw).text)

    def test_constant_original(self):
        self.values = [5.0] * 120
        self.write("a", self.values, "<d")
        self.changed({7: 5.5})
        got = self.verdict()
        self.assertEqual((got["psnr"], got["nrmse"], got["pearson"], got["max_error_over_range"]), (None,) * 4)
        self.assertIn("undefined", self.homz("verify", "a", "b", *self.raw).text)
        self.verdict("--rel", "1e-3", expect=DIFFERS)
        self.verdict("--psnr", "10", expect=DIFFERS)

    def test_non_finite_values_must_return(self):
        self.values[10], self.values[11] = math.nan, math.inf
        self.write("a", self.values, "<d")
        self.changed({})
        self.assertEqual(self.verdict()["non_finite"], 2)
        for change in ({10: 0.0}, {10: struct.unpack("<d", b"\1\0\0\0\0\0\xf8\x7f")[0]}, {11: -math.inf},
                       {5: math.nan}, {5: math.inf}):
            self.changed(change)
            for bound in ((), ("--abs", "1e300")):
                got = self.verdict(*bound, expect=DIFFERS)
                self.assertEqual((got["mismatches"], got["violations"]), (1, 1))

    def test_statuses(self):  # C8
        self.homz("compress", "a", "s", *self.raw, "--abs", "0.01")
        self.homz("verify", "a", "s")
        self.homz("verify", "a", "s", "--abs", "1e-9", expect=DIFFERS)
        self.homz("verify", "a", "s", "--abs", "x", expect=USAGE)
        self.homz("verify", "a", expect=USAGE)
        self.write_bytes("t", self.read_bytes("s")[:-1])
        self.homz("verify", "a", "t", expect=FAILED)
        self.homz("verify", "a", "missing", expect=FAILED)
        self.homz("verify", "a", "a", expect=USAGE)

    def test_stream_of_another_field(self):
        self.write("other", self.values[:-4], "<d")
        self.homz("compress", "other", "s", "--type", "f64", "--shape", "29x4", "--abs", "0.01")
        self.homz("verify", "a", "s", expect=USAGE)  # the sizes disagree: which layout was meant?
        report = self.json("verify", "a", "s", *self.raw, expect=DIFFERS)
        self.assertIn("29x4", report["datasets"][0]["difference"])

    def test_recorded_bound_is_tested(self):
        self.homz("compress", "a", "s", *self.raw, "--rel", "1e-2")
        got = self.json("verify", "a", "s")["datasets"][0]
        self.assertEqual(got["requested"]["text"], "rel:0.01")
        self.assertTrue(got["bound_ok"])
        self.assertGreater(got["ratio"], 1)
        self.assertAlmostEqual(got["bit_rate"], 64 / got["ratio"])
        other = [2 * x for x in self.values]
        self.write("a2", other, "<d")
        self.assertFalse(self.json("verify", "a2", "s", expect=DIFFERS)["ok"])

    def test_two_streams_and_big_endian(self):
        self.write("be", self.values, ">d")
        self.homz("compress", "be", "s", "--type", "f64be", "--shape", "6x5x4", "--abs", "0.01")
        self.homz("verify", "be", "s")
        self.homz("compress", "a", "exact", *self.raw, "-c", "zstd")
        self.homz("verify", "exact", "s")
        self.homz("verify", "a", "exact")
        self.homz("decompress", "s", "back")
        self.homz("verify", "be", "back", "--type", "f64be", "--shape", "6x5x4", "--abs", "0.01")


if __name__ == "__main__":
    harness.main()
