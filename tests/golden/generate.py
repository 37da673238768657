#!/usr/bin/env python3
"""Writes the golden tables of this folder, from a reference codec that shares no code with homz.

    generate.py REFERENCE.py [FOLDER]

REFERENCE.py is a Python module with compress(values, bound, mode, dbl, dim, dims, ver) -> bytes and
geometry(dim, dz, dy, dx): a reader and writer of cuSZp's streams. It takes minutes, since it is plain Python.

checksums.txt has a row a vector: codec and options, element type, shape, input family, seed, bound (as a hexadecimal
float), size of the stream in bytes, and its checksum (core/checksum.hpp). streams.txt has the same for a few small
vectors, with the bytes themselves in place of size and checksum; `xx*n` stands for n bytes xx.
Inputs are made of integers alone, so that inputs.hpp makes the same bits.
"""

import importlib.util
import math
import pathlib
import struct
import sys

MASK = (1 << 64) - 1


class Lcg:
    """Knuth's MMIX generator; the top bits are the good ones."""

    def __init__(self, seed):
        self.state = seed

    def next(self, bits):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) & MASK
        return self.state >> (64 - bits)


def signed(value, bits):
    return value - (1 << bits) if value >> (bits - 1) else value


SPECIAL = [math.nan, math.inf, -math.inf, -0.0, 1.0, 3e9, -1e10, -2147483648.0, 2147483647.0, 1e30, 2.0**-149, -0.5]
EXTREME = [-1.0, 3e9, 0.0, 2147483648.0, -2147483648.0, 2.0]


def walk(count, lcg):
    level = 0
    for _ in range(count):
        level += lcg.next(4) - 8
        yield level / 64


