"""Compares two HDF5 files object by object: links and their order, attributes, types, spaces, fills, values.

Names are compared, not addresses: a reference or a committed type means the object at a path.
"""

import h5py
import numpy as np
from h5py import h5a, h5d, h5g, h5i, h5l, h5o, h5p, h5r, h5s, h5t


class Difference(Exception):
    pass


class File:
    """An open file and the paths of its objects, the first one found for each."""

    def __init__(self, path):
        self.h5 = h5py.File(path, "r")
        self.paths = {}
        self._note(self.h5.id, "/")

    def _note(self, group, path):
        queue = [(h5o.open(group, b"/"), "/")]
        self.paths[h5o.get_info(queue[0][0]).addr] = "/"
        while queue:
            parent, parent_path = queue.pop(0)
            for name in link_names(parent):
                if parent.links.get_info(name).type != h5l.TYPE_HARD:
                    continue
                child = h5o.open(parent, name)
                address = h5o.get_info(child).addr
                path = parent_path.rstrip("/") + "/" + name.decode()
                if address not in self.paths:
                    self.paths[address] = path
                    if isinstance(child, h5g.GroupID):
                        queue.append((child, path))

    def path(self, object_id):
        return self.paths.get(h5o.get_info(object_id).addr, "?")


def order_of(group):
    tracked = group.get_create_plist().get_link_creation_order() & h5p.CRT_ORDER_TRACKED
    return h5py.h5.INDEX_CRT_ORDER if tracked else h5py.h5.INDEX_NAME


def link_names(group):
    names = []
    group.links.iterate(lambda name: names.append(name) and None, idx_type=order_of(group))
    return names


def expect(same, what):
    if not same:
        raise Difference(what)


def plain(value, file):
    """A value as something that == compares by meaning and bit for bit."""
    if isinstance(value, h5py.RegionReference):
        if not value:
            return "null region"
        space = h5r.get_region(value, file.h5.id)
        return ("region", file.path(h5r.dereference(value, file.h5.id)), space.get_simple_extent_dims(),
                space.get_select_type(), space.get_select_bounds(), space.get_select_npoints())
    if isinstance(value, h5py.Reference):
        return ("object", file.path(h5r.dereference(value, file.h5.id))) if value else "null object"
    if isinstance(value, h5py.Empty):
        return ("empty", str(value.dtype))
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            return (value.shape, [plain(v, file) for v in value.reshape(-1)])
        return (value.shape, value.dtype.str, value.tobytes())
    if isinstance(value, np.void):
        if value.dtype.names:
            return [plain(value[name], file) for name in value.dtype.names]
        return value.tobytes()
    if isinstance(value, np.generic):
        return (value.dtype.str, value.tobytes())
    return value


def compare_type(a, b, file_a, file_b, what):
    expect(a.equal(b), f"{what}: type differs")
    expect(a.committed() == b.committed(), f"{what}: one type is committed, the other is not")
    if a.committed():
        path_a, path_b = file_a.path(a), file_b.path(b)
        expect(path_a == path_b, f"{what}: committed type {path_a} became {path_b}")
    if a.get_class() == h5t.STRING:
        kinds = [(t.get_cset(), t.get_strpad()) for t in (a, b)]
        expect(kinds[0] == kinds[1], f"{what}: string kind differs")


def compare_space(a, b, what):
    expect(a.get_simple_extent_type() == b.get_simple_extent_type(), f"{what}: class of dataspace differs")
    if a.get_simple_extent_type() == h5s.SIMPLE:
        expect(a.get_simple_extent_dims() == b.get_simple_extent_dims(), f"{what}: extents differ")
        most = [space.get_simple_extent_dims(True) for space in (a, b)]
        expect(most[0] == most[1], f"{what}: maximum extents differ")


def attribute_names(object_id, ordered):
    names = []
    index = h5py.h5.INDEX_CRT_ORDER if ordered else h5py.h5.INDEX_NAME
    h5a.iterate(object_id, lambda name: names.append(name) and None, index_type=index)
    return names


def creation_plist(object_id):
    if isinstance(object_id, h5t.TypeID):
        return None
    return object_id.get_create_plist()


