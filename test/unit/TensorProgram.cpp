//===- TensorProgram.cpp - Kernels with tensor memory ---------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorProgram.h"

using namespace llvm;

namespace mamba::sim {

const char kCommitAndWait[] =
    "@%p0 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster"
    ".b64 [bar];\n"
    "wait:\n"
    "mbarrier.try_wait.parity.shared::cta.b64 %p4, [bar], 0;\n"
    "@!%p4 bra wait;\n"
    "tcgen05.fence::after_thread_sync;\n";

std::string listRegisters(StringRef prefix, unsigned count) {
  std::string text = "{";
  for (unsigned i = 0; i != count; ++i)
    text += (i ? ", " : "") + (prefix + Twine(i)).str();
  return text + "}";
}

uint64_t encodeTcgen05(const Tile &tile) {
  uint64_t mode = tile.span == 128  ? 2
                  : tile.span == 64 ? 4
                  : tile.span == 32 ? 6
                                    : 0;
  uint64_t rest = tile.encode() & ~(uint64_t(3) << 62);
  return rest | uint64_t(1) << 46 | mode << 61;
}

std::string loadColumns(unsigned count) {
  return "tcgen05.ld.sync.aligned.32x32b.x" + std::to_string(count) + ".b32 " +
         listRegisters("%d", count) +
         ", [%own];\ntcgen05.wait::ld.sync.aligned;\n";
}

std::string TensorProgram::getText() const {
  std::string text;
  raw_string_ostream os(text);
  os << ".version 8.8\n.target sm_100a\n.address_size 64\n"
     << ".visible .entry k(.param .u64 k_in, .param .u64 k_out)\n{\n"
     << " .reg .pred %p<8>; .reg .b32 %r<32>, %d<128>, %taddr, %own;\n"
     << " .reg .b64 %rd<16>;\n"
     << " .shared .align 1024 .b8 data[" << data.sharedBytes << "];\n"
     << " .shared .align 8 .b64 bar; .shared .align 4 .b32 slot;\n"
     << " ld.param.u64 %rd1, [k_out];\n mov.u32 %r0, %tid.x;\n"
     << " mov.u32 %r1, data;\n mov.u32 %r2, %r0;\nfill:\n"
     << " mul.lo.u32 %r3, %r2, 0x9E3779B1;\n shr.u32 %r4, %r3, 15;\n"
     << " xor.b32 %r3, %r3, %r4;\n and.b32 %r3, %r3, " << data.type.mask
     << ";\n or.b32 %r3, %r3, " << data.type.base
     << ";\n shl.b32 %r4, %r2, 2;\n add.u32 %r4, %r4, %r1;\n"
     << " st.shared.b32 [%r4], %r3;\n add.u32 %r2, %r2, 128;\n"
     << " setp.lt.u32 %p2, %r2, " << data.sharedBytes / 4
     << ";\n @%p2 bra fill;\n fence.proxy.async;\n"
     << " setp.eq.u32 %p0, %r0, 0;\n setp.ne.u32 %p1, %r0, %r0;\n"
     << " setp.ge.u32 %p2, %r0, 32;\n @%p2 bra allocated;\n"
     << " tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], "
     << columns << ";\n " << relinquish << "\n"
     << " @%p0 mbarrier.init.shared::cta.b64 [bar], 1;\nallocated:\n"
     << " tcgen05.fence::before_thread_sync;\n bar.sync 0;\n"
     << " tcgen05.fence::after_thread_sync;\n ld.shared.b32 %taddr, [slot];\n"
     << " and.b32 %own, %r0, 0x60;\n shl.b32 %own, %own, 16;\n"
     << " add.u32 %own, %own, %taddr;\n"
     << body << "\n " << fenceBefore << "\n bar.sync 0;\n " << fenceAfter
     << "\n";
  if (deallocates)
    os << " @%p2 bra freed;\n"
       << " tcgen05.dealloc.cta_group::1.sync.aligned.b32 %taddr, " << columns
       << ";\nfreed:\n";
  os << " mul.lo.u32 %r6, %r0, " << 4 * results
     << ";\n cvt.u64.u32 %rd2, %r6;\n add.s64 %rd1, %rd1, %rd2;\n";
  for (unsigned i = 0; i != results; ++i)
    os << " st.global.b32 [%rd1+" << 4 * i << "], %d" << i << ";\n";
  os << " ret;\n}\n";
  return text;
}

TestRun TensorProgram::run() const {
  TestOptions options;
  options.threads = 128;
  options.outputWords = std::max(results, 1u);
  options.seed = seed;
  options.maxInstructions = 1 << 22;
  return runModule(getText(), options);
}

void expectAmong(const TestRun &run, FindingKind kind, const char *part) {
  for (const Finding &finding : run.result.findings)
    if (finding.kind == kind && finding.message.find(part) != std::string::npos)
      return;
  ADD_FAILURE() << part << "\n" << run.error << run.text();
}

} // namespace mamba::sim