def grid(count, shape):
    """Planes with a slope along each of the last three extents."""
    dz, dy, dx = ([1, 1] + list(shape))[-3:]
    for i in range(count):
        yield float(1000 + 50 * (i // (dx * dy) % dz) + 20 * (i // dx % dy) + 3 * (i % dx))


def family(name, count, shape, seed):
    lcg = Lcg(seed)
    if name == "zeros":
        return [0.0] * count
    if name == "minus300":
        return [-300.0] * count
    if name == "ramp":
        return [(i - count // 2) * 0.375 for i in range(count)]
    if name == "saw":  # the first examples of the specifications: 32 values of a saw, then a step
        return [float(95 + 7 * i % 11) if i < 32 else 200.0 for i in range(count)]
    if name == "grid":
        return list(grid(count, shape))
    if name == "walk":
        return list(walk(count, lcg))
    if name == "random":
        return [signed(lcg.next(32), 32) / 65536 for _ in range(count)]
    if name == "noise":
        return [signed(lcg.next(12), 12) / 256 for _ in range(count)]
    if name == "sparse":
        return [signed(lcg.next(16), 16) / 8 if lcg.next(4) == 0 else 0.0 for _ in range(count)]
    if name == "big":
        return [math.ldexp(signed(lcg.next(20), 20), lcg.next(6) - 16) for _ in range(count)]
    if name == "special":
        return [SPECIAL[lcg.next(16) % 12] if lcg.next(2) == 0 else signed(lcg.next(12), 12) / 16 for _ in range(count)]
    if name == "extreme":
        return [EXTREME[lcg.next(16) % 6] for _ in range(count)]
    raise KeyError(name)


def rounded(values, dtype):
    code = f"<{len(values)}{'f' if dtype == 'f32' else 'd'}"
    return list(struct.unpack(code, struct.pack(code, *values)))


def mix(z):
    z = (z + 0x9E3779B97F4A7C15) & MASK
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


def checksum(data):
    """homz::checksum."""
    words = struct.unpack(f"<{len(data) // 4 + 1}I", data + bytes(4 - len(data) % 4))
    total = sum(words) & MASK
    weighted = sum((i + 1) * word for i, word in enumerate(words)) & MASK
    return mix((mix(total) + weighted + len(data)) & MASK)


def stream(reference, codec, dtype, shape, values, bound):
    """What upstream writes, with the padding behind the metadata of tiles set to zero."""
    if codec == "identity":
        return struct.pack(f"<{len(values)}{'f' if dtype == 'f32' else 'd'}", *values)
    name, _, options = codec.partition(":")
    options = dict(item.split("=") for item in options.split(",") if item)
    version = 1 if name == "cuszp" else 3
    mode = options.get("mode", "plain" if version == 1 else "outlier")
    dim = int(options.get("dim", 1))
    if dim == 1:
        return reference.compress(values, bound, mode, dtype == "f64", 1, None, version)
    dims = (math.prod(shape[:-2]), shape[-2], shape[-1])
    padded = values + values[-1:] * 3  # what lies behind the array
    data = bytearray(reference.compress(padded, bound, mode, dtype == "f64", dim, dims, version))
    blocks = math.prod(reference.geometry(dim, *dims)[1:])
    data[blocks : (blocks + 3) // 4 * 4] = bytes(-blocks % 4)
    return bytes(data)


LINE_CODECS = ["cuszp", "cuszp2:mode=fixed,dim=1", "cuszp2:mode=plain,dim=1", "cuszp2:mode=outlier,dim=1"]
FAMILIES = ["walk", "special", "ramp", "big", "random", "extreme", "noise", "sparse", "zeros"]
BOUNDS = [0.5, 1e-3, 2.0**-7, 0.1, 1e-4, 37.5]
SMALL = [1, 2, 3, 31, 32, 33, 63, 64, 65, 1023, 1024, 1025]
LARGE = [32767, 32768, 32769, 65535, 65536, 65537, 70000]
SHAPES = {
    2: ["2x2", "2x3", "7x5", "8x8", "9x8", "3x7", "16x24", "33x18", "13x41", "11x39", "3x9x10", "5x17x23", "2x2x3x7",
        "260x301"],
    3: ["2x2x2", "3x3x3", "4x4x4", "5x6x7", "5x4x9", "9x10x11", "12x8x16", "3x3x18", "2x3x4x5", "2x2x5x7", "64x40x33"],
}  # fmt: skip
EXAMPLES = [
    ("cuszp", "32", "saw"),
    ("cuszp", "33", "saw"),
    ("cuszp2:mode=fixed,dim=1", "32", "saw"),
    ("cuszp2:mode=plain,dim=1", "32", "saw"),
    ("cuszp2:mode=outlier,dim=1", "32", "saw"),
    ("cuszp2:mode=plain,dim=1", "33", "saw"),
    ("cuszp2:mode=outlier,dim=1", "32", "minus300"),
    ("cuszp2:mode=plain,dim=2", "8x8", "grid"),
    ("cuszp2:mode=outlier,dim=2", "8x8", "grid"),
    ("cuszp2:mode=outlier,dim=3", "4x4x4", "grid"),
    ("cuszp2:mode=outlier,dim=2", "3x7", "grid"),
    ("cuszp2:mode=plain,dim=3", "2x2x3", "special"),
    ("cuszp", "40", "special"),
]


def table():
    """The rows: codec, dtype, shape, family, seed, bound."""
    turn = 0
    for dtype in ["f32", "f64"]:
        for codec in LINE_CODECS:
            for count in SMALL + LARGE:
                for _ in range(3 if count in SMALL else 1):
                    yield codec, dtype, str(count), FAMILIES[turn % 9], turn, BOUNDS[turn * 5 // 9 % 6]
                    turn += 1
        for dim, shapes in SHAPES.items():
            for mode in ["fixed", "plain", "outlier"]:
                for shape in shapes:
                    for _ in range(2 if len(shape) < 7 else 1):
                        codec = f"cuszp2:mode={mode},dim={dim}"
                        yield codec, dtype, shape, FAMILIES[turn % 9], turn, BOUNDS[turn * 5 // 9 % 6]
                        turn += 1
        for name in FAMILIES[:-1]:
            yield "identity", dtype, "77", name, turn, 0.5
            turn += 1


def runs(data):
    """Hexadecimal, runs of more than four equal bytes as xx*n."""
    parts, i = [], 0
    while i < len(data):
        end = i
        while end < len(data) and data[end] == data[i]:
            end += 1
        parts.append(f"{data[i]:02x}*{end - i}" if end - i > 4 else " ".join([f"{data[i]:02x}"] * (end - i)))
        i = end
    return " ".join(parts)


def main():
    spec = importlib.util.spec_from_file_location("reference", sys.argv[1])
    reference = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reference)
    folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else pathlib.Path(__file__).parent)

    def made(codec, dtype, shape, name, seed, bound):
        extents = [int(extent) for extent in shape.split("x")]
        values = rounded(family(name, math.prod(extents), extents, seed), dtype)
        return stream(reference, codec, dtype, extents, values, bound)

    with open(folder / "checksums.txt", "w") as out:
        out.write("# Made by generate.py: codec, type, shape, input, seed, bound, bytes, checksum.\n")
        for row in table():
            data = made(*row)
            out.write(f"{' '.join(map(str, row[:5]))} {row[5].hex()} {len(data)} {checksum(data):016x}\n")
    with open(folder / "streams.txt", "w") as out:
        out.write("# Made by generate.py: codec, type, shape, input, seed, bound, the stream.\n")
        for codec, shape, name in EXAMPLES:
            for dtype in ["f32", "f64"]:
                row = (codec, dtype, shape, name, 1, 0.5)
                out.write(f"{' '.join(map(str, row[:5]))} {row[5].hex()} {runs(made(*row))}\n")


if __name__ == "__main__":
    main()
