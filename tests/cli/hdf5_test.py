"""HDF5 files through the program: what becomes of each dataset, and what the reports say."""

import os
import resource
import signal
import stat
import subprocess
import sys
import time

import harness
from harness import DIFFERS, FAILED, OK, USAGE, Case, parse_json
from outputs_test import no_core_and_small_files

try:
    import h5py
    import numpy
except ImportError:
    print("h5py is not installed: skipped")
    sys.exit(77)


class Hdf5(Case):
    def setUp(self):
        super().setUp()
        row = numpy.arange(24 * 40 * 50, dtype="f4").reshape(24, 40, 50)
        self.field = (280 + 15 * numpy.sin(row * 0.003) + (row * 7919 % 1009) * 1e-4).astype("f4")
        self.masked = self.field.copy()
        self.masked[:, :10, :] = 1e20
        with h5py.File(self.path("in.h5"), "w") as file:
            file.attrs["title"] = "made up"
            file.create_dataset("T", data=self.field, chunks=(4, 40, 50)).attrs["units"] = "K"
            file.create_dataset("group/P", data=self.field.astype("f8"))
            file.create_dataset("group/be", data=self.field.astype(">f4"))
            masked = file.create_dataset("group/masked", data=self.masked, chunks=(4, 40, 50))
            masked.attrs["_FillValue"] = numpy.float32(1e20)
            file.create_dataset("count", data=numpy.arange(5000, dtype="i4"))
            file.create_dataset("name", data="a string")
            file.create_dataset("scalar", data=1.5)
            file.create_dataset("empty", shape=(0, 10), maxshape=(None, 10), chunks=(4, 5), dtype="f4")

    def compress(self, *options, expect=OK, out="out.h5"):
        report = self.json("compress", "in.h5", out, "--force", *options, expect=expect)
        return {d["name"]: d for d in report["datasets"]}

    def verdicts(self, *arguments, expect=OK):
        report = self.json("verify", *arguments, expect=expect)
        self.assertEqual(report["ok"], expect == OK)
        return {d["name"]: d for d in report["datasets"]}

    def test_bench_on_a_gpu(self):
        """The work is done in a child process, which has no GPU if its parent has looked for one."""
        command = ("bench", "in.h5", "--dataset", "/T", "--repeat", "1", "--device", "cuda")
        clean = {k: v for k, v in os.environ.items() if not k.startswith("HDF5_")}
        if self.json("doctor", env=clean)["gpus"]:
            for result in self.json(*command)["results"]:
                self.assertEqual((result["space"], result["bound_ok"]), ("cuda", True))
        else:
            self.assertIn("--device cuda: ", self.homz(*command, expect=FAILED).errors)

    def test_whole_file(self):
        report = self.compress("--rel", "1e-4")
        for name in ("/T", "/group/P", "/group/be", "/group/masked"):
            self.assertTrue(report[name]["compressed"], report[name])
            self.assertGreater(report[name]["ratio"], 1)
            self.assertEqual(report[name]["requested"]["text"], "rel:0.0001")
            self.assertEqual(report[name]["shape"], [24, 40, 50])
        for name in ("/count", "/name", "/scalar", "/empty"):
            self.assertFalse(report[name]["compressed"])
            self.assertTrue(report[name]["reason"])
        self.assertEqual(report["/group/masked"]["fill"], float(numpy.float32(1e20)))
        width = float(self.field.max()) - float(self.field.min())
        self.assertLessEqual(report["/group/masked"]["abs_bound"], 1e-4 * width)
        got = self.verdicts("in.h5", "out.h5")
        self.assertEqual(set(got), set(report))
        self.assertTrue(got["/T"]["bound_ok"])
        self.assertLessEqual(got["/T"]["max_abs_error"], report["/T"]["abs_bound"])
        self.assertEqual(got["/group/masked"]["fill"], 24 * 10 * 50)
        self.assertTrue(got["/count"]["equal"])
        info = {d["name"]: d for d in self.json("info", "out.h5")["datasets"]}
        self.assertEqual(info["/T"]["abs_bound"], report["/T"]["abs_bound"])
        self.assertEqual(info["/T"]["requested"], report["/T"]["requested"])
        self.assertGreater(info["/T"]["chunks"], 0)

    def test_there_and_back(self):
        self.compress("--abs", "0.01")
        self.homz("decompress", "out.h5", "back.h5")
        with h5py.File(self.path("in.h5")) as a, h5py.File(self.path("back.h5")) as b:
            self.assertEqual(b.attrs["title"], "made up")
            self.assertEqual(b["T"].attrs["units"], "K")
            self.assertEqual(b["group/be"].dtype, numpy.dtype(">f4"))
            for name in ("T", "group/P", "group/be"):
                error = numpy.abs(a[name][...].astype("f8") - b[name][...].astype("f8")).max()
                self.assertTrue(0 < error <= 0.01, name)
            mask = self.masked == numpy.float32(1e20)
            self.assertTrue((b["group/masked"][...][mask] == numpy.float32(1e20)).all())
            self.assertTrue((a["count"][...] == b["count"][...]).all())
            self.assertEqual(b["name"][()], b"a string")
            self.assertEqual(b["empty"].shape, (0, 10))
        self.verdicts("in.h5", "back.h5", "--abs", "0.01")
        self.verdicts("in.h5", "back.h5", "--abs", "1e-9", expect=DIFFERS)
        self.assertIsNone(self.verdicts("in.h5", "back.h5")["/T"]["bound_ok"])
        self.assertIn("/T", self.homz("decompress", "out.h5", "back2.h5").text)

    def test_rules(self):
        report = self.compress("--abs", "0.1", "--dataset", "/group/*", "--dataset", "/group/P=zstd",
                               "--dataset", "/group/be@rel:1e-3", "--exclude", "*/masked")
        self.assertFalse(report["/T"]["compressed"])
        self.assertFalse(report["/group/masked"]["compressed"])
        self.assertTrue(report["/group/P"]["codec"].startswith("zstd"))
        self.assertEqual(report["/group/be"]["requested"]["text"], "rel:0.001")
        self.verdicts("in.h5", "out.h5")
        report = self.compress("--dataset", "*=cuszp2:mode=plain,dim=1@abs:0.5")
        self.assertIn("mode=plain", report["/T"]["codec"])
        self.assertEqual(report["/T"]["abs_bound"], 0.5)
        self.homz("compress", "in.h5", "x.h5", "--dataset", "/T", expect=USAGE)
        self.compress("-c", "zstd")
        got = self.verdicts("in.h5", "out.h5")
        self.assertEqual(got["/T"]["max_abs_error"], 0)
        self.assertEqual(got["/T"]["bound"], 0)

    def test_rules_that_match_nothing(self):
        for glob, said in (("/nope", "'/nope'"), ("T", "did you mean /T"), ("P", "did you mean /group/P")):
            run = self.homz("compress", "in.h5", "x.h5", "--abs", "1", "--dataset", "*", "--dataset", glob,
                            expect=USAGE)
            self.assertIn(said, run.errors)
        self.assert_no_litter(["in.h5"])
        run = self.homz("compress", "in.h5", "x.h5", "--abs", "0.1", "-q", "--exclude", "/nope", warning="'/nope'")
        self.assertEqual(run.text, "")

    def test_coordinates_by_any_link(self):
        line = numpy.cumsum(numpy.ones(5000, dtype="f4"))
        with h5py.File(self.path("in.h5"), "w") as file:
            for name in ("aaa", "bbb", "ccc"):
                file[name] = line
            file["lat"] = file["aaa"]
            file["qq"] = h5py.SoftLink("/bbb")
            file["nowhere"] = h5py.SoftLink("/missing")
            file["v"] = self.field
            file["v"].attrs["coordinates"] = "qq nowhere"
        report = self.compress("--rel", "1e-3")
        self.assertEqual({n for n, d in report.items() if d["compressed"]}, {"/ccc", "/v"})
        self.assertIn("/lat", report["/aaa"]["reason"])
        self.assertTrue(self.compress("--rel", "1e-3", "--dataset", "/lat")["/aaa"]["compressed"])

    def test_verify_tells_of_all(self):
        with h5py.File(self.path("in.h5"), "w") as file:
            file["x"] = self.field
            layout = h5py.VirtualLayout(self.field.shape, "f4")
            layout[:] = h5py.VirtualSource(".", "x", shape=self.field.shape)
            file.create_virtual_dataset("virtual", layout)
        self.compress("--rel", "1e-3")
        verdicts = self.verdicts("in.h5", "out.h5")
        self.assertIsNone(verdicts["/virtual"]["equal"])
        self.assertIn("other datasets", verdicts["/virtual"]["not_compared"])
        os.mkdir(self.path("part"))
        with h5py.File(self.path("part/in.h5"), "w") as file:
            file["x"] = self.field
            file.create_dataset("elsewhere", (100,), "f4", external=[("missing.raw", 0, 400)])
        self.homz("compress", "part/in.h5", "out.h5", "--rel", "1e-3", "--force", "-q")
        run = self.homz("verify", "part/in.h5", "out.h5", expect=FAILED)
        self.assertRegex(run.text, "/x .* kept")
        self.assertRegex(run.text, "/elsewhere .* UNREADABLE")
        self.assertIn("external raw data file", run.errors)

    def test_undeclared_fill_is_no_range(self):
        field = self.field.copy()
        field[0, :5] = 9.96921e36
        with h5py.File(self.path("in.h5"), "w") as file:
            file["x"] = field
        self.homz("compress", "in.h5", "out.h5", "--rel", "1e-3", "--force", "-q", warning="netCDF's default fill value")
        self.homz("decompress", "out.h5", "plain.h5", "-q")
        verdict = self.verdicts("in.h5", "plain.h5", "--rel", "1e-3")["/x"]
        self.assertEqual(verdict["fill"], 250)
        self.assertLess(verdict["bound"], 0.04)

    def test_fill_of_restored_file(self):
        with h5py.File(self.path("in.h5"), "w") as file:
            file["masked"] = self.masked
        self.compress("--rel", "1e-3", "--fill", "1e20")
        self.homz("decompress", "out.h5", "back.h5")
        self.json("verify", "in.h5", "back.h5", "--rel", "1e-3", warning="--fill 1e+20")
        got = self.verdicts("in.h5", "back.h5", "--rel", "1e-3", "--fill", "1e20")["/masked"]
        self.assertEqual(got["fill"], 24 * 10 * 50)
        self.assertLess(got["bound"], 1)

    def test_changes_are_found(self):
        self.compress("-c", "zstd")
        self.homz("decompress", "out.h5", "b.h5")
        with h5py.File(self.path("b.h5"), "r+") as file:
            file["T"][3, 4, 5] += 1
            file["count"][17] = -1
            del file["scalar"]
            file["new"] = [1.0]
        got = self.verdicts("in.h5", "b.h5", "--abs", "0.5", expect=DIFFERS)
        self.assertEqual(got["/T"]["first_violation"]["index"], [3, 4, 5])
        self.assertEqual(got["/T"]["violations"], 1)
        self.assertFalse(got["/count"]["equal"])
        self.assertEqual(got["/scalar"]["difference"], "missing")
        self.assertEqual(got["/new"]["difference"], "not in the original")
        self.assertIn("[3, 4, 5]", self.homz("verify", "in.h5", "b.h5", "--abs", "0.5", expect=DIFFERS).text)

    def test_names_that_upset(self):  # C9
        with h5py.File(self.path("in.h5"), "w") as file:
            for name in (b"bad\xffbytes", b"esc\x1b[31mape", "t\u00fcr".encode(), b"new\nline"):
                file[name] = self.field
        for arguments in (("compress", "in.h5", "out.h5", "--abs", "0.01"), ("info", "out.h5"),
                          ("verify", "in.h5", "out.h5")):
            text = self.homz(*arguments, *(("--force",) if arguments[0] == "compress" else ())).text
            self.assertFalse(any(ord(c) < 32 and c != "\n" or 0x7f <= ord(c) < 0xa0 for c in text), repr(text))
            self.assertIn(r"esc\x1b[31mape", text)
            self.assertIn("t\u00fcr", text)
            extra = ("--force",) if arguments[0] == "compress" else ()
            self.assertEqual(len(parse_json(self.homz(*arguments, "--json", *extra).text)["datasets"]), 4)

    def test_usage(self):
        self.homz("compress", "in.h5", "x.h5", "--abs", "1", "--type", "f32", "--shape", "1", expect=USAGE)
        self.homz("verify", "in.h5", "in.h5", "--type", "f32", "--shape", "1", expect=USAGE)
        self.write("raw", [1.0])
        self.homz("verify", "in.h5", "raw", expect=USAGE)
        self.homz("verify", "raw", "in.h5", expect=USAGE)
        self.assert_no_litter(["in.h5", "raw"])

    def test_damaged_file(self):
        self.compress("--abs", "0.01")
        whole = self.read_bytes("out.h5")
        for length in (len(whole) // 2, 600):
            self.write_bytes("cut.h5", whole[:length])
            self.homz("info", "cut.h5", expect=FAILED)
            self.homz("decompress", "cut.h5", "x.h5", expect=FAILED)
            self.homz("verify", "in.h5", "cut.h5", expect=FAILED)
            self.homz("compress", "cut.h5", "x.h5", "--abs", "1", expect=FAILED)
        damaged = bytearray(whole)
        at = damaged.find(b"\x89HMZ")  # if streams lie in the chunks as they are, one is hit for certain
        if at >= 0:
            damaged[at + 140] ^= 0xff
            self.write_bytes("bad.h5", bytes(damaged))
            self.homz("decompress", "bad.h5", "x.h5", expect=FAILED)
            self.homz("verify", "in.h5", "bad.h5", expect=FAILED)
            os.remove(self.path("bad.h5"))
        self.assert_no_litter(["in.h5", "out.h5", "cut.h5"])

    def test_disk_full_and_permissions(self):
        self.write_bytes("out.h5", b"precious")
        self.homz("compress", "in.h5", "out.h5", "--abs", "1e-6", "--force", expect=FAILED,
                  preexec_fn=no_core_and_small_files)
        self.assertEqual(self.read_bytes("out.h5"), b"precious")
        self.assert_no_litter(["in.h5", "out.h5"])
        os.chmod(self.path("in.h5"), 0o640)
        self.homz("compress", "in.h5", "out.h5", "--abs", "0.01", "--force", umask=0)
        self.assertEqual(stat.S_IMODE(os.stat(self.path("out.h5")).st_mode), 0o640)
        self.homz("compress", "in.h5", "in.h5", "--abs", "0.01", "--force", expect=USAGE)

    def test_disk_full_anywhere(self):
        """The HDF5 library itself crashes at some of these limits; the program must not."""
        self.compress("--abs", "0.01")
        for limit in (0, 500, 1000, 3000, 10000, 30000, 100000, 200000):
            for command in (("compress", "in.h5", "x.h5", "--abs", "1e-5"), ("decompress", "out.h5", "x.h5")):
                self.homz(*command, expect=FAILED,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
                self.assert_no_litter(["in.h5", "out.h5"])

    def test_ended_by_a_signal(self):
        with h5py.File(self.path("in.h5"), "w") as file:
            file["noise"] = numpy.random.default_rng(1).random(4000000, dtype="f4")
        run = subprocess.Popen([harness.PROGRAM, "compress", "in.h5", "x.h5", "-c", "zstd:level=19"], cwd=self.folder,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(run.kill)
        while not [name for name in os.listdir(self.folder) if name.startswith(".homz-")]:
            time.sleep(0.01)
        time.sleep(0.2)
        run.terminate()
        self.assertEqual(run.wait(60), -signal.SIGTERM)
        self.assert_no_litter(["in.h5"], within=10)  # whoever takes it away may need a moment

    def test_killed(self):
        with h5py.File(self.path("in.h5"), "w") as file:
            file["noise"] = numpy.random.default_rng(1).random(4000000, dtype="f4")
        run = subprocess.Popen([harness.PROGRAM, "compress", "in.h5", "x.h5", "-c", "zstd:level=19"], cwd=self.folder,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.addCleanup(run.kill)
        while not [name for name in os.listdir(self.folder) if name.startswith(".homz-")]:
            time.sleep(0.01)
        children = []
        while not children:
            with open(f"/proc/{run.pid}/task/{run.pid}/children", encoding="ascii") as file:
                children = file.read().split()
        os.kill(int(children[0]), signal.SIGKILL)
        self.assertIn(b"was killed (out of memory?)", run.communicate(timeout=60)[1])
        self.assertEqual(run.returncode, FAILED)
        self.assert_no_litter(["in.h5"])

    def test_bench(self):
        results = self.json("bench", "in.h5", "-c", "cuszp2", "--abs", "0.01", "--repeat", "1", "--dataset", "/T",
                            "--dataset", "/group/*")["results"]
        self.assertEqual({r["dataset"] for r in results}, {"/T", "/group/P", "/group/be", "/group/masked"})
        self.assertTrue(all(r["bound_ok"] for r in results))
        self.homz("bench", "in.h5", "--dataset", "/nope", expect=USAGE)


if __name__ == "__main__":
    harness.main()