def compare_attributes(a, b, file_a, file_b, path):
    plist = creation_plist(a)
    ordered = plist is not None and bool(plist.get_attr_creation_order() & h5p.CRT_ORDER_TRACKED)
    if plist is not None:
        expect(plist.get_attr_creation_order() == creation_plist(b).get_attr_creation_order(),
               f"{path}: order of attributes is tracked in one file only")
    names = attribute_names(a, ordered)
    others = attribute_names(b, ordered)
    expect(names == others, f"{path}: attributes {names} and {others}")
    for name in names:
        what = f"{path}, attribute {name.decode()}"
        one, other = h5a.open(a, name), h5a.open(b, name)
        compare_type(one.get_type(), other.get_type(), file_a, file_b, what)
        compare_space(one.get_space(), other.get_space(), what)
        if one.get_type().get_class() == h5t.OPAQUE:
            continue
        wrapper = h5py.AttributeManager
        value_a = wrapper(_Parent(a))[name.decode()]
        value_b = wrapper(_Parent(b))[name.decode()]
        expect(plain(value_a, file_a) == plain(value_b, file_b), f"{what}: {value_a!r} became {value_b!r}")


class _Parent:
    """What AttributeManager needs of an object."""

    def __init__(self, object_id):
        self.id = object_id


def fill_of(dataset):
    plist = dataset.get_create_plist()
    if plist.fill_value_defined() != h5d.FILL_VALUE_USER_DEFINED:
        return None
    dtype = dataset.dtype
    if dtype.hasobject:
        return "an object"
    value = np.zeros((), dtype=dtype)
    plist.get_fill_value(value)
    return value.tobytes()


def compare_dataset(a, b, file_a, file_b, path, skip_values):
    compare_type(a.get_type(), b.get_type(), file_a, file_b, path)
    compare_space(a.get_space(), b.get_space(), path)
    expect(fill_of(a) == fill_of(b), f"{path}: fill value differs")
    if a.get_type().get_class() == h5t.OPAQUE:
        return
    if skip_values or a.get_space().get_simple_extent_type() == h5s.NULL:
        return
    value_a, value_b = h5py.Dataset(a)[()], h5py.Dataset(b)[()]
    expect(plain(value_a, file_a) == plain(value_b, file_b), f"{path}: values differ")


def compare_links(a, b, file_a, file_b, path, seen, skip_values):
    expect(order_of(a) == order_of(b), f"{path}: order of links is tracked in one file only")
    names = link_names(a)
    expect(names == link_names(b), f"{path}: links {names} and {link_names(b)}")
    for name in names:
        child_path = path.rstrip("/") + "/" + name.decode()
        one, other = a.links.get_info(name), b.links.get_info(name)
        expect(one.type == other.type and one.cset == other.cset, f"{child_path}: kind of link differs")
        if one.type == h5l.TYPE_HARD:
            children = h5o.open(a, name), h5o.open(b, name)
            compare_object(*children, file_a, file_b, child_path, seen, skip_values)
        else:
            expect(a.links.get_val(name) == b.links.get_val(name), f"{child_path}: target of link differs")


def compare_object(a, b, file_a, file_b, path, seen, skip_values):
    expect(type(a) is type(b), f"{path}: kind of object differs")
    path_a, path_b = file_a.path(a), file_b.path(b)
    expect(path_a == path_b, f"{path}: a hard link to {path_a} became {path_b}")
    address = h5o.get_info(a).addr
    if address in seen:
        return
    seen.add(address)
    expect(h5o.get_info(a).rc == h5o.get_info(b).rc, f"{path}: number of hard links differs")
    compare_attributes(a, b, file_a, file_b, path)
    if isinstance(a, h5d.DatasetID):
        compare_dataset(a, b, file_a, file_b, path, path in skip_values)
    elif isinstance(a, h5g.GroupID):
        compare_links(a, b, file_a, file_b, path, seen, skip_values)
    else:
        expect(a.equal(b), f"{path}: committed type differs")


def compare_files(path_a, path_b, skip_values=()):
    """Raises Difference; the values of the datasets in skip_values are not looked at."""
    file_a, file_b = File(path_a), File(path_b)
    try:
        expect(file_a.h5.userblock_size == file_b.h5.userblock_size, "size of userblock differs")
        with open(path_a, "rb") as one, open(path_b, "rb") as other:
            size = file_a.h5.userblock_size
            expect(one.read(size) == other.read(size), "userblock differs")
        root_a, root_b = h5o.open(file_a.h5.id, b"/"), h5o.open(file_b.h5.id, b"/")
        compare_object(root_a, root_b, file_a, file_b, "/", set(), set(skip_values))
    finally:
        file_a.h5.close()
        file_b.h5.close()
