#!/usr/bin/env bash
#
# Makes this checkout ready to use: system packages, Python packages in .venv,
# and a build in build/. What is there already is left alone, so that a second
# run takes a second.
#
#   tools/setup.sh [--jobs N] [--with-ptxas] [--with-torch] [--ci]
#
#   --jobs N      compile N files at a time (default: one a processor)
#   --with-ptxas  also install ptxas of CUDA 13.0 in .venv, to assemble PTX
#   --with-torch  also install torch in .venv, for the tests of mamba_mlir on
#                 tensors (a minute and 5 GB)
#   --ci          also install clang-format and torch, and make warnings errors
#
# Licensed under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

packages=(ca-certificates clang-22 cmake libgtest-dev libmlir-22-dev lld-22
  llvm-22-dev llvm-22-tools mlir-22-tools ninja-build nlohmann-json3-dev python3
  python3-venv)
jobs=
ci=
with_ptxas=
with_torch=

die() {
  echo "setup: error: $*" >&2
  exit 1
}

while (($#)); do
  case $1 in
  --jobs)
    (($# > 1)) || die "--jobs needs a number"
    jobs=$2
    shift
    ;;
  --jobs=*) jobs=${1#*=} ;;
  --with-ptxas) with_ptxas=1 ;;
  --with-torch) with_torch=1 ;;
  --ci)
    ci=1
    with_torch=1
    packages+=(clang-format-22)
    ;;
  *) die "unknown option '$1' (see the head of tools/setup.sh)" ;;
  esac
  shift
done
[[ $jobs =~ ^([1-9][0-9]*)?$ ]] || die "--jobs needs a positive number, got '$jobs'"

# System packages

missing=()

find_missing_packages() {
  local package status
  for package in "${packages[@]}"; do
    status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null) || true
    [[ $status == installed ]] || missing+=("$package")
  done
}

install_packages() {
  local root=(env DEBIAN_FRONTEND=noninteractive) package
  local install=(apt-get install --yes --quiet=2 --no-install-recommends "$@")
  if ((EUID != 0)); then
    command -v sudo >/dev/null ||
      die "these packages are missing, and there is no sudo; as root run: ${install[*]}"
    root=(sudo "${root[@]}")
  fi
  echo "setup: installing (takes minutes): $*"
  # Old package lists name files that are gone; fetch new ones only if need be.
  if ! apt-get install --simulate "$@" >/dev/null 2>&1 ||
    ! "${root[@]}" "${install[@]}" >/dev/null 2>&1; then
    "${root[@]}" apt-get update --quiet=2 || die "apt-get update failed"
    for package in "$@"; do
      apt-get install --simulate "$package" >/dev/null 2>&1 ||
        die "there is no package '$package': LLVM 22 comes from Debian 12's bookworm-security suite"
    done
    "${root[@]}" "${install[@]}" >/dev/null || die "apt-get could not install: $*"
  fi
}

if command -v dpkg-query >/dev/null; then
  find_missing_packages
  if ((${#missing[@]})); then
    install_packages "${missing[@]}"
  fi
else
  # Another distribution: the preset says where it looks for MLIR.
  for tool in clang-22 cmake ld.lld-22 ninja python3; do
    command -v "$tool" >/dev/null || die "'$tool' is missing, and there is no apt to install it"
  done
fi

# Python packages

# install_python_packages REQUIREMENTS [PIP-OPTION...]
install_python_packages() {
  local stamp
  stamp=.venv/$(basename "$1")
  if ! cmp --silent "$1" "$stamp"; then
    echo "setup: installing the Python packages of $1"
    .venv/bin/python -m pip install --quiet --disable-pip-version-check -r "$@" ||
      die "pip could not install the packages of $1"
    cp "$1" "$stamp"
  fi
}

if ! .venv/bin/python -c '' 2>/dev/null; then
  echo "setup: making the Python environment .venv"
  rm -rf .venv
  python3 -m venv .venv || die "could not make the Python environment .venv"
fi
install_python_packages test/requirements.txt
# Its dependencies are for compiling CUDA.
[[ -z $with_torch ]] || install_python_packages test/requirements-torch.txt
[[ -z $with_ptxas ]] || install_python_packages test/requirements-ptxas.txt --no-deps

# Build

configure=(cmake --preset default)
[[ -z $ci ]] || configure+=(-DLLVM_ENABLE_WERROR=ON)
if [[ ! -f build/build.ninja || -n $ci ]]; then
  echo "setup: configuring build/"
  mkdir -p build
  "${configure[@]}" >build/configure.log 2>&1 || {
    tail -n 30 build/configure.log >&2
    die "cmake could not configure build/ (all of it: build/configure.log)"
  }
fi
echo "setup: building"
cmake --build build ${jobs:+--parallel "$jobs"} || die "the build failed"
