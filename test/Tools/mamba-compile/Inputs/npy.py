"""Writes and prints .npy files without NumPy.

npy.py write FILE TYPE SHAPE VALUE...   TYPE: f4, f2, i4, i8; SHAPE: 2,3
npy.py print FILE
"""

import ast
import struct
import sys

FORMATS = {"f4": "f", "f2": "e", "i4": "i", "i8": "q"}


def write(path, kind, shape, *values):
    shape = tuple(int(size) for size in shape.split(",") if size)
    header = repr({"descr": "<" + kind, "fortran_order": False, "shape": shape})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    convert = int if kind.startswith("i") else float
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack(f"<{len(values)}{FORMATS[kind]}", *map(convert, values)))


def show(path):
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack_from("<H", data, 8)
    header = ast.literal_eval(data[10 : 10 + length].decode())
    kind = header["descr"][1:]
    values = struct.iter_unpack("<" + FORMATS[kind], data[10 + length :])
    print(kind, list(header["shape"]), *(f"{value:g}" for (value,) in values))


if sys.argv[1] == "write":
    write(*sys.argv[2:])
else:
    show(sys.argv[2])
