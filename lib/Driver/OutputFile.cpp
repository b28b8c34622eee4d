//===- OutputFile.cpp - Files that appear whole or not at all -------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Driver/OutputFile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;

namespace mamba {

OutputFile::OutputFile() = default;

static Error makeWriteError(StringRef path, const Twine &reason) {
  return createStringError("could not write '" + path + "': " + reason);
}

Expected<OutputFile> OutputFile::open(StringRef path) {
  OutputFile file;
  file.path = path.str();
  if (path == "-") {
    file.stream = &outs();
    return std::move(file);
  }
  if (path.empty())
    return createStringError("expected a path to write to");

  sys::fs::file_status status;
  bool exists = !sys::fs::status(path, status) && sys::fs::exists(status);
  if (exists && sys::fs::is_directory(status))
    return makeWriteError(path, "it is a folder");
  if (exists && !sys::fs::is_regular_file(status)) {
    std::error_code error;
    file.owned = std::make_unique<raw_fd_ostream>(path, error);
    if (error)
      return makeWriteError(path, error.message());
    file.stream = file.owned.get();
    return std::move(file);
  }

  // Renaming onto a link would replace the link.
  if (SmallString<128> target; exists && !sys::fs::real_path(path, target))
    file.path = target.str().str();
  Expected<sys::fs::TempFile> temporary = sys::fs::TempFile::create(
      file.path + ".tmp-%%%%%%", sys::fs::all_read | sys::fs::all_write);
  if (!temporary)
    return makeWriteError(path,
                          errorToErrorCode(temporary.takeError()).message());
  file.temporary = std::make_unique<sys::fs::TempFile>(std::move(*temporary));
  file.owned = std::make_unique<raw_fd_ostream>(file.temporary->FD,
                                                /*shouldClose=*/false);
  file.stream = file.owned.get();
  return std::move(file);
}

OutputFile::OutputFile(OutputFile &&other)
    : path(std::move(other.path)), temporary(std::move(other.temporary)),
      owned(std::move(other.owned)), stream(other.stream) {
  other.stream = nullptr;
}

OutputFile::~OutputFile() {
  // A stream that could not write aborts in its destructor unless the error
  // was cleared.
  if (owned) {
    owned->flush();
    owned->clear_error();
    owned.reset();
  }
  if (temporary)
    consumeError(temporary->discard());
}

Error OutputFile::commit() {
  stream->flush();
  auto &fdStream = static_cast<raw_fd_ostream &>(*stream);
  if (fdStream.has_error()) {
    std::string reason = fdStream.error().message();
    fdStream.clear_error();
    return makeWriteError(path, reason);
  }
  owned.reset();
  if (!temporary)
    return Error::success();
  Error error = temporary->keep(path);
  temporary.reset();
  if (error)
    return makeWriteError(path, toString(std::move(error)));
  return Error::success();
}

Error writeTextFile(StringRef path, StringRef text) {
  Expected<OutputFile> file = OutputFile::open(path);
  if (!file)
    return file.takeError();
  file->os() << text;
  return file->commit();
}

} // namespace mamba
