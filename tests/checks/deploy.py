"""What deploy/ names is there: metrics, flags, routes, and what its files name of each other.

deploy.py TREE: prints what is wrong; exit status 1 if anything is.
"""
import glob
import json
import os
import re
import sys

import yaml

tree = sys.argv[1]
failed = 0
passed = 0


def check(name, good):
    global failed, passed
    if good:
        passed += 1
    else:
        failed += 1
        print("failed: " + name)


def read(path):
    with open(os.path.join(tree, path), encoding="utf-8") as file:
        return file.read()


def load(path):
    return yaml.safe_load(read(path))


# ------------------------------------------------------------------ metrics

# Of Prometheus itself.
others = {"up", "ALERTS"}
words = {"by", "on", "ignoring", "without", "and", "or", "unless", "group_left", "group_right", "offset", "bool"}


def metrics_of(query):
    """The names of metrics in a PromQL expression."""
    query = re.sub(r'"[^"]*"', "", query)
    query = re.sub(r"\{[^}]*\}|\[[^\]]*\]|#.*", "", query)
    query = re.sub(r"\b(by|on|ignoring|without|group_left|group_right)\s*\([^)]*\)", " ", query)
    query = re.sub(r"\boffset\s+\w+", " ", query)
    names = re.findall(r"(?<![\w.:$])([a-zA-Z_:][\w:]*)(?!\w)(\s*\()?", query)
    return {name for name, call in names if not call and name not in words}


def known_metrics():
    known = set(others)
    for name, kind in re.findall(r"(?m)^\| `([a-z_:]+)` \| (\w+) \|", read("docs/metrics.md")):
        known |= {name + end for end in ("_bucket", "_sum", "_count")} if kind == "histogram" else {name}
    return known


def rules_of(path):
    return [rule for group in load(path)["groups"] for rule in group["rules"]]


def queries():
    """(where, PromQL) of every file."""
    for path in glob.glob("deploy/prometheus/*.rules.yml", root_dir=tree):
        for rule in rules_of(path):
            yield path, rule["expr"]
    for path in glob.glob("deploy/grafana/*.json", root_dir=tree):
        board = json.loads(read(path))
        for panel in board["panels"]:
            for target in panel.get("targets", []):
                yield f"{path}: {panel['title']}", target["expr"]
        for item in board["annotations"]["list"]:
            yield f"{path}: {item['name']}", item["expr"]
        for item in board["templating"]["list"]:
            if item["type"] == "query":
                yield f"{path}: ${item['name']}", re.sub(r"label_values\((.*),.*\)", r"\1", item["query"]["query"])
    for metric in load("deploy/kubernetes/hpa.yaml")["spec"]["metrics"]:
        yield "deploy/kubernetes/hpa.yaml", metric["pods"]["metric"]["name"]
    for rule in load("deploy/kubernetes/prometheus-adapter.yaml")["rules"]["custom"]:
        yield "deploy/kubernetes/prometheus-adapter.yaml", rule["seriesQuery"]


known = known_metrics()
known |= {rule["record"] for rule in rules_of("deploy/prometheus/recording.rules.yml")}
seen = set()
for where, query in queries():
    names = metrics_of(query)
    seen |= names
    check(f"{where} names a metric: {query}", names)
    for name in sorted(names - known):
        check(f"{where} names {name}, which docs/metrics.md does not", False)
check("the queries name many metrics", len(seen) > 30)

runbooks = read("docs/runbooks.md")
sections = {title.lower().replace(" ", "-"): text for title, text in re.findall(r"(?ms)^## (.*?)\n(.*?)(?=^## |\Z)", runbooks)}
for name in sorted(set(re.findall(r"(?:serving_processor_|:tensorflow:serving:|process_)\w+", runbooks)) - known):
    check(f"docs/runbooks.md names {name}, which docs/metrics.md does not", False)
tests = "".join(read(path) for path in glob.glob("deploy/prometheus/*.test.yml", root_dir=tree))
for rule in rules_of("deploy/prometheus/alerts.rules.yml"):
    name = rule["alert"]
    check(f"alert {name} is fired by a test", f'alertname="{name}", alertstate="firing"' in tests)
    check(f"alert {name} says how bad it is, what is wrong and what to do", rule["labels"]["severity"] in ("page", "ticket") and {"summary", "action"} <= set(rule["annotations"]))
    page, _, section = rule["annotations"].get("runbook_url", "").partition("#")
    check(f"alert {name} links the section of docs/runbooks.md that names it", page.endswith("/runbooks.md") and f"`{name}`" in sections.get(section, ""))

