//===- SharedLibrary.cpp - Shared libraries from object files -------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Driver/SharedLibrary.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace mamba {

Expected<std::string> findLinker() {
  // Linkers first: a compiler also wants start files and libraries of a
  // development package.
  for (StringRef name : {"ld.lld-22", "ld.lld", "ld", "cc", "clang"})
    if (ErrorOr<std::string> path = sys::findProgramByName(name))
      return *path;
  return createStringError("a bundle for the cpu needs a linker, and there is "
                           "no ld.lld-22, ld.lld, ld, cc or clang on PATH");
}

/// A temporary file that is removed with the object.
static Expected<std::unique_ptr<FileRemover>>
createTemporary(StringRef suffix, SmallString<128> &path) {
  if (std::error_code error =
          sys::fs::createTemporaryFile("mamba-compile", suffix, path))
    return createStringError("could not create a temporary file: " +
                             error.message());
  return std::make_unique<FileRemover>(path);
}

static Expected<std::string> readFile(StringRef path) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer = MemoryBuffer::getFile(
      path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return createStringError("could not read '" + path +
                             "': " + buffer.getError().message());
  return (*buffer)->getBuffer().str();
}

static Error writeFile(StringRef path, StringRef bytes) {
  std::error_code error;
  raw_fd_ostream os(path, error);
  if (!error) {
    os << bytes;
    os.close();
    error = os.error();
    os.clear_error();
  }
  if (error)
    return createStringError("could not write '" + path +
                             "': " + error.message());
  return Error::success();
}

Expected<std::string> linkSharedLibrary(StringRef linker, StringRef object) {
  SmallString<128> objectPath, libraryPath, messagesPath;
  std::unique_ptr<FileRemover> removers[3];
  for (auto [suffix, path, remover] :
       {std::tuple("o", &objectPath, &removers[0]),
        std::tuple("so", &libraryPath, &removers[1]),
        std::tuple("txt", &messagesPath, &removers[2])}) {
    Expected<std::unique_ptr<FileRemover>> created =
        createTemporary(suffix, *path);
    if (!created)
      return created.takeError();
    *remover = std::move(*created);
  }
  if (Error error = writeFile(objectPath, object))
    return std::move(error);

  StringRef arguments[] = {linker, "-shared", "-o", libraryPath, objectPath};
  std::optional<StringRef> redirects[] = {StringRef(), messagesPath.str(),
                                          messagesPath.str()};
  std::string reason;
  int status = sys::ExecuteAndWait(linker, arguments, std::nullopt, redirects,
                                   0, 0, &reason);
  if (status == 0)
    return readFile(libraryPath);
  if (Expected<std::string> messages = readFile(messagesPath))
    reason += (reason.empty() ? "" : "\n") + StringRef(*messages).trim().str();
  else
    consumeError(messages.takeError());
  return createStringError("the linker '" + linker + "' failed" +
                           (reason.empty() ? "" : ": " + reason));
}

} // namespace mamba
