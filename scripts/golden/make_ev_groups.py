"""ev-groups: DeepRec's lookups in several EmbeddingVariables by one operator, and its fused chains.

Groups of one width each, in the forms of earlier and of later releases, with every combiner, with weights and without; dense keys.
Chains that leave invalid ids out, fill empty rows, look distinct ids up in the parts they belong to and combine what they find,
in three forms.  Adaptive embeddings, where rare keys have rows of a dense table, and frequent ones begin with those.

No TensorFlow has these operators.  Here they are computed from their definitions, in double; all else is TensorFlow's.
"""
import collections
import os

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")

import numpy as np
import tensorflow as tf

import case
import embedding_variables as ev

PROVENANCE = ("Made by scripts/golden/make_ev_groups.py with TensorFlow %s on CPU: rows from a seeded generator, bundles by SaveV2, "
              "answers by running the graph with DeepRec's operators computed by numpy from their definitions, in double precision.  "
              "Apache-2.0, like the project." % tf.__version__)
v1 = tf.compat.v1
f32, i32, i64 = tf.float32, tf.int32, tf.int64
PARTS = 3
NO_KEY = -1  # in a request, where a row has fewer keys than others
DEFAULT_CITY = 1236  # absent, and of the last part
ITEM_NORM = 2.0
FALLBACKS = 5  # rows of the dense table
WIDTHS = {"user_sum": 4, "item_mean": 8, "age_sqrtn": 3, "city_mean": 4, "item_clipped": 8, "city_sqrtn": 4, "tag_first": 8}


def make_variables(rng):
    """{name: variable}, and the parts of one that is partitioned."""
    def make(name, dim, keys, default_rows, **options):
        return ev.EmbeddingVariable(name, dim, keys, rng.normal(size=(len(keys), dim)), rng.normal(size=(default_rows, dim)), **options)

    variables = [make("user", 4, list(range(20)) + [2**53 + 1, 2**62], 3),
                 make("shop", 4, range(0, 40, 3), 1, filter_freq=2, no_permission=0.25, filtered=[4]),
                 make("item", 8, range(0, 60, 2), 1),
                 make("tag", 8, range(10, 30), 1, filter_freq=5, no_permission=-0.5),
                 make("age", 3, range(18, 40), 2, key_dtype=np.int32)]
    # Each part is initialized by itself, so each has default rows of its own.
    cities = range(0, 3000, 67)
    parts = [make("city/part_%d" % i, 4, [key for key in cities if key % 1000 % PARTS == i], 2, part=(i, PARTS))
             for i in range(PARTS)]
    return {variable.name: variable for variable in variables}, parts


# ------------------------------------------------------------------------------------------------ definitions

def distinct(keys):
    """The keys in the order in which they appear first, where each key stands among those, and how often each is there."""
    firsts = list(dict.fromkeys(keys.tolist()))
    numbers = np.array([firsts.index(key) for key in keys.tolist()], np.int32)
    return np.array(firsts, keys.dtype), numbers, np.bincount(numbers, minlength=len(firsts)).astype(np.int32)


def counted(places, count):
    return np.bincount(places, minlength=count).astype(np.int32)


def pooled(rows, weights, places, count, combiner):
    """sum(w x) in each of `count` places, over the number of rows there or its root; zeros where there is none."""
    out = np.zeros((count, rows.shape[1]))
    np.add.at(out, places, rows.astype(np.float64) * np.asarray(weights, np.float64)[:, None])
    number = np.maximum(counted(places, count), 1)[:, None]
    return (out / {"sum": 1, "mean": number, "sqrtn": np.sqrt(number)}[combiner]).astype(np.float32)


def check(condition):
    """DeepRec's kernels do not look, and go beside their buffers."""
    if not condition:
        raise ValueError("inputs that do not fit together")


