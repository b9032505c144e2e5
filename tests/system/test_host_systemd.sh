#!/bin/sh
# serving_host under a service manager: readiness, watchdog, reload, and a socket that is passed.
set -u
srcdir=${srcdir:-.}
builddir=${builddir:-.}
exec python3 "$srcdir/tests/system/host_systemd.py" "$builddir/serving_host" "$srcdir/examples/sample_model"
