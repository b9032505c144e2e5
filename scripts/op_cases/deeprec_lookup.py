"""DeepRec's group and fused lookups, which TensorFlow does not have: expected values from their definitions, in double."""
import numpy as np

from op_cases import Cases, tf

rng = np.random.default_rng(11)
cases = Cases("deeprec_lookup")
NEAR = dict(rtol=1e-6, atol=1e-6)
I64, I32, F32 = np.int64, np.int32, np.float32


def pool(rows, weights, places, count, combiner, max_norm=-1.0):
    """Sum, mean or sum / sqrt(n) of weighted rows; n counts rows, whatever their weights."""
    out, n = np.zeros((count, rows.shape[1])), np.zeros(count)
    for row, weight, place in zip(rows.astype(float), weights, places):
        norm = np.sqrt((row ** 2).sum())
        if 0 <= max_norm < norm:
            row = row * (max_norm / norm)
        out[place] += weight * row
        n[place] += 1
    if combiner == "mean":
        out /= np.maximum(n, 1)[:, None]
    if combiner == "sqrtn":
        out /= np.sqrt(np.maximum(n, 1))[:, None]
    return out.astype(F32), n.astype(I32)


def distinct(keys):
    """Distinct keys by first appearance, and where each key stands among them."""
    flat = keys.reshape(-1).tolist()
    firsts = list(dict.fromkeys(flat))
    return np.array(firsts, keys.dtype), np.array([firsts.index(x) for x in flat], I32)


# ------------------------------------------------------------------ group lookups in matrices

def group(lookups, combiner, weighted, one_shape, sequence=False, key=I64, name="", good=True):
    """lookups: (table, keys, indices, weights, dense shape)."""
    dim = lookups[0][0].shape[1]
    inputs = [x[0] for x in lookups] + [x[1].astype(key) for x in lookups]
    inputs += [x[2][:, 0].copy() if one_shape else x[2] for x in lookups]
    inputs += [x[3] if weighted else np.float32(1) for x in lookups]
    inputs += [np.int32(lookups[0][4][0])] if one_shape else [np.array(x[4], I64) for x in lookups]
    inputs += [np.float32(1)]
    outputs = [[], [], [], []]
    for table, keys, indices, weights, shape in lookups:
        if not good:
            break
        steps = shape[1] if sequence else 1
        places = indices[:, 0] * steps + (indices[:, 1] if sequence else 0)
        rows, _ = pool(table[keys], weights if weighted else np.ones(len(keys)), places, shape[0] * steps, combiner)
        outputs[0].append(rows.reshape((shape[0], steps, dim) if sequence else (shape[0], dim)))
        unique = distinct(keys.astype(key))
        outputs[1].append(unique[0])
        outputs[2].append(unique[1])
        outputs[3].append(np.cumsum(np.bincount(indices[:, 0], minlength=shape[0])).astype(I32))
    attrs = {"combiner": combiner.encode(), "num_lookups": len(lookups), "dimension": dim, "ignore_weights": not weighted,
             "dtype": tf.float32, "Tkeys": tf.as_dtype(key), "is_sequence": sequence, "max_norm": -1.0,
             "is_use_default_value_tensor": True}  # as DeepRec's Python makes it; its kernels do not look at it
    if one_shape:
        del attrs["is_sequence"]
    cases.define("GroupVariableLookup", [np.asarray(x) for x in inputs], attrs, sum(outputs, []) if good else None,
                 name=name or combiner, **NEAR)


def sparse(rows, shape, count, seed=0):
    table = rng.uniform(-1, 1, (rows, 3)).astype(F32)
    flat = np.sort(rng.integers(0, int(np.prod(shape)), count))
    indices = np.stack(np.unravel_index(flat, shape), 1).astype(I64).reshape(count, len(shape))
    return [table, rng.integers(0, rows, count).astype(I64), indices, rng.uniform(0.1, 2, count).astype(F32), list(shape)]


