#!/usr/bin/env bash
#
# Runs every test that needs no GPU: unit and lit tests through ctest, numerics
# and documentation through pytest. Prepares the checkout first
# (tools/setup.sh). Exits with 1 if anything failed.
#
#   tools/run-tests.sh [--quick] [--jobs N]
#
#   --quick   run one in eight cases of the numerics tests
#   --jobs N  run N at a time (default: one a processor)
#
# Licensed under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

die() {
  echo "run-tests: error: $*" >&2
  exit 1
}

jobs=$(nproc)
quick=
while (($#)); do
  case $1 in
  --quick) quick=1 ;;
  --jobs)
    (($# > 1)) || die "--jobs needs a number"
    jobs=$2
    shift
    ;;
  --jobs=*) jobs=${1#*=} ;;
  *) die "unknown option '$1' (see the head of tools/run-tests.sh)" ;;
  esac
  shift
done
[[ $jobs =~ ^[1-9][0-9]*$ ]] || die "--jobs needs a positive number, got '$jobs'"

tools/setup.sh --jobs "$jobs"

status=0
echo "run-tests: unit and lit tests"
ctest --test-dir build --output-on-failure --parallel "$jobs" --no-tests=error || status=1

echo "run-tests: numerics and documentation"
.venv/bin/python -m pytest --quiet --numprocesses "$jobs" ${quick:+--quick} test python ||
  status=1

if ((status)); then
  echo "run-tests: FAILED" >&2
else
  echo "run-tests: all passed"
fi
exit "$status"
