//===- SimTest.cpp - Small kernels in the simulator -----------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimTest.h"

#include <cstring>
#include <numeric>

using namespace llvm;

namespace mamba::sim {

std::string makeKernel(StringRef body) {
  return (R"(.version 8.0
.target sm_90a
.address_size 64
.extern .shared .align 16 .b8 dynamic[];
.visible .entry k(.param .u64 k_in, .param .u64 k_out)
{
 .reg .pred %p<8>;
 .reg .b16 %h<8>;
 .reg .b32 %r<32>;
 .reg .f32 %f<16>;
 .reg .b64 %rd<16>;
 .shared .align 16 .b8 data[1024];
 ld.param.u64 %rd0, [k_in];
 ld.param.u64 %rd1, [k_out];
 mov.u32 %r0, %tid.x;
 mul.wide.u32 %rd2, %r0, 4;
 add.s64 %rd0, %rd0, %rd2;
 add.s64 %rd1, %rd1, %rd2;
 mov.u32 %r1, data;
)" + body +
          "\n ret;\n}\n")
      .str();
}

std::vector<FindingKind> TestRun::kinds() const {
  std::vector<FindingKind> kinds;
  for (const Finding &finding : result.findings)
    kinds.push_back(finding.kind);
  return kinds;
}

std::string TestRun::text() const {
  std::string text = error;
  for (const Finding &finding : result.findings)
    text += finding.str() + "\n";
  return text;
}

TestOptions threads(unsigned count, uint64_t seed) {
  TestOptions options;
  options.threads = count;
  options.seed = seed;
  return options;
}

void expectClean(const TestRun &run) { EXPECT_EQ(run.text(), ""); }

void expectMessage(const TestRun &run, FindingKind kind, const char *part) {
  ASSERT_EQ(run.kinds(), std::vector<FindingKind>{kind}) << run.text();
  EXPECT_NE(run.text().find(part), std::string::npos) << run.text();
}

std::string replace(std::string text, const char *from, const char *to) {
  size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  return text.replace(place, std::string(from).size(), to);
}

TestRun runModule(StringRef text, TestOptions test) {
  TestRun run;
  Device device;
  Expected<Program> program =
      Program::load(MemoryBuffer::getMemBufferCopy(text), "k.ptx", device);
  if (!program) {
    run.error = toString(program.takeError());
    return run;
  }
  std::vector<uint32_t> in(test.threads * test.blocks);
  std::iota(in.begin(), in.end(), 0);
  run.out.assign(in.size() * test.outputWords, 0);
  std::vector<std::vector<uint8_t>> parameters;
  for (uint64_t address :
       {device.add("in", in.data(), in.size() * 4, BufferRole::Input),
        device.add("out", run.out.data(), run.out.size() * 4,
                   BufferRole::Output)}) {
    parameters.emplace_back(8);
    std::memcpy(parameters.back().data(), &address, 8);
  }
  LaunchOptions options;
  options.block = {test.threads, 1, 1};
  options.grid = {test.blocks, 1, 1};
  options.cluster = {test.cluster, 1, 1};
  options.seed = test.seed;
  options.dynamicSharedBytes = test.dynamicSharedBytes;
  options.sanitize = test.sanitize;
  options.countMemory = test.countMemory;
  options.maxInstructions = test.maxInstructions;
  options.jobs = test.jobs;
  Expected<LaunchResult> result = program->launch("k", options, parameters);
  if (!result)
    run.error = toString(result.takeError());
  else
    run.result = std::move(*result);
  return run;
}

TestRun runBody(StringRef body, TestOptions options) {
  return runModule(makeKernel(body), options);
}

} // namespace mamba::sim
