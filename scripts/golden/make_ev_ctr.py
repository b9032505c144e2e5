"""ev-ctr and ev-ctr-checkpoint: a small click model on two EmbeddingVariables; also examples/sample_model.

ev-ctr             the rows are in the SavedModel's own variables/
ev-ctr-checkpoint  variables/ is fresh and empty, the weights are in a checkpoint beside it, with optimizer slots
"""
import os
import shutil

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")

import numpy as np
import tensorflow as tf

import case
import embedding_variables as ev
import wire

PROVENANCE = ("Made by scripts/golden/make_ev_ctr.py with TensorFlow %s on CPU: rows and weights from a seeded generator, "
              "bundles by SaveV2, answers by running the graph with the embedding reads computed from the documented "
              "rules.  Apache-2.0, like the project." % tf.__version__)
HASH_SPACE = (1 << 63) - 1
SAMPLE = {"user_id": np.int64([7, 101]), "items": case.strings([["item_3", "item_17"], ["item_5", ""]]),
          "price": np.float32([0.5, -1.25])}


def hashed(words):
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        return session.run(tf.raw_ops.StringToHashBucketFast(input=words, num_buckets=HASH_SPACE)).tolist()


def make_variables(rng):
    items = hashed(["item_%d" % i for i in range(60)])
    users = [7, 8, 1000007, 2**53 + 1, 2**62] + list(range(100, 150))
    return [
        ev.EmbeddingVariable("user_embedding", 8, users, rng.normal(size=(len(users), 8)), rng.normal(size=(4, 8))),
        ev.EmbeddingVariable("item_embedding", 8, items, rng.normal(size=(len(items), 8)), rng.normal(size=(2, 8)),
                             filter_freq=3, no_permission=0.25, filtered=hashed(["rare_%d" % i for i in range(9)])),
    ]


def safe_item_mean(words, variable):
    """The mean over a user's items that are not ''; zeros when there are none: the usual sparse lookup."""
    where = tf.where(tf.not_equal(words, ""))
    sparse = tf.SparseTensor(where, tf.gather_nd(words, where), tf.shape(words, out_type=tf.int64))
    sparse, is_empty = tf.sparse.fill_empty_rows(sparse, "")
    keys = tf.raw_ops.StringToHashBucketFast(input=sparse.values, num_buckets=HASH_SPACE)
    unique, positions = tf.unique(keys)
    mean = tf.raw_ops.SparseSegmentMean(data=variable.read(unique), indices=positions,
                                        segment_ids=tf.cast(sparse.indices[:, 0], tf.int32))
    empty = tf.tile(tf.reshape(is_empty, [-1, 1]), tf.stack([1, tf.shape(mean)[1]]))
    return tf.compat.v1.where(empty, tf.zeros_like(mean), mean)


def build(rng, variables):
    inputs = {"user_id": tf.compat.v1.placeholder(tf.int64, [None], "user_id"),
              "items": tf.compat.v1.placeholder(tf.string, [None, None], "items"),
              "price": tf.compat.v1.placeholder(tf.float32, [None], "price")}
    user = variables[0].read(inputs["user_id"])
    features = tf.concat([user, safe_item_mean(inputs["items"], variables[1]), tf.expand_dims(inputs["price"], 1)], 1)
    hidden = features
    for layer, units in enumerate([16, 8]):
        shape = [hidden.shape[1], units]
        kernel = tf.compat.v1.get_variable("dense_%d/kernel" % layer, initializer=rng.normal(size=shape).astype("f4") / 3,
                                           use_resource=False)
        bias = tf.compat.v1.get_variable("dense_%d/bias" % layer, initializer=rng.normal(size=[units]).astype("f4") / 3,
                                         use_resource=False)
        hidden = tf.nn.relu(tf.nn.bias_add(tf.matmul(hidden, kernel), bias))
    kernel = tf.compat.v1.get_variable("logit/kernel", initializer=rng.normal(size=[8, 1]).astype("f4"), use_resource=False)
    score = tf.sigmoid(tf.squeeze(tf.matmul(hidden, kernel), [1]), name="score")
    return inputs, {"score": score}


