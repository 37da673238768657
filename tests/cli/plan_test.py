"""homz plan and homz tune: tables, reasons, profiles, and what has no meaning."""

import json
import os

import harness
from harness import FAILED, USAGE, Case, parse_json

BASE = ("plan", "--ranks", "32", "--size", "64MiB")
SLOW = ("--latency", "30", "--bandwidth", "1")
DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs")
EXAMPLE = os.path.join(DOCS, "profile_example.json")  # slow links; as fast on any machine that runs the tests


class Plan(Case):
    def setUp(self):
        super().setUp()
        for name in ("HOMZ_ALGORITHM", "HOMZ_SCHEME", "HOMZ_CODEC"):
            os.environ.pop(name, None)
            self.addCleanup(os.environ.pop, name, None)

    def test_table_by_rising_seconds(self):
        plan = self.json(*BASE, "--ratio", "8")
        seconds = [c["seconds"] for c in plan["candidates"]]
        self.assertEqual(seconds, sorted(seconds))
        schemes = {c["scheme"] for c in plan["candidates"]}
        self.assertEqual(schemes, {"plain", "cprp2p", "ccoll", "hzccl", "homcomp-ahead", "homcomp-step", "homcomp-fused"})
        self.assertEqual(plan["size_bytes"], 64 << 20)
        self.assertEqual(plan["machine"], "unmeasured")
        self.assertEqual(plan["choice"]["scheme"], "plain")  # links unmeasured: taken for fast
        self.assertIn("without compression", plan["reason"])
        text = self.homz(*BASE, "--ratio", "8").text
        self.assertIn(plan["reason"], text)
        self.assertEqual(text.count("<- chosen"), 1)

    def test_slow_links_ask_for_compression(self):
        plan = self.json(*BASE, "--ratio", "8", "--profile", EXAMPLE, "--without-native")
        self.assertTrue(plan["looks_at_data"])
        self.assertIn(plan["choice"]["scheme"], ("hzccl", "homcomp-ahead", "homcomp-step", "homcomp-fused"))
        self.assertEqual(plan["choice"]["codec"], "homcomp")
        plain = min(c["seconds"] for c in plan["candidates"] if c["scheme"] == "plain")
        self.assertLess(3 * plan["choice"]["seconds"], plain)
        self.assertLess(plan["choice"]["wire_bytes"], (64 << 20) / 2)
        tiny = self.json("plan", "--ranks", "32", "--size", "4", "--ratio", "8", "--profile", EXAMPLE)
        self.assertEqual(tiny["choice"]["scheme"], "plain")
        self.assertFalse(tiny["looks_at_data"])
        dense = self.json(*BASE, "--ratio", "1", "--profile", EXAMPLE)
        self.assertEqual(dense["choice"]["scheme"], "plain")
        exact = self.json(*BASE, "--profile", EXAMPLE)
        self.assertEqual({c["scheme"] for c in exact["candidates"]}, {"plain"})
        self.assertIn("bound is 0", exact["reason"])

    def test_overrides_and_environment(self):
        arguments = (*BASE, "--ratio", "8", "--ranks-per-node", "4")
        plan = self.json(*arguments, "--algorithm", "two_level", "--scheme", "ccoll")
        self.assertEqual(plan["choice"]["algorithm"], "two-level")
        self.assertEqual(len(plan["candidates"]), 1)
        self.assertTrue(plan["reason"].startswith("as asked for"))
        os.environ["HOMZ_SCHEME"] = "homcomp-fused"
        self.assertEqual(self.json(*arguments)["choice"]["scheme"], "homcomp-fused")
        moved = self.json(*arguments, "--collective", "bcast")  # which that scheme does not suit
        self.assertEqual(moved["choice"]["scheme"], "plain")
        self.assertTrue(moved["reason"].endswith("; HOMZ_SCHEME=homcomp-fused is ignored: homcomp-fused adds streams, "
                                                 "and bcast adds nothing"), moved["reason"])
        os.environ["HOMZ_SCHEME"] = "auto"
        self.assertNotIn("HOMZ", self.json(*arguments)["reason"])
        os.environ["HOMZ_SCHEME"] = "best"
        self.assertIn("HOMZ_SCHEME", self.homz(*arguments, expect=USAGE).errors)

    def test_sizes(self):
        for text, size in (("64MB", 64 * 10**6), ("64MiB", 64 << 20), ("64M", 64 << 20), ("64kB", 64000), ("8B", 8), ("8", 8)):
            self.assertEqual(self.json("plan", "--ranks", "4", "--size", text)["size_bytes"], size)
        for command in ("plan", "decompress", "bench"):
            self.assertIn("powers of 1024", self.homz(command, "--help").text)

    def test_one_unit_a_column(self):
        for size, units in (("64B", ("expected, us", "sent by a rank, B")), ("4GiB", ("expected, s", "sent by a rank, GB"))):
            head, *rows = self.homz("plan", "--ranks", "8", "--size", size).text.partition("\n\n")[0].splitlines()
            for unit in units:
                self.assertIn(unit, head)
            for row in rows:
                words = row.replace("<- chosen", "").split()
                self.assertGreater(float(words[0]), 0)
                self.assertGreater(float(words[-1]), 0)
                self.assertEqual(len(words), 6)

    def test_why_a_slower_one_of_the_transport_is_taken(self):
        own = self.json(*BASE, "--without-native", "--profile", EXAMPLE)["choice"]
        with open(EXAMPLE, encoding="utf-8") as file:
            profile = parse_json(file.read())
        for factor, native in ((1.05, True), (2, False)):
            profile["natives"] = [{"collective": "allreduce", "ranks": 32, "curve": [[64 << 20, factor * own["seconds"]]]}]
            self.write_bytes("profile.json", json.dumps(profile).encode())
            plan = self.json(*BASE, "--profile", "profile.json")
            self.assertEqual(plan["choice"]["algorithm"] == "native", native)
            said = f"; {own['algorithm']} without compression would take "
            self.assertEqual(said in plan["reason"] and "but the transport may know better" in plan["reason"], native, plan["reason"])

    def test_every_collective(self):
        for collective in ("allreduce", "reduce-scatter", "reduce", "allgather", "bcast", "scatter", "gather",
                           "alltoall"):
            plan = self.json(*BASE, "--ratio", "8", "--collective", collective, "--type", "f64")
            self.assertGreater(len(plan["candidates"]), 2)
        for op in ("average", "min", "max", "prod"):
            self.json(*BASE, "--ratio", "8", "--op", op)

    def test_the_example_of_the_documentation(self):
        with open(os.path.join(DOCS, "tuning.md"), encoding="utf-8") as file:
            command, _, shown = file.read().partition("```\n$ homz ")[2].partition("\n```")[0].partition("\n")
        arguments = [a.replace("docs/", DOCS + "/") for a in command.split()]
        self.assertEqual(self.homz(*arguments).text.rstrip("\n"), shown)

    def test_wrong_use(self):
        for arguments, saying in (
            (("plan",), "--ranks"),
            ((*BASE, "--ratio", "0"), "--ratio"),
            ((*BASE, "--ratio", "x"), "--ratio"),
            (("plan", "--ranks", "0", "--size", "4"), "--ranks"),
            (("plan", "--ranks", "4", "--size", "5"), "f32 has 4 bytes, and this is no multiple of that; give 4 or 8"),
            (("plan", "--ranks", "4", "--size", "2TiB"), "--size"),
            (("plan", "--ranks", "4", "--size", "5 MB"), "--size"),
            ((*BASE, "--collective", "scan"), "--collective: unknown collective 'scan': must be one of allreduce"),
            ((*BASE, "--op", "median"), "--op: unknown operation 'median': must be one of sum, average"),
            ((*BASE, "--algorithm", "circle"), "--algorithm: unknown algorithm"),
            ((*BASE, "--scheme", "best"), "--scheme: unknown scheme"),
            ((*BASE, "--collective", "bcast", "--op", "sum"), "--op"),
            ((*BASE, "--op", "none"), "--op"),
            ((*BASE, "--algorithm", "bruck"), "bruck does not do allreduce; there is"),
            ((*BASE, "--algorithm", "native", "--scheme", "hzccl"), "never compresses"),
            ((*BASE, "--algorithm", "two-level"), "each of 32 ranks has a node of its own"),
            ((*BASE, "--ratio", "8", "--op", "prod", "--scheme", "hzccl"), "take ccoll or cprp2p"),
            ((*BASE, "--scheme", "hzccl"), "--scheme hzccl compresses: say by how much, as in --ratio 8"),
            ((*BASE, "--ranks-per-node", "99"), "--ranks-per-node 99: there are 32 ranks"),
            ((*BASE, "--codec", "zip"), "zip"),
            (("tune", "-c", "zip"), "zip"),
            (("tune", "--latency", "0"), "--latency"),
            (("tune", "--bandwidth", "-1"), "--bandwidth"),
        ):
            self.assertIn(saying, self.homz(*arguments, expect=USAGE).errors)
        self.homz(*BASE, "--profile", "missing", expect=FAILED)
        self.write_bytes("bad.json", b'{"format": 1, "machine": 3}')
        self.assertIn("machine", self.homz(*BASE, "--profile", "bad.json", expect=USAGE).errors)

    def test_tuned_profiles(self):
        self.homz("tune", "-o", "a.json", "--seconds", "1e-4", "-q", *SLOW, "-c", "homcomp", "-c", "zstd:level=1",
                  "--machine", "the test's")
        measured = self.json(*BASE, "--profile", "a.json")
        self.assertEqual(measured["machine"], "the test's")
        profile = parse_json(self.read_bytes("a.json").decode())
        self.assertEqual(profile["machine"], "the test's")
        self.assertAlmostEqual(profile["between"]["latency"], 30e-6)
        self.assertAlmostEqual(profile["between"]["seconds_per_byte"], 8e-9)
        self.assertEqual([c["codec"] for c in profile["codecs"]], ["homcomp", "zstd:level=1"])
        self.assertEqual(profile["codecs"][1]["combine"], [])
        self.homz("tune", "-o", "a.json", "--seconds", "1e-4", expect=USAGE)
        report = self.homz("tune", "-o", "a.json", "--seconds", "1e-4", "--force").text
        self.assertIn("encode GB/s", report)
        printed = parse_json(self.homz("tune", "--seconds", "1e-4").text)
        self.assertEqual(printed["format"], 1)
        self.assert_no_litter(["a.json"])


if __name__ == "__main__":
    harness.main()
