"""ParseSequenceExample and its second version: contexts and lists of features, from well formed to hostile."""
import numpy as np

from op_cases import Cases, tf

cases = Cases("parse_sequence")


def feature(values):
    if not values:
        return tf.train.Feature()
    if isinstance(values[0], bytes):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
    if isinstance(values[0], float):
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def sequence(context, **lists):
    return tf.train.SequenceExample(
        context=tf.train.Features(feature={k: feature(v) for k, v in context.items()}),
        feature_lists=tf.train.FeatureLists(feature_list={
            k: tf.train.FeatureList(feature=[feature(step) for step in v]) for k, v in lists.items()})).SerializeToString()


FULL = [
    sequence({"user": [7], "tags": [b"a", b"b"], "score": [0.5, 1.5]}, item=[[1, 2], [3]], price=[[1.0, 2.0], [3.0, 4.0]],
             word=[[b"x"], [b"y", b"zz"], [b""]], more=[[9]]),
    sequence({"user": [8], "score": [2.5, 3.5]}, item=[[4], [], [5, 6, 7]], price=[[5.0, 6.0]], word=[]),
    sequence({"user": [9], "tags": [b"c"], "score": [0.0, -1.0], "other": [1]}, price=[]),
]
CONTEXT_SPARSE, CONTEXT_DENSE = ["tags"], ["user", "score"]
TYPES = {"tags": tf.string, "user": tf.int64, "score": tf.float32, "item": tf.int64, "word": tf.string, "price": tf.float32}
SHAPES = {"user": [], "score": [2], "price": [2], "item": [], "word": []}


def texts(values, shape=None):
    array = np.empty(len(values), object)
    array[:] = values
    return (array if shape is None else array.reshape(shape), tf.string)


def given(serialized):
    if isinstance(serialized, bytes):
        return (np.array(serialized, object), tf.string)
    return texts(serialized)


def defaults(keys, some):
    out = []
    for key in keys:
        dtype = TYPES[key].as_numpy_dtype
        out.append(np.full(SHAPES[key], 3, dtype) if key in some else np.zeros(0, dtype))
    return out


def v1(serialized, sparse=("item", "word"), dense=("price",), missing=(), context_sparse=CONTEXT_SPARSE,
       context_dense=CONTEXT_DENSE, some=(), **more):
    cases.add("ParseSequenceExample", {"serialized": given(serialized), "debug_name": texts([]),
                                       "context_dense_defaults": defaults(context_dense, some)},
              {"Ncontext_sparse": len(context_sparse), "Ncontext_dense": len(context_dense),
               "Nfeature_list_sparse": len(sparse), "Nfeature_list_dense": len(dense),
               "feature_list_dense_missing_assumed_empty": list(missing), "context_sparse_keys": list(context_sparse),
               "context_dense_keys": list(context_dense), "feature_list_sparse_keys": list(sparse),
               "feature_list_dense_keys": list(dense), "context_sparse_types": [TYPES[k] for k in context_sparse],
               "context_dense_shapes": [SHAPES[k] for k in context_dense],
               "feature_list_dense_types": [TYPES[k] for k in dense], "feature_list_sparse_types": [TYPES[k] for k in sparse],
               "feature_list_dense_shapes": [SHAPES[k] for k in dense]}, **more)


def v2(serialized, sparse=("item", "word"), dense=("price",), ragged=(), missing=(), context_sparse=CONTEXT_SPARSE,
       context_dense=CONTEXT_DENSE, context_ragged=(), some=(), splits=tf.int64, **more):
    cases.add("ParseSequenceExampleV2", {
        "serialized": given(serialized), "debug_name": texts([]), "context_sparse_keys": texts(list(context_sparse)),
        "context_dense_keys": texts(list(context_dense)), "context_ragged_keys": texts(list(context_ragged)),
        "feature_list_sparse_keys": texts(list(sparse)), "feature_list_dense_keys": texts(list(dense)),
        "feature_list_ragged_keys": texts(list(ragged)),
        "feature_list_dense_missing_assumed_empty": np.array([k in missing for k in dense], bool),
        "context_dense_defaults": defaults(context_dense, some)},
        {"Ncontext_sparse": len(context_sparse), "Nfeature_list_sparse": len(sparse), "Nfeature_list_dense": len(dense),
         "context_sparse_types": [TYPES[k] for k in context_sparse],
         "context_ragged_value_types": [TYPES[k] for k in context_ragged],
         "context_ragged_split_types": [splits for _ in context_ragged],
         "context_dense_shapes": [SHAPES[k] for k in context_dense],
         "feature_list_dense_types": [TYPES[k] for k in dense], "feature_list_sparse_types": [TYPES[k] for k in sparse],
         "feature_list_ragged_value_types": [TYPES[k] for k in ragged],
         "feature_list_ragged_split_types": [splits for _ in ragged],
         "feature_list_dense_shapes": [SHAPES[k] for k in dense]}, **more)


for parse in (v1, v2):
    parse(FULL)
    parse(FULL[:1])
    parse([], context_dense=(), name="none")
    parse([FULL[0], FULL[0]], sparse=(), dense=("price",), name="dense only")
    parse(FULL, sparse=("word",), dense=(), context_dense=(), name="one list")
    parse(FULL, context_sparse=(), context_dense=(), name="no context")
    parse([sequence({"user": [1]}, price=[[1.0, 2.0]])] * 2, some=("score",), name="default")
    parse([FULL[0], sequence({"user": [1], "score": [1.0, 2.0]})], missing=("price",), name="missing")
    parse([sequence({"user": [1], "score": [1.0, 2.0]}, item=[[1]])], dense=("item", "price"), sparse=(),
          missing=("price",), name="no steps")
    parse([sequence({"user": [1], "score": [1.0, 2.0]})], name="missing dense", refuse=True)
    parse([sequence({"score": [1.0, 2.0]}, price=[])], name="missing context", refuse=True)
    parse([sequence({"user": [1], "score": [1.0, 2.0]}, price=[[1.0]])], name="size of a step", refuse=True)
    parse([sequence({"user": [1], "score": [1.0, 2.0]}, price=[[1, 2]])], name="type of a step", refuse=True)
    parse([sequence({"user": [1], "score": [1.0, 2.0]}, price=[], item=[[b"x"]])], name="type of a sparse step", refuse=True)
    parse([sequence({"user": [1], "score": [1.0]}, price=[])], name="size in the context", refuse=True)
    parse([b"\xff\xff"], name="no message", refuse=True)
    parse([FULL[0][:-3]], name="cut off", refuse=True)
v2(FULL, ragged=("item", "word"), sparse=(), context_ragged=("tags",), context_sparse=())
v2(FULL, ragged=("item",), sparse=("word",), splits=tf.int32)
v2([], ragged=("item",), sparse=(), context_dense=(), name="none, ragged")
for serialized in FULL[:2]:
    v2(serialized, name="one example")
    # What would split it into examples TensorFlow leaves to chance.
    v2(serialized, ragged=("item", "word"), sparse=(), name="one example, ragged", outputs=9)
v2(FULL[2], missing=(), name="one example without lists")
cases.write()
