//===- Definedness.h - Which bytes of registers were written ----*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compilers pack values with a part that nothing wrote and that nothing needs,
// so it is the use of an unwritten byte that is a fault. Instructions that keep
// bytes apart (moves, logic, shifts by whole bytes, packed arithmetic) pass on
// which ones were written; all others use what they read.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_SIM_DEFINEDNESS_H
#define MAMBA_LIB_SIM_DEFINEDNESS_H

#include "Program.h"

namespace mamba::sim {

/// One bit a byte of a value; a predicate counts as one byte.
using ByteMask = uint16_t;

/// Functions for `Inst::propagate`. `masks` has, for each operand of the
/// instruction, the written bytes in a lane: those of sources are given, those
/// of destinations are all set at first. Return false if an unwritten byte is
/// used.

/// Destinations are sources, bit by bit, as strings of bytes.
bool propagateMove(Warp &, const Inst &, unsigned lane, ByteMask *masks);
/// A single value that is of use only if it is whole.
bool propagateWhole(Warp &, const Inst &, unsigned lane, ByteMask *masks);
/// Each element of the result comes from the same elements of all sources.
bool propagateBytes(Warp &, const Inst &, unsigned lane, ByteMask *masks);
bool propagateHalves(Warp &, const Inst &, unsigned lane, ByteMask *masks);
bool propagateWords(Warp &, const Inst &, unsigned lane, ByteMask *masks);
/// What the other operand makes zero or ones is written.
bool propagateAnd(Warp &, const Inst &, unsigned lane, ByteMask *masks);
bool propagateOr(Warp &, const Inst &, unsigned lane, ByteMask *masks);
bool propagateShl(Warp &, const Inst &, unsigned lane, ByteMask *masks);
/// Logical and arithmetic (`signExtend`).
bool propagateShr(Warp &, const Inst &, unsigned lane, ByteMask *masks);
/// prmt with its default mode.
bool propagatePermute(Warp &, const Inst &, unsigned lane, ByteMask *masks);
/// selp: the source that is not taken does not matter.
bool propagateSelect(Warp &, const Inst &, unsigned lane, ByteMask *masks);
/// Between integers: `bytes` of the source, extended with zeros or its sign.
bool propagateExtend(Warp &, const Inst &, unsigned lane, ByteMask *masks);
/// A use of the first `bytes` of each source.
bool useLowBytes(Warp &, const Inst &, unsigned lane, ByteMask *masks);
/// Two results of `mode` bits: of two sources, the first the upper one, or of
/// the halves of one.
bool propagatePair(Warp &, const Inst &, unsigned lane, ByteMask *masks);

} // namespace mamba::sim

#endif // MAMBA_LIB_SIM_DEFINEDNESS_H
