"""What the tests of whole files share: the driver program, and folders of their own."""

import collections
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import h5py
import numpy as np

DRIVER = os.environ.get("HOMZ_HDF5_DRIVER", "test_hdf5_driver")

Report = collections.namedtuple(
    "Report", "compressed reason codec bound fill original_bytes stored_bytes requested warnings")


class Failure(Exception):
    pass


def run(*arguments, limit=None):
    """`limit` is called in the driver's process before it starts."""
    done = subprocess.run([DRIVER, *map(str, arguments)], capture_output=True, text=True, preexec_fn=limit)
    if done.returncode not in (0, 1):
        raise AssertionError(f"driver ended with {done.returncode}: {done.stderr}")
    if done.returncode == 1:
        raise Failure(done.stderr)
    return done.stdout, done.stderr


def reports(text):
    result = {}
    for line in text.splitlines():
        path, state, reason, codec, bound, fill, original, stored, requested, warnings = line.split("\t")
        result[path] = Report(state == "compressed", reason, codec, float.fromhex(bound),
                              float(fill) if fill else None, int(original), int(stored), requested, warnings)
    return result


class FileTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="homz-hdf5-")
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def content(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def put(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content)

    def write(self, name="in.h5", **datasets):
        """A file of datasets: name = array, or (array, creation arguments, attributes)."""
        with h5py.File(self.path(name), "w") as file:
            for dataset, content in datasets.items():
                data, options, attributes = (content if isinstance(content, tuple) else (content, {}, {}))
                file.create_dataset(dataset, data=data, **options).attrs.update(attributes)
        return self.path(name)

    def compress(self, source, codec="cuszp2", bound="rel:1e-3", *options):
        return reports(run("compress", source, self.path("c.h5"), codec, bound, *options)[0])

    def decompress(self):
        return reports(run("decompress", self.path("c.h5"), self.path("d.h5"))[0])

    def check_values(self, source, told):
        """Every element of every dataset against the bound that was told, no tolerance on top."""
        with h5py.File(source, "r") as before, h5py.File(self.path("d.h5"), "r") as after:
            for path, report in told.items():
                if not report.compressed:
                    continue
                self.assertEqual(before[path].dtype, after[path].dtype, path)
                x, y = before[path][()], after[path][()]
                worst = worst_error(x, y, report)
                self.assertLessEqual(worst, report.bound, path)


def worst_error(x, y, report):
    native = x.dtype.newbyteorder("=")
    x, y = x.astype(native).reshape(-1), y.astype(native).reshape(-1)
    exact = ~np.isfinite(x)
    if report.fill is not None:
        exact |= x == x.dtype.type(report.fill)
    bits = f"u{x.dtype.itemsize}"
    if not np.array_equal(x[exact].view(bits), y[exact].view(bits)):
        return np.inf  # a value that had to return bit for bit
    difference = np.abs(x[~exact].astype(np.longdouble) - y[~exact].astype(np.longdouble))
    return float(difference.max(initial=0)) if not np.isnan(difference).any() else np.inf


if __name__ == "__main__":
    sys.exit("not a test")