panels = json.loads(read("deploy/grafana/serving-host.json"))["panels"]
check("panels of the dashboard have numbers of their own", len({panel["id"] for panel in panels}) == len(panels))

# -------------------------------------------------------------------- flags

flags = set(re.findall(r"(?m)^SP_FLAG_[A-Z]+\((\w+),", read("api/host/flags.inc")))
check("flags are found", len(flags) > 30)
for path in glob.glob("deploy/kubernetes/*.yaml", root_dir=tree) + ["deploy/docker/Dockerfile", "deploy/systemd/serving-host.service", "deploy/systemd/default/serving-host"]:
    text = re.sub(r"--(mount|from|interval|timeout|start-period|no-install-recommends|ensure)\b", "", read(path))
    for flag in sorted(set(re.findall(r"--([a-z_]+)", text)) - flags):
        check(f"{path} names the flag --{flag}, which serving_host has not", False)

# --------------------------------------------------------------- Kubernetes

listed = load("deploy/kubernetes/kustomization.yaml")["resources"]
objects = {load("deploy/kubernetes/" + name)["kind"]: load("deploy/kubernetes/" + name) for name in listed}
check("kustomization.yaml lists every object", set(objects) == {"ConfigMap", "Deployment", "Service", "HorizontalPodAutoscaler", "PodDisruptionBudget"})
for kind, thing in objects.items():
    check(f"{kind} has a version, a name and labels", thing["apiVersion"] and thing["metadata"]["name"] and thing["metadata"]["labels"])
deployment = objects["Deployment"]["spec"]
pod = deployment["template"]["spec"]
container = pod["containers"][0]
labels = deployment["template"]["metadata"]["labels"]
check("the deployment selects its pods", deployment["selector"]["matchLabels"].items() <= labels.items())
check("the service selects them", objects["Service"]["spec"]["selector"].items() <= labels.items())
check("the disruption budget selects them", objects["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"].items() <= labels.items())
target = objects["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]
check("the autoscaler scales the deployment", (target["kind"], target["name"]) == ("Deployment", objects["Deployment"]["metadata"]["name"]))
check("the autoscaler decides how many there are", "replicas" not in deployment)
ports = {port["name"]: port["containerPort"] for port in container["ports"]}
check("the service's ports are the container's", all(port["targetPort"] in ports for port in objects["Service"]["spec"]["ports"]))
routes = "".join(read(path) for path in glob.glob("api/host/routes/*.c", root_dir=tree))
for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
    get = container[probe]["httpGet"]
    check(f"the {probe} asks a route of the host", f'"{get["path"]}"' in routes and get["port"] in ports)
volumes = {volume["name"] for volume in pod["volumes"]}
check("what is mounted is a volume", {mount["name"] for mount in container["volumeMounts"]} == volumes)
config = [volume["configMap"]["name"] for volume in pod["volumes"] if "configMap" in volume]
check("the configuration is the config map's", config == [objects["ConfigMap"]["metadata"]["name"]])
check("and it is the file that is served", "--model_config_file=/etc/serving-host/models.config" in container["args"] and "models.config" in objects["ConfigMap"]["data"])
check("a pod has the time to drain", pod["terminationGracePeriodSeconds"] > 25)
hpa = objects["HorizontalPodAutoscaler"]["spec"]["metrics"][0]["pods"]["metric"]["name"]
check("the adapter has the autoscaler's metric", hpa in [rule["name"]["as"] for rule in load("deploy/kubernetes/prometheus-adapter.yaml")["rules"]["custom"]])

# ----------------------------------------------------------------- versions

version = re.search(r"AC_INIT\(\[serving-processor\], \[(.*?)\]\)", read("configure.ac")).group(1)
check("debian/changelog has the version of configure.ac", read("debian/changelog").startswith(f"serving-processor ({version})"))
check("the deployment has the version of configure.ac", container["image"].endswith(":" + version))

print(f"[  PASSED  ] {passed} test(s).")
if failed:
    print(f"[  FAILED  ] {failed} test(s).")
sys.exit(failed != 0)
