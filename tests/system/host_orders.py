"""Orders of the admin listener that change what a serving_host serves, with tests/golden's keras2-half as the model.

host_orders.py HOST FOLDER MODEL: FOLDER is where the host writes, MODEL the SavedModel's folder.
"""
import json
import os
import shutil
import signal
import sys

from host_admin import Host, TOKEN, wait_until


def order(host, what, body=None, status=200, says=""):
    """An order and its answer, which names what is wrong."""
    got, _, text = host.ask("POST", "/v1/models/" + what, body)
    assert got == status and says in text, (what, got, text)


def facts(host, name):
    """What the document tells of a model; None: nothing."""
    return next((model for model in host.document()["models"] if model["name"] == name), None)


def labels(host):
    return {one["label"]: one["version"] for one in facts(host, "half")["labels"]}


def check_versions(host):
    order(host, "half/versions/8:load")
    host.predict("half/versions/8")
    order(host, "half/versions/9:load", status=404, says="Could not find version 9 of model half")
    host.add_broken(9)
    order(host, "half/versions/9:load", status=503, says="model half: version 9 did not become available: ")
    order(host, "half/versions/8:load", '{"base_path": "/none"}', status=400, says="no configuration")
    assert host.try_to_predict("half/versions/9")[0] == 404
    assert facts(host, "half")["by_order"] and not facts(host, "other")["by_order"]
    # What one version at a time is served of is left to the library.
    order(host, "other/versions/3:load", status=400, says="model other serves one version")
    order(host, "other/versions/7:unload", status=400, says="model other serves one version")
    order(host, "none/versions/3:load", status=404, says="model none")


def check_labels(host):
    assert labels(host) == {"stable": "7"}
    order(host, "half/versions/8/labels/canary:assign")
    host.predict("half/labels/canary")
    order(host, "half/versions/9/labels/stable:assign", status=404,
          says="Request to assign label stable to {name: half version: 9}, which is not currently available")
    order(host, "half/labels/a%20b:assign")
    assert labels(host) == {"stable": "7", "canary": "8", "a b": "newest"}
    order(host, "half/labels/%ff:assign", status=400, says="UTF-8")
    order(host, "half/labels/none:remove", status=404, says="model half has no label none")
    order(host, "half/labels/a%20b:remove")
    order(host, "half/versions/7:unload", status=400, says="version 7 has the label stable")
    order(host, "half/versions/8/labels/stable:assign")
    order(host, "half/versions/7:unload")
    assert host.try_to_predict("half/versions/7")[0] == 404
    host.predict("half/labels/stable")
    order(host, "half/versions/7:unload", status=404, says="Could not find version 7")
    order(host, "half/labels/stable:remove")
    order(host, "half/labels/canary:remove")
    order(host, "half/versions/8:unload", status=400, says="no available version besides 8")
    # What is served stays while the folder is away.
    order(host, "half/versions/7:load")
    os.rename(host.folder + "/model", host.folder + "/away")
    order(host, "half/versions/7:unload", status=503, says="/model cannot be read")
    os.rename(host.folder + "/away", host.folder + "/model")
    host.predict("half/versions/7")
    order(host, "half/versions/7:unload")
    host.predict()
    assert labels(host) == {}


