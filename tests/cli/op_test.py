"""op: arithmetic on streams."""

import math
import os
import re

import harness
from harness import FAILED, USAGE, Case


class Arithmetic(Case):
    codec = "homcomp:"

    def setUp(self):
        super().setUp()
        self.a = [math.sin(i * 0.01) for i in range(3000)]
        self.b = [2 * math.cos(i * 0.013) for i in range(3000)]
        for name, values in (("a", self.a), ("b", self.b)):
            self.write(name, values)
            self.compress(name, name + ".homz")

    def compress(self, source, target, *options):
        options = options or ("-c", self.codec + "step=0.0019")
        self.homz("compress", source, target, "--type", "f32", "--shape", "30x100", "--abs", "1e-3", *options)

    def values(self, stream):
        self.homz("decompress", stream, "back", "--force", "--quiet")
        return self.read("back")

    def check(self, arguments, expected, bound):
        self.homz("op", *arguments, "-o", "out.homz", "--force")
        self.assertAlmostEqual(self.json("info", "out.homz")["abs_bound"], bound, delta=1e-3)
        for found, value in zip(self.values("out.homz"), expected, strict=True):
            self.assertLessEqual(abs(found - value), bound + 1e-6)

    def test_streams(self):
        a, b = self.a, self.b
        self.check(["add", "a.homz", "b.homz"], [x + y for x, y in zip(a, b)], 2e-3)
        self.check(["add", "a.homz", "b.homz", "a.homz"], [2 * x + y for x, y in zip(a, b)], 3e-3)
        self.check(["sub", "a.homz", "b.homz"], [x - y for x, y in zip(a, b)], 2e-3)
        self.check(["avg", "a.homz", "b.homz"], [(x + y) / 2 for x, y in zip(a, b)], 1e-3)
        self.check(["neg", "a.homz"], [-x for x in a], 1e-3)
        self.check(["mul", "a.homz", "--by", "0"], [0] * 3000, 0)
        self.check(["mul", "a.homz", "--by", "3"], [3 * x for x in a], 3e-3)
        self.check(["mul", "a.homz", "--by", "-0.5"], [-x / 2 for x in a], 0.5e-3)
        self.check(["shift", "a.homz", "--by", "2.5"], [x + 2.5 for x in a], 2e-3)
        self.check(["axpy", "a.homz", "b.homz", "--by", "-4"], [y - 4 * x for x, y in zip(a, b)], 5e-3)
        self.check(["min", "a.homz", "b.homz"], [min(x, y) for x, y in zip(a, b)], 1e-3)
        self.check(["max", "a.homz", "b.homz"], [max(x, y) for x, y in zip(a, b)], 1e-3)

    def test_numbers(self):
        facts = self.json("op", "stats", "a.homz")
        mean = sum(self.a) / 3000
        self.assertEqual(facts["count"], 3000)
        self.assertAlmostEqual(facts["mean"], mean, delta=1e-3)
        self.assertAlmostEqual(facts["sum"], sum(self.a), delta=3)
        self.assertAlmostEqual(facts["deviation"], math.sqrt(sum((x - mean) ** 2 for x in self.a) / 3000), delta=1e-3)
        self.assertAlmostEqual(facts["max"], max(self.a), delta=1e-3)
        self.assertAlmostEqual(facts["min"], min(self.a), delta=1e-3)
        product = self.json("op", "dot", "a.homz", "b.homz")["dot"]
        self.assertAlmostEqual(product, sum(x * y for x, y in zip(self.a, self.b)), delta=10)
        self.assertIn("variance", self.homz("op", "stats", "a.homz").text)

    def test_steps_that_differ(self):
        self.compress("b", "other.homz", "-c", self.codec + "step=0.0018")
        run = self.homz("op", "add", "a.homz", "other.homz", "-o", "sum.homz", expect=USAGE)
        self.assertIn("step=0.0017999999", run.errors)
        self.assertIn("a.homz has steps of", run.errors)
        self.assertIn("other.homz steps of", run.errors)
        self.assertFalse(os.path.exists(self.path("sum.homz")))
        self.homz("op", "add", "a.homz", "other.homz", "-o", "sum.homz", "--requantise")
        self.assertAlmostEqual(self.json("info", "sum.homz")["abs_bound"], 3e-3)
        self.homz("op", "dot", "a.homz", "other.homz")

    def test_the_advice_suits_all(self):
        for name, step in (("b", "0.0018"), ("c", "0.0016"), ("d", "0.0017")):
            self.compress("b", name + ".homz", "--force", "-c", self.codec + "step=" + step)
        streams = [name + ".homz" for name in "abcd"]
        run = self.homz("op", "add", *streams, "-o", "sum.homz", expect=USAGE)
        advice = re.search("compress all with -c ([^ ]+step=0[.]00(?:16|159)[0-9]*)[ ,]", run.errors)
        self.assertIsNotNone(advice, run.errors)
        for name in "abcd":
            self.compress("b", name + ".homz", "--force", "-c", advice[1])
        self.homz("op", "add", *streams, "-o", "sum.homz")

    def test_limit(self):
        run = self.homz("op", "add", "a.homz", "b.homz", "-o", "x", "--max-bytes", "11999", expect=FAILED)
        self.assertIn("--max-bytes", run.errors)
        self.assertIn("a.homz", run.errors)
        self.homz("op", "add", "a.homz", "b.homz", "-o", "x", "--max-bytes", "12000")

    def test_damage_is_named(self):
        whole = self.read_bytes("b.homz")
        for at in range(0, len(whole), 211):
            damaged = bytearray(whole)
            damaged[at] ^= 1 << at % 8
            self.write_bytes("bad.homz", bytes(damaged))
            for operation in (["add", "a.homz", "bad.homz", "-o", "x"], ["stats", "bad.homz"], ["dot", "bad.homz", "a.homz"]):
                self.assertIn("bad.homz: ", self.homz("op", *operation, expect=FAILED).errors)
        self.assert_no_litter(["a", "b", "a.homz", "b.homz", "bad.homz"])

    def test_steps_that_are_too_long(self):
        self.homz("compress", "a", "c.homz", "--type", "f32", "--shape", "30x100", "--abs", "1e-3", "-c",
                  self.codec + "step=0.003", warning="more than twice the bound")
        self.assertAlmostEqual(self.json("info", "c.homz")["step"], 0.003)

    def test_steps_that_store_everything(self):
        for step, words in (("0.1", "twice the bound"), ("1e30", "twice the bound"), ("1e-30", "too short")):
            self.homz("compress", "a", "c.homz", "--type", "f32", "--shape", "3000", "--abs", "1e-3", "-q", "--force",
                      "-c", f"{self.codec.replace('dim=2,', '')}step={step}", warning=words)

    def test_nan(self):
        self.write("c", [math.inf, -math.inf] + self.a[2:])
        self.compress("c", "c.homz")
        for operation in (["stats", "c.homz"], ["dot", "c.homz", "a.homz"]):
            self.assertNotIn("-nan", self.homz("op", *operation).text)
        self.assertIn("nan", self.homz("op", "stats", "c.homz").text)

    def test_numbers_that_do_not_suit(self):
        for operation, number in (("mul", "1e300"), ("mul", "1e-37"), ("mul", "1e-40"), ("shift", "1e30"), ("shift", "1e300")):
            run = self.homz("op", operation, "a.homz", "--by", number, "-o", "x", expect=USAGE)
            self.assertIn(f"--by {number}: ", run.errors)
            self.assertIn("give", run.errors)

    def test_fields_that_differ(self):
        options = ("--type", "f32", "--abs", "1e-3", "-c", self.codec.replace("dim=2,", "") + "step=0.0019")
        self.homz("compress", "b", "line.homz", "--shape", "3000", *options)
        run = self.homz("op", "add", "a.homz", "line.homz", "-o", "x", expect=USAGE)
        self.assertIn("line.homz has the shape 3000 of f32: compress both with the same --shape", run.errors)
        self.homz("compress", "b", "filled.homz", "--shape", "30x100", "--fill", "-999", *options)
        run = self.homz("op", "add", "a.homz", "filled.homz", "-o", "x", expect=USAGE)
        self.assertIn("--fill -999", run.errors)

    def test_order_may_matter(self):
        self.write("c", [math.nan if i % 7 == 0 else x for i, x in enumerate(self.a)])
        self.compress("c", "c.homz")
        self.homz("op", "add", "a.homz", "c.homz", "-o", "x", warning="order")
        self.assertTrue(self.json("info", "x")["order_matters"])
        self.assertIn("order", self.homz("info", "x").text)

    def test_wrong_use(self):
        for arguments in (
            ["add", "a.homz", "-o", "x"],
            ["add", "a.homz", "b.homz"],
            ["mul", "a.homz", "-o", "x"],
            ["mul", "a.homz", "--by", "much", "-o", "x"],
            ["add", "a.homz", "b.homz", "--by", "2", "-o", "x"],
            ["axpy", "a.homz", "b.homz", "--by", "0.5", "-o", "x"],
            ["axpy", "a.homz", "b.homz", "--by", "1e10", "-o", "x"],
            ["root", "a.homz", "-o", "x"],
            ["stats", "a.homz", "-o", "x"],
            ["add", "a.homz", "b.homz", "-o", "b.homz", "--force"],
        ):
            self.homz("op", *arguments, expect=USAGE)
        self.homz("op", "add", "a.homz", "a", "-o", "x", expect=FAILED)
        self.homz("op", "add", "a.homz", "missing", "-o", "x", expect=FAILED)
        self.homz("compress", "b", "foreign.homz", "--type", "f32", "--shape", "3000", "-c", "zstd")
        self.homz("op", "neg", "foreign.homz", "-o", "x", expect=FAILED)
        self.assert_no_litter(["a", "b", "a.homz", "b.homz", "foreign.homz"])


