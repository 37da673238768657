"""Outputs are there as a whole or not at all, and are never readable by more people than the input."""

import os
import pty
import random
import resource
import signal
import stat
import subprocess
import sys
import time

import harness
from harness import FAILED, OK, Case

SLOW = ("--type", "f32", "--shape", "8388608", "-c", "zstd:level=19")


def no_core_and_small_files():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (16384, 16384))


class Outputs(Case):
    def write_noise(self, name, values, mode=0o644):
        self.write_bytes(name, random.Random(1).randbytes(4 * values))
        os.chmod(self.path(name), mode)

    def start_slow(self, *options):
        """Starts a compression that takes seconds; returns when its temporary file is there."""
        self.write_noise("in", 8388608, 0o640)
        run = subprocess.Popen([harness.PROGRAM, "compress", "in", "out", *SLOW, *options], cwd=self.folder,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, umask=0)
        self.addCleanup(run.kill)
        for _ in range(6000):
            temporary = [name for name in os.listdir(self.folder) if name.startswith(".homz-")]
            if temporary:
                return run, temporary[0]
            time.sleep(0.01)
        self.fail("no temporary file appeared")

    def test_ended_by_a_signal(self):  # C3
        for ending in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGXCPU):
            with self.subTest(ending=ending):
                self.write_bytes("out", b"precious")
                run, temporary = self.start_slow("--force")
                mode = os.stat(self.path(temporary)).st_mode
                self.assertEqual(stat.S_IMODE(mode) & 0o077, 0)
                time.sleep(0.05)
                run.send_signal(ending)
                self.assertEqual(run.wait(60), -ending)
                self.assertEqual(self.read_bytes("out"), b"precious")
                self.assert_no_litter(["in", "out"])

    def test_killed(self):
        self.write_bytes("out", b"precious")
        run, temporary = self.start_slow("--force")
        run.kill()
        run.wait(60)
        self.assertEqual(self.read_bytes("out"), b"precious")
        self.assert_no_litter(["in", "out", temporary])

    def test_ignored_hangup_stays_ignored(self):
        run = subprocess.run(["nohup", harness.PROGRAM, "codecs"], cwd=self.folder, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
        self.assertEqual(run.returncode, OK)

    def test_permissions(self):  # C4
        self.write("in", [1.0, 2.0])
        for mode, mask, expected in ((0o600, 0, 0o600), (0o640, 0, 0o640), (0o644, 0o077, 0o600), (0o666, 0, 0o666),
                                     (0o400, 0, 0o400), (0o777, 0, 0o666), (0o604, 0, 0o604)):
            with self.subTest(mode=oct(mode)):
                os.chmod(self.path("in"), mode)
                self.homz("compress", "in", "out", "--type", "f32", "--shape", "2", "--abs", "1", "--force", umask=mask)
                self.assertEqual(stat.S_IMODE(os.stat(self.path("out")).st_mode), expected)
                self.homz("decompress", "out", "back", "--force", umask=mask)
                self.assertEqual(stat.S_IMODE(os.stat(self.path("back")).st_mode), expected)

    def test_disk_full(self):  # C2, by a limit on the size of files
        self.write_noise("in", 100000)
        raw = ("--type", "f32", "--shape", "100000", "-c", "identity")
        run = self.homz("compress", "in", "out", *raw, expect=FAILED, preexec_fn=no_core_and_small_files)
        self.assertIn("File too large", run.errors)
        self.assert_no_litter(["in"])
        self.homz("compress", "in", "out", *raw)
        before = self.read_bytes("out")
        self.homz("compress", "in", "out", *raw, "--force", expect=FAILED, preexec_fn=no_core_and_small_files)
        self.homz("decompress", "out", "back", expect=FAILED, preexec_fn=no_core_and_small_files)
        self.assertEqual(self.read_bytes("out"), before)
        self.assert_no_litter(["in", "out"])

    def test_really_full_disk(self):
        """In a file system of its own, where the kernel lets an ordinary user make one."""
        self.write_noise("in", 100000)
        script = ("set -e; mkdir small; mount -t tmpfs -o size=64k none small; echo precious > small/out; set +e; "
                  f"'{harness.PROGRAM}' compress in small/out --type f32 --shape 100000 -c identity --force; "
                  "echo status $?; cat small/out; ls -A small")
        run = subprocess.run(["unshare", "-rm", "sh", "-c", script], cwd=self.folder, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
        if "status" not in run.stdout:
            self.skipTest("cannot mount here")
        self.assertEqual(run.stdout, "status 3\nprecious\nout\n")
        self.assertIn("No space left on device", run.stderr)

    def test_standard_output_is_full_or_gone(self):
        with open("/dev/full", "wb") as full:
            run = self.homz("codecs", expect=FAILED, stdout=full)
        self.assertIn("standard output", run.errors)
        reader, writer = os.pipe()
        os.close(reader)
        self.homz("codecs", stdout=writer)
        os.close(writer)

    def test_no_progress_for_quick_work_and_none_off_a_terminal(self):
        self.write("in", [1.0, 2.0])
        control, terminal = pty.openpty()
        run = subprocess.run([harness.PROGRAM, "compress", "in", "out", "--type", "f32", "--shape", "2", "--abs", "1"],
                             cwd=self.folder, stdout=subprocess.DEVNULL, stderr=terminal)
        os.close(terminal)
        self.assertEqual(run.returncode, OK)
        try:
            self.assertEqual(os.read(control, 100), b"")
        except OSError:  # how Linux tells that the other end is closed
            pass
        os.close(control)

    def test_quiet(self):
        self.write("in", [1.0, 2.0])
        raw = ("--type", "f32", "--shape", "2", "--abs", "1")
        self.assertEqual(self.homz("compress", "in", "out", *raw, "-q").text, "")
        self.assertEqual(self.homz("decompress", "out", "back", "-q").text, "")


if __name__ == "__main__":
    harness.main()