for combiner in ("sum", "mean", "sqrtn"):
    for weighted in (False, True):
        for one_shape in (False, True):
            group([sparse(10, (4, 3), 7), sparse(5, (4, 6), 9)], combiner, weighted, one_shape)
    group([sparse(10, (4, 3, 2), 11)], combiner, True, False, sequence=True, name="sequence " + combiner)
    group([sparse(10, (3, 2), 4)], combiner, True, True, key=I32, name="one lookup, int32 keys")
group([sparse(10, (4, 3), 0)], "mean", False, False, name="no keys")
group([sparse(10, (0, 3), 0)], "mean", False, False, name="no rows")
for spoil, what in ((lambda x: x[1].__setitem__(0, 10), "key outside"), (lambda x: x[1].__setitem__(0, -1), "negative key"),
                    (lambda x: x[2].__setitem__((-1, 0), 4), "row outside"),
                    (lambda x: x[2].__setitem__((-1, 0), -1), "negative row"),
                    (lambda x: x.__setitem__(2, x[2][::-1].copy()), "rows in no order"),
                    (lambda x: x.__setitem__(2, x[2][:-1]), "too few indices"),
                    (lambda x: x.__setitem__(3, x[3][:-1]), "too few weights"),
                    (lambda x: x.__setitem__(4, [-1, 3]), "negative shape"),
                    (lambda x: x.__setitem__(0, x[0][0]), "table of rank 1")):
    one = sparse(10, (4, 3), 6)
    one[2][:, 0] = [0, 1, 1, 2, 3, 3]
    attrs_table = one[0]
    spoil(one)
    if one[0].ndim == 1:
        one[0] = np.zeros((3, 3, 3), F32)
    group([one], "sum", True, False, name=what, good=False)

for key in (I32, I64):
    tables, keys = [rng.random((6, 3)).astype(F32), rng.random((4, 3)).astype(F32)], [key([[5, 0], [5, 2]]), key([])]
    uniques = [distinct(x) for x in keys]
    attrs = {"num_lookups": 2, "dimension": 3, "dtype": tf.float32, "Tkeys": tf.as_dtype(key)}
    cases.define("GroupVariableLookupDense", tables + keys + [np.float32(1)], attrs,
                 [t[k] for t, k in zip(tables, keys)] + [u[0] for u in uniques] + [u[1] for u in uniques])
    cases.define("GroupVariableLookupDense", tables + [keys[0], key([4])] + [np.float32(1)], attrs, None, name="outside")

# ------------------------------------------------------------------------------ fused lookups

TABLE = np.arange(128, dtype=F32).reshape(16, 8) / 16
IDS, INDICES = I64([3, 1, 4, 5, 7, 3, 12, 12, 15, 4]), I64([[0, 1], [0, 5], [1, 2], [1, 1], [1, 7], [2, 1], [2, 4], [2, 7],
                                                           [4, 0], [4, 6]])
SHAPE = I64([5, 8])
for combiner in ("sum", "mean", "sqrtn"):
    for max_norm in (-1.0, 0.0, 9.0):
        rows, n = pool(TABLE[IDS], np.ones(10), INDICES[:, 0], 5, combiner, max_norm)
        cases.define("FusedEmbeddingLocalSparseLookUp", [IDS, INDICES, SHAPE, TABLE],
                     {"T": tf.float32, "combiner": combiner.encode(), "max_norm": max_norm},
                     [rows, (np.cumsum(n) - n).astype(I32)], name="%s %g" % (combiner, max_norm), **NEAR)
LOCAL = {"T": tf.float32, "combiner": b"sum"}
for name, inputs in (("id outside", [I64([16]), I64([[0, 0]]), SHAPE, TABLE]),
                     ("negative id", [I64([-1]), I64([[0, 0]]), SHAPE, TABLE]),
                     ("row outside", [I64([1]), I64([[5, 0]]), SHAPE, TABLE]),
                     ("too few indices", [IDS, INDICES[1:], SHAPE, TABLE]),
                     ("negative shape", [IDS[:0], INDICES[:0], I64([-2, 3]), TABLE]),
                     ("huge shape", [IDS[:0], INDICES[:0], I64([1 << 40, 3]), TABLE])):
    cases.define("FusedEmbeddingLocalSparseLookUp", inputs, LOCAL, None, name=name)