class ArithmeticOfCuszp(Arithmetic):
    codec = "cuszp:"


class ArithmeticOfCuszp2(Arithmetic):
    codec = "cuszp2:dim=2,mode=plain,"

    def test_layouts_that_differ(self):
        for dim in (1, 2):
            self.compress("b", f"dim{dim}.homz", "-c", f"cuszp2:dim={dim},step=0.0019")
        run = self.homz("op", "add", "dim1.homz", "dim2.homz", "-o", "sum.homz", expect=USAGE)
        self.assertIn("dim1.homz and dim2.homz are laid out differently", run.errors)
        self.assertIn("compress both with -c cuszp2:mode=outlier,dim=1,", run.errors)
        for number in ("1", "2"):
            self.assertIn("dim=" + number, self.json("info", f"dim{number}.homz")["codec_alike"])
        self.homz("op", "add", "dim1.homz", "dim2.homz", "-o", "sum.homz", "--requantise")
        self.homz("op", "dot", "dim1.homz", "dim2.homz", expect=USAGE)
        self.homz("op", "dot", "dim1.homz", "dim2.homz", "--requantise")
        self.compress("b", "auto.homz", "-c", "cuszp2:dim=auto")
        self.assertRegex(self.homz("info", "auto.homz").text, "-c cuszp2:mode=outlier,dim=[12],")


if __name__ == "__main__":
    harness.main()
