"""Usage errors: what has no meaning is refused with status 2 and one line that says what to do."""

import os
import subprocess

import harness
from harness import FAILED, USAGE, Case

RAW = ("--type", "f32", "--shape", "1000")


class Arguments(Case):
    def setUp(self):
        super().setUp()
        self.write("in", [i * 0.5 for i in range(1000)])

    def refuse(self, *arguments, saying=""):
        run = self.homz(*arguments, expect=USAGE)
        self.assertIn(saying, run.errors)
        self.assert_no_litter(["in"])

    def test_no_or_unknown_subcommand(self):
        self.refuse(saying="subcommand")
        self.refuse("frobnicate", saying="frobnicate")
        self.refuse("", saying="unknown subcommand ''")

    def test_help_and_version(self):
        self.assertIn("compress", self.homz("--help").text)
        self.assertRegex(self.homz("--version").text, r"\Ahomz \d+\.\d+\.\d+\n\Z")
        for name in ("compress", "decompress", "verify", "info", "bench", "codecs", "tune", "plan", "doctor"):
            self.assertIn("Examples:", self.homz(name, "--help").text)

    def test_unknown_option_without_subcommand(self):
        self.refuse("--foo", saying="--foo")
        self.refuse(saying="a subcommand is required")

    def test_control_bytes_of_options(self):
        for option in ("--shape", "--type", "--abs", "--fill", "--codec", "--dataset", "--threads", "--device"):
            run = self.homz("compress", "in", "out", f"{option}=\x1b[31mx=@\x07:", *RAW, expect=USAGE)
            self.assertNotRegex(run.errors, r"[\x00-\x09\x0b-\x1f\x7f]")

    def test_foreign_formats(self):
        for magic, said in ((b"CDF\1", "nccopy"), (b"CDF\2", "netCDF-3"), (b"CDF\5", "netCDF-3"),
                            (b"\x1f\x8b\x08\0", "decompress it first"), (b"GRIB", "not supported")):
            self.write_bytes("other", magic + bytes(60))
            self.assertIn(said, self.homz("compress", "other", "out", "--abs", "1", expect=USAGE).errors)
            self.assertIn(said, self.homz("verify", "other", "other", expect=USAGE).errors)
            self.assertIn(said, self.homz("bench", "other", expect=USAGE).errors)
            self.assertIn(said, self.homz("info", "other", expect=FAILED).errors)
            self.assertIn(said, self.homz("decompress", "other", "out", expect=FAILED).errors)
            self.homz("compress", "other", "out", "--type", "f32", "--shape", "16", "-c", "zstd", "--force")

    def test_missing_unknown_and_repeated_options(self):
        self.refuse("compress", saying="input")
        self.refuse("compress", "in", saying="output")
        self.refuse("compress", "in", "out", *RAW, "--abs", "1", "--frob", saying="--frob")
        self.refuse("compress", "in", "out", *RAW, "--abs", "1", "--abs", "1", saying="--abs")
        self.refuse("compress", "in", "out", *RAW, "--abs", saying="--abs")
        self.refuse("compress", "in", "out", "more", *RAW, "--abs", "1")

    def test_empty_arguments(self):
        self.refuse("compress", "", "out", *RAW, "--abs", "1", saying="empty")
        self.refuse("compress", "in", "", *RAW, "--abs", "1", saying="empty")
        self.refuse("compress", "in", "out", *RAW, "--abs", "")
        self.refuse("compress", "in", "out", *RAW, "--abs", "1", "-c", "")
        self.refuse("compress", "in", "out", "--type", "", "--shape", "1000", "--abs", "1")
        self.refuse("compress", "in", "out", "--type", "f32", "--shape", "", "--abs", "1")
        self.refuse("compress", "in", "out", *RAW, "--abs", "1", "--threads", "")
        self.refuse("compress", "in", "out", *RAW, "--abs", "1", "--fill", "")
        self.refuse("compress", "in", "out", *RAW, "--abs", "1", "--dataset", "")
        self.refuse("compress", "in", "out", *RAW, "--abs", "1", "--exclude", "")
        self.refuse("info", "", saying="empty")
        self.refuse("decompress", "in", "", saying="empty")
        self.refuse("verify", "", "in", saying="empty")

    def test_bounds_without_meaning(self):
        bad = ("1e-3abc", "nan", "inf", "-inf", "-1", "0", "-0.0", "1e-400", "1e400", "1,5", " 1", "1 ", "0x1p-3", "--",
               "1e", "", "1.5.2", "1e-3\n")
        for option in ("--abs", "--rel", "--psnr"):
            for text in bad:
                with self.subTest(option=option, text=text):
                    self.refuse("compress", "in", "out", *RAW, option + "=" + text)
                    self.refuse("verify", "in", "in", *RAW, option + "=" + text)

    def test_exactly_one_bound(self):
        self.refuse("compress", "in", "out", *RAW, saying="needs an error bound")
        self.refuse("compress", "in", "out", *RAW, "--abs", "1", "--rel", "1", saying="exclude each other")
        self.homz("compress", "in", "out", *RAW, "-c", "zstd")
        os.remove(self.path("out"))
        self.homz("compress", "in", "out", *RAW, "-c", "zstd", "--abs", "1")

    def test_codecs(self):
        self.refuse("compress", "in", "out", *RAW, "--abs", "1", "-c", "nope", saying="cuszp2")
        self.refuse("compress", "in", "out", *RAW, "--abs", "1", "-c", "zstd:level=99", saying="1 to 19")
        self.refuse("compress", "in", "out", *RAW, "--abs", "1", "-c", "zstd:frob=1", saying="frob")
        self.refuse("compress", "in", "out", *RAW, "--abs", "1", "-c", "cuszp2:mode=sideways", saying="mode")
        self.refuse("bench", "--data", "walk", "-c", "nope")

    def test_types_and_shapes(self):
        for name in ("f16", "F32", "f32le", "be", "int", "f64bee"):
            self.refuse("compress", "in", "out", "--type", name, "--shape", "1000", "--abs", "1", saying=name)
        for shape in ("x", "10x", "x10", "10xx10", "-1", "1e3", "10x-1", "10,10", "10 10", "0x10g", "1.5",
                      "18446744073709551616", "1x99999999999999999999"):
            self.refuse("compress", "in", "out", "--type", "f32", "--shape=" + shape, "--abs", "1", saying="--shape")
        self.refuse("compress", "in", "out", "--type", "f32", "--abs", "1", saying="--shape")
        self.refuse("compress", "in", "out", "--shape", "1000", "--abs", "1", saying="--type")
        self.refuse("compress", "in", "out", "--abs", "1", saying="--type f32 --shape")

    def test_extents_that_overflow(self):  # S3
        for kind, shape in (("f32", "4294967296x4294967296"), ("f64", "1152921504606846976"),
                            ("f32", "2305843009213693952"), ("f32", "65536x65536x65536x65536"),
                            ("f64", "18446744073709551615")):
            self.refuse("compress", "in", "out", "--type", kind, "--shape", shape, "--abs", "1", saying="2^63")

    def test_rank(self):  # S2
        self.refuse("compress", "in", "out", "--type", "f32", "--shape", "1x1x1x1x1000", "--abs", "1", saying="1 to 4")
        self.homz("compress", "in", "out", "--type", "f32", "--shape", "1x1000x1x1", "--abs", "1")

    def test_size_disagrees(self):  # S5, S6, case 12
        def sizes(kind, shape, *said):
            run = self.homz("compress", "in", "out", "--type", kind, "--shape", shape, "--abs", "1", expect=USAGE)
            for number in ("4000", *said):
                self.assertIn(number, run.errors)
            self.assert_no_litter(["in"])

        sizes("f64", "1000", "8000", "--type f32")
        sizes("f32", "500", "2000", "--type f64")
        sizes("f32", "999", "3996", "1000 values")
        sizes("f32", "2000x2", "16000", "--shape 500x2")
        sizes("f32", "0", " 0 ")
        sizes("f32", "0x10", " 0 ")
        sizes("f32", "1152921504606846976", "4611686018427387904")
        self.write_bytes("odd", b"abc")
        run = self.homz("compress", "odd", "out", "--type", "f32", "--shape", "1", "--abs", "1", expect=USAGE)
        self.assertIn("no multiple of 4", run.errors)

    def test_devices(self):
        self.refuse("compress", "in", "out", *RAW, "--abs", "1", "--device", "tpu", saying="--device")
        self.refuse("bench", "--data", "walk", "--count", "1K", "--device=", saying="--device")
        self.homz("compress", "in", "out", *RAW, "--abs", "1", "--device", "cpu")

    def test_numbers_of_threads_and_bytes(self):
        for text in ("-1", "x", "1.5", "99999999999999999999", "4097"):
            self.refuse("compress", "in", "out", *RAW, "--abs", "1", "--threads=" + text, saying="--threads")
        for text in ("-1", "x", "1.5", "", "16777216T", "1k"):
            self.refuse("decompress", "in", "out", "--max-bytes=" + text, saying="--max-bytes")
        for text in ("0", "-1", "x", "1001", ""):
            self.refuse("bench", "--data", "walk", "--repeat=" + text, saying="--repeat")

    def test_fill(self):
        for text in ("nan", "x", "1e400"):
            self.refuse("compress", "in", "out", *RAW, "--abs", "1", "--fill", text, saying="--fill")
        self.refuse("compress", "in", "out", *RAW, "--abs", "1", "--fill", "1e300", saying="f32")

    def test_options_of_other_inputs(self):
        self.refuse("compress", "in", "out", *RAW, "--abs", "1", "--dataset", "/T", saying="HDF5")
        self.refuse("compress", "in", "out", *RAW, "--abs", "1", "--exclude", "/T", saying="HDF5")
        self.refuse("bench", saying="--data")
        self.refuse("bench", "in", "--data", "walk", saying="not both")
        self.refuse("bench", "--data", "nope", saying="walk")
        self.refuse("bench", "--count", "5", saying="--data")
        self.refuse("bench", "--data", "walk", "--count", "0")
        self.refuse("bench", "in", saying="--type")
        self.refuse("bench", "--data", "walk", "--json", "--csv")
        self.refuse("compress", "in", "out", *RAW, "--abs", "1", "--dataset", "*@abs:-1", saying="--dataset")
        self.refuse("compress", "in", "out", *RAW, "--abs", "1", "--dataset", "*=nope", saying="nope")
        self.refuse("compress", "in", "out", *RAW, "--dataset", "*=cuszp2", saying="needs an error bound")
        self.refuse("compress", "in", "out", *RAW, "--abs", "1", "--dataset", "*@lossless",
                    saying="homcomp is lossy; use =zstd")

    def test_names_like_options(self):
        self.write("-in", [1.0, 2.0])
        self.homz("compress", "--type", "f32", "--shape", "2", "--abs", "1", "--", "-in", "-out")
        self.assertTrue(os.path.exists(self.path("-out")))

    def test_errors_do_not_upset_a_terminal(self):  # C9
        run = self.homz("info", b"no\x1b[31m\nsuch\xff", expect=FAILED)
        self.assertIn(r"no\x1b[31m\x0asuch\xff", run.errors)

    def test_decimal_comma(self):
        """A locale that writes 1,5 for 1.5 changes nothing."""
        made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", self.path("de_DE.UTF-8")],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) if \
            os.path.exists("/usr/bin/localedef") else None
        if made is None or made.returncode not in (0, 1) or not os.path.exists(self.path("de_DE.UTF-8")):
            self.skipTest("no locale with a decimal comma can be made here")
        german = dict(os.environ, LOCPATH=self.folder, LC_ALL="de_DE.UTF-8")
        report = self.json("compress", "in", "out", *RAW, "--abs", "0.125", env=german)
        self.assertEqual(report["datasets"][0]["requested"]["value"], 0.125)
        self.assertIn("0.125", self.homz("info", "out", env=german).text)
        self.assertIn("de_DE", self.homz("doctor", env=german).text)
        self.homz("compress", "in", "out2", *RAW, "--abs", "0,125", expect=USAGE, env=german)


if __name__ == "__main__":
    harness.main()
