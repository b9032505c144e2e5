"""ev-nested: EmbeddingVariables read in conditions, loops and functions, and in those in each other.

Their handles go where the graph takes them: through Switch and Enter in the first generation, as arguments of If, While, Case and
calls in the second.  `plain` has no filter, `strict` has one that counts.
"""
import os

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")

import numpy as np
import tensorflow as tf

import case
import embedding_variables as ev

PROVENANCE = ("Made by scripts/golden/make_ev_nested.py with TensorFlow %s on CPU: rows from a seeded generator, bundles by SaveV2, "
              "answers by running the graph with lookup tables in place of the embeddings, which hold what the documented rules "
              "answer.  Apache-2.0, like the project." % tf.__version__)
v1 = tf.compat.v1
raw = tf.raw_ops
DIM = 4
LARGE = [2**53 + 1, 2**62]


def make_variables(rng):
    keys = list(range(60)) + [1005, 7003] + LARGE
    some = keys[::2] + LARGE[:1]
    return [ev.EmbeddingVariable("plain", DIM, keys, rng.normal(size=(len(keys), DIM)), rng.normal(size=(3, DIM))),
            ev.EmbeddingVariable("strict", DIM, some, rng.normal(size=(len(some), DIM)), rng.normal(size=(1, DIM)),
                                 filter_freq=3, no_permission=0.25, filtered=[1, 3])]


def placeholders():
    return {"ids": v1.placeholder(tf.int64, [None], "ids"), "stride": v1.placeholder(tf.int64, [None], "stride"),
            "steps": v1.placeholder(tf.int32, [], "steps"), "which": v1.placeholder(tf.int32, [], "which"),
            "flag": v1.placeholder(tf.bool, [], "flag")}


def loop(rounds, first, body):
    return tf.while_loop(lambda k, a: k < rounds, lambda k, a: (k + 1, body(k, a)), [tf.constant(0), first])[1]


def nested(plain, strict, ids, stride, steps, which, flag):
    """{name: rows} by conditions and loops of the generation that is on; plain and strict make rows of keys."""
    zeros = tf.zeros([tf.shape(ids)[0], DIM])

    def keys(k):
        return ids + stride * tf.cast(k, tf.int64)

    def by_turns(k):
        return tf.cond(tf.equal(k % 2, 0), lambda: plain(keys(k)), lambda: strict(keys(k)))

    def inner(k):
        return loop(k, strict(keys(k)), lambda j, b: b + plain(keys(j + k)))

    def led_to(at):
        """Other keys, as the rows of these say."""
        return tf.cast(tf.abs(plain(at)[:, 0]) * 32.0, tf.int64)

    return {
        "cond": tf.cond(flag, lambda: 2.0 * plain(ids), lambda: strict(keys(1)) - plain(ids)),
        "case": tf.case([(tf.equal(which, 0), lambda: plain(ids)), (tf.equal(which, 1), lambda: strict(ids))],
                        default=lambda: plain(ids) * strict(ids)),
        "while": loop(steps, zeros, lambda k, a: a + plain(keys(k))),
        "cond_in_while": loop(steps, zeros, lambda k, a: 0.5 * a + by_turns(k)),
        "while_in_cond": tf.cond(flag, lambda: loop(steps, zeros, lambda k, a: a + strict(keys(k))), lambda: plain(ids)),
        "while_in_while": loop(steps, zeros, lambda k, a: a - inner(k)),
        "walk": strict(loop(steps, ids, lambda k, at: led_to(at))),
    }


def function(body, *types):
    """A function whose handles are arguments as all else is."""
    shapes = {tf.int64: [None], tf.float32: [None, DIM]}
    return tf.function(body, autograph=False).get_concrete_function(*[tf.TensorSpec(shapes.get(t, []), t) for t in types])


def stateless(variables, handles, ids, steps, which, flag):
    """The same by operators that TensorFlow's optimizer writes for If, While, Case and StatefulPartitionedCall."""
    plain, strict = variables
    lookup, one = [tf.resource, tf.resource, tf.int64], {"Tout": [tf.float32]}
    state = [*lookup, tf.int32, tf.int32, tf.float32]

    difference = function(lambda p, s, x: plain.gather(p, x) - strict.gather(s, x), *lookup)
    halves = function(lambda p, s, x: tf.concat([strict.gather(s, x)[:, 2:], plain.gather(p, x)[:, :2]], 1), *lookup)
    negative = function(lambda p, s, x: -raw.PartitionedCall(args=[p, s, x + 1], f=difference, **one)[0], *lookup)

    def step(p, s, x, k, n, total):
        keys = x + tf.cast(k, tf.int64)
        rows, = raw.StatelessIf(cond=tf.equal(k, 1), input=[p, s, keys], then_branch=halves, else_branch=negative, **one)
        return p, s, x, k + 1, n, total + rows

    given = [*handles, ids]
    first = [*given, tf.constant(0), steps, tf.zeros([tf.shape(ids)[0], DIM])]
    return {"call": raw.PartitionedCall(args=given, f=negative, **one)[0],
            "if": raw.StatelessIf(cond=flag, input=given, then_branch=difference, else_branch=negative, **one)[0],
            "case": raw.StatelessCase(branch_index=which, input=given, branches=[halves, difference, negative], **one)[0],
            "while": raw.StatelessWhile(input=first, cond=function(lambda p, s, x, k, n, total: k < n, *state),
                                        body=function(step, *state))[-1]}


