#!/usr/bin/env python3
"""Writes tests/unit/row_stream/message_cases.inc: messages of row streams, packed by the tables of docs/row-stream.md
with Python's struct alone.

    row_message_cases.py FILE
"""
import struct
import sys

if set(sys.argv[1:]) & {"-h", "--help", "help"}:
    sys.exit(print(__doc__))


def rows(key_format, *pairs):
    return b"".join(struct.pack("<" + key_format, key) + struct.pack("<%df" % len(row), *row) for key, row in pairs)


def hps(body, width):
    return b"HCTR" + struct.pack("<I", 4 * width) + body


def ours(kind, full, step, batch, number, name=b"", body=b"", key_size=0, reserved=0):
    return b"SPR1" + struct.pack("<BBHqqQII", kind, key_size, len(name), full, step, batch, number, reserved) + name + body


CASES = {
    "hps_two_rows": hps(rows("q", (7, (1.5, -2.0)), (-9, (0.25, 3.0))), 2),
    "hps_narrow_keys": hps(rows("i", (-7, (1.0,)), (2147483647, (2.0,))), 1),
    "hps_beacon": hps(b"", 2),
    "rows": ours(1, 1000, 1010, 3, 8, b"item", rows("q", (5, (1.0, 2.0)), (6, (3.0, 4.0))), 8),
    "narrow_rows": ours(1, 0, 0, 1, 4, b"u", rows("i", (-5, (1.0,))), 4),
    "commit": ours(2, 1000, 1010, 3, 17),
}


def main():
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        out.write("/* Made by scripts/row_message_cases.py: do not edit. */\n")
        for case, message in CASES.items():
            text = "".join("\\%03o" % byte for byte in message)
            out.write("static const char %s[] =\n" % case)
            for at in range(0, len(text), 80):
                out.write('\t"%s"%s\n' % (text[at:at + 80], ";" if at + 80 >= len(text) else ""))


if __name__ == "__main__":
    main()
