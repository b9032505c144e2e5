#!/bin/sh
# Prints docs/metrics.md: every metric of api/host/metrics/metrics.inc.
#
#     scripts/metrics.sh >docs/metrics.md
set -eu
case ${1:-} in
'') ;;
-h | --help | help)
	sed -n '1d; /^#/!q; s/^# \{0,1\}//p' "$0"
	exit 0
	;;
*)
	echo "metrics.sh: unknown option $1 (try --help)" >&2
	exit 2
	;;
esac
LC_ALL=C
export LC_ALL
cd "$(dirname "$0")/.."

cat <<'END'
# Metrics

Made by `scripts/metrics.sh` from `api/host/metrics/metrics.inc`; not to be edited.

`serving_host` tells Prometheus what it does, where TensorFlow Serving does: at `GET /monitoring/prometheus/metrics`, as text of
the exposition format 0.0.4. `--metrics_path` moves it, `--metrics_path=` switches it off. A library without the host tells
the same of the model by `serving_processor_versions()`, as JSON.

    scrape_configs:
      - job_name: ctr
        metrics_path: /monitoring/prometheus/metrics
        static_configs:
          - targets: ["127.0.0.1:8501"]

A page is written by a thread of its own, so that it comes however busy the others are, and however long a model takes to
load or an order to be carried out; no request waits for it. What is counted for a request is a few atomic additions.

| metric | type | labels | what it says |
| --- | --- | --- | --- |
END

awk '/^SP_METRIC\(/ { text = ""; on = 1 }
on { sub(/^[ \t]+/, ""); text = text (text == "" || text ~ / $/ ? "" : " ") $0 }
on && /"\)$/ {
	on = 0
	n = split(text, part, "\"")
	printf "| `%s` | %s | %s | %s |\n", part[2], part[4], part[6], part[8]
}' api/host/metrics/metrics.inc

cat <<'END'

Those that begin with `:tensorflow:serving:` have TensorFlow Serving's names, labels and buckets, so that its dashboards go on
working; `status` is its word for the HTTP status. Predictions for models that are not served count among the `route` "other"
only. An answer that nobody was there to take is not counted.

`state` is one of those of `docs/updates.md`; `reason` of `serving_processor_refusals_total` is a class (`corrupt`, `invalid`, `io`,
`no_memory` ...), that of `serving_processor_version_refusal` the whole sentence, which the log has, too. Versions are those that a
checkpoint or a numbered folder names; a SavedModel alone has steps of -1. What is counted for a table goes with its full checkpoint:
a new one begins at 0 again, as counters of Prometheus may.

`tier` is `memory` of a table that is in memory as a whole, else `ssd`. Keys are counted as requests ask for them, repeated ones and
those that fill up a row too, whoever asks: clients, warm-up, replays. An unknown key is counted where it was looked for last, and once
more in `serving_processor_table_absent_keys_total`; so that one divided by the other is the share of unknown keys.

The newest version is what the last look at the disk has found, whether it is served, loaded, refused, left by a rollback, or kept
back by a pin. `serving_processor_update_lag_seconds` is 0 while that one is live. Else it counts from the moment when the first of
those newer than the live version became known, and that are not served now, until one of these is live; but from no earlier
than the live version was the newest. So

- **while a version loads**, it is the time since it was seen;
- **a refused or incomplete one** counts until it is served, a newer one is, or its files are deleted: one look later it is forgotten;
- **under a pin** newer versions are seen and not loaded: the lag grows from the first of them, or from the pin when a newer one was live;
- **after a rollback** it grows from the rollback on, until a newer version comes or the files of those left are deleted.

An alarm that is to be silent under a pin asks for `serving_processor_pinned == 0`, too. A rollback is no refusal of
`serving_processor_refusals_total`; it is counted in `serving_processor_orders_total`.

`serving_processor_memory_by_owner_bytes` adds up to `serving_processor_own_memory_bytes`: what the kernel calls `RssAnon` and
`VmSwap`. Pages of files are not in it: programs, and rows of a mapped image. Owners of a model are `tables` (rows in memory with
their keys), `indexes`, `ssd` (caches and indexes of tables on an SSD), `dense`, `program` and `sessions` (after their last request),
of the live version of the newest number that is served; owners without a model are `requests` (bodies and answers), `allocator`
(free blocks of malloc()) and `other`, which is the rest: stacks, small structures, versions that drain or are served beside.
`docs/capacity.md` says what to expect of each.

## Questions

    # share of predictions that fail
    1 - sum(rate(:tensorflow:serving:request_count{status="OK"}[5m])) / sum(rate(:tensorflow:serving:request_count[5m]))
    # 99th percentile, in microseconds
    histogram_quantile(0.99, sum by (le) (rate(:tensorflow:serving:request_latency_bucket[5m])))
    # newer weights are there, and are not served for five minutes now
    serving_processor_update_lag_seconds > 300
    # the same, unless an operator has pinned a version
    serving_processor_update_lag_seconds > 300 and serving_processor_pinned == 0
    # no newer weights come any more
    serving_processor_last_update_age_seconds > 3600
    # how many steps the live delta is behind the newest one
    serving_processor_newest_delta_step - serving_processor_live_delta_step
    # hit rate of the memory before an SSD, by table
    sum by (table) (rate(serving_processor_table_keys_total{tier!="memory", found!="disk"}[5m]))
        / sum by (table) (rate(serving_processor_table_keys_total{tier!="memory"}[5m]))
    # share of unknown keys, by table
    sum by (table) (rate(serving_processor_table_absent_keys_total[5m]))
        / sum by (table) (rate(serving_processor_table_keys_total[5m]))
    # the folder or share with new versions cannot be read for a minute now
    serving_processor_source_unreadable_seconds > 60
END