def group_lookup(variables, combiner, weighted, has_defaults):
    """GroupEmbeddingVarLookup: n inputs and outputs of each kind.  One shape for all is a number of rows, and indices are rows."""
    n = len(variables)

    def one(variable, keys, indices, weights, shape, default_rows):
        batch, places = shape.reshape(-1)[0], indices if shape.ndim == 0 else indices[:, 0]
        check(len(places) == len(keys) and (places >= 0).all() and (places < batch).all() and (np.diff(places) >= 0).all())
        check(not weighted or len(weights) == len(keys))
        firsts, numbers, _ = distinct(keys)
        rows = variable.lookup(firsts)
        if has_defaults:
            rows = np.array([variable.table.get(int(key), row) for key, row in zip(firsts, default_rows)], np.float32)
        rows = rows.reshape(-1, variable.dim)[numbers]
        out = pooled(rows, weights if weighted else np.ones(len(keys)), places, batch, combiner)
        return out, firsts, numbers, np.cumsum(counted(places, batch), dtype=np.int32)

    def compute(*inputs):
        keys, indices, weights = inputs[:n], inputs[n:2 * n], inputs[2 * n:3 * n]
        shapes = inputs[3 * n:-1] if len(inputs) > 3 * n + 2 else [inputs[3 * n]] * n
        found = [one(*lookup, inputs[-1]) for lookup in zip(variables, keys, indices, weights, shapes)]
        return [output for kind in zip(*found) for output in kind]

    return compute


def group_lookup_dense(variables):
    def compute(*inputs):
        unique = [distinct(keys.reshape(-1)) for keys in inputs[:-1]]
        return ([variable.lookup(keys) for variable, keys in zip(variables, inputs)] +
                [firsts for firsts, _, _ in unique] + [numbers for _, numbers, _ in unique])

    return compute


def prune(default_id, prune_weights):
    """PruneInvalidAndFillEmptyRows: no negative ids; the default id, or 0, at the end for each row that has none."""
    def compute(ids, indices, shape, weights):
        stays = (ids >= 0) & (weights > 0 if prune_weights else True)
        is_empty = counted(indices[stays, 0], shape[0]) == 0
        added = np.flatnonzero(is_empty)
        filled = np.stack([added, np.zeros_like(added)], 1)
        return (np.concatenate([ids[stays], np.full(len(added), max(default_id, 0))]),
                np.concatenate([indices[stays], filled]),
                np.concatenate([weights[stays], np.ones(len(added), np.float32)]), is_empty)

    return compute


def prune_with_flags(default_id):
    """The same in earlier releases: which rows were empty and which ids are valid, in one vector."""
    def compute(ids, indices, shape, *_):
        ids_out, indices_out, _, is_empty = prune(default_id, False)(ids, indices, shape, np.ones(len(ids), np.float32))
        return ids_out, indices_out, np.concatenate([is_empty, ids >= 0]).astype(np.int32)

    return compute


def partition(ids, *_):
    """PartitionWithPermutation by mod_ev: the ids of each part, and for each id its part and its place there."""
    part = ids % 1000 % PARTS
    place = np.array([np.count_nonzero(part[:i] == part[i]) for i in range(len(ids))], np.int64)
    return [*[ids[part == i] for i in range(PARTS)], np.stack([part, place], 1).astype(np.int32)]


def post(combiner, default_id, max_norm, parts):
    """FusedEmbeddingSparsePostLookUpV2: rows that were empty are zeros unless there is a default id."""
    def compute(*inputs):
        shards, (places, shape, indices, is_empty, numbers, *weights) = inputs[:parts], inputs[parts:]
        if parts == 1:
            rows = shards[0][numbers]
        else:
            rows = np.array([shards[part][row] for part, row in places[numbers]], np.float32).reshape(-1, shards[0].shape[1])
        norms = np.sqrt(np.square(rows, dtype=np.float64).sum(1, keepdims=True))
        if max_norm >= 0:
            rows = np.where(norms > max_norm, rows * (max_norm / np.maximum(norms, 1e-30)), rows)
        out = pooled(rows, weights[0] if weights else np.ones(len(rows)), indices[:, 0], shape[0], combiner)
        number = counted(indices[:, 0], shape[0])
        if default_id < 0:
            is_empty = is_empty[:shape[0]].astype(bool)
            out[is_empty], number[is_empty] = 0, 0
        return out, number, np.zeros(parts, np.uint64)

    return compute


