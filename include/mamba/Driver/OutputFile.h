//===- OutputFile.h - Files that appear whole or not at all -----*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every output goes to a temporary file in the output's folder and is renamed
// when it is complete, so that no run leaves half a file behind.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_DRIVER_OUTPUTFILE_H
#define MAMBA_DRIVER_OUTPUTFILE_H

#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <memory>
#include <string>

namespace llvm::sys::fs {
class TempFile;
} // namespace llvm::sys::fs

namespace mamba {

class OutputFile {
public:
  /// Opens a temporary file beside `path`. "-" is standard output; a path that
  /// exists and is no regular file (a pipe, a device) is written directly. A
  /// symbolic link is followed. Fails with one message that names the path.
  static llvm::Expected<OutputFile> open(llvm::StringRef path);

  OutputFile(OutputFile &&);
  OutputFile &operator=(OutputFile &&) = delete;
  /// Without `commit` the temporary file is removed.
  ~OutputFile();

  /// Seekable, except for standard output and pipes.
  llvm::raw_pwrite_stream &os() { return *stream; }

  /// Flushes and gives the file its name. Fails with one message if anything
  /// could not be written.
  llvm::Error commit();

private:
  OutputFile();

  std::string path;
  std::unique_ptr<llvm::sys::fs::TempFile> temporary;
  std::unique_ptr<llvm::raw_fd_ostream> owned;
  llvm::raw_pwrite_stream *stream = nullptr;
};

/// Opens, writes `text` and commits.
llvm::Error writeTextFile(llvm::StringRef path, llvm::StringRef text);

} // namespace mamba

#endif // MAMBA_DRIVER_OUTPUTFILE_H
