"""info and decompress on good, damaged and hostile streams."""

import math
import os

import harness
from harness import FAILED, USAGE, Case, parse_json


class Streams(Case):
    def setUp(self):
        super().setUp()
        self.write("in", [math.sin(i * 0.01) for i in range(3000)])
        self.homz("compress", "in", "out", "--type", "f32", "--shape", "30x100", "--abs", "1e-3")

    def test_info(self):
        facts = self.json("info", "out")
        self.assertEqual(facts["kind"], "homz stream")
        self.assertEqual(facts["shape"], [30, 100])
        self.assertEqual(facts["type"], "f32")
        self.assertEqual(facts["original_bytes"], 12000)
        self.assertEqual(facts["stored_bytes"], os.path.getsize(self.path("out")))
        self.assertAlmostEqual(facts["ratio"], 12000 / facts["stored_bytes"])
        self.assertEqual(facts["abs_bound"], 1e-3)
        self.assertTrue(facts["checksums_ok"])
        self.assertTrue(facts["codec"].startswith("homcomp"))
        self.assertEqual(facts["representation"], "coded")
        self.assertIsNone(facts["fill"])
        self.assertLess(facts["step"], 2e-3)
        self.assertGreater(facts["step"], 1.99e-3)
        self.assertFalse(facts["order_matters"])
        self.assertIn("between quanta", self.homz("info", "out").text)

    def test_every_truncation(self):  # D1
        whole = self.read_bytes("out")
        for length in list(range(0, 140)) + list(range(140, len(whole), 97)):
            self.write_bytes("cut", whole[:length])
            self.homz("info", "cut", expect=FAILED)
            self.homz("decompress", "cut", "back", expect=FAILED)
        self.assert_no_litter(["in", "out", "cut"])

    def test_flipped_bits_and_appended_bytes(self):  # D2, D3
        whole = self.read_bytes("out")
        for at in range(0, len(whole), 41):
            damaged = bytearray(whole)
            damaged[at] ^= 1 << at % 8
            self.write_bytes("bad", bytes(damaged))
            self.homz("decompress", "bad", "back", expect=FAILED)
            self.homz("info", "bad", expect=FAILED)
            if at >= 4:  # a damaged magic makes it a raw file of the wrong size
                self.homz("verify", "in", "bad", expect=FAILED)
        self.write_bytes("bad", whole + b"x")
        self.assertIn("appended", self.homz("decompress", "bad", "back", expect=FAILED).errors)
        self.assert_no_litter(["in", "out", "bad"])

    def test_limit(self):  # D7
        run = self.homz("decompress", "out", "back", "--max-bytes", "11999", expect=FAILED)
        self.assertIn("12000", run.errors)
        self.assertIn("--max-bytes", run.errors)
        self.assert_no_litter(["in", "out"])
        self.homz("decompress", "out", "back", "--max-bytes", "12000")
        self.homz("decompress", "out", "back", "--max-bytes", "1T", "--force")
        self.assertIn("--max-bytes", self.homz("verify", "in", "out", "--max-bytes", "11999", expect=FAILED).errors)
        self.homz("verify", "in", "out", "--max-bytes", "12000")

    def test_reports_are_valid_json_for_any_name(self):  # C9
        name = b"na\xffme\x1b[31m\n\"\\\xc2\x9b.f32"
        with open(os.path.join(os.fsencode(self.folder), name), "wb") as file:
            file.write(self.read_bytes("in"))
        run = self.homz("compress", name, b"o\xff", "--type", "f32", "--shape", "3000", "--abs", "1", "--json")
        self.assertIn("na\ufffdme\x1b[31m", parse_json(run.text)["input"])
        parse_json(self.homz("info", b"o\xff", "--json").text)
        parse_json(self.homz("verify", name, b"o\xff", "--json").text)
        parse_json(self.homz("decompress", b"o\xff", b"p\xff", "--json").text)
        for arguments in (("verify", name, b"o\xff"),
                          ("compress", name, b"q\xff", "--type", "f32", "--shape", "3000", "--abs", "1"),
                          ("decompress", b"o\xff", b"r\xff")):
            text = self.homz(*arguments).text
            self.assertFalse(any(ord(c) < 32 and c != "\n" or 0x7f <= ord(c) < 0xa0 for c in text), repr(text))

    def test_region(self):
        values = [float(i % 97) for i in range(6 * 40 * 50)]
        self.write("field", values)
        for codec in ("homcomp", "cuszp2", "zstd", "identity"):
            bound = () if codec in ("zstd", "identity") else ("--abs", "0.5")
            self.homz("compress", "field", "s", "--type", "f32", "--shape", "6x40x50", "-c", codec, *bound, "--force")
            self.homz("decompress", "s", "all", "--force")
            whole = self.read("all")
            run = self.json("decompress", "s", "part", "--region", "1:3,39,45:", "--force")
            part = run["datasets"][0]
            self.assertEqual(part["shape"], [2, 1, 5])
            self.assertEqual((part["original_bytes"], run["output_bytes"]), (40, 40))
            self.assertEqual((part["stored_bytes"], part["ratio"], run["ratio"]), (None, None, None))
            whole_facts = self.json("info", "s")
            self.assertEqual(part["part_of"], {"first": [1, 39, 45]} | {
                key: whole_facts[key] for key in ("shape", "original_bytes", "stored_bytes", "ratio")})
            wanted = [whole[(z * 40 + 39) * 50 + x] for z in (1, 2) for x in range(45, 50)]
            self.assertEqual(list(self.read("part")), list(wanted), codec)
            self.homz("decompress", "s", "part", "--region=:,:,:", "--force")
            self.assertEqual(self.read_bytes("part"), self.read_bytes("all"))
        for region in ("1:3", ":,:,:,:", "0:7,:,:", "3:3,:,:", "x,:,:"):
            said = self.homz("decompress", "s", "new", "--region=" + region, expect=USAGE).errors
            self.assertIn("6x40x50", said)
        self.write_bytes("zeros", bytes(4 << 20))
        self.homz("compress", "zeros", "z", "--type", "f32", "--shape", "1048576", "--abs", "1")
        self.homz("decompress", "z", "new", "--region=0:1", "--max-bytes", "1M", expect=FAILED)
        self.assert_no_litter(["in", "out", "field", "s", "all", "part", "zeros", "z"])

    def test_decompress_report(self):
        report = self.json("decompress", "out", "back")
        self.assertEqual(report["output_bytes"], 12000)
        self.assertEqual(report["datasets"][0]["shape"], [30, 100])
        self.assertIn("0.001", self.homz("decompress", "out", "back", "--force").text)


if __name__ == "__main__":
    harness.main()