def first_post(combiner):
    """FusedEmbeddingSparsePostLookUp of one part: flagged rows are zeros; its kernel for a CPU does not read max_norm."""
    def compute(rows, indices, shape, flags, ids):
        out = pooled(rows, np.ones(len(rows)), indices[:, 0], shape[0], combiner)
        out[flags[:shape[0]] == 1] = 0
        return out, counted(indices[:, 0], shape[0])

    return compute


# ------------------------------------------------------------------------------------------------ the graph

# A column of a request for a group: where its keys are, and a weight for each.
Feature = collections.namedtuple("Feature", "keys indices weights shape")


class Lookups:
    """Nodes as DeepRec's Python makes them."""

    def __init__(self):
        self.operators = ev.Operators()

    def group(self, variables, features, combiner, weighted, defaults=None, **attrs):
        """The rows that features make, and all else that the operator tells of them."""
        n, dim, one, key_type = len(variables), variables[0].dim, tf.constant(1.0), features[0].keys.dtype
        keys, indices, weights, shapes = [list(kind) for kind in zip(*features)]
        inputs = [*keys, *indices, *(weights if weighted else [one] * n), *(shapes if shapes[0].shape.rank else shapes[:1]),
                  one if defaults is None else defaults]
        outputs = self.operators.add(
            "GroupEmbeddingVarLookup", group_lookup(variables, combiner, weighted, defaults is not None), inputs,
            [f32] * n + [key_type] * n + [i32] * 2 * n, variables, combiner=combiner, dimension=dim, num_lookups=n,
            ignore_weights=not weighted, max_norm=-1.0, is_use_default_value_tensor=defaults is not None, dtype=f32, Tkeys=key_type,
            **attrs)
        return [tf.ensure_shape(rows, [None, dim]) for rows in outputs[:n]], outputs[n:]

    def group_dense(self, variables, keys):
        n = len(variables)
        return self.operators.add("GroupEmbeddingVarLookupDense", group_lookup_dense(variables), [*keys, tf.constant(1.0)],
                                  [f32] * n + [i64] * n + [i32] * n, variables, dimension=variables[0].dim, num_lookups=n,
                                  dtype=f32, Tkeys=i64)[:n]

    def gather(self, variable, ids, counts):
        """With how often ids occur, which serving does not ask for."""
        rows, = self.operators.add("KvResourceGatherV1", lambda ids, *_: variable.lookup(ids), [ids, tf.constant(1.0), counts], [f32],
                                   [variable], dtype=f32, Tkeys=i64, counts_type=i32)
        return rows

    def gather_or(self, variable, ids, rows):
        """With rows for the ids that are absent."""
        def compute(ids, rows):
            return np.array([variable.table.get(int(key), row) for key, row in zip(ids, rows)], np.float32).reshape(-1, variable.dim)

        found, = self.operators.add("KvResourceGather", compute, [ids, rows], [f32], [variable], is_use_default_value_tensor=True,
                                    dtype=f32, Tkeys=i64)
        return tf.ensure_shape(found, [None, variable.dim])

    def distinct(self, ids):
        return self.operators.add("UniqueWithCountsV3", distinct, [ids], [i64, i32, i32], KeyType=i64, CounterType=i32)

    def chain(self, parts, feature, combiner, default_id=-1, max_norm=-1.0):
        """fused_embedding_lookup_sparse_v2 of later releases: weights that are not positive go, but from a sum."""
        prune_weights = combiner != "sum"
        ids, indices, weights, is_empty = self.operators.add(
            "PruneInvalidAndFillEmptyRows", prune(default_id, prune_weights),
            [feature.keys, feature.indices, feature.shape, feature.weights], [i64, i64, f32, tf.bool], fill_empty_row=True, prune=True,
            default_id=default_id, use_sparse_weights=True, prune_sparse_weights=prune_weights)
        unique, numbers, counts = self.distinct(ids)
        *shards, places = self.parts_of(unique, len(parts))
        shards = [self.gather(part, keys, counts) for part, keys in zip(parts, shards)]
        return self.operators.add(
            "FusedEmbeddingSparsePostLookUpV2", post(combiner, default_id, max_norm, len(parts)),
            [*shards, places, feature.shape, indices, is_empty, numbers, weights], [f32, i32, tf.uint64], T=f32,
            num_partitions=len(parts), partition_axis=0, combiner=combiner, max_norm=max_norm, fill_empty_row=True,
            default_id=default_id, use_sparse_weights=True)[:2]

    def parts_of(self, ids, n):
        if n == 1:
            return ids, tf.zeros([1, 1], i32)
        return self.operators.add("PartitionWithPermutation", partition, [ids] + [tf.constant([1, 1], i64)] * n, [i64] * n + [i32],
                                  num_partitions=n, partition_axis=0, partition_strategy="mod_ev")

    def earlier_chain(self, parts, feature, combiner, default_id):
        """The same in earlier releases, without weights."""
        ids, indices, flags = self.operators.add(
            "PruneInvalidAndFillEmptyRows", prune_with_flags(default_id), [feature.keys, feature.indices, feature.shape],
            [i64, i64, i32], fill_empty_row=True, prune_invalid_id=True, default_id=default_id)
        unique, numbers = tf.unique(tf.ensure_shape(ids, [None]))
        *shards, places = self.parts_of(unique, len(parts))
        shards = [part.read(tf.ensure_shape(keys, [None])) for part, keys in zip(parts, shards)]
        return self.operators.add(
            "FusedEmbeddingSparsePostLookUpV2", post(combiner, default_id, -1.0, len(parts)),
            [*shards, places, feature.shape, indices, flags, numbers], [f32, i32, tf.uint64], T=f32, num_partitions=len(parts),
            partition_axis=0, combiner=combiner, max_norm=-1.0, fill_empty_row=True, default_id=default_id)[:2]

    def first_chain(self, variable, feature, combiner):
        """fused_safe_embedding_lookup_sparse of the first releases: every id is looked up by itself."""
        ids, indices, flags = self.operators.add(
            "FusedEmbeddingSparsePreLookUp", lambda _, *inputs: prune_with_flags(-1)(*inputs),
            [tf.constant([1, 1], i64), feature.keys, feature.indices, feature.shape], [i64, i64, i32], num_partitions=1,
            partition_axis=0, fill_empty_row=True, prune_invalid_id=True, default_id=-1, partition_strategy="div")
        rows = variable.read(tf.ensure_shape(ids, [None]))
        return self.operators.add("FusedEmbeddingSparsePostLookUp", first_post(combiner), [rows, indices, feature.shape, flags, ids],
                                  [f32, i32], T=f32, num_partitions=1, partition_axis=0, combiner=combiner, max_norm=0.5,
                                  default_id=0)[:2]


