// Files, owned, and the errors of calls on them: MPI's default for files is to go on without a message.
// Source: MPI 3.1, chapter 13 and section 8.3.3.
#pragma once

#include <mpi.h>

#include <string>
#include <utility>
#include <vector>

#include "model/tile.h"
#include "mpi/optional.h"

namespace openimb {

/// Keeps the first error of some files until take(). Must outlive the files that report to it.
class FileErrors {
 public:
  FileErrors() = default;
  /// `together`: the ranks that open the files together, in a communicator that no call on the files uses.
  explicit FileErrors(MPI_Comm together) : together_(together) {}
  FileErrors(const FileErrors&) = delete;
  FileErrors& operator=(const FileErrors&) = delete;
  /// The return code of a call on a file; MPI_SUCCESS is none.
  void keep(int code) {
    if (code != MPI_SUCCESS && code_ == MPI_SUCCESS) code_ = code;
  }
  /// An error that MPI did not report.
  void keep(const std::string& text) {
    if (text_.empty()) text_ = text;
  }
  /// One line, or empty; then forgets it.
  std::string take();
  /// Whether a file that was just opened is open on all ranks; collective. A rank that has none throws where
  /// others do not call this soon: they are within MPI_File_open, or will wait for this rank in
  /// MPI_File_close.
  bool opened_by_all(bool here);

 private:
  MPI_Comm together_ = MPI_COMM_SELF;
  int code_ = MPI_SUCCESS;
  std::string text_;
};

/// Creation and destruction are collective over a communicator.
class File {
 public:
  File() = default;
  /// `mode`: MPI_MODE_... Converts to false where MPI cannot open it. All errors, from opening to closing, go
  /// to `errors`.
  File(MPI_Comm comm, const std::string& name, int mode, MPI_Info info, FileErrors& errors);
  File(File&& other) noexcept
      : file_(std::exchange(other.file_, MPI_FILE_NULL)), errors_(std::exchange(other.errors_, nullptr)) {}
  File& operator=(File&& other) noexcept {
    std::swap(file_, other.file_);
    std::swap(errors_, other.errors_);
    return *this;
  }
  ~File();

  explicit operator bool() const { return file_ != MPI_FILE_NULL; }
  /// Leaves the file open: where another rank has none, this one cannot be closed.
  void abandon();
  MPI_File handle() const { return file_; }
  /// In bytes; 0 where MPI does not report it.
  MPI_Offset size() const;
  /// Sets a view for individual file pointers in which a process sees its own tiles only; collective. A
  /// process without a share sees the whole file and moves nothing.
  void set_view(const Tile& tile, MPI_Info info);
  /// The hints in force: those that MPI took, and its own.
  std::vector<std::pair<std::string, std::string>> hints() const;

 private:
  MPI_File file_ = MPI_FILE_NULL;
  FileErrors* errors_ = nullptr;
};

}  // namespace openimb
