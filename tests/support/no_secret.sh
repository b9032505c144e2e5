#!/bin/sh
# no_secret.sh FOLDER: fails if a log below FOLDER shows a secret, and names it.  What a test uses as a secret has
# "s3cr3t" in it; logs are called *.log, *log, all or out.
shown=$(grep -rl --include='*log' --include=all --include=out s3cr3t "$1") || exit 0
echo "a secret is shown by $shown"
grep -h s3cr3t $shown | head -n 5
exit 1