def adaptive(lookups, variable, keys, is_frequent, fallbacks):
    """adaptive_embedding_lookup_sparse of one key a row."""
    parts = tf.cast(is_frequent, i32)
    rare, frequent = tf.dynamic_partition(keys, parts, 2)
    unique, numbers = tf.unique(tf.math.floormod(rare, FALLBACKS))
    of_rare = tf.raw_ops.SparseSegmentMean(data=tf.gather(fallbacks, unique), indices=numbers, segment_ids=tf.range(tf.size(numbers)))
    of_frequent = lookups.gather_or(variable, frequent, tf.gather(fallbacks, tf.math.floormod(frequent, FALLBACKS)))
    return tf.dynamic_stitch(tf.dynamic_partition(tf.range(tf.size(keys)), parts, 2), [of_rare, of_frequent])


def sparse(ids, weights):
    indices = tf.where(tf.not_equal(ids, NO_KEY))
    return Feature(tf.gather_nd(ids, indices), indices, tf.gather_nd(weights, indices), tf.shape(ids, out_type=i64))


def later_groups(lookups, evs, users, items, ages):
    out = {}
    (out["user_sum"], out["shop_sum"]), beside = lookups.group([evs["user"], evs["shop"]], [users, items], "sum", True, is_sequence=False)
    out["users"], out["user_numbers"], out["users_up_to"] = beside[::2]
    (out["item_mean"], out["tag_mean"], out["item_again"]), _ = lookups.group(
        [evs["item"], evs["tag"], evs["item"]], [items, items, users], "mean", False, is_sequence=False)
    (out["age_sqrtn"],), _ = lookups.group([evs["age"]], [ages], "sqrtn", True, is_sequence=False)
    return out


