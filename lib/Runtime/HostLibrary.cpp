//===- HostLibrary.cpp - Functions that run on the CPU --------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostLibrary.h"
#include "Error.h"

#include <dlfcn.h>

#include <utility>

namespace mamba::runtime {
namespace {

constexpr size_t kMaxArguments = 32;

using Caller = void (*)(void *address, void *const *arguments);

template <size_t... Index>
void callWith(void *address, void *const *arguments) {
  using Target = void (*)(decltype((void)Index, (void *)nullptr)...);
  reinterpret_cast<Target>(address)(arguments[Index]...);
}

template <size_t... Index>
constexpr Caller getCaller(std::index_sequence<Index...>) {
  return callWith<Index...>;
}

template <size_t... Count>
Caller getCaller(size_t count, std::index_sequence<Count...>) {
  static constexpr Caller callers[] = {
      getCaller(std::make_index_sequence<Count>())...};
  return callers[count];
}

Error makeError(const std::string &message) {
  return Error(MAMBA_STATUS_BUNDLE, message);
}

} // namespace

HostLibrary::HostLibrary(const Manifest &manifest) {
  if (manifest.library.empty())
    return;
  // The library does not say that it needs functions of libm. Where they are
  // part of libc, there is no such file.
  static void *const mathematics = dlopen("libm.so.6", RTLD_NOW | RTLD_GLOBAL);
  (void)mathematics;
  // Without a slash dlopen would search the system's folders.
  std::string path = manifest.library;
  if (path.find('/') == std::string::npos)
    path.insert(0, "./");
  handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    throw makeError("cannot open the library of the bundle: " +
                    std::string(dlerror()));
  try {
    for (const Function &function : manifest.functions) {
      if (function.arguments.size() > kMaxArguments)
        throw makeError("function '" + function.name + "' has more than " +
                        std::to_string(kMaxArguments) + " arguments");
      addresses.push_back(dlsym(handle, function.name.c_str()));
      if (!addresses.back())
        throw makeError(path + " has no function '" + function.name + "'");
    }
  } catch (...) {
    dlclose(handle);
    throw;
  }
}

HostLibrary::~HostLibrary() {
  if (handle)
    dlclose(handle);
}

void HostLibrary::call(const Function &function,
                       const std::vector<void *> &descriptors) const {
  Caller caller = getCaller(descriptors.size(),
                            std::make_index_sequence<kMaxArguments + 1>());
  caller(addresses[function.index], descriptors.data());
}

} // namespace mamba::runtime
