#!/usr/bin/env bash
#
# Writes docs/reference from the descriptions in the TableGen files. With
# --check it only says whether docs/reference is up to date, by its exit code.
#
#   tools/update-docs.sh [--check]
#
# Needs a configured build/ (tools/setup.sh).
#
# Licensed under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if (($# > 1)) || { (($#)) && [[ $1 != --check ]]; }; then
  echo "update-docs: error: unknown option (see the head of tools/update-docs.sh)" >&2
  exit 1
fi

# Title of each page of passes; the others bring their own.
declare -A titles=(
  [passes-kernel]="Passes from loops over blocks to programs of threads"
  [passes-nvvm]="Passes from programs of threads to NVVM"
  [passes-target]="Passes from NVVM to PTX and bundles"
  [passes-tensor]="Passes on tensors and tile programs"
)

cmake --build build --target mamba-doc >/dev/null
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
for file in build/docs/reference/*.md; do
  page=$(basename "$file" .md)
  {
    sed -n 1p "$file"
    [[ -z ${titles[$page]:-} ]] || printf '\n# %s\n' "${titles[$page]}"
    # Not every reader of Markdown knows [TOC].
    sed -e 1d -e '/^\[TOC\]$/d' "$file" | cat --squeeze-blank
  } >"$fresh/$page.md"
done

if (($#)); then
  diff --recursive --unified docs/reference "$fresh" || {
    echo "update-docs: docs/reference is out of date; run tools/update-docs.sh" >&2
    exit 1
  }
else
  rm -rf docs/reference
  mkdir -p docs/reference
  cp "$fresh"/*.md docs/reference/
fi
