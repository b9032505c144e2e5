"""Calls serving_host by gRPC, with Debian's grpcio and messages from the host's own .proto files.

    host_grpc.py DESCRIPTORS GOLDEN PORT SLOW_PORT SLOW_HOST SPLIT_PORT

DESCRIPTORS is a FileDescriptorSet of api/host/proto and api/predict.proto, GOLDEN the folder of golden models.  PORT serves the
models "examples" and, under the names of their cases, others; SLOW_PORT is a double of the processor that takes half a second per
run, with one worker and a queue of two; SLOW_HOST is its process, which is ended.  SPLIT_PORT serves two versions of "ctr"
and of "examples" and splits requests between them by user_id and city.
"""
import glob
import json
import math
import os
import queue
import signal
import struct
import sys
import threading
import time
import urllib.error
import urllib.request

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

descriptors, golden, port, slow_port, slow_host, split_port = sys.argv[1:]
with open(descriptors, "rb") as file:
    files = descriptor_pb2.FileDescriptorSet.FromString(file.read())
pool = descriptor_pool.DescriptorPool()
for each in files.file:
    pool.Add(each)
factory = message_factory.MessageFactory(pool)
Code = grpc.StatusCode
SERVING, V2 = "tensorflow.serving.", "inference."


def message(type_name, /, **fields):
    return factory.GetPrototype(pool.FindMessageTypeByName(type_name))(**fields)


def methods(channel, service):
    """The methods of a service, by name; each takes a message and returns one."""
    made = {}
    for method in pool.FindServiceByName(service).methods:
        answer = factory.GetPrototype(method.output_type)
        made[method.name] = channel.unary_unary("/%s/%s" % (service, method.name), lambda m: m.SerializeToString(), answer.FromString)
    return made


def predict_request(model, signature="", **inputs):
    request = message(SERVING + "PredictRequest")
    request.model_spec.name, request.model_spec.signature_name = model, signature
    for name, tensor in inputs.items():
        request.inputs[name].CopyFrom(tensor)
    return request


def tensor(dtype, shape, **values):
    made = message("tensorflow.TensorProto", dtype=dtype, **values)
    for size in shape:
        made.tensor_shape.dim.add(size=size)
    return made


def example(features):
    made = message("tensorflow.Example")
    for name, value in features.items():
        feature = made.features.feature[name]
        if isinstance(value, str):
            feature.bytes_list.value.append(value.encode())
        elif isinstance(value, int):
            feature.int64_list.value.append(value)
        else:
            feature.float_list.value.extend(value)
    return made


def near(got, wanted):
    assert len(got) == len(wanted), (got, wanted)
    for a, b in zip(got, wanted):
        assert math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-6), (got, wanted)


def refused(call, request, code, words, **options):
    try:
        call(request, timeout=options.pop("timeout", 10), **options)
    except grpc.RpcError as error:
        assert error.code() == code and words in error.details(), (error.code(), error.details())
        return error
    raise AssertionError("not refused: " + words)


channel = grpc.insecure_channel("127.0.0.1:" + port)
prediction, models = methods(channel, SERVING + "PredictionService"), methods(channel, SERVING + "ModelService")
v2, health = methods(channel, V2 + "GRPCInferenceService"), methods(channel, "grpc.health.v1.Health")
with open(golden + "/tf1-examples/examples.json", encoding="utf-8") as file:
    batches = json.load(file)


# ------------------------------------------------------------ TensorFlow Serving

def records_are_predicted_as_strings():
    for batch in batches:
        records = [example(f).SerializeToString() for f in batch["examples"]]
        answer = prediction["Predict"](predict_request("examples", records=tensor(7, [len(records)], string_val=records)), timeout=10)
        assert set(answer.outputs) == {"scores", "value"}
        near(answer.outputs["scores"].float_val, sum(batch["scores"], []))
        near(answer.outputs["value"].float_val, batch["values"])
        spec = answer.model_spec
        assert (spec.name, spec.signature_name, spec.version.value) == ("examples", "serving_default", 3), spec


# How the values of a type are in DeepRec's messages, TensorFlow's, memory, and the V2 protocol.
FORMS = {1: ("float_val", "float_val", "f", "FP32"), 2: ("double_val", "double_val", "d", "FP64"), 3: ("int_val", "int_val", "i", "INT32"),
         4: ("int_val", "int_val", "B", "UINT8"), 5: ("int_val", "int_val", "h", "INT16"), 6: ("int_val", "int_val", "b", "INT8"),
         7: ("string_val", "string_val", "", "BYTES"), 9: ("int64_val", "int64_val", "q", "INT64"), 10: ("bool_val", "bool_val", "?", "BOOL"),
         14: ("float_val", "half_val", "H", "BF16"), 17: ("int_val", "int_val", "H", "UINT16"), 19: ("float_val", "half_val", "H", "FP16")}


def bits(dtype, number):
    """Of a half or a bfloat16."""
    return struct.unpack("<H", struct.pack("<e", number) if dtype == 19 else struct.pack("<f", number)[2:])[0]


def number_of(dtype, half):
    return struct.unpack("<e", struct.pack("<H", half))[0] if dtype == 19 else struct.unpack("<f", b"\0\0" + struct.pack("<H", half))[0]


def to_tensor(array):
    eas, field = FORMS[array.dtype][:2]
    values = list(getattr(array, eas))
    if field == "half_val":
        values = [bits(array.dtype, v) for v in values]
    return tensor(array.dtype, array.array_shape.dim, **{field: values})


