"""Calls serving_host over HTTP as its clients do, with the standard library only.

    host_clients.py PORT OTHER_PORT TOKEN_PORT OTHER_TOKEN_PORT

The first two are one host's, the others that of one whose EAS tokens are "s3cr3t-1" and "s3cr3t-2".  Both serve tests/golden's tf2-signatures as
"types" and tf1-examples as "examples", each as version 123, and have a model "broken" that cannot be loaded.
"""
import base64
import gzip
import hashlib
import hmac
import http.client
import json
import struct
import sys
import time
import zlib

port, other_port, token_port = (int(each) for each in sys.argv[1:4])


def call(method, path, body=None, at=port, **headers):
    """The status, the body and the headers of an answer, their names in lower case."""
    connection = http.client.HTTPConnection("127.0.0.1", at, timeout=30)
    if isinstance(body, dict):
        body = json.dumps(body)
    connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer.status, text, {name.lower(): value for name, value in answer.getheaders()}


def refused(status, words, method, path, body=None, **options):
    got, text, _ = call(method, path, body, **options)
    assert got == status, (got, text)
    assert words in json.loads(text)["error"], text


def near(got, wanted):
    assert len(got) == len(wanted) and all(abs(a - b) < 1e-5 for a, b in zip(got, wanted)), (got, wanted)


IDS, LENGTHS, NAMES, SCALE = [1, 2, 3], [2, 1], ["a", "b"], 0.5
PREDICT, INFER, EAS = "/v1/models/types:predict", "/v2/models/types/infer", "/api/predict/types"


def predicted():
    status, text, _ = call("POST", PREDICT, {"inputs": {"ids": IDS, "lengths": LENGTHS, "names": NAMES, "scale": SCALE}})
    assert status == 200, text
    return json.loads(text)["outputs"]


# ------------------------------------------------------------ TensorFlow Serving

def status_is_laid_out_as_by_protobuf():
    wanted = """{
 "model_version_status": [
  {
   "version": "123",
   "state": "AVAILABLE",
   "status": {
    "error_code": "OK",
    "error_message": ""
   }
  }
 ]
}
"""
    for path in ("", "/versions/123", "/labels/stable"):
        for at in (port, other_port):
            status, text, _ = call("GET", "/v1/models/types" + path, at=at)
            assert status == 200 and text.decode() == wanted, text
    status, text, _ = call("GET", "/v1/models/types/metadata")
    assert status == 200 and text.startswith(b'{\n"model_spec":{\n "name": "types",\n "signature_name": "",\n "version": "123"\n}\n,\n"metadata": {"'), text
    signature = json.loads(text)["metadata"]["signature_def"]["signature_def"]["serving_default"]
    assert signature["inputs"]["scale"]["tensor_shape"] == {"dim": [], "unknown_rank": False}, signature


def a_broken_model_is_told_and_hurts_no_other():
    until = time.monotonic() + 10
    while b'"END"' not in call("GET", "/v1/models/broken")[1] and time.monotonic() < until:
        time.sleep(0.05)
    (status,) = json.loads(call("GET", "/v1/models/broken")[1])["model_version_status"]
    assert status["state"] == "END" and status["status"]["error_code"] == "DATA_LOSS", status
    assert "saved_model.pb" in status["status"]["error_message"], status
    refused(404, "Servable not found for request: Latest(broken)", "POST", "/v1/models/broken:predict", {"instances": [1]})
    assert predicted()["joined"] == "a-b"


def bodies_may_be_compressed():
    body = json.dumps({"inputs": {"ids": IDS, "lengths": LENGTHS, "names": NAMES, "scale": SCALE}}).encode()
    for coding, packed in (("gzip", gzip.compress(body)), ("deflate", zlib.compress(body))):
        status, text, headers = call("POST", PREDICT, packed, Content_Encoding=coding, Accept_Encoding="gzip")
        text = gzip.decompress(text) if headers.get("content-encoding") == "gzip" else text
        assert status == 200 and json.loads(text)["outputs"] == predicted(), text
    refused(413, "too large", "POST", PREDICT, gzip.compress(body + b" " * (64 << 20)), Content_Encoding="gzip")
    refused(415, "content encoding", "POST", PREDICT, body, Content_Encoding="br")


# ---------------------------------------------------------------------------- V2

def text_data(values):
    return b"".join(struct.pack("<I", len(v)) + v.encode() for v in values)