def functions(plain, strict, ids, steps, which, flag):
    """tf.function and tf.switch_case, which the first generation lacks."""
    inner = tf.function(lambda x: plain(x) + strict(x + 1), autograph=False)
    outer = tf.function(lambda x: tf.cond(flag, lambda: inner(x), lambda: loop(steps, plain(x), lambda k, a: a - inner(x))),
                        autograph=False)
    return {"call": outer(ids),
            "switch": tf.switch_case(which, [lambda: strict(ids), lambda: outer(ids + 1), lambda: plain(ids) - 1.0])}


def build(variables, handles, inputs):
    plain, strict = [lambda keys, v=v, h=h: v.gather(h, keys) for v, h in zip(variables, handles)]
    scalars = {name: inputs[name] for name in ("steps", "which", "flag")}
    v1.disable_control_flow_v2()
    made = {"first": nested(plain, strict, **inputs)}
    v1.enable_control_flow_v2()
    made["second"] = {**nested(plain, strict, **inputs), **functions(plain, strict, inputs["ids"], **scalars)}
    made["stateless"] = stateless(variables, handles, inputs["ids"], **scalars)
    outputs = {"%s_%s" % (kind, name): rows for kind, some in made.items() for name, rows in some.items()}
    kernel = v1.get_variable("kernel", initializer=np.linspace(-0.5, 0.5, DIM, dtype="f4")[:, None], use_resource=False)
    outputs["score"] = tf.sigmoid(tf.matmul(tf.add_n(list(outputs.values())), kernel))
    return {name: tf.identity(rows, name + "_out") for name, rows in outputs.items()}


def feed(ids, stride, steps, which, flag):
    return {"ids": np.int64(ids), "stride": np.int64(stride), "steps": np.int32(steps), "which": np.int32(which),
            "flag": np.bool_(flag)}


REQUESTS = [
    feed([7], [1], 3, 0, True),
    feed([7], [1], 0, 1, False),
    feed([1005, 61], [-1, 400], 2, 2, True),
    feed([0, 1, 2, 59, 60, 999, 7003], [2], 4, 1, False),
    feed([2**53, 2**62 - 1, -1, -2, -3, -500, 3], [1, 1, 1, -1, -7, 250, 0], 5, 7, False),
    feed([3, -4, 3], [0], 1, -1, True),
    feed([], [], 3, 0, True),
    feed([], [1], 2, 2, False),
    # Nothing that is asked for in these branches adds the two.
    feed([5, 6], [1, 2, 3], 0, 0, True),
]
# Two columns of a request that do not go together are found out in a branch or a loop.
REFUSED = [feed([5, 6], [1, 2, 3], 0, 1, False), feed([5, 6], [1, 2, 3], 1, 1, True), feed([1, 2, 3], [], 2, 0, True)]


def keys_asked():
    """All that requests come to: some steps from their ids, and where rows lead."""
    ids = np.unique(np.concatenate([request["ids"] for request in REQUESTS]))
    strides = np.unique(np.concatenate([request["stride"] for request in REQUESTS]))
    reached = ids[:, None, None] + strides[:, None] * np.arange(12)
    return np.unique(np.concatenate([reached.reshape(-1), reached.reshape(-1) + 1, np.arange(200)]))


def main():
    variables = make_variables(np.random.default_rng(71))
    with tf.Graph().as_default() as graph, v1.Session() as session:
        inputs = placeholders()
        outputs = build(variables, [variable.handle(keys_asked()) for variable in variables], inputs)
        saver_def = v1.train.Saver(sharded=True).saver_def
        session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        weights = {v.op.name: session.run(v) for v in v1.global_variables()}

        def run(request):
            return session.run(outputs, {inputs[name]: value for name, value in request.items()})

        pairs = [(request, run(request)) for request in REQUESTS]
        refused = [(request, ev.refusal(run, request)) for request in REFUSED]
        graph_def = ev.with_embedding_ops(graph.as_graph_def(), variables, saver_def)
    assert not any(np.isnan(rows).any() for _, answer in pairs for rows in answer.values())
    folder = case.start("ev-nested")
    ev.write_saved_model(folder + "/model", graph_def, saver_def, {"serving_default": (inputs, outputs)})
    case.prune(folder + "/model/saved_model.pb")
    rows = {name: value for variable in variables for name, value in variable.tensors().items()}
    ev.write_bundle(folder + "/model/variables/variables", {**weights, **rows})
    case.add_requests(folder, pairs)
    case.add_errors(folder, refused)
    case.finish(folder, "EmbeddingVariables with and without a filter, read in conditions, loops and functions of both generations and "
                        "in those in each other; keys that follow from rows; branches that are not taken", PROVENANCE,
                extra={"errors": "errors"})


main()
