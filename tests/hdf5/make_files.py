"""HDF5 files with everything in them that a copy can lose."""

import os

import h5py
import numpy as np
from h5py import h5a, h5d, h5g, h5o, h5p, h5s, h5t


def field(shape, dtype="<f4", seed=0):
    grid = np.indices(shape).sum(axis=0)
    noise = np.random.default_rng(seed).normal(0, 0.01, shape)
    return (20 * np.sin(grid / 25.0) + noise).astype(dtype)


def add_attributes(target, file):
    attributes = target.attrs
    attributes["zeta"] = 1  # before alpha: the order of creation is not that of the names
    attributes["alpha"] = np.array([1.5, 2.5], ">f8")
    attributes["text"] = "Größe"
    attributes["ascii"] = np.bytes_("plain")
    attributes["texts"] = np.array(["one", "two words", ""], dtype=h5py.string_dtype())
    attributes["nothing"] = h5py.Empty("f4")
    attributes["none"] = np.zeros((0,), "i4")
    attributes["precise"] = np.array([np.pi, 1e-4000], np.longdouble)
    attributes["flag"] = np.bool_(True)
    attributes["half"] = np.float16(0.1)
    attributes["lists"] = np.array([np.arange(3), np.arange(0), np.arange(7)], dtype=object).astype(
        h5py.vlen_dtype(np.int16))
    attributes.create("matrix", np.arange(6).reshape(2, 3), dtype="u2")
    attributes.create("object", file["data/contiguous"].ref, dtype=h5py.ref_dtype)
    attributes.create("null object", np.array([h5py.Reference(), file["data"].ref], dtype=object),
                      dtype=h5py.ref_dtype)
    region = file["data/contiguous"].regionref[2:9, 1:5]
    attributes.create("region", region, dtype=h5py.regionref_dtype)
    record = np.dtype([("where", h5py.ref_dtype), ("how many", "<i4"), ("name", h5py.string_dtype())])
    attributes.create("record", np.array([(file["data/scale"].ref, 7, "seven")], dtype=record))
    references = np.empty(2, dtype=object)
    references[0] = np.array([file["data/contiguous"].ref, file["data/hard"].ref], dtype=h5py.ref_dtype)
    references[1] = np.array([], dtype=h5py.ref_dtype)
    attributes.create("reference lists", references, dtype=h5py.vlen_dtype(h5py.ref_dtype))


def add_float_datasets(group):
    group.create_dataset("contiguous", data=field((300, 40)))
    group.create_dataset("big_endian", data=field((50, 60), ">f8"))
    group.create_dataset("chunked", data=field((100, 90)), chunks=(33, 40), compression="gzip", shuffle=True,
                         fletcher32=True)
    group.create_dataset("extendible", data=field((10, 70, 30)), chunks=(3, 70, 30), maxshape=(None, 70, 30),
                         fillvalue=-7.5)
    compact = h5p.create(h5p.DATASET_CREATE)
    compact.set_layout(h5d.COMPACT)
    h5d.create(group.id, b"compact", h5t.IEEE_F32LE, h5s.create_simple((40, 50)), compact).write(
        h5s.ALL, h5s.ALL, field((40, 50)))
    group.create_dataset("five_extents", data=field((2, 3, 1, 20, 30)))
    group.create_dataset("six_extents", data=field((2, 3, 2, 2, 10, 30)), chunks=(1, 3, 2, 2, 5, 30))
    sparse = group.create_dataset("sparse", (100, 100), "<f4", chunks=(10, 100), fillvalue=3.0)
    sparse[40:50] = field((10, 100))


FLOATS = ["contiguous", "big_endian", "chunked", "extendible", "compact",
          "five_extents", "six_extents", "sparse"]


