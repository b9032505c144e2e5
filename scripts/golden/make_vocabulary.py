"""Classes to sample from, their weights in a file.

tf2-vocabulary-file  how often each of the classes asked about is expected in a sample, by weights among the assets
"""
import os

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")

import numpy as np
import tensorflow as tf

import case
from answers import answers

PROVENANCE = ("Made by scripts/golden/make_vocabulary.py with TensorFlow %s on CPU; answers by TensorFlow's session.  Apache-2.0, "
              "like the project." % tf.__version__)
FILE = "words.csv"
WORDS = b"the,120\nof,80\r\n\nto,75.5\nand,60\nrare,0.25\n"


@tf.function(input_signature=[tf.TensorSpec([None, 2], tf.int64, "classes")])
def serve(classes):
    plain = tf.random.fixed_unigram_candidate_sampler(classes, 2, 20, False, 7, vocab_file=FILE, distortion=0.75, num_reserved_ids=2, seed=5)
    return {"expected": plain.true_expected_count, "sizes": tf.shape(plain.sampled_candidates)}


def write(folder):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, FILE), "wb") as file:
        file.write(WORDS)


def tf2_vocabulary_file():
    folder = case.start("tf2-vocabulary-file")
    assets = os.path.join(folder, "model/assets")
    here = os.getcwd()
    write(assets)
    os.chdir(assets)  # where TensorFlow, which opens the path as it is, finds the file
    try:
        case.save_function(os.path.abspath(folder), serve)
        write(assets)
        os.chdir(assets)
        pairs = answers(folder + "/model", [{"classes": np.int64(rows)} for rows in ([[0, 1]], [[2, 3], [4, 5], [6, 2]], [[6, 6]] * 5)])
    finally:
        os.chdir(here)
    case.add_requests(folder, pairs)
    case.finish(folder, "FixedUnigramCandidateSampler with the name of a file as vocab_file", PROVENANCE)


tf2_vocabulary_file()
