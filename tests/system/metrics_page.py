"""Reads a page of metrics as Prometheus's own client does, and compares its samples.

metrics_page.py PAGE WANTED: WANTED has lines of JSON, [name, {label: value}, number].  The
client ends the names of all counters with _total.
"""
import json
import math
import sys

from prometheus_client.parser import text_string_to_metric_families

with open(sys.argv[1], encoding="utf-8", newline="\n") as file:
    families = list(text_string_to_metric_families(file.read()))
samples = {}
wrong = 0


def complain(what):
    global wrong
    wrong += 1
    print(what)


names = [family.name for family in families]
for name in names:
    if names.count(name) != 1:
        complain(f"{name} is there {names.count(name)} times")
for family in families:
    if not family.documentation or family.type not in ("counter", "gauge", "histogram"):
        complain(f"{family.name} is not described")
    for sample in family.samples:
        key = (sample.name, tuple(sorted(sample.labels.items())))
        if key in samples:
            complain(f"{key} is there twice")
        if math.isnan(sample.value):
            complain(f"{key} is no number")
        samples[key] = sample.value
    if family.type == "histogram":
        for count in (s for s in family.samples if s.name == family.name + "_count"):
            same = [s for s in family.samples if s.name == family.name + "_bucket" and count.labels.items() <= s.labels.items()]
            buckets = [s.value for s in same]
            if buckets != sorted(buckets) or buckets[-1:] != [count.value]:
                complain(f"{family.name} does not add up")
with open(sys.argv[2], encoding="utf-8") as file:
    for line in file:
        name, labels, number = json.loads(line)
        got = samples.get((name, tuple(sorted(labels.items()))))
        if got != number:
            complain(f"{name} {labels} is {got}, not {number}")
if len(samples) < 50:
    complain(f"there are {len(samples)} samples only")
sys.exit(wrong != 0)
