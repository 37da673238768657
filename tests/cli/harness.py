"""What the tests of the program share: running it, files of values, JSON without extensions."""

import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = ""
OK, DIFFERS, USAGE, FAILED = 0, 1, 2, 3


def main():
    """Entry point of every test script: the first argument is the program."""
    global PROGRAM
    sys.modules["harness"].PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=1)


def refuse_constant(name):
    raise ValueError("JSON has no " + name)


def parse_json(text):
    return json.loads(text, parse_constant=refuse_constant)


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="homz-test-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def homz(self, *arguments, expect=OK, **options):
        """Runs the program in the test's folder; its exit status must be `expect`, its errors one line.

        If `warning` is given, it must warn with these words; else it must not warn."""
        warning = options.pop("warning", None)
        options.setdefault("stdout", subprocess.PIPE)
        run = subprocess.run(
            [sys.modules["harness"].PROGRAM, *arguments],
            cwd=self.folder, stderr=subprocess.PIPE, timeout=120, **options)
        lines = run.stderr.decode("utf-8").splitlines(keepends=True)
        run.warnings = "".join(line for line in lines if line.startswith("homz: warning: "))
        errors = "".join(line for line in lines if not line.startswith("homz: warning: "))
        self.assertIn(warning or "", run.warnings)
        if warning is None:
            self.assertEqual(run.warnings, "")
        self.assertEqual(run.returncode, expect, f"homz {' '.join(map(str, arguments))}\n{errors}")
        if expect in (USAGE, FAILED):
            self.assertRegex(errors, r"\Ahomz: [^\n]+\n\Z")
        else:
            self.assertEqual(errors, "")
        run.errors = errors
        run.text = run.stdout.decode("utf-8") if run.stdout is not None else ""
        return run

    def json(self, *arguments, expect=OK, **options):
        return parse_json(self.homz(*arguments, "--json", expect=expect, **options).text)

    def write(self, name, values, form="<f"):
        """A raw file of values; form as in struct, for one value."""
        data = struct.pack(f"{form[0]}{len(values)}{form[1]}", *values)
        return self.write_bytes(name, data)

    def write_bytes(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)
        return name

    def read_bytes(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def read(self, name, form="<f"):
        data = self.read_bytes(name)
        return list(struct.unpack(f"{form[0]}{len(data) // struct.calcsize(form)}{form[1]}", data))

    def assert_no_litter(self, expected, within=0):
        """The folder holds these files and nothing else, in so many seconds: no temporary file stays behind."""
        until = time.monotonic() + within
        while sorted(os.listdir(self.folder)) != sorted(expected) and time.monotonic() < until:
            time.sleep(0.01)
        self.assertEqual(sorted(os.listdir(self.folder)), sorted(expected))
