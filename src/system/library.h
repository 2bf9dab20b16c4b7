// Shared libraries that are loaded when they are asked for.
#pragma once

#include <span>
#include <stdexcept>

namespace openimb::system {

/// "libcuda.so.1: cannot open shared object file: No such file or directory".
class LibraryError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Whether they have the names of Windows, "nvcuda.dll".
extern const bool libraries_are_dlls;

/// It stays loaded: drivers have threads and exit handlers that would lose their code.
class Library {
 public:
  /// The first of `names` (at least one) that the process has, as an MPI may have loaded it; otherwise the
  /// first that can be loaded. Throws LibraryError about the first that exists and cannot be loaded,
  /// otherwise about the first of all.
  explicit Library(std::span<const char* const> names);
  /// The one that was loaded.
  const char* name() const { return name_; }
  /// The address of a function, or null.
  void* find(const char* function) const;

 private:
  void* handle_ = nullptr;
  const char* name_ = nullptr;
};

/// The address of a function that a library of this process exports, or null.
void* find_function(const char* name);

}  // namespace openimb::system