def to_raw(given):
    field, letter = FORMS[given.dtype][1:3]
    values = getattr(given, field)
    if given.dtype == 7:
        return b"".join(struct.pack("<I", len(v)) + v for v in values)
    return struct.pack("<%d%s" % (len(values), letter), *values)


def from_raw(dtype, raw):
    letter, values = FORMS[dtype][2], []
    if dtype != 7:
        return list(struct.unpack("<%d%s" % (len(raw) // struct.calcsize(letter), letter), raw))
    while raw:
        size = struct.unpack("<I", raw[:4])[0]
        values.append(raw[4:4 + size])
        raw = raw[4 + size:]
    return values


def same(values, dtype, wanted, tolerance):
    wanted = list(getattr(wanted, FORMS[dtype][0]))
    if FORMS[dtype][1] == "half_val":
        values = [number_of(dtype, v) for v in values]
    assert len(values) == len(wanted), (values, wanted)
    for a, b in zip(values, wanted):
        if isinstance(b, float) and math.isfinite(b):
            assert abs(a - b) <= tolerance["atol"] + tolerance["rtol"] * abs(b), (a, b)
        else:
            assert a == b or (a != a and b != b), (a, b)


def exchanges(case):
    """The case's tolerance, requests and answers."""
    with open("%s/%s/case.json" % (golden, case), encoding="utf-8") as file:
        tolerance = json.load(file)["tolerance"]
    for path in sorted(glob.glob("%s/%s/requests/*.request.pb" % (golden, case))):
        request, response = message("tensorflow.eas.PredictRequest"), message("tensorflow.eas.PredictResponse")
        with open(path, "rb") as file:
            request.ParseFromString(file.read())
        with open(path.replace(".request.", ".response."), "rb") as file:
            response.ParseFromString(file.read())
        yield tolerance, {name: to_tensor(array) for name, array in request.inputs.items()}, response.outputs


def golden_answers_are_given():
    cases = sorted(os.listdir(models_folder()))
    assert len(cases) > 5
    for case in cases:
        for tolerance, inputs, wanted in exchanges(case):
            answer = prediction["Predict"](predict_request(case, **inputs), timeout=20)
            assert set(answer.outputs) == set(wanted), case
            for name, output in answer.outputs.items():
                assert [d.size for d in output.tensor_shape.dim] == list(wanted[name].array_shape.dim), case
                same(list(getattr(output, FORMS[output.dtype][1])), output.dtype, wanted[name], tolerance)


def golden_answers_are_inferred():
    for case in sorted(os.listdir(models_folder())):
        if case.endswith("-defaults") or case == "tf2-signatures":
            continue  # the protocol has all inputs
        for tolerance, inputs, wanted in exchanges(case):
            request = message(V2 + "ModelInferRequest", model_name=case)
            for name, given in inputs.items():
                request.inputs.add(name=name, datatype=FORMS[given.dtype][3], shape=[d.size for d in given.tensor_shape.dim])
                request.raw_input_contents.append(to_raw(given))
            answer = v2["ModelInfer"](request, timeout=20)
            for output, raw in zip(answer.outputs, answer.raw_output_contents):
                dtype = wanted[output.name].dtype
                assert output.datatype == FORMS[dtype][3] and list(output.shape) == list(wanted[output.name].array_shape.dim)
                same(from_raw(dtype, raw), dtype, wanted[output.name], tolerance)


def examples_are_classified_and_regressed():
    for batch in batches:
        for kind, signature in (("Classification", "classify"), ("Classification", "scores"), ("Regression", "regress")):
            request = message(SERVING + kind + "Request")
            request.model_spec.name, request.model_spec.signature_name = "examples", signature
            request.input.example_list.examples.extend(example(f) for f in batch["examples"])
            answer = prediction["Classify" if kind == "Classification" else "Regress"](request, timeout=10)
            assert answer.model_spec.signature_name == signature
            if kind == "Regression":
                near([r.value for r in answer.result.regressions], batch["values"])
                continue
            for row, scores in zip(answer.result.classifications, batch["scores"]):
                near([c.score for c in row.classes], scores)
                assert [c.label for c in row.classes] == (batch["classes"] if signature == "classify" else [""] * 3)


def a_context_is_merged_into_each_example():
    batch = batches[1]
    request = message(SERVING + "RegressionRequest")
    request.model_spec.name, request.model_spec.signature_name = "examples", "regress"
    request.input.example_list_with_context.context.CopyFrom(example({"city": "paris", "age": 20}))
    request.input.example_list_with_context.examples.extend(
        [example({"x": batch["examples"][0]["x"]}), example({**batch["examples"][1], "age": 30})])
    near([r.value for r in prediction["Regress"](request, timeout=10).result.regressions], batch["values"])


def several_signatures_answer_at_once():
    request = message(SERVING + "MultiInferenceRequest")
    for signature, method in (("regress", "regress"), ("classify", "classify")):
        task = request.tasks.add(method_name="tensorflow/serving/" + method)
        task.model_spec.name, task.model_spec.signature_name = "examples", signature
    request.input.example_list.examples.extend(example(f) for f in batches[0]["examples"])
    first, second = prediction["MultiInference"](request, timeout=10).results
    near([r.value for r in first.regression_result.regressions], batches[0]["values"])
    near([c.score for c in second.classification_result.classifications[0].classes], batches[0]["scores"][0])
    request.tasks[1].model_spec.signature_name = "regress"
    refused(prediction["MultiInference"], request, Code.INVALID_ARGUMENT, "Duplicate evaluation of signature: regress")
    request.tasks[1].model_spec.signature_name = "scores"
    request.tasks[1].method_name = "tensorflow/serving/predict"
    refused(prediction["MultiInference"], request, Code.UNIMPLEMENTED, "Unsupported signature method_name")


def wrong_predictions_are_refused():
    call, strings = prediction["Predict"], tensor(7, [1], string_val=[b""])
    refused(call, predict_request("none"), Code.NOT_FOUND, "Servable not found for request: Latest(none)")
    refused(call, predict_request(""), Code.INVALID_ARGUMENT, "Missing ModelSpec")
    refused(call, predict_request("examples", "none"), Code.FAILED_PRECONDITION, 'Serving signature key "none" not found.')
    refused(call, predict_request("examples"), Code.INVALID_ARGUMENT, "input size does not match signature: 0!=1")
    refused(call, predict_request("examples", x=strings, records=strings), Code.INVALID_ARGUMENT, "Sent extra: {x}")
    refused(call, predict_request("examples", x=strings), Code.INVALID_ARGUMENT, "input tensor alias not found in signature: x")
    refused(call, predict_request("examples", records=tensor(7, [-1])), Code.INVALID_ARGUMENT, "tensor parsing error: records")
    refused(call, predict_request("examples", records=tensor(20, [1])), Code.UNIMPLEMENTED, "tensor parsing error: records")
    request = predict_request("examples", records=strings)
    request.output_filter.append("none")
    refused(call, request, Code.INVALID_ARGUMENT, "output tensor alias not found in signature: none")
    request.model_spec.version.value = 99
    refused(call, request, Code.NOT_FOUND, "Servable not found for request: Specific(examples, 99)")
    request.model_spec.version_label = "none"
    refused(call, request, Code.INVALID_ARGUMENT, "Unrecognized servable version label: none")
    request = message(SERVING + "RegressionRequest")
    request.model_spec.name, request.model_spec.signature_name = "examples", "regress"
    refused(prediction["Regress"], request, Code.INVALID_ARGUMENT, "Input is empty.")
    request.input.example_list.examples.add()
    request.model_spec.signature_name = "odd"
    request.input.example_list.examples[0].CopyFrom(example({"x": [1.0, 2.0, 3.0]}))
    refused(prediction["Regress"], request, Code.INVALID_ARGUMENT, "Expected output Tensor shape to be either [batch_size]")
    request.model_spec.signature_name = "classify"
    refused(prediction["Regress"], request, Code.INVALID_ARGUMENT, "Expected regression signature method_name")


def metadata_and_status_are_told():
    request = message(SERVING + "GetModelMetadataRequest", metadata_field=["signature_def"])
    request.model_spec.name = "examples"
    answer = prediction["GetModelMetadata"](request, timeout=10)
    assert answer.model_spec.version.value == 3 and list(answer.metadata) == ["signature_def"]
    signatures = message(SERVING + "SignatureDefMap")
    assert answer.metadata["signature_def"].type_url == "type.googleapis.com/tensorflow.serving.SignatureDefMap"
    signatures.ParseFromString(answer.metadata["signature_def"].value)
    regress = signatures.signature_def["regress"]
    assert regress.method_name == "tensorflow/serving/regress" and regress.inputs["inputs"].dtype == 7
    assert [d.size for d in signatures.signature_def["classify"].outputs["scores"].tensor_shape.dim] == [-1, 3]
    request.metadata_field.append("other")
    refused(prediction["GetModelMetadata"], request, Code.INVALID_ARGUMENT, "Metadata field other is not supported")
    request = message(SERVING + "GetModelStatusRequest")
    request.model_spec.name = "examples"
    (status,) = models["GetModelStatus"](request, timeout=10).model_version_status
    assert (status.version, status.state, status.status.error_code) == (3, 30, 0), status
    request.model_spec.name = "none"
    refused(models["GetModelStatus"], request, Code.NOT_FOUND, "Could not find")


def the_configuration_is_replaced():
    def reload(names):
        request = message(SERVING + "ReloadConfigRequest")
        request.config.model_config_list.SetInParent()
        for name, base in names:
            request.config.model_config_list.config.add(name=name, base_path=base, model_platform="tensorflow")
        return models["HandleReloadConfigRequest"](request, timeout=30)
    folder = os.path.dirname(models_folder())
    paths = {"examples": folder + "/examples", "ev-ctr": folder + "/models/ev-ctr"}
    watched = watch("copy")
    assert next(watched).status == 3
    assert reload(paths.items()).status.error_code == 0
    assert reload([*paths.items(), ("copy", paths["examples"])]).status.error_code == 0
    records = [example(batches[0]["examples"][0]).SerializeToString()]
    near(prediction["Predict"](predict_request("copy", records=tensor(7, [1], string_val=records)), timeout=10).outputs["value"].float_val,
         batches[0]["values"])
    assert next(watched).status == 1
    assert reload(paths.items()).status.error_code == 0
    assert next(watched).status != 1
    watched.cancel()
    refused(prediction["Predict"], predict_request("copy"), Code.NOT_FOUND, "Servable not found")
    refused(models["HandleReloadConfigRequest"], message(SERVING + "ReloadConfigRequest"), Code.INVALID_ARGUMENT,
            "Only ModelConfigList is currently supported")


def models_folder():
    return os.path.dirname(descriptors) + "/models"


# ------------------------------------------------------------ Open Inference Protocol

def infer_request(name, datatype, shape, model="examples", raw=None, **contents):
    request = message(V2 + "ModelInferRequest", model_name=model, id="7")
    given = request.inputs.add(name=name, datatype=datatype, shape=shape)
    for field, values in contents.items():
        getattr(given.contents, field).extend(values)
    if raw is not None:
        request.raw_input_contents.append(raw)
    return request


def tensors_are_inferred():
    for batch in batches:
        records = [example(f).SerializeToString() for f in batch["examples"]]
        raw = b"".join(struct.pack("<I", len(r)) + r for r in records)
        for request in (infer_request("records", "BYTES", [len(records)], raw=raw),
                        infer_request("records", "BYTES", [len(records)], bytes_contents=records)):
            answer = v2["ModelInfer"](request, timeout=10)
            assert (answer.model_name, answer.model_version, answer.id) == ("examples", "3", "7")
            values = {o.name: struct.unpack("<%df" % (len(b) // 4), b) for o, b in zip(answer.outputs, answer.raw_output_contents)}
            near(values["scores"], sum(batch["scores"], []))
            near(values["value"], batch["values"])
            request.outputs.add(name="value")
            assert [o.name for o in v2["ModelInfer"](request, timeout=10).outputs] == ["value"]


def wrong_inferences_are_refused():
    call, good = v2["ModelInfer"], infer_request("records", "BYTES", [1], raw=b"\0\0\0\0")
    refused(call, infer_request("x", "BYTES", [1], raw=b"\0\0\0\0"), Code.INVALID_ARGUMENT, "unexpected inference input 'x'")
    refused(call, infer_request("records", "BYTES", [1], raw=b"\1\0\0\0"), Code.INVALID_ARGUMENT, "cut short")
    refused(call, infer_request("records", "BYTES", [-1], raw=b""), Code.INVALID_ARGUMENT, "negative")
    good.model_version = "x"
    refused(call, good, Code.INVALID_ARGUMENT, "version")
    good.model_version = "9"
    refused(call, good, Code.NOT_FOUND, "Servable not found")
    good.model_name = "none"
    refused(call, good, Code.NOT_FOUND, "Servable not found")


def the_server_describes_itself():
    assert v2["ServerLive"](message(V2 + "ServerLiveRequest"), timeout=10).live
    assert v2["ServerReady"](message(V2 + "ServerReadyRequest"), timeout=10).ready
    assert v2["ModelReady"](message(V2 + "ModelReadyRequest", name="examples", version="3"), timeout=10).ready
    assert not v2["ModelReady"](message(V2 + "ModelReadyRequest", name="none"), timeout=10).ready
    for method in ("ModelReady", "ModelMetadata", "ModelInfer"):
        named = {"model_name": "examples", "model_version": "abc"} if method == "ModelInfer" else {"name": "examples", "version": "abc"}
        refused(v2[method], message(V2 + method + "Request", **named), Code.INVALID_ARGUMENT, "version string 'abc'")
    assert v2["ServerMetadata"](message(V2 + "ServerMetadataRequest"), timeout=10).name
    about = v2["ModelMetadata"](message(V2 + "ModelMetadataRequest", name="examples"), timeout=10)
    assert list(about.versions) == ["3"] and about.inputs[0].datatype == "BYTES" and list(about.outputs[0].shape) == [-1, 3]
    config = v2["ModelConfig"](message(V2 + "ModelConfigRequest", name="examples"), timeout=10).config
    assert config.input[0].data_type == 13 and list(config.output[0].dims) == [-1, 3]
    index = v2["RepositoryIndex"](message(V2 + "RepositoryIndexRequest", ready=True), timeout=10)
    assert {"examples", "ev-ctr"} <= {m.name for m in index.models if m.state == "READY"}
    stats = v2["ModelStatistics"](message(V2 + "ModelStatisticsRequest", name="examples"), timeout=10).model_stats[0]
    assert stats.inference_count > 0 and stats.inference_stats.success.count == stats.inference_count
    v2["RepositoryModelLoad"](message(V2 + "RepositoryModelLoadRequest", model_name="ev-ctr"), timeout=30)
    refused(v2["RepositoryModelLoad"], message(V2 + "RepositoryModelLoadRequest", model_name="none"), Code.NOT_FOUND, "not found")


class InferStream:
    """ModelStreamInfer: send() and close() its side, next() and iteration of its answers."""

    def __init__(self, on, **options):
        answer = factory.GetPrototype(pool.FindMessageTypeByName(V2 + "ModelStreamInferResponse"))
        call = on.stream_stream("/inference.GRPCInferenceService/ModelStreamInfer", lambda m: m.SerializeToString(), answer.FromString)
        self.to_send = queue.Queue()
        self.answers = call(iter(self.to_send.get, None), **options)

    def send(self, request, id=None):
        if id is not None:
            request.id = id
        self.to_send.put(request)

    def next(self):
        return next(self.answers)

    def rest(self):
        self.to_send.put(None)
        return list(self.answers)


def streams_are_answered_in_order():
    for compression in (grpc.Compression.NoCompression, grpc.Compression.Gzip):
        stream = InferStream(channel, timeout=30, compression=compression)
        for turn in range(100):
            records = [example(f).SerializeToString() for f in batches[turn % 2]["examples"]]
            request = infer_request("records", "BYTES", [len(records)], bytes_contents=records)
            request.parameters["triton_enable_empty_final_response"].bool_param = True
            if turn % 10 == 5:
                request.model_name = "none"
            stream.send(request, id="%d" % turn)
        for turn, answer in enumerate(stream.rest()):
            response = answer.infer_response
            assert response.id == "%d" % turn, (response.id, turn)
            if turn % 10 == 5:
                assert "Servable not found" in answer.error_message and not response.outputs, answer
                continue
            assert not answer.error_message and response.parameters["triton_final_response"].bool_param, answer
            values = {o.name: struct.unpack("<%df" % (len(b) // 4), b) for o, b in zip(response.outputs, response.raw_output_contents)}
            near(values["value"], batches[turn % 2]["values"])
        assert turn == 99 and stream.answers.code() == Code.OK


def a_wrong_message_does_not_end_its_stream():
    record = example(batches[0]["examples"][0]).SerializeToString()
    stream, good = InferStream(channel, timeout=30), infer_request("records", "BYTES", [1], bytes_contents=[record])
    for change, words in ((lambda r: r.inputs.add(name="x", datatype="BYTES", shape=[1]), "x"),
                          (lambda r: r.parameters["signature_name"].__setattr__("string_param", "none"), "no signature"),
                          (lambda r: r.parameters["triton_enable_empty_final_response"].__setattr__("int64_param", 1), "must be a bool")):
        request = message(V2 + "ModelInferRequest")
        request.CopyFrom(good)
        change(request)
        stream.send(request, id="z" * 300)
        answer = stream.next()
        assert words in answer.error_message, answer
        assert answer.infer_response.id == "z" * 300, answer
    stream.send(good, id="")
    assert stream.next().infer_response.outputs
    assert not stream.rest() and stream.answers.code() == Code.OK
    raw = channel.stream_stream("/inference.GRPCInferenceService/ModelStreamInfer", lambda m: m, lambda m: m)
    answers = list(raw(iter((b"\xff\xff", b"")), timeout=10))
    assert b"cannot be parsed" in answers[0] and b"not found" in answers[1], answers
    assert not list(raw(iter(()), timeout=10))


def streams_end_by_deadline_and_cancellation():
    slow = grpc.insecure_channel("127.0.0.1:" + slow_port)
    def request():
        return infer_request("x", "FP32", [1], model="default", raw=struct.pack("<f", 2))
    stream = InferStream(slow, timeout=0.2)
    stream.send(request())
    try:
        stream.next()
        raise AssertionError("no deadline")
    except grpc.RpcError as error:
        assert error.code() == Code.DEADLINE_EXCEEDED
    stream = InferStream(slow, timeout=20)
    for _ in range(20):  # one runs, two wait, others find the queue full or are held back
        stream.send(request())
    answers = [stream.next() for _ in range(3)]
    assert struct.unpack("<f", answers[0].infer_response.raw_output_contents[0]) == (3,)
    began = time.monotonic()
    stream.answers.cancel()
    stream.to_send.put(None)
    again = InferStream(slow, timeout=20)
    again.send(request(), id="again")
    while again.next().error_message:  # until those that are cancelled have left the queue
        time.sleep(0.02)
        again.send(request(), id="again")
    assert not again.rest()
    assert time.monotonic() - began < 10
    too_large = InferStream(grpc.insecure_channel("127.0.0.1:" + slow_port, options=[("grpc.max_send_message_length", -1)]), timeout=20)
    too_large.send(infer_request("x", "FP32", [4250000], model="default", raw=b"\0" * 17000000))
    try:
        too_large.next()
        raise AssertionError("not refused")
    except grpc.RpcError as error:
        assert error.code() == Code.RESOURCE_EXHAUSTED and "too large" in error.details(), error
    too_large.to_send.put(None)


# ------------------------------------------------------------ splits of traffic

def post(path, body, to=None, **headers):
    request = urllib.request.Request("http://127.0.0.1:%s%s" % (to or split_port, path), body,
                                     {name.replace("_", "-"): value for name, value in headers.items()})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.read()


def counted(model):
    """How many requests each version of a model has computed."""
    with urllib.request.urlopen("http://127.0.0.1:%s/monitoring/prometheus/metrics" % split_port, timeout=10) as page:
        lines = page.read().decode().splitlines()
    start = 'serving_processor_requests_by_version_total{model_name="%s",version="' % model
    return {int(line[len(start):].split('"')[0]): int(line.split()[-1]) for line in lines if line.startswith(start)}


def where(model, ask, key):
    """The version whose count goes up with a request."""
    before = counted(model)
    ask(key)
    return next(v for v, count in counted(model).items() if count != before.get(v, 0))


def a_split_follows_an_input():
    split = grpc.insecure_channel("127.0.0.1:" + split_port)
    call, infer = methods(split, SERVING + "PredictionService")["Predict"], methods(split, V2 + "GRPCInferenceService")["ModelInfer"]
    items, protobuf = [b"item_1"], {"Content_Type": "application/x-protobuf"}

    def predict(user, **version):
        request = predict_request("ctr", user_id=tensor(9, [1], int64_val=[user]), price=tensor(1, [1], float_val=[1]),
                                  items=tensor(7, [1, 1], string_val=items))
        if version:
            request.model_spec.version.value = version["version"]
        return request

    def infer_raw(user, raw=True):
        request = message(V2 + "ModelInferRequest", model_name="ctr")
        for name, datatype, shape, field, value in (("price", "FP32", [1], "fp32_contents", 1.0), ("items", "BYTES", [1, 1], "bytes_contents", items[0]),
                                                    ("user_id", "INT64", [1], "int64_contents", user)):
            given = request.inputs.add(name=name, datatype=datatype, shape=shape)
            if not raw:
                getattr(given.contents, field).append(value)
        if raw:
            request.raw_input_contents.extend([struct.pack("<f", 1), struct.pack("<I", 6) + items[0], struct.pack("<q", user)])
        return request

    def v2_json(user):
        given = [{"name": "user_id", "datatype": "INT64", "shape": [1], "data": [user]},
                 {"name": "items", "datatype": "BYTES", "shape": [1, 1], "data": ["item_1"]},
                 {"name": "price", "datatype": "FP32", "shape": [1], "data": [1]}]
        return int(json.loads(post("/v2/models/ctr/infer", json.dumps({"inputs": given}).encode()))["model_version"])

    def v2_binary(user):
        given = [{"name": name, "datatype": datatype, "shape": shape, "parameters": {"binary_data_size": size}} for name, datatype, shape, size in
                 (("price", "FP32", [1], 4), ("user_id", "INT64", [1], 8), ("items", "BYTES", [1, 1], 10))]
        head = json.dumps({"inputs": given}).encode()
        body = head + struct.pack("<fqI", 1, user, 6) + items[0]
        return int(json.loads(post("/v2/models/ctr/infer", body, Inference_Header_Content_Length=str(len(head))))["model_version"])

    def by_message(user):
        answer = message(SERVING + "PredictResponse")
        answer.ParseFromString(post("/v1/models/ctr:predict", predict(user).SerializeToString(), **protobuf))
        return answer.model_spec.version.value

    def deeprec(user):
        request = message("tensorflow.eas.PredictRequest")
        for name, dtype, shape, values in (("user_id", 9, [1], {"int64_val": [user]}), ("price", 1, [1], {"float_val": [1]}),
                                           ("items", 7, [1, 1], {"string_val": items})):
            request.inputs[name].dtype = dtype
            request.inputs[name].array_shape.dim.extend(shape)
            for field, value in values.items():
                getattr(request.inputs[name], field).extend(value)
        post("/api/predict/ctr", request.SerializeToString())

    def rows(user):
        post("/v1/models/ctr:predict", json.dumps({"instances": [{"items": ["item_1"], "user_id": user, "price": 1}] * 2}).encode())

    def columns(user):
        post("/v1/models/ctr:predict", json.dumps({"inputs": {"items": [["item_1"]], "price": [1], "user_id": [user]}}).encode())

    by_user = {user: call(predict(user), timeout=10).model_spec.version.value for user in range(-100, 300)}
    assert set(by_user.values()) == {1, 2}
    assert 140 <= list(by_user.values()).count(2) <= 260  # 200, six standard deviations of ten
    for user in (-9, 0, 1, 2, 3, 2**62 + 1):
        version = call(predict(user), timeout=10).model_spec.version.value
        assert version == by_user.get(user, version)
        for turn in (lambda u: call(predict(u), timeout=10).model_spec.version.value, lambda u: int(infer(infer_raw(u), timeout=10).model_version),
                     lambda u: int(infer(infer_raw(u, raw=False), timeout=10).model_version), v2_json, v2_binary, by_message,
                     lambda u: where("ctr", deeprec, u), lambda u: where("ctr", rows, u), lambda u: where("ctr", columns, u)):
            assert turn(user) == version, (user, version, turn)
        assert call(predict(user, version=3 - version), timeout=10).model_spec.version.value == 3 - version  # asked for
        stream = InferStream(split, timeout=10)
        stream.send(infer_raw(user))
        assert [int(answer.infer_response.model_version) for answer in stream.rest()] == [version]


def a_split_follows_a_feature():
    split = methods(grpc.insecure_channel("127.0.0.1:" + split_port), SERVING + "PredictionService")

    def regress(city, context=False):
        request = message(SERVING + "RegressionRequest")
        request.model_spec.name, request.model_spec.signature_name = "examples", "regress"
        if context:
            request.input.example_list_with_context.context.CopyFrom(example({"city": city}))
            request.input.example_list_with_context.examples.append(example({"x": [1.0, 2.0, 3.0]}))
        else:
            request.input.example_list.examples.append(example({"city": city, "x": [1.0, 2.0, 3.0]}))
        return request

    def by_json(city):
        post("/v1/models/examples:regress", json.dumps({"signature_name": "regress", "examples": [{"x": [1.0, 2.0, 3.0], "city": city}]}).encode())

    def by_context(city):
        post("/v1/models/examples:regress",
             json.dumps({"signature_name": "regress", "context": {"city": city}, "examples": [{"x": [1.0, 2.0, 3.0]}]}).encode())

    found = set()
    for city in ("paris", "rome", "oslo", "bonn", "lima", "cairo"):
        version = split["Regress"](regress(city), timeout=10).model_spec.version.value
        found.add(version)
        assert split["Regress"](regress(city, context=True), timeout=10).model_spec.version.value == version
        assert where("examples", by_json, city) == where("examples", by_context, city) == version
    assert found == {1, 2}
    versions = {split["Regress"](regress(""), timeout=10).model_spec.version.value for _ in range(40)}
    assert versions == {1, 2}  # without a value, by chance


# ------------------------------------------------------------ examples as JSON

def examples_of_json_have_the_lists_that_the_graph_parses():
    def regress(features):
        body = {"signature_name": "regress", "examples": [features]}
        return json.loads(post("/v1/models/examples:regress", json.dumps(body).encode(), to=port))["results"]
    wanted = regress({"x": [1.0, 2.0, 3.0], "age": 20, "city": "paris"})
    near(regress({"x": [1, 2.0, 3], "age": 20.0, "city": {"b64": "cGFyaXM="}}), wanted)
    near(regress({"x": [1, 2, 3], "age": [2e1], "city": ["paris"], "unknown": [1]}), wanted)
    for name, value, words in (("age", 20.5, "feature: age expecting type: int64"), ("x", ["1"], "feature: x expecting type: float"),
                               ("city", 7, "feature: city expecting type: string"), ("unknown", [1, 1.5], "feature: unknown expecting type: int64")):
        try:
            regress({"x": [1, 2, 3], name: value})
            raise AssertionError("not refused: " + words)
        except urllib.error.HTTPError as error:
            text = error.read().decode()
            assert error.code == 400 and words in text, text


# ------------------------------------------------------------ health, reflection

def watch(service):
    answer = factory.GetPrototype(pool.FindMessageTypeByName("grpc.health.v1.HealthCheckResponse"))
    call = channel.unary_stream("/grpc.health.v1.Health/Watch", lambda m: m.SerializeToString(), answer.FromString)
    return call(message("grpc.health.v1.HealthCheckRequest", service=service), timeout=60)


def health_is_told_and_watched():
    def request(service):
        return message("grpc.health.v1.HealthCheckRequest", service=service)
    for service in ("", "tensorflow.serving.PredictionService", "inference.GRPCInferenceService", "examples"):
        assert health["Check"](request(service), timeout=10).status == 1
    refused(health["Check"], request("none"), Code.NOT_FOUND, "unknown service none")
    for service, status in (("examples", 1), ("none", 3)):
        stream = watch(service)
        assert next(stream).status == status
        stream.cancel()


def descriptors_are_reflected():
    for version in ("v1", "v1alpha"):
        name = "grpc.reflection.%s." % version
        answer = factory.GetPrototype(pool.FindMessageTypeByName(name + "ServerReflectionResponse"))
        call = channel.stream_stream("/%sServerReflection/ServerReflectionInfo" % name, lambda m: m.SerializeToString(), answer.FromString)
        to_ask = queue.Queue()
        answers = call(iter(to_ask.get, None), timeout=10)

        def ask(**request):
            to_ask.put(message(name + "ServerReflectionRequest", **request))
            return next(answers)
        services = {s.name for s in ask(list_services="*").list_services_response.service}
        assert {"tensorflow.serving.PredictionService", "inference.GRPCInferenceService", "grpc.health.v1.Health"} <= services
        for symbol in sorted(services):  # one after the other, on one stream, each file when it is needed
            found = ask(file_containing_symbol=symbol).file_descriptor_response.file_descriptor_proto
            file = descriptor_pb2.FileDescriptorProto.FromString(found[0])
            for imported in file.dependency:
                assert ask(file_by_filename=imported).file_descriptor_response.file_descriptor_proto
        assert ask(file_by_filename="none.proto").error_response.error_code == 5
        to_ask.put(None)
        assert not list(answers)


# ------------------------------------------------------------ the protocol

def unknown_methods_are_unimplemented():
    for path in ("/tensorflow.serving.PredictionService/None", "/none/None"):
        call = channel.unary_unary(path, lambda m: m, lambda m: m)
        refused(call, b"", Code.UNIMPLEMENTED, "no such method")


def messages_that_are_none_are_refused():
    call = channel.unary_unary("/tensorflow.serving.PredictionService/Predict", lambda m: m, lambda m: m)
    refused(call, b"\xff\xff", Code.INVALID_ARGUMENT, "cannot be parsed")


def what_is_too_large_is_refused():
    wide = grpc.insecure_channel("127.0.0.1:" + slow_port, options=[("grpc.max_send_message_length", -1)])
    call = wide.unary_unary("/tensorflow.serving.PredictionService/Predict", lambda m: m, lambda m: m)
    refused(call, b"\0" * 17000000, Code.RESOURCE_EXHAUSTED, "too large", timeout=20)
    refused(call, b"\x0a\0" * 5000000, Code.RESOURCE_EXHAUSTED, "too large", compression=grpc.Compression.Gzip, timeout=20)
    refused(call, b"", Code.RESOURCE_EXHAUSTED, "too large", metadata=[("x", "y" * 20000)])
    refused(call, b"", Code.INVALID_ARGUMENT, "Missing ModelSpec")
    wide.close()


def compressed_and_large_messages_are_taken():
    size = 750000
    values = struct.pack("<%df" % size, *[i % 1000 for i in range(size)])
    request = predict_request("default", x=tensor(1, [size], tensor_content=values))
    wide = grpc.insecure_channel("127.0.0.1:" + slow_port, options=[("grpc.max_receive_message_length", -1)])
    call = methods(wide, SERVING + "PredictionService")["Predict"]
    for compression in (grpc.Compression.NoCompression, grpc.Compression.Gzip, grpc.Compression.Deflate):
        answer = call(request, timeout=20, compression=compression)
        assert list(answer.outputs["y"].float_val[:1000]) == [i / 2 + 2 for i in range(1000)]
        assert len(answer.outputs["y"].float_val) == size
    stream = InferStream(wide, timeout=20, compression=grpc.Compression.Gzip)
    stream.send(infer_request("x", "FP32", [size], model="default", raw=values))
    stream.send(infer_request("x", "FP32", [1], model="default", raw=values[:4]))
    answers = [answer.infer_response.raw_output_contents[0] for answer in stream.rest()]
    assert [len(answer) for answer in answers] == [4 * size, 4]
    assert struct.unpack("<1000f", answers[0][:4000]) == tuple(i / 2 + 2 for i in range(1000))
    wide.close()


def deadlines_end_calls():
    slow = methods(grpc.insecure_channel("127.0.0.1:" + slow_port), SERVING + "PredictionService")["Predict"]
    request = predict_request("default", x=tensor(1, [1], float_val=[2]))
    began = time.monotonic()
    refused(slow, request, Code.DEADLINE_EXCEEDED, "", timeout=0.1)
    assert time.monotonic() - began < 0.4
    assert slow(request, timeout=10).outputs["y"].float_val[0] == 3


def a_full_queue_is_told_and_cancelled_calls_are_skipped():
    slow = methods(grpc.insecure_channel("127.0.0.1:" + slow_port), SERVING + "PredictionService")["Predict"]
    request = predict_request("default", x=tensor(1, [1], float_val=[2]))
    began = time.monotonic()
    calls = [slow.future(request, timeout=20) for _ in range(12)]
    codes = []
    for call in calls:
        codes.append(call.code())
        assert call.code() in (Code.OK, Code.RESOURCE_EXHAUSTED), call.details()
    assert Code.OK in codes and Code.RESOURCE_EXHAUSTED in codes, codes
    first = slow.future(request, timeout=20)
    time.sleep(0.1)
    waiting = slow.future(request, timeout=20)
    time.sleep(0.1)
    waiting.cancel()
    began = time.monotonic()
    assert first.result().outputs["y"].float_val[0] == 3
    time.sleep(0.05)
    assert slow(request, timeout=20).outputs["y"].float_val[0] == 3
    assert time.monotonic() - began < 1.3  # what is left of the first, and one; not the cancelled one


def channels_share_the_host():
    failures = []

    def work():
        try:
            own = grpc.insecure_channel("127.0.0.1:" + port, options=[("grpc.use_local_subchannel_pool", 1)])
            call = methods(own, SERVING + "PredictionService")["Predict"]
            for turn in range(100):
                batch = batches[turn % 2]
                records = [example(f).SerializeToString() for f in batch["examples"]]
                answer = call(predict_request("examples", records=tensor(7, [len(records)], string_val=records)), timeout=10)
                near(answer.outputs["value"].float_val, batch["values"])
            own.close()
        except Exception as error:  # pylint: disable=broad-except
            failures.append(error)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


def streams_end_with_their_host():
    stream = InferStream(grpc.insecure_channel("127.0.0.1:" + slow_port), timeout=20)
    def send(id):
        stream.send(infer_request("x", "FP32", [1], model="default", raw=struct.pack("<f", 2)), id=id)
    send("first")
    assert stream.next().infer_response.id == "first"
    send("second")  # is answered if it comes in time
    os.kill(int(slow_host), signal.SIGTERM)
    try:
        assert stream.next().infer_response.id == "second"
        stream.next()
        raise AssertionError("goes on")
    except grpc.RpcError as error:
        assert error.code() == Code.UNAVAILABLE and "the server ends" in error.details(), error
    stream.to_send.put(None)


TESTS = [records_are_predicted_as_strings, golden_answers_are_given, examples_are_classified_and_regressed,
         golden_answers_are_inferred, a_context_is_merged_into_each_example, several_signatures_answer_at_once, wrong_predictions_are_refused,
         metadata_and_status_are_told, tensors_are_inferred, wrong_inferences_are_refused, the_server_describes_itself,
         streams_are_answered_in_order, a_wrong_message_does_not_end_its_stream, streams_end_by_deadline_and_cancellation,
         health_is_told_and_watched, descriptors_are_reflected, unknown_methods_are_unimplemented, messages_that_are_none_are_refused,
         what_is_too_large_is_refused, compressed_and_large_messages_are_taken, deadlines_end_calls, a_full_queue_is_told_and_cancelled_calls_are_skipped,
         channels_share_the_host, a_split_follows_an_input, a_split_follows_a_feature,
         examples_of_json_have_the_lists_that_the_graph_parses, the_configuration_is_replaced, streams_end_with_their_host]
failed = 0
for test in TESTS:
    print("[ RUN      ] " + test.__name__, flush=True)
    try:
        test()
    except Exception as error:  # pylint: disable=broad-except
        failed += 1
        print("[  FAILED  ] %s: %r" % (test.__name__, error), flush=True)
    else:
        print("[       OK ] " + test.__name__, flush=True)
print("[  PASSED  ] %d test(s)." % (len(TESTS) - failed))
if failed:
    sys.exit("[  FAILED  ] %d test(s)." % failed)
