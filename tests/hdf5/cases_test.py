"""Faults that users of such tools reported, as whole files; numbers are those of the collection of cases."""

import os
import shutil
import unittest

import h5py
import numpy as np

import make_files
from support import Failure, FileTest, run


class Cases(FileTest):
    def round_trip(self, source, codec="cuszp2", bound="rel:1e-3", *options):
        told = self.compress(source, codec, bound, *options)
        self.decompress()
        self.check_values(source, told)
        return told

    def masked(self, fill):
        i, j = np.indices((180, 360))
        data = (16 * np.sin(i / 30) * np.cos(j / 40)).astype("f4")
        mask = j + i // 3 < 170
        data[mask] = fill
        return data, mask

    def test_3_masks_that_are_declared(self):
        sizes = []
        for fill in (1e35, -1e10, 9.96921e36, -9999):
            data, mask = self.masked(np.float32(fill))
            source = self.write(t=(data, {}, {"_FillValue": np.float32(fill)}))
            told = self.round_trip(source)["/t"]
            valid = data[~mask]
            self.assertAlmostEqual(told.bound, 1e-3 * (float(valid.max()) - float(valid.min())), delta=1e-8)
            self.assertEqual(np.float32(told.fill), np.float32(fill))
            sizes.append(told.stored_bytes)
        self.assertEqual(len(set(sizes)), 1)

    def test_3_mask_of_netcdf_default_undeclared(self):
        data, _ = self.masked(np.float32(9.969209968386869e36))
        told = self.round_trip(self.write(t=data))["/t"]
        self.assertLess(told.bound, 0.04)
        self.assertIn("netCDF's default fill value", told.warnings)
        told = self.round_trip(self.write(t=data), "cuszp2", "rel:1e-3", "fill=none")["/t"]
        self.assertGreater(told.bound, 1e33)
        self.assertIn("--fill", told.warnings)

    def test_3_mask_undeclared(self):
        data, _ = self.masked(-9999)
        told = self.round_trip(self.write(t=data))["/t"]
        self.assertIn("-9999", told.warnings)
        told = self.round_trip(self.write(t=data), "cuszp2", "rel:1e-3", "fill=-9999")["/t"]
        self.assertLess(told.bound, 0.04)
        self.assertEqual(told.warnings, "")

    def test_3_repeated_markers(self):
        random = np.random.default_rng(3)
        data = (20 * np.sin(np.arange(60000) / 50)).astype("f4").reshape(200, 300)
        for share, marker, warned in ((0.33, -9999, True), (0.5, -500, True), (0.005, 2000, True),
                                      (0.33, -100, False)):
            with self.subTest(share=share, marker=marker):
                marked = np.where(random.random(data.shape) < share, np.float32(marker), data)
                told = self.round_trip(self.write(t=marked))["/t"]
                self.assertEqual(f"--fill {marker}" in told.warnings, warned, told.warnings)

    def test_3_fill_beyond_the_type(self):
        source = self.write(t=make_files.field((100, 100)), d=make_files.field((100, 100), "f8"))
        with self.assertRaises(Failure) as caught:
            self.compress(source, "cuszp2", "rel:1e-3", "fill=1e300")
        for word in ("invalid argument", "/t", "f32", "1e+300"):
            self.assertIn(word, str(caught.exception))
        told = self.compress(source, "cuszp2", "rel:1e-3", "fill=1e300", "exclude=/t")
        self.assertTrue(told["/d"].compressed)
        self.assertEqual(self.compress(source, "cuszp2", "rel:1e-3", "fill=3.4028235e38")["/t"].fill,
                         float(np.finfo("f4").max))

    def test_bound_beyond_the_range(self):
        data = make_files.field((100, 100))
        for options in ({}, {"_FillValue": np.float32(-1)}):
            source = self.write(t=(data, {}, options), constant=np.full((100, 100), 3.0, "f4"))
            told = self.compress(source, "cuszp2", f"abs:{2 * np.ptp(data):.6g}")
            self.assertIn("the field becomes flat", told["/t"].warnings)
            self.assertEqual(told["/constant"].warnings, "")
            self.assertEqual(self.compress(source, "cuszp2", "abs:1e-3")["/t"].warnings, "")

    def test_3_mask_of_nan(self):
        data, _ = self.masked(np.nan)
        told = self.round_trip(self.write(t=(data, {}, {"_FillValue": np.float32("nan")})))["/t"]
        self.assertLess(told.bound, 0.04)
        self.assertTrue(np.isnan(told.fill))

    def test_5_extents_of_one(self):
        data = make_files.field((24, 73, 144))
        for chunks in ((1, 73, 144), (24, 1, 144), (24, 73, 1)):
            with self.subTest(chunks=chunks):
                told = self.round_trip(self.write(t=(data, {"chunks": chunks}, {})))["/t"]
                self.assertTrue(told.compressed, told.reason)
        data = make_files.field((6, 37, 40))
        told = self.round_trip(self.write(t=(data, {"chunks": data.shape}, {})))["/t"]
        self.assertTrue(told.compressed, told.reason)

    def test_6_constant_fields(self):
        values = [("f4", 7.25), ("f4", 0.0), ("f4", -0.0), ("f4", 9.96921e36), ("f8", 1e-310)]
        for dtype, value in values:
            for bound in ("abs:1e-3", "rel:1e-3"):
                with self.subTest(value=value, bound=bound):
                    source = self.write(t=np.full((64, 64), value, dtype))
                    told = self.round_trip(source, "cuszp2", bound)["/t"]
                    self.assertTrue(told.compressed, told.reason)
                    self.assertLess(told.stored_bytes, 200)
                    with h5py.File(self.path("d.h5")) as file:
                        self.assertEqual(file["t"][()].tobytes(), np.full((64, 64), value, dtype).tobytes())

    def test_8_big_endian(self):
        data = make_files.field((361, 720))
        for size in "48":
            sizes = []
            for order in "<>":
                source = self.write(t=data.astype(f"{order}f{size}"))
                told = self.round_trip(source, "cuszp2", "abs:1e-2")["/t"]
                self.assertTrue(told.compressed)
                sizes.append(told.stored_bytes)
                with h5py.File(self.path("c.h5")) as file:
                    self.assertEqual(file["t"].dtype.str, f"{order}f{size}")
            self.assertEqual(sizes[0], sizes[1])

    def test_9_integers(self):
        data = np.arange(10000) % 200
        source = self.write(u1=data.astype("u1"), i2=(data.astype("i2"), {}, {"scale_factor": 0.01}),
                            u4=data.astype("u4"), i8=data + (1 << 60), flags=data > 100,
                            t=make_files.field((100, 100)))
        told = self.round_trip(source)
        self.assertEqual([path for path, report in told.items() if report.compressed], ["/t"])
        for path, reason in (("/u1", "integer type"), ("/i2", "integer type"), ("/flags", "enum type")):
            self.assertEqual(told[path].reason, reason)
        with h5py.File(source) as before, h5py.File(self.path("c.h5")) as after:
            for name in ("u1", "i2", "u4", "i8", "flags"):
                self.assertEqual(before[name][()].tobytes(), after[name][()].tobytes(), name)

    def test_11_datasets_without_elements(self):
        source = self.write(a=np.zeros(0, "f4"), b=(np.zeros((0, 10), "f4"), {"maxshape": (None, 10),
                                                                             "chunks": (4, 5)}, {}),
                            c=np.zeros((10, 0), "f4"), t=make_files.field((100, 100)))
        told = self.round_trip(source)
        self.assertEqual(told["/b"].reason, "no elements")
        with h5py.File(self.path("d.h5")) as file:
            self.assertEqual([file[n].shape for n in "abc"], [(0,), (0, 10), (10, 0)])
            self.assertEqual((file["b"].maxshape, file["b"].chunks), ((None, 10), (4, 5)))

    def test_13_all_bits_of_the_bound(self):
        source = self.write(t=make_files.field((200, 300), "f8"))
        for text in ("0.001", "1e-08"):
            told = self.round_trip(source, "cuszp2", "abs:" + text, "dataset=/t")["/t"]
            self.assertEqual(told.bound, float(text))
            self.assertEqual(told.requested, "abs:" + text)