def add_other_datasets(group, directory):
    for dtype in ("u1", "<i2", ">i4", "<u4", "<i8", "<f2", np.longdouble):
        group.create_dataset(f"type {np.dtype(dtype).str[1:]}", data=np.arange(5000).astype(dtype))
    group.create_dataset("scalar", data=np.float32(1.25))
    group.create_dataset("null", data=h5py.Empty("f8"))
    group.create_dataset("empty", shape=(0,), dtype="<f4")
    group.create_dataset("empty_extendible", shape=(0, 10), maxshape=(None, 10), chunks=(4, 5), dtype="<f4")
    group.create_dataset("tiny", data=np.arange(3, dtype="<f4"))
    group.create_dataset("never_written", shape=(5000,), dtype="<f4", fillvalue=2.5)
    group.create_dataset("strings", data=np.array(["a", "bc", "d" * 400] * 3, dtype=object),
                         dtype=h5py.string_dtype())
    group.create_dataset("fixed_strings", data=np.array([b"x", b"yz"], "S5"))
    group.create_dataset("lists", data=np.array([np.arange(3.0), np.arange(9.0)], dtype=object),
                         dtype=h5py.vlen_dtype("<f4"))
    answers = h5py.enum_dtype({"NO": 0, "YES": 1}, "i1")
    group.create_dataset("enum", data=np.array([0, 1, 1], "i1"), dtype=answers)
    group.create_dataset("booleans", data=np.arange(5000) % 3 == 0)
    group.create_dataset("arrays", (700,), dtype="(3,)<f4")[:] = field((700, 3))
    group.create_dataset("records", data=np.array([(1, 2.5)] * 900, dtype=[("n", ">i4"), ("x", "<f8")]),
                         chunks=(100,), compression="gzip")
    group.create_dataset("opaque", data=np.array([b"ab", b"cd"], "V2"))
    external = os.path.join(directory, "external.raw")
    group.create_dataset("external", data=field((2000,)), external=[(external, 0, 8000)])
    layout = h5py.VirtualLayout((300, 40), "<f4")
    layout[:] = h5py.VirtualSource(".", "/data/contiguous", (300, 40))
    group.create_virtual_dataset("virtual", layout)


def add_references(group, file):
    objects = group.create_dataset("objects", (3,), dtype=h5py.ref_dtype)
    objects[0], objects[1] = file["data/contiguous"].ref, file["late/type"].ref
    regions = group.create_dataset("regions", (2, 2), dtype=h5py.regionref_dtype)
    regions[0, 0] = file["data/contiguous"].regionref[3:70, 2]
    regions[1, 1] = file["data/chunked"].regionref[[1, 5, 7], :]
    record = np.dtype([("ref", h5py.ref_dtype), ("x", "<f4")])
    records = np.array([(file["data"].ref, 1.5), (h5py.Reference(), 2.5)], dtype=record)
    group.create_dataset("records", data=records, chunks=(1,), maxshape=(None,))
    lists = group.create_dataset("lists", (2,), dtype=h5py.vlen_dtype(h5py.ref_dtype))
    lists[0] = np.array([file["data"].ref, file["/"].ref], dtype=h5py.ref_dtype)


def add_types(file):
    """A dataset before its type, two equal types, a type within a type."""
    late = file.create_group("late")
    late["type"] = np.dtype([("a", "<f4"), ("b", "<i2")])
    late["same type"] = np.dtype([("a", "<f4"), ("b", "<i2")])
    late["float"] = np.dtype("<f4")
    types = file.create_group("committed")
    space = h5s.create_simple((20,))
    for name in ("type", "same type"):
        h5d.create(types.id, f"of {name}".encode(), late[name].id, space)
    h5d.create(types.id, b"floats", late["float"].id, h5s.create_simple((5000,))).write(
        h5s.ALL, h5s.ALL, field((5000,)))
    h5a.create(types.id, b"typed", late["same type"].id, h5s.create(h5s.SCALAR))
    late["type"].attrs["note"] = "a type has attributes too"
    late["type"].attrs.create("user", types.ref, dtype=h5py.ref_dtype)


def make_mixed(path, libver="earliest", track_order=False, userblock=0):
    with h5py.File(path, "w", libver=libver, track_order=track_order, userblock_size=userblock) as file:
        h5py.get_config().track_order = track_order
        data = file.create_group("data")
        add_float_datasets(data)
        for name in ("zone", "scale"):
            data[name] = np.arange(300.0)
            data[name].make_scale(name)
        data["contiguous"].dims[0].attach_scale(data["scale"])
        data["chunked"].dims[0].label = "row"
        data["hard"] = data["compact"]
        data["loop"] = file["/"]
        data["soft"] = h5py.SoftLink("/data/contiguous")
        data["dangling"] = h5py.SoftLink("nowhere")
        data["outside"] = h5py.ExternalLink("other.h5", "/x")
        data["ümlaut und Leerzeichen"] = np.arange(4)
        file.create_group("empty").create_group("deep").create_group("deeper")
        add_other_datasets(file.create_group("other"), os.path.dirname(path))
        add_types(file)
        add_references(file.create_group("references"), file)
        for target in (file, data, data["contiguous"], file["other/type i8"], data["extendible"]):
            add_attributes(target, file)
        if libver == "latest":
            data["chunked"].attrs["large"] = np.arange(20000)
        h5o.set_comment(data.id, b"a comment")
        h5py.get_config().track_order = False
    if userblock:
        with open(path, "r+b") as file:
            file.write(b"#!/bin/sh\n" + bytes(range(256)))


if __name__ == "__main__":
    import sys

    make_mixed(sys.argv[1], *sys.argv[2:3])