def earlier_groups(lookups, evs, feature, fallbacks):
    out = {}
    (out["earlier_user"], out["earlier_shop"]), _ = lookups.group([evs["user"], evs["shop"]], [feature] * 2, "mean", True,
                                                                  is_inference=False)
    (out["earlier_tag"],), _ = lookups.group([evs["tag"]], [feature], "sqrtn", False, is_inference=False)
    # What distinct keys answer that are absent is an input.
    defaults = tf.gather(fallbacks, tf.math.floormod(tf.unique(feature.keys)[0], FALLBACKS))
    (out["earlier_item"],), _ = lookups.group([evs["item"]], [feature], "sum", True, defaults, is_inference=True)
    out["adaptive_item"] = adaptive(lookups, evs["item"], feature.keys, feature.weights > 0, fallbacks)
    return out


def chains(lookups, evs, parts, cities, items):
    out = {}
    out["city_mean"], out["city_numbers"] = lookups.chain(parts, cities, "mean")
    out["item_clipped"], out["item_numbers"] = lookups.chain([evs["item"]], items, "sum", default_id=6, max_norm=ITEM_NORM)
    out["city_sqrtn"], _ = lookups.earlier_chain(parts, cities, "sqrtn", DEFAULT_CITY)
    out["user_mean"], _ = lookups.earlier_chain([evs["user"]], items, "mean", -1)
    out["tag_first"], out["tag_numbers"] = lookups.first_chain(evs["tag"], items, "mean")
    return out


def placeholders():
    shapes = {"users": (i64, 2), "items": (i64, 2), "cities": (i64, 2), "ages": (i32, 2), "weights": (f32, 2),
              "keys": (i64, 1), "rows": (i64, 1), "key_weights": (f32, 1), "batch": (i32, 0)}
    return {name: v1.placeholder(dtype, [None] * rank, name) for name, (dtype, rank) in shapes.items()}


def score(rng, outputs):
    kernel = v1.get_variable("kernel", initializer=rng.normal(size=(sum(WIDTHS.values()), 1)).astype("f4") / 3, use_resource=False)
    joined = tf.concat([tf.ensure_shape(outputs[name], [None, width]) for name, width in WIDTHS.items()], 1)
    return tf.sigmoid(tf.matmul(joined, kernel))


def build(rng, lookups, evs, parts):
    inputs = placeholders()
    users, items, cities, ages = [sparse(inputs[name], inputs["weights"]) for name in ("users", "items", "cities", "ages")]
    by_rows = Feature(inputs["keys"], inputs["rows"], inputs["key_weights"], inputs["batch"])
    fallbacks = v1.get_variable("fallbacks", initializer=rng.normal(size=(FALLBACKS, 8)).astype("f4"), use_resource=False)
    outputs = {**later_groups(lookups, evs, users, items, ages), **chains(lookups, evs, parts, cities, items),
               **earlier_groups(lookups, evs, by_rows, fallbacks)}
    outputs["score"] = score(rng, outputs)
    outputs["dense_user"], outputs["dense_shop"] = lookups.group_dense(
        [evs["user"], evs["shop"]], [inputs["keys"], tf.maximum(inputs["users"], 0)])
    return inputs, {name: tf.identity(tensor, name + "_out") for name, tensor in outputs.items()}


