#!/usr/bin/env python3
"""Writes tests/unit/storage/redis/layout_cases.inc: where keys and rows lie in Redis, worked out with
Python's integers, binascii and numpy from the published descriptions of the layouts.

    redis_layout_cases.py FILE
"""
import binascii
import struct
import sys

if set(sys.argv[1:]) & {"-h", "--help", "help"}:
    sys.exit(print(__doc__))

import numpy as np

MASK = 2**64 - 1
KEYS = [0, 1, 2, 7, 255, 256, 65537, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63 - 1, -1, -2, -(2**63), 1234567890123456789]
ROW = [0.0, 1.0, -1.5, 0.1, 2.53, 3e-8, -0.333333, 1e-3]


def rotate(value, by):
    return (value >> by | value << (64 - by)) & MASK


def rrxmrrxmsx_0(v):
    v &= MASK
    v ^= rotate(v, 25) ^ rotate(v, 50)
    v = v * 0xA24BAED4963EE407 & MASK
    v ^= rotate(v, 24) ^ rotate(v, 49)
    v = v * 0x9FB21C651E98DF25 & MASK
    return v ^ v >> 28


def text(data):
    return '"%s"' % "".join("\\x%02x" % byte for byte in data)


def slot(name):
    return binascii.crc_hqx(name.encode(), 0) % 16384


def tfra_number(wanted):
    n = 0
    while slot(str(n)) != wanted:
        n += 1
    return n


def bfloat16(row):
    bits = row.view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype("<u2").tobytes()


def int8(row):
    scale = np.float32(np.abs(row).max() / np.float32(127))
    codes = np.rint(row.astype(np.float64) / np.float64(scale)).clip(-127, 127)
    return struct.pack("<f", scale) + codes.astype(np.int8).tobytes()


def main():
    row = np.array(ROW, np.float32)
    with open(sys.argv[1], "w") as out:
        out.write("/* Made by scripts/redis_layout_cases.py: do not edit. */\n")
        out.write("static const partition_case partition_cases[] = {\n")
        for key in KEYS:
            literal = "INT64_MIN" if key == -(2**63) else "INT64_C(%d)" % key
            mixed = rrxmrrxmsx_0(key)
            out.write("\t{%s, %d, %d, %d},\n" % (literal, mixed % 16, mixed % 7, (key & 0xFFFFFFFF) % 7))
        out.write("};\nstatic const slot_case slot_cases[] = {\n")
        for name, hashed in [("foo", "foo"), ("{user1000}.following", "user1000"), ("foo{}{bar}", "foo{}{bar}"),
                             ("foo{{bar}}zap", "{bar"), ("foo{bar}{zap}", "bar"), ("m.t@1-0{p15}", "p15"),
                             ("123456789", "123456789"), ("a{b", "a{b"), ("", "")]:
            out.write('\t{"%s", %d},\n' % (name, slot(hashed)))
        out.write("};\nstatic const tfra_case tfra_cases[] = {\n")
        for slices in (1, 3, 4, 16):
            for i in range(slices):
                out.write('\t{%d, %d, "test:emb{%d}"},\n' % (i, slices, tfra_number(16384 // slices * i + 16384 % slices)))
        out.write("};\nstatic const row_case row_cases[] = {\n")
        for name, data in [("FP32", row.tobytes()), ("FP16", row.astype(np.float16).tobytes()), ("BF16", bfloat16(row)),
                           ("INT8", int8(row))]:
            out.write("\t{SP_ROW_%s, %d,\n\t %s},\n" % (name, len(data), text(data)))
        out.write("};\nstatic const float row_of_cases[] = {%s};\n" % ", ".join("%.9gf" % x if "." in "%.9g" % x or "e" in "%.9g" % x else "%.1ff" % x for x in row))


main()
