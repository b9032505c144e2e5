"""Writes tests/golden/embeddings/: tensor bundles with EmbeddingVariables as DeepRec saves them.

    PYTHON scripts/make_embedding_fixtures.py     # PYTHON: an environment with tensorflow-cpu==2.15.1 'numpy<2'

TensorFlow's SaveV2 writes the bundles; the names, types, shapes and the order of
rows are DeepRec's.  The tests know every element from the formulas below.
"""
import os
import shutil
import struct
import sys

if set(sys.argv[1:]) & {"-h", "--help", "help"}:
    sys.exit(print(__doc__))

import numpy as np
import tensorflow as tf

OUT = os.path.join(os.path.dirname(__file__), "..", "tests", "golden", "embeddings")
DELTA = 1000.0  # what a delta adds to an element


def element(key, d):
    """Element d of the row of `key`."""
    return np.float32((key % 9973) * 0.5 + d * 0.125)


def rows_of(keys, dim, plus=0.0):
    rows = [[element(int(k), d) + np.float32(plus) for d in range(dim)] for k in keys]
    return np.array(rows, np.float32).reshape(len(keys), dim)


def bucket_order(keys):
    """The keys by key % 1000, and where each of the 1000 buckets starts."""
    order = sorted(range(len(keys)), key=lambda i: int(keys[i]) % 1000)
    counts = np.bincount([int(k) % 1000 for k in keys], minlength=1000)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return np.array([keys[i] for i in order], np.asarray(keys).dtype), offsets


def full(name, keys, dim, key_type=np.int64):
    """The nine tensors of one EmbeddingVariable, or of one part."""
    keys, offsets = bucket_order(np.asarray(keys, key_type))
    filtered = np.array([999983], key_type)  # seen, but not admitted
    return {
        name + "-keys": keys,
        name + "-values": rows_of(keys, dim),
        name + "-versions": np.zeros([0], np.int64),
        name + "-freqs": np.full([len(keys)], 3, np.int64),
        name + "-keys_filtered": filtered,
        name + "-versions_filtered": np.zeros([0], np.int64),
        name + "-freqs_filtered": np.ones([1], np.int64),
        name + "-partition_offset": offsets,
        name + "-partition_filter_offset": bucket_order(filtered)[1],
    }


def partitioned(name, keys, dim, parts):
    tensors = {}
    for i in range(parts):
        mine = [k for k in keys if k % 1000 % parts == i]
        tensors.update(full(f"{name}/part_{i}", mine, dim))
    return tensors


def delta(name, keys, dim):
    keys, offsets = bucket_order(np.asarray(keys, np.int64))
    return {
        name + "-sparse_incr_keys": keys,
        name + "-sparse_incr_values": rows_of(keys, dim, DELTA),
        name + "-sparse_incr_versions": np.zeros([len(keys)], np.int64),
        name + "-sparse_incr_freqs": np.ones([len(keys)], np.int64),
        name + "-incr_partition_offset": offsets,
    }


def partitioned_delta(name, keys, dim, parts):
    tensors = {}
    for i in range(parts):
        mine = [k for k in keys if k % 1000 % parts == i]
        tensors.update(delta(f"{name}/part_{i}", mine, dim))
    return tensors


def changed_rows(name, rows, values):
    return {name + "-sparse_incr_keys": rows, name + "-sparse_incr_values": values}


def table(height, width, plus=0.0):
    """An ordinary variable: element (r, c) is 10 r + c."""
    return (np.arange(height)[:, None] * 10 + np.arange(width) + plus).astype(np.float32)


def save(prefix, tensors, slices=()):
    """`slices`: (name, shape and slice, value) of partitioned ordinary variables."""
    entries = [(name, "", value) for name, value in sorted(tensors.items())] + list(slices)
    os.makedirs(OUT, exist_ok=True)
    tf.raw_ops.SaveV2(
        prefix=os.path.join(OUT, prefix),
        tensor_names=[name for name, _, _ in entries],
        shape_and_slices=[spec for _, spec, _ in entries],
        tensors=[value for _, _, value in entries],
    )


KEYS = [37 * i for i in range(100)]
SOME = [0, 37, 370, 3663]  # held already
NEW = [1, 5000, 123456789012345]


