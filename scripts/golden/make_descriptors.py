"""Protobuf messages as features, their types in a file.

tf2-descriptor-file  messages of clicks, decoded by descriptors that are in a file among the assets
"""
import os

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")

import numpy as np
import tensorflow as tf
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

import case
from answers import answers

PROVENANCE = ("Made by scripts/golden/make_descriptors.py with TensorFlow %s on CPU; answers by TensorFlow's session.  Apache-2.0, "
              "like the project." % tf.__version__)
FILE = "clicks.desc"
FIELDS = (("user", 1, "INT64", "OPTIONAL"), ("items", 2, "INT64", "REPEATED"), ("query", 3, "STRING", "OPTIONAL"),
          ("weights", 4, "FLOAT", "REPEATED"))


def describe():
    file = descriptor_pb2.FileDescriptorProto(name="clicks.proto", package="shop", syntax="proto3")
    message = file.message_type.add(name="Click")
    for name, number, kind, label in FIELDS:
        message.field.add(name=name, number=number, type=getattr(descriptor_pb2.FieldDescriptorProto, "TYPE_" + kind),
                          label=getattr(descriptor_pb2.FieldDescriptorProto, "LABEL_" + label))
    return file


@tf.function(input_signature=[tf.TensorSpec([None], tf.string, "clicks")])
def serve(clicks):
    decoded = tf.io.decode_proto(clicks, "shop.Click", ["user", "items", "query", "weights"],
                                 [tf.int64, tf.int64, tf.string, tf.float32], descriptor_source=FILE)
    user, items, query, weights = decoded.values
    return {"user": user, "items": items, "query": query, "weights": weights, "sizes": decoded.sizes}


def messages(rng, count):
    pool = descriptor_pool.DescriptorPool()
    pool.Add(describe())
    click = message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Click"))
    return case.strings([click(user=int(rng.integers(0, 1 << 40)), items=rng.integers(0, 1000, rng.integers(0, 5)).tolist(),
                               query=["", "shoes", "r\u00e9gal"][i % 3], weights=rng.random(i % 4).tolist()).SerializeToString()
                         for i in range(count)])


def tf2_descriptor_file():
    folder = case.start("tf2-descriptor-file")
    rng = np.random.default_rng(45)
    assets = os.path.join(folder, "model/assets")
    os.makedirs(assets)
    here = os.getcwd()
    with open(os.path.join(assets, FILE), "wb") as file:
        file.write(descriptor_pb2.FileDescriptorSet(file=[describe()]).SerializeToString())
    data = open(os.path.join(assets, FILE), "rb").read()
    os.chdir(assets)  # where TensorFlow, which opens the path as it is, finds the file
    try:
        case.save_function(os.path.abspath(folder), serve)
        os.makedirs(assets, exist_ok=True)
        with open(os.path.join(assets, FILE), "wb") as file:
            file.write(data)
        os.chdir(assets)
        feeds = [{"clicks": messages(rng, batch)} for batch in (1, 3, 8)]
        pairs = answers(folder + "/model", feeds)
    finally:
        os.chdir(here)
    case.add_requests(folder, pairs)
    case.finish(folder, "DecodeProtoV2 with the name of a file as descriptor_source", PROVENANCE)


tf2_descriptor_file()
