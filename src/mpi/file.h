// A file, owned. What goes wrong with it is kept as words: MPI's default for files is to go on without any.
// Source: MPI 3.1, chapter 13.
#pragma once

#include <mpi.h>

#include <string>
#include <utility>
#include <vector>

#include "plan/files.h"

namespace openimb {

using Hints = std::vector<std::pair<std::string, std::string>>;

/// Collective over a communicator to make and to destroy.
class File {
 public:
  File() = default;
  /// `mode`: MPI_MODE_... Where MPI cannot open it, false as a bool, and the reason is a file_trouble().
  File(MPI_Comm comm, const std::string& name, int mode, MPI_Info info);
  File(File&& other) noexcept : file_(std::exchange(other.file_, MPI_FILE_NULL)) {}
  File& operator=(File&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }
  ~File() {
    if (file_ != MPI_FILE_NULL) MPI_File_close(&file_);
  }

  explicit operator bool() const { return file_ != MPI_FILE_NULL; }
  MPI_File handle() const { return file_; }
  /// Through the view of an individual pointer, one process sees its own tiles alone; collective. A process
  /// without a share sees all of the file, and has nothing to move.
  void set_view(const Tile& tile, MPI_Info info);
  /// What MPI made of the hints, and its own.
  Hints hints() const;

 private:
  MPI_File file_ = MPI_FILE_NULL;
};

/// What MPI said of the first call that failed since it was asked last; empty where all went well. Of files
/// that File opened, and of attempts to open.
std::string take_file_trouble();

}  // namespace openimb