def seen(keys):
    """How often training has seen a key: 1 to 10."""
    return np.array([int(k) // 37 % 10 + 1 for k in keys], np.int64)


def without(tensors, *suffixes):
    return {name: value for name, value in tensors.items() if not name.endswith(suffixes)}


def make_formats():
    """What writers of different ages and settings leave out, add or order otherwise."""
    tensors = {}
    for name, key_type in [("seen", np.int64), ("seen32", np.int32)]:
        tensors.update(full(name, KEYS, 4, key_type))
        tensors[name + "-freqs"] = seen(tensors[name + "-keys"])
    tensors.update(full("no_freqs", KEYS, 4))
    tensors["no_freqs-freqs"] = np.zeros([0], np.int64)
    tensors.update(without(full("bare", KEYS, 4), "-freqs", "-versions", "filtered", "offset"))
    # Rows of a slower tier behind the last bucket, without frequencies.
    tensors.update(full("beyond", KEYS[:80], 4))
    tensors["beyond-freqs"] = seen(tensors["beyond-keys"])
    tensors["beyond-keys"] = np.concatenate([tensors["beyond-keys"], np.int64(KEYS[80:])])
    tensors["beyond-values"] = rows_of(tensors["beyond-keys"], 4)
    # A part of each of ten buckets of hundred; most have no rows at all.
    tensors.update(partitioned("ten", [k for k in KEYS if k % 1000 % 10 in (0, 7)], 4, 10))
    # DeepRec never saves negative keys, and -1 and -2 are marks of its hash map.
    signed = np.int64([-2, 5, -1, -37, -9223372036854775808, 9223372036854775807])
    tensors["signed-keys"] = signed
    tensors["signed-values"] = rows_of(signed, 4)
    # Several pieces, and a key in the first and the last of them.
    many = np.arange(10000, dtype=np.int64) * 3
    many[9999] = 30
    tensors["many-keys"] = many
    tensors["many-values"] = rows_of(many, 2)
    tensors["many-values"][9999] = [-1, -2]
    tensors["many-freqs"] = np.arange(10000, dtype=np.int64) % 5
    for name, freqs in [("long", np.ones([101], np.int64)), ("float", np.ones([100], np.float32))]:
        tensors.update(full(name + "_freqs", KEYS, 4))
        tensors[name + "_freqs-freqs"] = freqs
    save("formats", tensors)


def make_formats_delta():
    """One variable without frequencies, one with."""
    tensors = without(delta("seen", SOME + NEW, 4), "-sparse_incr_freqs")
    tensors.update(delta("beyond", SOME + NEW, 4))
    keys = tensors["beyond-sparse_incr_keys"]
    tensors["beyond-sparse_incr_freqs"] = np.array([9 if k in SOME or k == 5000 else 2 for k in keys], np.int64)
    save("formats_delta", tensors)


def make_shards():
    """Keys and rows in different files."""
    tensors = full("whole", KEYS, 4)
    tensors["whole-freqs"] = seen(tensors["whole-keys"])
    save("shard_0", {name: value for name, value in tensors.items() if name.endswith("-keys")})
    save("shard_1", {name: value for name, value in tensors.items() if not name.endswith("-keys")})
    parts = [os.path.join(OUT, name) for name in ["shard_0", "shard_1"]]
    tf.raw_ops.MergeV2Checkpoints(
        checkpoint_prefixes=parts, destination_prefix=os.path.join(OUT, "shards")
    )


SSD_KEYS = KEYS[60:]  # what of KEYS has gone to the SSD
ROWLESS = 999983  # is there, but training has not admitted it


def padded(row):
    data = np.float32(row).tobytes()
    return data + bytes(-len(data) % 16)


def header_record(key, dim, slots):
    """DeepRec's older records: step and which slots have a row, frequency, rows."""
    flags = 0 if key == ROWLESS else (1 << (1 + slots)) - 1
    freq = 1 if key == ROWLESS else seen([key])[0]
    rows = b"".join(padded(rows_of([key], dim, 7.0 * s)[0]) for s in range(1 + slots))
    return struct.pack("<qq", 1234 | flags << 48, freq) + rows


def tail_record(numbers):
    """The newer: rows, then frequency and version, or the former, or neither."""

    def make(key, dim, slots):
        rows = b"".join(padded(rows_of([key], dim, 7.0 * s)[0]) for s in range(1 + slots))
        return rows + struct.pack("<qq", seen([key])[0], 1234)[: 8 * numbers]

    return make


def zero_record(key, dim, slots):
    return bytes(16 + 16 * (1 + slots))


def ssd(name, record, counted=False, dim=4, slots=1, key_type=np.int64, keys=SSD_KEYS, spoil=None):
    """PREFIX-NAME-ssd_record and its two files; of 0.emb every third record is stale."""
    stem = os.path.join(OUT, "ssd", "full-" + name.replace("/", "_"))
    os.makedirs(stem + "-emb_files")
    places, files = [], {0: b"", 3: b""}
    records = {0: 0, 3: 0}
    for i, key in enumerate(keys):
        number = 3 if i % 4 == 3 else 0
        if number == 0 and records[0] % 3 == 1:
            files[0] += b"\xff" * len(record(key, dim, slots))
            records[0] += 1
        places.append((number, records[number] if counted else len(files[number])))
        files[number] += record(key, dim, slots)
        records[number] += 1
    meta = {
        "keys": np.array(keys, key_type),
        "keys_file_id": np.int64([number for number, _ in places]),
        "keys_offset": np.int64([offset for _, offset in places]),
        "files": np.int64([3, 0]),
        "record_count": np.int64([records[3], records[0]]),
        "invalid_record_count": np.int64([0, records[0] // 3]),
    }
    if spoil is not None:
        spoil(meta)
    for number, data in files.items():
        with open(f"{stem}-emb_files/{number}.emb", "wb") as f:
            f.write(data)
    save(stem + "-ssd_record", meta)


def make_ssd():
    """A checkpoint with rows beside it, by writers of all generations."""
    shutil.rmtree(os.path.join(OUT, "ssd"), ignore_errors=True)
    tensors = {}

    def variable(name, record, dim=4, key_type=np.int64, keys=KEYS[:60], slots=1, **more):
        tensors.update(full(name, keys, dim, key_type))
        for s in range(slots):
            tensors.update(full(f"{name}/Adam_{s}", keys, dim, key_type))
        ssd(name, record, dim=dim, key_type=key_type, slots=slots, **more)

    def set_item(name, i, value):
        def spoil(meta):
            meta[name][i] = value

        return spoil

    def shorten(meta):
        meta["keys_offset"] = meta["keys_offset"][1:]

    variable("header", header_record)
    variable("scope/header3", header_record, dim=3, slots=2)
    # The end of a record, one number and zeros, could be a frequency and a version.
    variable("header5", header_record, dim=5)
    variable("tail2", tail_record(2))
    variable("tail1", tail_record(1))
    variable("tail0", tail_record(0), dim=6)
    variable("counted", tail_record(2), counted=True, key_type=np.int32)
    tensors.update(full("rowless", KEYS[:60], 4))
    tensors.update(full("rowless/Adagrad", KEYS[:60], 4))
    ssd("rowless", header_record, keys=SSD_KEYS + [ROWLESS])
    # All rows on the SSD, and one of them in the tensor as well, newer.
    variable("both", tail_record(2), keys=[KEYS[99]])
    tensors["both-values"][:] = 5
    for i in range(2):
        mine = [k for k in KEYS[:60] if k % 1000 % 2 == i]
        tensors.update(full(f"parts/part_{i}", mine, 4))
        ssd(f"parts/part_{i}", tail_record(1), slots=0,
            keys=[k for k in SSD_KEYS if k % 1000 % 2 == i])
    # Broken.
    variable("zeros", zero_record)
    variable("other_width", tail_record(2), slots=1)
    del tensors["other_width/Adam_0-values"]
    variable("far_offset", header_record, spoil=set_item("keys_offset", 5, 1 << 40))
    variable("odd_offset", header_record, spoil=set_item("keys_offset", 5, 49))
    variable("negative_offset", header_record, spoil=set_item("keys_offset", 5, -48))
    variable("no_file", header_record, spoil=set_item("keys_file_id", 5, 1))
    variable("gone_file", header_record, spoil=set_item("files", 0, 7))
    variable("same_file", header_record, spoil=set_item("files", 0, 0))
    variable("fewer_records", header_record, spoil=set_item("record_count", 0, 9))
    variable("negative_records", header_record, spoil=set_item("record_count", 0, -10))
    variable("fewer_offsets", header_record, spoil=shorten)
    save("ssd/full", tensors)


def make_full():
    tensors = {"global_step": np.int64(100)}
    tensors.update(full("whole", KEYS, 4))
    tensors.update(full("whole/Adagrad", KEYS, 4))
    tensors.update(partitioned("four", KEYS, 4, 4))
    tensors.update(partitioned("scope/three", KEYS, 4, 3))
    tensors.update(full("narrow", KEYS, 3, np.int32))
    tensors.update(full("empty", [], 4))
    # Old writers: no offsets; parts by id % 3, keys id // 3.
    for i in range(3):
        keys = np.array([k // 3 for k in KEYS if k % 3 == i], np.int64)
        tensors[f"mod/part_{i}-keys"] = keys
        tensors[f"mod/part_{i}-values"] = rows_of(keys, 4, i)
    # Few rows that obey the routing by chance, again without offsets.
    for i in range(2):
        keys = np.array([10 + i], np.int64)
        tensors[f"chance/part_{i}-keys"] = keys
        tensors[f"chance/part_{i}-values"] = rows_of(keys, 4)
    # The same with them.
    tensors.update(full("offsets/part_0", [4, 10], 4))
    tensors.update(full("offsets/part_1", [3, 11], 4))
    # A key twice: the later row counts.
    tensors["twice-keys"] = np.array([5, 6, 5], np.int64)
    tensors["twice-values"] = np.array([[1, 1], [2, 2], [3, 3]], np.float32)
    tensors["dense/kernel"] = table(10, 3)
    tensors["dense/bias"] = np.float32([1, 2, 3])
    tensors["sparse"] = table(10, 3)
    sliced = table(10, 3)
    slices = [
        ("sliced", "10 3 0,4:0,3", sliced[0:4]),
        ("sliced", "10 3 4,3:0,3", sliced[4:7]),
        ("sliced", "10 3 7,3:0,3", sliced[7:10]),
    ]
    save("full", tensors, slices)


def make_delta():
    tensors = {"global_step": np.int64(110)}
    for name in ["whole", "whole/Adagrad"]:
        tensors.update(delta(name, SOME + NEW, 4))
    tensors.update(partitioned_delta("four", SOME + NEW, 4, 4))
    tensors["dense/bias"] = np.float32([4, 5, 6])
    tensors.update(changed_rows("sparse", np.int64([2, 9]), table(2, 3, 500)))
    # 10 rows in 3 parts: 4, 3, 3.
    tensors.update(changed_rows("sliced/part_0", np.int32([3]), table(1, 3, 600)))
    tensors.update(changed_rows("sliced/part_1", np.int32([]), table(0, 3)))
    tensors.update(changed_rows("sliced/part_2", np.int32([0, 2]), table(2, 3, 700)))
    save("delta", tensors)


def make_broken():
    keys = np.int64([1, 2, 3])
    good = rows_of(keys, 4)
    tensors = {
        "no_values-keys": keys,
        "wide-keys": keys, "wide-values": rows_of(keys, 5),
        "short-keys": keys, "short-values": good[:2],
        "double-keys": keys, "double-values": good.astype(np.float64),
        "matrix-keys": keys[:, None], "matrix-values": good,
        "int32-keys": keys.astype(np.int32), "int32-values": good,
        "flat-keys": keys, "flat-values": good.reshape(-1),
    }
    for i in [0, 2]:
        tensors[f"gap/part_{i}-keys"] = np.zeros([0], np.int64)
        tensors[f"gap/part_{i}-values"] = np.zeros([0, 4], np.float32)
    for i in range(2):  # the last part has rows, but no keys any more
        tensors.update(full(f"lost/part_{i}", [k for k in KEYS if k % 1000 % 2 == i], 4))
    del tensors["lost/part_1-keys"]
    # The first part of two, the first and second of three and of four: nothing is left of the last ones.
    even = [k for k in KEYS if k % 1000 % 2 == 0]
    tensors.update(full("gone/part_0", even, 4))
    for i in range(2):
        tensors.update(full(f"away/part_{i}", [k for k in KEYS if k % 1000 % 3 == i], 4))
        tensors.update(full(f"half/part_{i}", [k for k in KEYS if k % 1000 % 4 == i], 4))
    # The same rows as those of a part, but all there are.
    tensors.update(full("even", even, 4))
    save("broken", tensors)


def make_broken_delta():
    tensors = {
        "whole-sparse_incr_keys": np.int64([1]),
        "four/part_0-sparse_incr_keys": np.int64([1]),  # routes to part 1
        "four/part_0-sparse_incr_values": rows_of([1], 4),
        "four/part_1-sparse_incr_keys": np.int64([]),
        "four/part_1-sparse_incr_values": rows_of([], 4),
    }
    tensors.update(changed_rows("sparse", np.int64([10]), table(1, 3)))  # of 10 rows
    tensors.update(changed_rows("dense/kernel", np.int64([1]), table(1, 4)))  # of 3 columns
    tensors.update(changed_rows("dense/bias", np.float32([1]), np.float32([7])))  # not numbers
    save("broken_delta", tensors)


if __name__ == "__main__":
    make_full()
    make_delta()
    make_broken()
    make_broken_delta()
    make_formats()
    make_formats_delta()
    make_shards()
    make_ssd()
