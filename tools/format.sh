#!/usr/bin/env bash
#
# Formats all C and C++ files in place. With --check it only names what is not
# formatted, and exits with 1 if there is any.
#
#   tools/format.sh [--check]
#
# Licensed under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case ${1:-} in
'') mode=(-i) ;;
--check) mode=(--dry-run -Werror) ;;
*)
  echo "format: error: unknown option '$1' (see the head of tools/format.sh)" >&2
  exit 1
  ;;
esac

# The version is part of the style: others break lines elsewhere.
find include lib tools test/Runtime test/unit \
  \( -name '*.h' -o -name '*.cpp' -o -name '*.c' \) -print0 |
  xargs -0 clang-format-22 "${mode[@]}"