def check_models(host):
    order(host, "other:unload")
    assert host.try_to_predict("other")[0] == 404 and host.document()["unloaded"] == ["other"]
    assert host.call(host.admin, "GET", "/healthz/ready")[0] == 200
    order(host, "other:unload", status=404, says="model other")
    order(host, "other/labels/x:assign", status=404, says="model other")
    order(host, "other:load")
    host.predict("other")
    assert host.document()["unloaded"] == []
    config = {"base_path": host.folder + "/model", "version_policy": {"specific": [8]}, "version_labels": {"stable": 8}}
    order(host, "new:load", status=404, says="model new is not known")
    order(host, "new:load", "{", status=400, says="configuration of model new")
    order(host, "new:load", json.dumps({"name": "old"} | config), status=400, says="it is that of model old")
    order(host, "new:load", '{"base": "/x"}', status=400, says="base")
    order(host, "new:load", json.dumps({"logging_config": {}} | config), status=400, says="where files are written")
    order(host, "new:load", '{"base_path": "/none/such"}', status=503, says="model new: /none/such cannot be read")
    order(host, "new:load", json.dumps(config | {"version_labels": {"stable": 7}}), status=404, says="label stable to {name: new version: 7}")
    assert facts(host, "new") is None and host.call(host.admin, "GET", "/healthz/ready")[0] == 200
    order(host, "new:load", json.dumps(config))
    host.predict("new/labels/stable")
    # What it was stays in effect where the other configuration does not load.
    order(host, "new:load", json.dumps(config | {"base_path": "/none/such"}), status=503, says="/none/such")
    host.predict("new/labels/stable")
    order(host, "new:unload")
    order(host, "new:load")
    host.predict("new/labels/stable")
    for path in ("half:unload", "half/versions/8:load", "half/labels/x:assign", "half/labels/x:remove"):
        assert host.call(host.main, "POST", "/v1/models/" + path)[0] == 403
    for path in ("half/versions/8/deltas/1:load", "half/labels/x:load", "half:assign", "half/versions/8/labels/x:remove", "half/versions/8/labels/x:predict"):
        order(host, path, status=400, says="Malformed request")


def write_config(folder, *more, versions=(7,)):
    """The label is of the last one of the versions."""
    models = [{"name": "half", "base_path": folder + "/model", "version_policy": {"specific": versions}, "version_labels": {"stable": versions[-1]}},
              {"name": "other", "base_path": folder + "/other"}, *more]
    with open(folder + "/config.new", "w") as file:
        json.dump({"models": models}, file)
    os.rename(folder + "/config.new", folder + "/config")


def is_as_configured(host):
    models = host.document()["models"]
    return [model["name"] for model in models if not model["by_order"]] == ["half", "other"] and labels(host) == {"stable": "7"} and \
        host.try_to_predict("half/versions/7")[0] == 200 and host.try_to_predict("half/versions/8")[0] == 404


def check_reload(host):
    """An unchanged file leaves orders alone; one that is taken over, by poll or by signal, ends what they have changed."""
    wait_until(lambda: host.document()["now"] - host.document()["started"] > 2, "a poll of the file")
    assert facts(host, "new")["by_order"] and facts(host, "half")["by_order"]
    write_config(host.folder, {"name": "third", "base_path": host.folder + "/other"})
    wait_until(lambda: facts(host, "third"), "the changed file")
    # A label goes with the version that the same file adds.
    write_config(host.folder, versions=(7, 8))
    wait_until(lambda: labels(host) == {"stable": "8"}, "the label of an added version")
    order(host, "other:unload")
    write_config(host.folder)
    wait_until(lambda: is_as_configured(host), "the configuration")
    for name in ("half", "new", "other"):
        assert "model %s: the configuration takes the place of the orders about it" % name in host.log()
    order(host, "half/versions/8:load")
    order(host, "other:unload")
    host.process.send_signal(signal.SIGHUP)
    wait_until(lambda: is_as_configured(host), "the configuration by signal")
    assert host.document()["unloaded"] == []


def check_log(host):
    assert "model half: load version 8 by order of 127.0.0.1:" in host.log()
    assert "model half: assign label canary version 8 by order of 127.0.0.1:" in host.log()


def main(program, folder, model):
    for path in ("/model/7", "/model/8", "/other/7"):
        shutil.copytree(model, folder + path)
    write_config(folder)
    host = Host(program, folder, model, "--admin_token_file=" + folder + "/token", "--admin_routes", "--model_config_file_poll_wait_seconds=1",
                models=["--model_config_file=" + folder + "/config"])
    check_versions(host)
    check_labels(host)
    check_models(host)
    check_reload(host)
    check_log(host)
    host.end()


if __name__ == "__main__":
    main(*sys.argv[1:])
