#!/usr/bin/env bash
#
# From a fresh checkout to compiled kernels: prepares the checkout
# (tools/setup.sh), compiles mamba2-130m's chunked scan for every GPU target to
# build/quickstart/, and runs the same IR on the CPU against a float64
# recurrence. Assembles the PTX too where there is a ptxas.
#
#   tools/quickstart.sh [--jobs N] [--with-ptxas]
#
#   --jobs N      compile N files at a time (default: one a processor)
#   --with-ptxas  get ptxas of CUDA 13.0 as a Python package, in .venv
#
# Licensed under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

model=mamba2-130m
targets=(sm_80 sm_90a sm_100a sm_103a sm_120a)
output=build/quickstart
step=0

die() {
  echo "quickstart: error: $*" >&2
  exit 1
}

say() {
  step=$((step + 1))
  printf '\n[%d/4] %s\n' "$step" "$*"
}

# The path of ptxas: the one in .venv, else on PATH, else of a CUDA toolkit.
find_ptxas() {
  local file
  for file in .venv/lib/python3*/site-packages/nvidia/cu13/bin/ptxas \
    "$(command -v ptxas || true)" "${CUDA_HOME:+$CUDA_HOME/bin/ptxas}" \
    /usr/local/cuda/bin/ptxas; do
    if [[ -n $file && -x $file ]]; then
      echo "$file"
      return
    fi
  done
}

# Reads what ptxas -v prints; one line a kernel.
summarize_ptxas() {
  awk '
    /Compiling entry function/ { split($0, part, "\047"); kernel = part[2] }
    /spill stores/ { stores = $5; loads = $9 }
    /Used [0-9]+ registers/ {
      for (i = 1; i < NF; i++) if ($i == "Used") registers = $(i + 1)
      printf "    %-20s %3d registers, %d bytes spilled\n", kernel, registers, stores + loads
    }'
}

assemble() {
  local target=$1 ptx=$2 messages
  if ! messages=$("$ptxas" -v -arch="$target" -o /dev/null "$ptx" 2>&1); then
    if [[ $messages == *"gpu-name"* ]]; then
      echo "    this ptxas does not know $target yet"
      return
    fi
    echo "$messages" >&2
    die "$ptxas could not assemble $ptx"
  fi
  summarize_ptxas <<<"$messages"
}

case " $* " in
*" --ci "*) die "unknown option '--ci'" ;;
*" --help "* | *" -h "*)
  sed -n '3,/^# Licensed/{/^# Licensed/d;s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
  exit
  ;;
esac

say "preparing the checkout"
tools/setup.sh "$@"

say "compiling $model's chunked scan for ${targets[*]}"
for target in "${targets[@]}"; do
  bundle=$output/$model-ssd.$target
  start=$SECONDS
  build/bin/mamba-compile --model="$model" --target="$target" --emit=bundle -o "$bundle" ||
    die "mamba-compile could not compile $model for $target"
  kernels=$(cat "$bundle"/*.ptx | grep -c '\.entry')
  echo "  $bundle: $kernels kernels, $(cat "$bundle"/*.ptx | wc -l) lines of PTX, $((SECONDS - start)) s"
done

ptxas=$(find_ptxas)
if [[ -n $ptxas ]]; then
  say "assembling with $ptxas ($("$ptxas" --version | sed -n 's/.*release \([0-9.]*\).*/CUDA \1/p'))"
  for target in "${targets[@]}"; do
    echo "  $target"
    for ptx in "$output/$model-ssd.$target"/*.ptx; do
      assemble "$target" "$ptx"
    done
  done
else
  say "assembling: left out, there is no ptxas (tools/quickstart.sh --with-ptxas gets it)"
fi

say "running the same IR on this CPU against a float64 recurrence"
mkdir -p "$output/cpu"
.venv/bin/python test/Integration/CPU/check_model.py --model="$model" --tokens=2048 \
  --folder="$output/cpu" || die "the results on the CPU are wrong"

printf '\nDone in %d s. The bundles are in %s/; docs/abi.md says how to launch them.\n' \
  "$SECONDS" "$output"
