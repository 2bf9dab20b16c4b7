// Owns files and keeps the errors of calls on them, because MPI by default continues silently after an error
// on a file. Source: MPI 3.1, chapter 13 and section 8.3.3.
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
  /// `together`: communicator of the ranks that open the files together; no call on the files may use it.
  explicit FileErrors(MPI_Comm together) : together_(together) {}
  FileErrors(const FileErrors&) = delete;
  FileErrors& operator=(const FileErrors&) = delete;
  /// Keeps the return code of a call on a file, unless it is MPI_SUCCESS.
  void keep(int code) {
    if (code != MPI_SUCCESS && code_ == MPI_SUCCESS) code_ = code;
  }
  /// Keeps an error that MPI did not report.
  void keep(const std::string& text) {
    if (text_.empty()) text_ = text;
  }
  /// Returns the first error in one line, or an empty text, and forgets it.
  std::string take();
  /// Whether a file that was just opened is open on all ranks. Collective. A rank without the file throws if
  /// others do not call this within two seconds: they hang in MPI_File_open, or would wait for this rank in
  /// MPI_File_close.
  bool all_opened(bool here);

 private:
  MPI_Comm together_ = MPI_COMM_SELF;
  int code_ = MPI_SUCCESS;
  std::string text_;
};

/// Creation and destruction are collective over a communicator.
class File {
 public:
  File() = default;
  /// `mode`: MPI_MODE_... Converts to false if MPI cannot open the file. All errors, from opening to closing,
  /// go to `errors`.
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
  /// Leaves the file open: it cannot be closed if another rank has not opened it.
  void abandon();
  MPI_File handle() const { return file_; }
  /// Size in bytes; 0 if MPI does not report it.
  MPI_Offset size() const;
  /// Sets a view for individual file pointers in which a process sees only its own tiles. Collective. A
  /// process without a share sees the whole file and moves nothing.
  void set_view(const Tile& tile, MPI_Info info);
  /// The hints that MPI uses: hints that it accepted, and its own.
  std::vector<std::pair<std::string, std::string>> hints() const;

 private:
  MPI_File file_ = MPI_FILE_NULL;
  FileErrors* errors_ = nullptr;
};

}  // namespace openimb