for id_type in (I32, I64):
    ids = id_type([3, -1, 4, 5, -7, 3, 12, 12, 15, -4])
    valid = ids >= 0
    for combiner in ("sum", "mean", "sqrtn"):  # DeepRec's kernel takes the last for a sum, and does not read max_norm
        rows, _ = pool(TABLE[ids[valid]], np.ones(10), INDICES[valid][:, 0], 5, "sum" if combiner == "sqrtn" else combiner)
        for max_norm in ({}, {"max_norm": 9.0}):
            cases.define("FusedSafeEmbeddingLookupSparseLocal", [TABLE, ids, SHAPE, INDICES, ids],
                         {"combiner": combiner.encode(), **max_norm}, [rows], name=combiner, **NEAR)
    cases.define("FusedSafeEmbeddingLookupSparseLocal", [TABLE, id_type([16]), SHAPE, I64([[0, 0]]), ids], {}, None)


def find_part(i, strategy, parts, total):
    if strategy == "mod":
        return i % parts, i // parts
    if strategy == "mod_ev":
        return i % 1000 % parts, i
    each, extra = divmod(total, parts)
    return (i // (each + 1), i % (each + 1)) if i < extra * (each + 1) else ((i - extra) // each, (i - extra) % each)


def pre(ids, indices, batch, strategy, rows, fill, prune, default_id):
    parts, total = len(rows), sum(rows)
    whole = rows == [1]
    out, flags = [([], []) for _ in rows], [0] * batch + [int(i >= 0) for i in ids]
    for i, index in zip(ids.tolist(), indices.tolist()):
        if i < 0 and prune:
            continue
        part, there = (0, i) if i < 0 or whole else find_part(i, strategy, parts, total)
        out[part][0].append(there)
        out[part][1].append(index)
        flags[index[0]] = 1
    default = max(default_id, 0)
    part, there = (0, default) if whole else find_part(default, strategy, parts, total)
    for row in range(batch):
        flags[row] = int(fill and not flags[row])
        if flags[row]:
            out[part][0].append(there)
            out[part][1].append([row, 0])
    values = [I64(x[0]) for x in out]
    return values, [I64(x[1]).reshape(-1, 2) for x in out], I32(flags)


SOME = I64([3, -1, 4, 5, -7, 3, 12, 12, 15, -4])
for strategy in ("div", "mod"):
    for rows in ([16], [6, 5, 5], [1]):
        for fill, prune, default_id in ((False, False, -1), (True, False, 2), (True, True, -1), (True, True, 15), (False, True, 0)):
            if rows == [1] and default_id == 15 and strategy == "mod":
                continue
            values, places, flags = pre(SOME, INDICES, 5, strategy, rows, fill, prune, default_id)
            attrs = {"num_partitions": len(rows), "partition_strategy": strategy.encode(), "fill_empty_row": fill,
                     "prune_invalid_id": prune, "default_id": default_id}
            cases.define("FusedEmbeddingSparsePreLookUp", [I64([r, 8 if rows != [1] else 1]) for r in rows] +
                         [SOME, INDICES, SHAPE], attrs, values + places + [flags],
                         name="%s %d %s" % (strategy, len(rows), attrs))
            if not prune or rows == [1]:
                continue
            first = np.cumsum([0] + rows)
            shards = [TABLE[(v * len(rows) + p) if strategy == "mod" else v + first[p]] for p, v in enumerate(values)]
            for combiner in ("sum", "mean", "sqrtn"):
                for post_default in (-1, 0):
                    result, n = pool(np.concatenate(shards), np.ones(99), np.concatenate(places)[:, 0], 5, combiner)
                    if post_default >= 0:
                        result[flags[:5] == 1] = 0
                    for max_norm in ({}, {"max_norm": 0.9}):  # which DeepRec's kernel for a CPU does not apply
                        cases.define("FusedEmbeddingSparsePostLookUp", shards + places + [SHAPE, flags] + values,
                                     {"num_partitions": len(rows), "combiner": combiner.encode(), "default_id": post_default,
                                      **max_norm}, [result, n], name="%s %s" % (combiner, strategy), **NEAR)
PRE = {"num_partitions": 2, "fill_empty_row": True}
PARTS = [I64([3, 8]), I64([2, 8])]
for name, inputs in (("id outside", PARTS + [I64([5]), I64([[0, 0]]), SHAPE]),
                     ("row outside", PARTS + [I64([1]), I64([[5, 0]]), SHAPE]),
                     ("negative rows", [I64([-3, 8]), I64([2, 8]), I64([1]), I64([[0, 0]]), SHAPE]),
                     ("too few indices", PARTS + [I64([1, 2]), I64([[0, 0]]), SHAPE]),
                     ("huge", PARTS + [I64([1]), I64([[0, 0]]), I64([1 << 60, 8])])):
    cases.define("FusedEmbeddingSparsePreLookUp", inputs, PRE, None, name=name)
cases.define("FusedEmbeddingSparsePostLookUp", [TABLE[:2], I64([[0, 0], [7, 0]]), SHAPE, I32([0] * 7), I64([0, 1])],
             {"combiner": b"sum"}, None, name="row outside")
cases.define("FusedEmbeddingSparsePostLookUp", [TABLE[:2], I64([[0, 0]]), SHAPE, I32([0] * 7), I64([0, 1])],
             {"combiner": b"sum"}, None, name="too few indices")
cases.define("FusedEmbeddingSparsePostLookUp", [TABLE[:2], I64([[0, 0], [1, 0]]), SHAPE, I32([0] * 3), I64([0, 1])],
             {"combiner": b"sum", "default_id": 0}, None, name="too few flags")

# DeepRec's own example of its rules, and ids that are absent.
for strategy, ids, rows in (("div", [1, 5, 3, 6, 12, 14, 15, 0, 5, 5, 11, 7], [6, 5, 5]),
                            ("mod", [1, 5, 3, 6, 12, 14, 15, 0, 5, 5, 11, 7], [6, 6]),
                            ("mod_ev", [5, 28, 1003, 2004, 1834, 17833], [10000, 10000]), ("div", [], [3, 3])):
    values, places = [[] for _ in rows], []
    for i in ids:
        part, there = find_part(i, strategy, len(rows), sum(rows))
        places.append((part, len(values[part])))
        values[part].append(there)
    permutation = I32(places).reshape(-1, 2)
    cases.define("PartitionWithPermutation", [I64(ids)] + [I64([r, 8]) for r in rows],
                 {"num_partitions": len(rows), "partition_strategy": strategy.encode()},
                 [I64(v) for v in values] + [permutation], name=strategy)
    if strategy == "mod_ev" or not ids:
        continue
    shards = [rng.random((20, 4)).astype(F32)[v] for v in values]
    again = I32(rng.integers(0, len(ids), 20))
    where = I64(np.stack([rng.integers(0, 4, 20), np.zeros(20)], 1))
    where[where[:, 0] == 2, 0] = 1
    gathered = np.stack([shards[permutation[u][0]][permutation[u][1]] for u in again])
    for combiner in ("sum", "mean", "sqrtn"):
        for max_norm in (-1.0, 0.9):
            result, n = pool(gathered, np.ones(20), where[:, 0], 4, combiner, max_norm)
            result[0] = n[0] = 0
            for flags in (I32([1, 0, 0, 0]), np.array([True, False, False, False])):
                cases.define("FusedEmbeddingSparsePostLookUpV2", shards + [permutation, I64([4, 9]), where, flags, again],
                             {"num_partitions": len(rows), "combiner": combiner.encode(), "max_norm": max_norm,
                              "fill_empty_row": True}, [result, n, np.zeros(len(rows), np.uint64)], name=combiner, **NEAR)
    weights = rng.uniform(-1, 2, 20).astype(F32)
    for weighted in (False, True):
        for combiner, max_norm in (("sum", -1.0), ("mean", -1.0), ("sqrtn", 0.9)):
            result, n = pool(gathered, weights if weighted else np.ones(20), where[:, 0], 4, combiner, max_norm)
            cases.define("FusedEmbeddingSparsePostLookUpV2",
                         shards + [permutation, I64([4, 9]), where, np.zeros(1, bool), again, weights if weighted else F32([1])],
                         {"num_partitions": len(rows), "combiner": combiner.encode(), "max_norm": max_norm,
                          "use_sparse_weights": weighted}, [result, n, np.zeros(len(rows), np.uint64)],
                         name="%s weighted %d" % (combiner, weighted), **NEAR)
    cases.define("FusedEmbeddingSparsePostLookUpV2",
                 shards + [permutation, I64([4, 9]), where, np.zeros(1, bool), again, weights[1:]],
                 {"num_partitions": len(rows), "combiner": b"sum", "use_sparse_weights": True}, None, name="too few weights")
    for name, bad in (("distinct id", [shards, permutation, where, I32([99] * 20)]),
                      ("place", [shards, permutation + 99, where, again]), ("row", [shards, permutation, where + 4, again])):
        cases.define("FusedEmbeddingSparsePostLookUpV2", bad[0] + [bad[1], I64([4, 9]), bad[2], I32([0] * 4), bad[3]],
                     {"num_partitions": len(rows), "combiner": b"sum"}, None, name="bad " + name)
for bad in (I64([-1]), I64([6])):
    cases.define("PartitionWithPermutation", [bad, I64([3, 8]), I64([3, 8])], {"partition_strategy": b"div"}, None)

WEIGHTS = F32([1, 2, 0, 1, -1, 2, 0, 3, 1, 1])
for fill in (False, True):
    for prune in (False, True):
        for weighted, prune_weights in ((False, False), (True, False), (True, True)):
            stays = [not (prune and (i < 0 or prune_weights and w <= 0)) for i, w in zip(SOME, WEIGHTS)]
            empty = np.array([not any(s and row == index[0] for s, index in zip(stays, INDICES)) for row in range(5)])
            added = np.nonzero(empty)[0] if fill else np.array([], int)
            ids = np.concatenate([SOME[stays], np.full(len(added), 6)]).astype(I64)
            index = np.concatenate([INDICES[stays], np.stack([added, np.zeros_like(added)], 1)]).astype(I64)
            weights = np.concatenate([WEIGHTS[stays], np.full(len(added), 0.5)]).astype(F32)
            for spelled in ("prune_invalid", "prune"):
                attrs = {"fill_empty_row": fill, spelled: prune, "default_id": 6, "use_sparse_weights": weighted,
                         "prune_sparse_weights": prune_weights, "default_weight": 0.5}
                cases.define("PruneInvalidAndFillEmptyRows", [SOME, INDICES, SHAPE, WEIGHTS], attrs,
                             [ids, index, weights if weighted else weights[:0], empty], name=str(attrs))
            if not weighted:
                cases.define("PruneInvalidAndFillEmptyRows", [SOME, INDICES, SHAPE],
                             {"fill_empty_row": fill, "prune_invalid_id": prune, "default_id": 6},
                             [ids, index, I32(list(empty & fill) + stays)], name="earlier")
cases.define("PruneInvalidAndFillEmptyRows", [SOME, INDICES, I64([4, 8]), WEIGHTS], {}, None, name="row outside")
cases.define("PruneInvalidAndFillEmptyRows", [SOME, INDICES, I64([1 << 60, 8]), WEIGHTS], {}, None, name="huge")

for key in (I32, I64):
    for counter in (tf.int32, tf.int64):
        keys = key([7, 3, 7, 7, -1, 3])
        cases.define("UniqueWithCountsV3", [keys], {"KeyType": tf.as_dtype(key), "CounterType": counter},
                     [key([7, 3, -1]), np.array([0, 1, 0, 0, 2, 1], counter.as_numpy_dtype),
                      np.array([3, 2, 1], counter.as_numpy_dtype)])
cases.write()
