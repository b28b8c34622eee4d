//===- LoadStore.h - Parts of instructions that access memory ---*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_SIM_LOADSTORE_H
#define MAMBA_LIB_SIM_LOADSTORE_H

#include "Decoder.h"
#include "Warp.h"

namespace mamba::sim {

/// The state space, if one is named.
std::optional<Space> takeSpace(Decoder &d);

/// Takes what only advises caches; returns whether a policy operand follows.
bool takeCacheHints(Decoder &d);

/// Takes memory ordering and scope into the instruction.
void takeStrength(Decoder &d);
MemoryScope takeScope(Decoder &d);

/// Lets an access take part in the order of threads if it is strong.
inline void orderIfStrong(Warp &warp, const Inst &inst, LaneMask lanes,
                          const uint64_t *addresses, bool reads, bool writes) {
  if (inst.strength != Strength::Weak && warp.tracksOrder)
    warp.orderAccesses(inst, lanes, addresses, reads, writes);
}

/// Counts a request of the warp for `bytes` at each lane's address.
void countRequest(Warp &warp, const Inst &inst, LaneMask lanes,
                  const uint64_t *addresses, unsigned bytes, bool isStore);

} // namespace mamba::sim

#endif // MAMBA_LIB_SIM_LOADSTORE_H