def infer_request(binary, **members):
    """The body, and the size of its JSON."""
    blobs = [struct.pack("<3q", *IDS), struct.pack("<2q", *LENGTHS), text_data(NAMES), struct.pack("<f", SCALE)]
    inputs = [{"name": "ids", "datatype": "INT64", "shape": [3], "data": IDS},
              {"name": "lengths", "datatype": "INT64", "shape": [2], "data": LENGTHS},
              {"name": "names", "datatype": "BYTES", "shape": [2], "data": NAMES},
              {"name": "scale", "datatype": "FP32", "shape": [], "data": [SCALE]}]
    if binary:
        for given, blob in zip(inputs, blobs):
            del given["data"]
            given["parameters"] = {"binary_data_size": len(blob)}
    text = json.dumps({"inputs": inputs, **members}).encode()
    return text + (b"".join(blobs) if binary else b""), len(text)


def outputs_of(text, headers):
    """The values of the outputs by name, flat."""
    size = int(headers.get("inference-header-content-length", len(text)))
    rest, values = text[size:], {}
    for output in json.loads(text[:size])["outputs"]:
        if "data" in output:
            values[output["name"]] = output["data"]
            continue
        size = output["parameters"]["binary_data_size"]
        blob, rest = rest[:size], rest[size:]
        letter = {"INT64": "q", "FP32": "f"}.get(output["datatype"])
        values[output["name"]] = list(struct.unpack("<%d%s" % (size // struct.calcsize(letter), letter), blob)) if letter else [blob[4:].decode()]
    assert not rest
    return values


def json_and_binary_data_have_one_answer():
    wanted = predicted()
    for binary in (False, True):
        for members in ({}, {"parameters": {"binary_data_output": True}}, {"outputs": [{"name": "joined"}, {"name": "scaled", "parameters": {"binary_data": True}}]}):
            body, size = infer_request(binary, id="7", **members)
            options = {"Inference_Header_Content_Length": str(size)} if binary else {}
            status, text, headers = call("POST", INFER, body, **options)
            assert status == 200, text
            assert ("inference-header-content-length" in headers) == bool(members), headers
            got = outputs_of(text, headers)
            assert got["joined"] == [wanted["joined"]]
            near(got["scaled"], sum(wanted["scaled"], []))
            assert set(got) == ({"joined", "scaled"} if "outputs" in members else set(wanted))


def a_wrong_length_of_the_json_is_refused():
    body, size = infer_request(True)
    for length in ("-1", "99999999999", str(len(body) + 1), "abc", "", "+5", "0x10"):
        refused(400, "Inference-Header-Content-Length", "POST", INFER, body, Inference_Header_Content_Length=length)
    refused(400, "additional input data", "POST", INFER, body + b"x", Inference_Header_Content_Length=str(size))
    refused(400, "unexpected end", "POST", INFER, body[:-1], Inference_Header_Content_Length=str(size))
    # The whole body is the only input, here an Example without features.
    refused(400, "feature 'x' is required", "POST", "/v2/models/examples/infer", b"\x0a\0", Inference_Header_Content_Length="0")


def wrong_tensors_are_refused():
    def one(**members):
        body = json.loads(infer_request(False)[0])
        body["inputs"][0].update(members)
        return body
    refused(400, "not negative", "POST", INFER, one(shape=[-1]))
    refused(400, "too large", "POST", INFER, one(shape=[1 << 62, 4]))
    refused(400, "dimensions", "POST", INFER, one(shape=[1] * 100))
    refused(400, "3 values, but the shape needs 2", "POST", INFER, one(shape=[2]))
    refused(400, "invalid datatype", "POST", INFER, one(datatype="INT65"))
    refused(400, "must be DT_INT64, not DT_INT32", "POST", INFER, one(datatype="INT32"))
    refused(400, "unexpected inference input", "POST", INFER, one(name="none"))
    refused(400, "already exists", "POST", INFER, one(name="lengths"))
    refused(400, "requested twice", "POST", INFER, {**one(), "outputs": [{"name": "joined"}, {"name": "joined"}]})
    text = json.dumps(one(shape=[1], data="DATA"))
    assert call("POST", INFER, text.replace('"DATA"', "[" * 50 + "1" + "]" * 50).replace("[2, 1]", "[1, 0]"))[0] == 200
    refused(400, "nesting depth", "POST", INFER, text.replace('"DATA"', "[" * 120 + "1" + "]" * 120))


def the_server_describes_itself():
    for path in ("/v2", "/v2/", "/v2/health/live", "/v2/models/types", "/v2/models/types/versions/123/ready", "/v2/models/types/config",
                 "/v2/models/types/stats", "/v2/models/stats"):
        assert call("GET", path)[0] == 200, path
    ready = {(each["name"], each["state"]) for each in json.loads(call("POST", "/v2/repository/index")[1])}
    assert {("types", "READY"), ("examples", "READY")} < ready, ready
    assert call("POST", "/v2/repository/models/types/load", "{}")[0] == 200
    refused(404, "Servable not found", "POST", "/v2/repository/models/none/load", "{}")
    refused(501, "HandleReloadConfigRequest", "POST", "/v2/repository/models/types/unload", "{}")
    refused(404, "Servable not found", "GET", "/v2/models/none")
    refused(404, "", "GET", "/v2/none")
    for method, path, allowed in (("GET", INFER, "POST"), ("POST", "/v2/models/types", "GET, HEAD"), ("GET", "/v2/repository/index", "POST")):
        status, text, headers = call(method, path)
        assert status == 405 and headers["allow"] == allowed and b"error" in text, (status, headers)


# --------------------------------------------------------------------------- EAS

def delimited(number, content):
    size, length = len(content), b""
    while size > 127:
        length, size = length + bytes([size & 127 | 128]), size >> 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + content


def array(dtype, dims, field, content):
    return bytes([8, dtype]) + delimited(2, delimited(1, bytes(dims))) + b"".join(delimited(field, each) for each in content)


EAS_BODY = delimited(1, b"serving_default") + b"".join(
    delimited(2, delimited(1, name) + delimited(2, value)) for name, value in (
        (b"ids", array(9, [3], 7, [bytes(IDS)])), (b"lengths", array(9, [2], 7, [bytes(LENGTHS)])),
        (b"names", array(7, [2], 6, [each.encode() for each in NAMES])), (b"scale", array(1, [], 3, [struct.pack("<f", SCALE)]))))


def signed(token, body, method="POST"):
    parts = {"Content_MD5": hashlib.md5(body).hexdigest(), "Content_Type": "application/octet-stream", "Date": "Thu, 01 Jan 1970 00:00:00 GMT"}
    text = "\n".join([method, *parts.values(), EAS])
    digest = hmac.new(token.encode(), text.encode(), hashlib.sha1).digest()
    return {**parts, "Authorization": "EAS " + base64.b64encode(digest).decode()}


def messages_of_eas_are_answered():
    status, text, headers = call("POST", EAS, EAS_BODY)
    assert status == 200 and headers["content-type"] == "application/octet-stream", text
    assert delimited(6, b"a-b") in text and struct.pack("<f", predicted()["scaled"][0][0])[1:] in text, text
    status, text, _ = call("GET", EAS)
    (names,) = [each for each in json.loads(text)["inputs"] if each["name"] == "names"]
    assert status == 200 and names == {"name": "names", "shape": [2], "type": "DT_STRING"}, text
    refused(400, "not a PredictRequest", "POST", EAS, b"\xff\xff")
    refused(400, "no output 'none'", "POST", EAS, EAS_BODY + delimited(3, b"none"))
    refused(404, "no such service", "POST", "/api/predict/none", EAS_BODY)
    assert call("PUT", EAS, EAS_BODY)[2]["allow"] == "GET, HEAD, POST"


def services_have_tokens():
    for headers in ({"Authorization": "s3cr3t-1"}, {"Authorization": "Bearer s3cr3t-2"}, signed("s3cr3t-1", EAS_BODY)):
        assert call("POST", EAS, EAS_BODY, at=token_port, **headers)[0] == 200, headers
    for headers in ({"Authorization": "s3cr3t-2"}, signed("s3cr3t-2", b""), signed("s3cr3t-2", b"", "GET")):
        assert call("GET", EAS, at=token_port, **headers)[0] == 200, headers
    for headers in ({}, {"Authorization": "s3cr3t-"}, {"Authorization": "s3cr3t-1,s3cr3t-2"}, {"Authorization": "Bearer"}, signed("three", EAS_BODY), signed("s3cr3t-1", b"other")):
        refused(401, "token", "POST", EAS, EAS_BODY, at=token_port, **headers)
    assert call("GET", "/v1/models/types", at=token_port)[0] == 200


TESTS = [status_is_laid_out_as_by_protobuf, a_broken_model_is_told_and_hurts_no_other, bodies_may_be_compressed, json_and_binary_data_have_one_answer,
         a_wrong_length_of_the_json_is_refused, wrong_tensors_are_refused, the_server_describes_itself, messages_of_eas_are_answered, services_have_tokens]
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