class Choices(FileTest):
    def test_coordinates_stay_exact(self):
        data = make_files.field((50, 60))
        line = np.linspace(0, 1, 3000)
        source = self.write(
            t=(data, {}, {"coordinates": "lat2d lon2d", "bounds": "t_bounds"}),
            lat2d=data, lon2d=data, t_bounds=data, lat_bnds=data, Zone_Bounds=data,
            area=data, m=(data, {}, {"cell_measures": "area: area"}),
            a=(data, {}, {"units": "degrees_north"}), b=(data, {}, {"units": "degreeE"}),
            c=(data, {}, {"axis": "Z"}),
            d=(line, {}, {"units": "days since 1970-01-01"}), Latitude=line, time=line,
            level=(line, {}, {"formula_terms": "ps: pressure p0: p0"}), pressure=data)
        told = self.compress(source)
        kept = {path for path, report in told.items() if report.reason.startswith("coordinate")}
        self.assertEqual(kept, {"/lat2d", "/lon2d", "/t_bounds", "/lat_bnds", "/Zone_Bounds", "/area", "/a", "/b",
                                "/c", "/d", "/Latitude", "/time", "/pressure"})
        self.assertTrue(self.compress(source, "cuszp2", "rel:1e-3", "dataset=/lat2d")["/lat2d"].compressed)
        self.assertFalse(self.compress(source, "cuszp2", "rel:1e-3", "dataset=/lat*")["/lat2d"].compressed)

    def test_every_path_of_a_dataset_counts(self):
        source = self.write(first=make_files.field((50, 60)), other=make_files.field((50, 60)))
        with h5py.File(source, "a") as file:
            file["second"] = file["first"]
        self.assertTrue(self.compress(source, "cuszp2", "rel:1e-3", "dataset=/second")["/first"].compressed)
        told = self.compress(source, "cuszp2", "rel:1e-3", "exclude=/second")
        self.assertEqual(told["/first"].reason, "excluded by --exclude")
        self.assertTrue(told["/other"].compressed)

    def test_never_larger_than_raw(self):
        noise = np.random.default_rng(1).integers(0, 2**63, 4096, "u8").view("f8")
        told = self.compress(self.write(t=noise), "zstd", "lossless", "dataset=/t")["/t"]
        self.assertIn("would not become smaller", told.reason)

    def test_exact_values_need_a_lossless_codec(self):
        source = self.write(t=make_files.field((50, 60)), u=make_files.field((50, 60)))
        with self.assertRaises(Failure) as caught:
            self.compress(source, "cuszp2", "rel:1e-3", "dataset=*", "exact=/u")
        for word in ("invalid argument", "/u", "cuszp2 is lossy; use =zstd for exact values"):
            self.assertIn(word, str(caught.exception))

    def test_threads_do_not_matter(self):
        source = self.write(t=(make_files.field((90, 80)), {"chunks": (7, 80)}, {}),
                            u=make_files.field((90, 80), ">f8"))
        results = []
        for threads in (1, 2, 7):
            self.compress(source, "cuszp2", "rel:1e-4", f"threads={threads}")
            results.append(self.content("c.h5"))
        self.assertEqual(results[0], results[1])
        self.assertEqual(results[0], results[2])

    def test_extension_shows_the_fill_value(self):
        source = self.write(t=(make_files.field((20, 80)), {"chunks": (16, 80), "maxshape": (None, 80),
                                                            "fillvalue": -7.0}, {}))
        told = self.compress(source)
        self.assertEqual(told["/t"].fill, -7.0)
        self.decompress()
        with h5py.File(self.path("d.h5"), "a") as file:
            file["t"].resize(32, axis=0)
            self.assertTrue((file["t"][20:] == -7).all())

    def test_chunks_that_do_not_exist(self):
        source = self.path("in.h5")
        with h5py.File(source, "w") as file:
            for name, fill in (("user", -7.0), ("zero", None)):
                dataset = file.create_dataset(name, (4000, 500), "f4", chunks=(100, 50), fillvalue=fill)
                dataset[1000:1300, 50:120] = make_files.field((300, 70))
            huge = file.create_dataset("huge", (1 << 20, 1 << 20), "f4", chunks=(256, 256),
                                       maxshape=(None, None))
            huge[:9, :9] = 3
        self.compress(source)
        self.decompress()
        with h5py.File(source) as before, h5py.File(self.path("d.h5")) as after:
            for name in ("user", "zero"):
                x, y = before[name][()], after[name][()]
                untouched = np.ones(x.shape, bool)
                untouched[1000:1300, 50:120] = False
                self.assertTrue((x[untouched] == y[untouched]).all(), name)
                self.assertIsNone(after[name].chunks)
            self.assertEqual(after["huge"].id.get_num_chunks(), 1)
        with self.assertRaises(Failure) as caught:
            run("decompress", self.path("c.h5"), self.path("refused.h5"), 1 << 41)
        self.assertIn("--max-bytes", str(caught.exception))
        self.assertFalse(os.path.exists(self.path("refused.h5")))

    def test_compressing_twice_changes_nothing(self):
        source = self.write(t=make_files.field((100, 90)))
        self.compress(source)
        shutil.copy(self.path("c.h5"), self.path("once.h5"))
        told = self.compress(self.path("once.h5"), "cuszp2", "rel:1e-1")["/t"]
        self.assertEqual(told.reason, "already compressed by homz: decompress it first; errors add up")
        with h5py.File(self.path("once.h5")) as a, h5py.File(self.path("c.h5")) as b:
            self.assertEqual(a["t"].id.read_direct_chunk((0, 0)), b["t"].id.read_direct_chunk((0, 0)))


if __name__ == "__main__":
    unittest.main(verbosity=2)