def padded(rng, lengths, choices):
    """A row of keys for each length; none is there twice before all are."""
    out, keys = np.full((len(lengths), max(lengths, default=2)), NO_KEY), list(np.resize(rng.permutation(choices), sum(lengths)))
    for row, length in zip(out, lengths):
        row[rng.permutation(len(row))[:length]] = [keys.pop() for _ in range(length)]
    return out


def request(rng, lengths):
    """Negative keys, which groups look up like others, are such that C's remainder of them is none, as ours is."""
    users = padded(rng, lengths, [0, 1, 2, 5, 19, 20, 77, -3, -600, 2**53 + 1, 2**62])
    rows = np.sort(rng.integers(0, len(lengths), 2 * len(lengths))) if lengths else np.zeros(0, int)
    return {"users": users, "items": padded(rng, lengths, [2, 4, 8, 12, 14, 21, 26, 29, 31, -2, -9]),
            "cities": padded(rng, lengths, [0, 67, 2948, 2000, 3, 4, 1001, 500, 5, -5]),
            "ages": padded(rng, lengths, [18, 19, 39, 17, 40, 2**31 - 1]).astype(np.int32),
            "weights": rng.choice([0.5, 1, 2, -1.5, 0], users.shape).astype("f4"), "keys": rng.choice([0, 3, 4, 18, 36, 91, -6], len(rows)),
            "rows": rows, "key_weights": rng.normal(size=len(rows)).astype("f4"), "batch": np.int32(len(lengths))}


def requests(rng):
    good = [request(rng, lengths) for lengths in ([2], [0], [1, 3], [4, 0, 1, 2, 0, 3, 2], [])]
    good.append({**request(rng, [2, 1]), "keys": np.int64([]), "rows": np.int64([]), "key_weights": np.float32([])})
    some = good[3]
    bad = [{**some, "rows": some["rows"] + 3}, {**some, "rows": some["rows"][::-1].copy()}, {**some, "rows": some["rows"][1:]},
           {**some, "key_weights": some["key_weights"][:3]}, {**some, "weights": some["weights"][:2]}, {**some, "batch": np.int32(2)}]
    return good, bad


def main():
    rng = np.random.default_rng(72)
    evs, parts = make_variables(rng)
    lookups = Lookups()
    with tf.Graph().as_default() as graph, v1.Session() as session:
        inputs, outputs = build(rng, lookups, evs, parts)
        saver_def = v1.train.Saver(sharded=True).saver_def
        session.run(v1.global_variables_initializer())
        weights = {x.op.name: session.run(x) for x in v1.global_variables()}
        good, bad = requests(rng)

        def run(feed):
            return session.run(outputs, {inputs[name]: value for name, value in feed.items()})

        pairs, refused = [(feed, run(feed)) for feed in good], [(feed, ev.refusal(run, feed)) for feed in bad]
        graph_def = ev.with_embedding_ops(lookups.operators.put(graph.as_graph_def()), [*evs.values(), *parts], saver_def)
    folder = case.start("ev-groups")
    ev.write_saved_model(folder + "/model", graph_def, saver_def, {"serving_default": (inputs, outputs)})
    rows = {name: value for variable in [*evs.values(), *parts] for name, value in variable.tensors().items()}
    ev.write_bundle(folder + "/model/variables/variables", {**weights, **rows})
    case.add_requests(folder, pairs)
    case.add_errors(folder, refused)
    case.finish(folder, "group lookups of both kinds of releases and dense ones, fused chains of three kinds, over EmbeddingVariables "
                        "of several widths, with filters and with parts that have default rows of their own", PROVENANCE,
                extra={"errors": "errors"})


main()
