//===- CAPI.cpp - The C interface -----------------------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Call.h"
#include "Error.h"
#include "HostLibrary.h"
#include "Modules.h"
#include "mamba-c/Runtime.h"

#include <new>

using namespace mamba::runtime;

struct mamba_function {
  const Function *function;
  mamba_bundle *bundle;
};

struct mamba_bundle {
  explicit mamba_bundle(const char *folder)
      : manifest(readManifest(folder)), modules(manifest), library(manifest) {
    setInfos(manifest);
    for (const Function &function : manifest.functions)
      functions.push_back({&function, this});
  }

  Manifest manifest;
  Modules modules;
  HostLibrary library;
  std::vector<mamba_function> functions;
};

struct mamba_call {
  Call call;
  mamba_bundle *bundle;
};

namespace {

/// Of this thread.
thread_local std::string lastError;

/// Runs `body`; what it throws becomes a status and the last error.
template <typename Body> mamba_status guard(const Body &body) {
  try {
    try {
      body();
      return MAMBA_STATUS_OK;
    } catch (const Error &error) {
      lastError = error.what();
      return error.getStatus();
    }
  } catch (const std::bad_alloc &) {
    lastError.clear(); // leaves room in the string itself
    lastError = "out of memory";
    return MAMBA_STATUS_MEMORY;
  } catch (const std::exception &error) {
    lastError = error.what();
    return MAMBA_STATUS_MISUSE;
  }
}

/// Throws if a pointer that a caller must give is null.
void require(const void *pointer, const char *name) {
  if (!pointer)
    throw Error(MAMBA_STATUS_MISUSE, std::string(name) + " is a null pointer");
}

} // namespace

const char *mamba_last_error(void) { return lastError.c_str(); }

mamba_status mamba_bundle_load(const char *folder, mamba_bundle **bundle) {
  return guard([&] {
    require(bundle, "bundle");
    *bundle = nullptr;
    require(folder, "folder");
    *bundle = new mamba_bundle(folder);
  });
}

void mamba_bundle_destroy(mamba_bundle *bundle) { delete bundle; }

const char *mamba_bundle_target(const mamba_bundle *bundle) {
  return bundle->manifest.target.c_str();
}

size_t mamba_bundle_num_functions(const mamba_bundle *bundle) {
  return bundle->functions.size();
}

const mamba_function *mamba_bundle_get_function(const mamba_bundle *bundle,
                                                size_t index) {
  return index < bundle->functions.size() ? &bundle->functions[index] : nullptr;
}

mamba_status mamba_bundle_find_function(const mamba_bundle *bundle,
                                        const char *name,
                                        const mamba_function **function) {
  return guard([&] {
    require(function, "function");
    *function = nullptr;
    require(bundle, "bundle");
    std::string names;
    for (const mamba_function &candidate : bundle->functions) {
      const std::string &known = candidate.function->name;
      if (name ? known == name : bundle->functions.size() == 1) {
        *function = &candidate;
        return;
      }
      names += (names.empty() ? "" : ", ") + known;
    }
    throw Error(MAMBA_STATUS_ARGUMENT,
                (name ? "no function '" + std::string(name) + "'"
                      : std::string("expected the name of a function")) +
                    "; there are " + names);
  });
}

const char *mamba_function_name(const mamba_function *function) {
  return function->function->name.c_str();
}

const char *mamba_function_operations(const mamba_function *function) {
  return function->function->operations.c_str();
}

const char *mamba_function_get_constraint(const mamba_function *function,
                                          size_t index) {
  const auto &constraints = function->function->constraints;
  return index < constraints.size() ? constraints[index].str().c_str()
                                    : nullptr;
}

size_t mamba_function_num_arguments(const mamba_function *function) {
  return function->function->arguments.size();
}

const mamba_argument_info *
mamba_function_get_argument(const mamba_function *function, size_t index) {
  const auto &arguments = function->function->arguments;
  return index < arguments.size() ? &arguments[index].info : nullptr;
}

mamba_status mamba_function_prepare(const mamba_function *function,
                                    CUstream_st *stream) {
  return guard([&] {
    require(function, "function");
    if (function->bundle->library)
      return;
    const Driver &driver = Driver::get();
    ContextScope scope(driver, stream);
    function->bundle->modules.load(driver, scope.get(), *function->function);
  });
}

mamba_status mamba_call_create(const mamba_function *function,
                               mamba_call **call) {
  return guard([&] {
    require(call, "call");
    *call = nullptr;
    require(function, "function");
    const HostLibrary &library = function->bundle->library;
    *call =
        new mamba_call{Call(*function->function, library ? &library : nullptr),
                       function->bundle};
  });
}

void mamba_call_destroy(mamba_call *call) { delete call; }

mamba_status mamba_call_bind(mamba_call *call, const char *name, void *address,
                             const char *dtype, size_t rank,
                             const int64_t *sizes) {
  return mamba_call_bind_strided(call, name, address, dtype, rank, sizes,
                                 nullptr);
}

mamba_status mamba_call_bind_strided(mamba_call *call, const char *name,
                                     void *address, const char *dtype,
                                     size_t rank, const int64_t *sizes,
                                     const int64_t *strides) {
  return guard([&] {
    require(call, "call");
    require(name, "name");
    require(dtype, "dtype");
    if (rank)
      require(sizes, "sizes");
    std::optional<std::vector<int64_t>> given;
    if (strides)
      given.emplace(strides, strides + rank);
    call->call.bind(name, address, dtype,
                    std::vector<int64_t>(sizes, sizes + rank), given);
  });
}

mamba_status mamba_call_get_shape(mamba_call *call, const char *name,
                                  size_t capacity, int64_t *sizes,
                                  size_t *rank) {
  return guard([&] {
    require(call, "call");
    require(name, "name");
    require(rank, "rank");
    if (capacity)
      require(sizes, "sizes");
    std::vector<int64_t> shape = call->call.getShape(name);
    *rank = shape.size();
    for (size_t i = 0; i < shape.size() && i < capacity; ++i)
      sizes[i] = shape[i];
  });
}

mamba_status mamba_call_get_workspace_size(mamba_call *call, size_t *bytes) {
  return guard([&] {
    require(call, "call");
    require(bytes, "bytes");
    *bytes = call->call.getWorkspaceBytes();
  });
}

mamba_status mamba_call_check(mamba_call *call) {
  return guard([&] {
    require(call, "call");
    call->call.check();
  });
}

mamba_status mamba_call_launch(mamba_call *call, void *workspace,
                               size_t workspace_bytes, CUstream_st *stream) {
  return guard([&] {
    require(call, "call");
    call->call.launch(call->bundle->modules, workspace, workspace_bytes,
                      stream);
  });
}

mamba_status mamba_set_driver_path(const char *path) {
  return guard([&] {
    require(path, "path");
    Driver::setPath(path);
  });
}
