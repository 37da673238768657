"""Whole files through compress and decompress: nothing may be lost but what the bound allows."""

import glob
import os
import resource
import signal
import unittest

import h5py
import numpy as np

import make_files
from compare import compare_files
from support import Failure, FileTest, reports, run

FIELDS = [folder for folder in os.environ.get("HOMZ_FIELDS", "").split(":") if os.path.isdir(folder)]


class Structure(FileTest):
    def check(self, libver, track_order, userblock):
        source = self.path("in.h5")
        make_files.make_mixed(source, libver, track_order, userblock)
        before = self.content("in.h5")
        told = self.compress(source, "zstd", "lossless", "dataset=/data/[!z]*", "dataset=/committed/*",
                             "dataset=/data/chunked", "exclude=/data/scale")
        changed = {path for path, report in told.items() if report.compressed}
        expected = {"/data/" + name for name in make_files.FLOATS} | {"/committed/floats"}
        self.assertEqual(changed, expected)
        compare_files(source, self.path("c.h5"), changed | {"/other/virtual"})
        self.decompress()
        compare_files(source, self.path("d.h5"))
        self.assertEqual(before, self.content("in.h5"), "the input was changed")
        self.check_storage(changed)
        self.check_equal(source)

    def check_storage(self, changed):
        with h5py.File(self.path("d.h5"), "r") as file:
            for path in changed:
                resizable = file[path].maxshape != file[path].shape
                self.assertEqual(file[path].chunks is not None, resizable, path)
                self.assertEqual(file[path].id.get_create_plist().get_nfilters(), 0, path)
            self.assertEqual(file["other/external"].external[0][2], 8000)
            self.assertEqual(file["other/virtual"].virtual_sources()[0].file_name, ".")
            self.assertEqual(file["other/records"].compression, "gzip")

    def check_equal(self, source):
        for other in ("c.h5", "d.h5"):
            lines = run("equal", source, self.path(other))[0].splitlines()
            self.assertGreater(len(lines), 30)
            self.assertEqual([line for line in lines if not line.endswith("\tequal")], [], other)

    def test_oldest_format(self):
        self.check("earliest", False, 0)

    def test_newest_format(self):
        self.check("latest", False, 0)

    def test_creation_order(self):
        self.check("earliest", True, 0)

    def test_newest_format_with_creation_order_and_userblock(self):
        self.check("latest", True, 2048)

    def test_userblock(self):
        self.check("earliest", False, 512)

    def write_strange(self, dtype):
        """A dataset behind a filter that no one has."""
        source = self.write(x=np.arange(4))
        with h5py.File(source, "a") as file:
            plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            plist.set_chunk((5000,))
            plist.set_filter(480, h5py.h5z.FLAG_OPTIONAL, (1, 2))
            dataset = h5py.h5d.create(file.id, b"strange", dtype, h5py.h5s.create_simple((5000,)), plist)
            dataset.write_direct_chunk((0,), b"coded by nobody")
        return source

    def test_chunks_without_their_filter_are_copied(self):
        self.compress(self.write_strange(h5py.h5t.STD_I32LE))
        with h5py.File(self.path("c.h5"), "r") as file:
            self.assertEqual(file["strange"].id.read_direct_chunk((0,)), (0, b"coded by nobody"))
        same = run("equal", self.path("in.h5"), self.path("c.h5"))[0]
        self.assertIn("/strange\tequal", same)

    def test_floats_behind_an_unknown_filter_fail_by_name(self):
        source = self.write_strange(h5py.h5t.IEEE_F32LE)
        with self.assertRaises(Failure) as caught:
            self.compress(source)
        for word in ("/strange", "480", "--exclude"):
            self.assertIn(word, str(caught.exception))
        self.compress(source, "cuszp2", "rel:1e-3", "exclude=/strange")

    def test_format_stays_old(self):
        """HDF5 1.8 can read the structure of what came from it."""
        source = self.write(x=(make_files.field((100, 90)), {"chunks": (33, 40)}, {}))
        self.assertTrue(self.compress(source)["/x"].compressed)
        content = self.content("c.h5")
        self.assertEqual(content[8], self.content("in.h5")[8])  # version of the superblock
        for signature in (b"FAHD", b"EAHD"):  # indexes of chunks that came with 1.10
            self.assertNotIn(signature, content)


class RealFields(FileTest):
    @unittest.skipUnless(FIELDS, "no folder of fields (HOMZ_FIELDS)")
    def test_all(self):
        files = sorted(path for folder in FIELDS for path in glob.glob(os.path.join(folder, "*.h5")) +
                       glob.glob(os.path.join(folder, "*.nc")))
        self.assertTrue(files)
        for source in files:
            for codec, bound in (("zstd", "lossless"), ("cuszp2", "rel:1e-3"), ("cuszp2", "abs:1e-2")):
                with self.subTest(source=os.path.basename(source), codec=codec, bound=bound):
                    self.check(source, codec, bound)

    def check(self, source, codec, bound):
        told = self.compress(source, codec, bound)
        changed = {path for path, report in told.items() if report.compressed}
        compare_files(source, self.path("c.h5"), changed)
        self.decompress()
        compare_files(source, self.path("d.h5"), changed if codec != "zstd" else ())
        self.check_values(source, told)
        inspected = reports(run("inspect", self.path("c.h5"))[0])
        for path in changed:
            same = ("compressed", "codec", "bound", "requested", "stored_bytes", "original_bytes", "fill")
            for name in same:
                a, b = getattr(inspected[path], name), getattr(told[path], name)
                self.assertTrue(a == b or (a != a and b != b), f"{path}: {name} {a} and {b}")