def requests(rng):
    words = ["item_%d" % i for i in range(60)] + ["rare_3", "unknown", ""]
    for batch, width in ((1, 3), (2, 1), (7, 4), (64, 5)):
        yield {"user_id": rng.choice([7, 8, 101, 149, 999, 2**53 + 1, 2**62], batch).astype(np.int64),
               "items": case.strings(rng.choice(np.array(words, object), (batch, width))),
               "price": rng.uniform(-2, 2, batch).astype(np.float32)}
    yield {"user_id": np.int64([2**63 - 1, 0]), "items": case.strings([[b"\xff\xfe", ""], ["", ""]]),
           "price": np.float32([1e6, -1e-6])}
    yield {"user_id": np.int64([]), "items": case.strings(np.empty((0, 2), object)), "price": np.float32([])}


def fresh(weights):
    return {name: np.zeros_like(value) for name, value in weights.items()}


def slots(variables):
    """Optimizer slots: EmbeddingVariables of their own that serving never reads."""
    return {name: value for v in variables for name, value in
            ev.EmbeddingVariable(v.name + "/Adagrad", v.dim, v.keys, v.rows * 0 + 0.1, v.default_rows).tensors().items()}


def main():
    rng = np.random.default_rng(20)
    variables = make_variables(rng)
    with tf.Graph().as_default() as graph, tf.compat.v1.Session() as session:
        inputs, outputs = build(rng, variables)
        saver_def = tf.compat.v1.train.Saver(sharded=True).saver_def
        session.run(tf.compat.v1.global_variables_initializer())
        weights = {v.op.name: session.run(v) for v in tf.compat.v1.global_variables()}
        pairs = []
        for feed in [*requests(rng), SAMPLE]:
            answer = session.run(outputs, {inputs[name]: value for name, value in feed.items()})
            pairs.append((feed, answer))
        sample_answer = pairs.pop()[1]
        graph_def = ev.with_embedding_ops(graph.as_graph_def(), variables, saver_def)
        signatures = {"serving_default": (inputs, outputs)}
    rows = {name: value for v in variables for name, value in v.tensors().items()}
    empty = {name: value for v in variables for name, value in v.tensors(empty=True).items()}

    folder = case.start("ev-ctr")
    ev.write_saved_model(folder + "/model", graph_def, saver_def, signatures)
    ev.write_bundle(folder + "/model/variables/variables", {**weights, **rows})
    case.add_requests(folder, pairs)
    case.finish(folder, "EmbeddingVariables with and without a counter filter, keys above 2^53, strings that are not UTF-8, "
                        "empty rows, an empty batch; the rows are in variables/", PROVENANCE)

    sample = os.path.join(case.ROOT, "examples/sample_model")
    shutil.rmtree(sample, ignore_errors=True)
    shutil.copytree(folder + "/model", sample)
    for name, text in (("request", wire.request_json(SAMPLE)), ("response", wire.response_json(sample_answer))):
        with open(os.path.join(case.ROOT, "examples/sample_%s.json" % name), "w") as file:
            file.write(text + "\n")
    with open(os.path.join(case.ROOT, "examples/sample_request.pb"), "wb") as file:
        file.write(wire.request_proto(SAMPLE))

    folder = case.start("ev-ctr-checkpoint")
    ev.write_saved_model(folder + "/model", graph_def, saver_def, signatures)
    ev.write_bundle(folder + "/model/variables/variables", {**fresh(weights), **empty})
    ev.write_bundle(folder + "/checkpoints/20240101/model.ckpt-100",
                    {**weights, **rows, **slots(variables), "global_step": np.int64(100)})
    open(folder + "/checkpoints/20240101/checkpoint", "w").write('model_checkpoint_path: "model.ckpt-100"\n')
    case.add_requests(folder, pairs)
    case.finish(folder, "the same model; its weights come from a checkpoint folder, optimizer slots beside them", PROVENANCE,
                "checkpoints", {"touch": ["20240101/checkpoint"],
                                "live": {"model_path": "20240101/model.ckpt-100", "full_step": 100, "delta_step": None}})


if __name__ == "__main__":
    main()
