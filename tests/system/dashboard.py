"""Asks a Prometheus that scrapes a live host every question of the dashboard.

dashboard.py DASHBOARD HOST_PORT PROMETHEUS_PORT FOLDER [WITHOUT]: starts `prometheus` with its data in FOLDER; exit
status 0 where each question has an answer with a sample in it, but for those that name WITHOUT.
"""
import json
import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

dashboard, host_port, port, folder = sys.argv[1:5]
without = sys.argv[5] if len(sys.argv) > 5 else None
variables = {"$__rate_interval": "1m", "$__interval": "1m", "$job": ".*", "$instance": ".*", "$model": ".*"}


def questions():
    with open(dashboard, encoding="utf-8") as file:
        board = json.load(file)
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"]
    for item in board["templating"]["list"]:
        if item["type"] == "query":
            yield item["name"], re.sub(r"label_values\((.*),.*\)", r"\1", item["query"]["query"])


def ask(query):
    """How many samples answer; the text of an error."""
    for name, value in variables.items():
        query = query.replace(name, value)
    url = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": query})
    try:
        with urllib.request.urlopen(url, timeout=20) as answer:
            return len(json.load(answer)["data"]["result"])
    except urllib.error.HTTPError as error:
        return error.read().decode()
    except OSError as error:
        return str(error)


config = os.path.join(folder, "prometheus.yml")
with open(config, "w", encoding="utf-8") as file:
    file.write(f"""
global: {{scrape_interval: 200ms, scrape_timeout: 200ms}}
scrape_configs:
  - job_name: serving-host
    metrics_path: /monitoring/prometheus/metrics
    static_configs: [{{targets: ["127.0.0.1:{host_port}"]}}]
""")
with open(os.path.join(folder, "prometheus.log"), "w", encoding="utf-8") as log:
    prometheus = subprocess.Popen(["prometheus", "--config.file=" + config, "--storage.tsdb.path=" + os.path.join(folder, "data"), f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log)
try:
    end = time.monotonic() + 30
    open_questions = {f"{title}: {query}": query for title, query in questions() if without is None or without not in query}
    count = len(open_questions)
    while open_questions and time.monotonic() < end and prometheus.poll() is None:
        answers = {name: ask(query) for name, query in open_questions.items()}
        open_questions = {name: open_questions[name] for name, answer in answers.items() if not isinstance(answer, int) or answer == 0}
        if open_questions:
            time.sleep(0.2)
finally:
    prometheus.terminate()
    prometheus.wait()
for name in open_questions:
    print(f"no answer: {name}: {answers[name]}")
print(f"{count} questions, {len(open_questions)} without an answer")
sys.exit(count == 0 or bool(open_questions))
