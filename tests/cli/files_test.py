"""Inputs that are no regular, unchanging files, and outputs to places that cannot take them."""

import os
import socket

import harness
from harness import FAILED, USAGE, Case

RAW = ("--type", "f32", "--shape", "1000", "--abs", "0.01")


class Files(Case):
    def setUp(self):
        super().setUp()
        self.write("in", [i * 0.5 for i in range(1000)])

    def test_input_that_is_no_file(self):  # C6
        os.mkdir(self.path("folder"))
        os.mkfifo(self.path("pipe"))
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        os.chdir(self.folder)
        listener.bind("socket")
        for name, kind in (("folder", "directory"), ("pipe", "pipe"), ("/dev/zero", "device"), ("socket", "socket"),
                           ("missing", "No such file"), ("in/below", "directory")):
            for command in (("compress", name, "out", *RAW), ("decompress", name, "out"), ("info", name),
                            ("verify", name, "in", *RAW), ("verify", "in", name, *RAW), ("bench", name)):
                with self.subTest(name=name, command=command[0]):
                    self.assertIn(kind, self.homz(*command, expect=FAILED).errors)
        self.assert_no_litter(["in", "folder", "pipe", "socket"])

    def test_unreadable_input(self):
        if os.geteuid() == 0:
            self.skipTest("root reads everything")
        os.chmod(self.path("in"), 0)
        self.assertIn("Permission denied", self.homz("compress", "in", "out", *RAW, expect=FAILED).errors)

    def test_file_that_has_more_than_its_size_says(self):  # as one that grows while it is read
        if not os.path.exists("/proc/version"):
            self.skipTest("needs /proc")
        run = self.homz("compress", "/proc/version", "out", "--type", "f32", "--shape", "0", "--abs", "1", expect=FAILED)
        self.assertIn("changed while it was read", run.errors)
        self.assert_no_litter(["in"])

    def test_output_is_input(self):  # C1
        os.symlink("in", self.path("link"))
        os.link(self.path("in"), self.path("hard"))
        before = self.read_bytes("in")
        for name in ("in", "link", "hard", "./in", os.path.join(self.folder, "in")):
            for force in ((), ("--force",)):
                run = self.homz("compress", "in", name, *RAW, *force, expect=USAGE)
                self.assertIn("same file", run.errors)
                run = self.homz("compress", "link", name, *RAW, *force, expect=USAGE)
                self.assertIn("same file", run.errors)
        self.assertEqual(self.read_bytes("in"), before)
        self.assert_no_litter(["in", "link", "hard"])

    def test_output_exists(self):
        self.write_bytes("out", b"precious")
        self.assertIn("--force", self.homz("compress", "in", "out", *RAW, expect=USAGE).errors)
        self.assertEqual(self.read_bytes("out"), b"precious")
        self.homz("compress", "in", "out", *RAW, "--force")
        self.homz("verify", "in", "out")
        self.homz("decompress", "out", "in", expect=USAGE)
        self.assert_no_litter(["in", "out"])

    def test_output_through_a_link(self):
        os.mkdir(self.path("far"))
        self.write_bytes("far/target", b"precious")
        os.symlink("far/target", self.path("link"))
        self.homz("compress", "in", "link", *RAW, expect=USAGE)
        self.homz("compress", "in", "link", *RAW, "--force")
        self.assertTrue(os.path.islink(self.path("link")))
        self.homz("verify", "in", "far/target")
        os.symlink("nowhere", self.path("dangling"))
        for force in ((), ("--force",)):
            self.assertIn("link to nowhere", self.homz("compress", "in", "dangling", *RAW, *force, expect=USAGE).errors)
        self.assert_no_litter(["in", "far", "link", "dangling"])

    def test_output_that_is_no_file(self):
        os.mkdir(self.path("folder"))
        os.mkfifo(self.path("pipe"))
        self.assertIn("directory", self.homz("compress", "in", "folder", *RAW, "--force", expect=USAGE).errors)
        self.assertIn("no regular file", self.homz("compress", "in", "pipe", *RAW, "--force", expect=USAGE).errors)
        self.assertIn("no regular file", self.homz("compress", "in", "/dev/full", *RAW, "--force", expect=USAGE).errors)
        self.homz("compress", "in", "missing/out", *RAW, expect=FAILED)
        self.homz("compress", "in", "in/out", *RAW, expect=FAILED)
        self.homz("compress", "in", "out/", *RAW, expect=FAILED)
        self.assert_no_litter(["in", "folder", "pipe"])

    def test_output_in_a_place_that_refuses(self):
        if os.geteuid() == 0:
            self.skipTest("root writes everywhere")
        os.mkdir(self.path("locked"), 0o500)
        self.homz("compress", "in", "locked/out", *RAW, expect=FAILED)

    def test_names_as_long_as_can_be(self):
        name = "n" * 255
        self.homz("compress", "in", name, *RAW)
        self.homz("compress", "in", name + "n", *RAW, expect=FAILED)
        self.assert_no_litter(["in", name])

    def test_empty_file(self):  # C7, S1
        self.write_bytes("empty", b"")
        for shape in ("0", "0x10", "10x0", "4x0x5"):
            self.homz("compress", "empty", "out", "--type", "f64", "--shape", shape, "--abs", "1", "--force")
            self.assertIn("0 values", self.homz("info", "out").text)
            self.assertIn("nothing to compare", self.homz("verify", "empty", "out").text)
            verdict = self.json("verify", "empty", "out")["datasets"][0]
            self.assertIsNone(verdict["psnr"])
            self.homz("decompress", "out", "back", "--force")
            self.assertEqual(self.read_bytes("back"), b"")
        self.homz("info", "empty", expect=FAILED)
        self.homz("decompress", "empty", "back", "--force", expect=FAILED)
        self.homz("bench", "empty", "--type", "f32", "--shape", "0", expect=USAGE)

    def test_wrong_kinds_of_content(self):  # D4
        self.homz("compress", "in", "out", *RAW)
        self.assertIn("already compressed", self.homz("compress", "out", "out2", *RAW, expect=USAGE).errors)
        self.write_bytes("text", b"hello world\n")
        self.assertIn("neither", self.homz("decompress", "text", "x", expect=FAILED).errors)
        self.assertIn("neither", self.homz("info", "text", expect=FAILED).errors)
        self.assert_no_litter(["in", "out", "text"])


if __name__ == "__main__":
    harness.main()