class Refusals(FileTest):
    def assert_refused(self, words, *arguments, limit=None):
        with self.assertRaises(Failure) as caught:
            run(*arguments, limit=limit)
        for word in words:
            self.assertIn(word, str(caught.exception))
        return str(caught.exception)

    def test_what_is_no_hdf5_file(self):
        text, empty = self.path("text"), self.path("empty")
        self.put("text", b"no HDF5 here\n" * 100)
        self.put("empty", b"")
        for path, word in ((text, "not an HDF5 file"), (empty, "is empty"), (self.folder, "is a directory"),
                           (self.path("absent"), "No such file")):
            for command in (("compress", path, self.path("o"), "zstd", "lossless"),
                            ("decompress", path, self.path("o")), ("inspect", path), ("equal", path, path)):
                self.assert_refused([path, word], *command)

    def test_every_truncation(self):
        source = self.write(x=(make_files.field((30, 60)), {"chunks": (10, 60)}, {}))
        self.compress(source, "zstd", "lossless")
        whole = self.content("c.h5")
        for length in range(0, len(whole), 97):
            self.put("cut", whole[:length])
            with self.assertRaises(Failure):
                run("decompress", self.path("cut"), self.path("o"))

    def test_damaged_chunk_is_named(self):
        source = self.write(x=(make_files.field((30, 60)), {"chunks": (10, 60)}, {}))
        self.compress(source, "zstd", "lossless")
        with h5py.File(self.path("c.h5"), "r") as file:
            chunk = file["x"].id.get_chunk_info(1)
        with open(self.path("c.h5"), "r+b") as file:
            file.seek(chunk.byte_offset + chunk.size // 2)
            file.write(b"damage")
        words = ["/x", "chunk at (10, 0)", "checksum"]
        self.assert_refused(words, "decompress", self.path("c.h5"), self.path("o"))

    def test_damage_behind_another_filter(self):
        source = self.write(x=(make_files.field((30, 60)), {"chunks": (10, 60), "compression": "gzip"}, {}))
        with h5py.File(source, "r") as file:
            chunk = file["x"].id.get_chunk_info(1)
        with open(source, "r+b") as file:
            file.seek(chunk.byte_offset + chunk.size // 2)
            file.write(b"damage" * 5)
        words = ["/x", "chunk at (10, 0)", "deflate", "inflate() failed", "--exclude"]
        self.assert_refused(words, "compress", source, self.path("o"), "cuszp2", "rel:1e-3")

    def test_flipped_bits(self):
        """In chunks and the filter's parameters. (HDF5 itself crashes on damaged structures.)"""
        source = self.write(x=(make_files.field((30, 60)), {"chunks": (10, 60)}, {"units": "K"}))
        self.compress(source, "zstd", "lossless")
        whole = self.content("c.h5")
        with h5py.File(self.path("c.h5"), "r") as file:
            chunks = [file["x"].id.get_chunk_info(i) for i in range(3)]
        places = np.concatenate([chunk.byte_offset + np.arange(chunk.size) for chunk in chunks])
        parameters = whole.index(b"homz\0") + 8
        random = np.random.default_rng(5)
        for part in (places, range(parameters, parameters + 80)):
            for _ in range(60):
                damaged = bytearray(whole)
                for _ in range(3):
                    damaged[random.choice(part)] ^= 1 << random.integers(0, 8)
                self.put("cut", damaged)
                for command in ("decompress", "inspect"):
                    try:
                        run(command, self.path("cut"), self.path("o"))  # no crash, whatever the outcome
                    except Failure:
                        pass

    def test_wrong_options(self):
        source = self.write(x=make_files.field((30, 60)))
        self.assert_refused(["nonsense"], "compress", source, self.path("o"), "nonsense", "rel:1e-3")
        self.assert_refused(["x.h5"], "compress", source, self.path("no/x.h5"), "zstd", "lossless")
        ordinary = ("compress", source, self.path("o"), "zstd", "lossless")
        self.assert_refused(["invalid argument", "'/y' matches no dataset"], *ordinary, "dataset=/y")
        self.assert_refused(["did you mean '/x'?"], *ordinary, "dataset=x")
        self.assertIn("matches no dataset", run(*ordinary, "exclude=/y")[1])

    def test_messages_name_the_file_once_and_no_internals(self):
        source = self.write(x=np.random.default_rng(2).random((300, 400)))
        with h5py.File(source, "a"):  # locks it
            words = [source, "another program has it open for writing"]
            message = self.assert_refused(words, "inspect", source)
        self.assertEqual(message.count(source), 1)
        output = self.path("o")

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))

        message = self.assert_refused([f"'{output}'", "File too large"], "compress", source, output, "zstd",
                                      "lossless", limit=limit)
        for word in ("--exclude", "0x", "errno", "bytes actually", source):
            self.assertNotIn(word, message)

    def test_extents_whose_product_wraps(self):
        with h5py.File(self.path("wide.h5"), "w") as file:
            file.create_dataset("x", (1 << 33, 1 << 33), "f4", chunks=(16, 16))
        for command in (("compress", self.path("wide.h5"), self.path("o"), "zstd", "lossless"),
                        ("inspect", self.path("wide.h5"))):
            self.assert_refused(["/x", "more than 2^64 bytes"], *command)


if __name__ == "__main__":
    unittest.main(verbosity=2)
