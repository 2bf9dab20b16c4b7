// Shared libraries, loaded at run time.
#pragma once

#include <span>
#include <stdexcept>

namespace openimb::system {

/// The message is, for example, "libcuda.so.1: cannot open shared object file: No such file or directory".
class LibraryError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Whether libraries are named as on Windows, for example "nvcuda.dll".
extern const bool libraries_are_dlls;

/// A shared library. It stays loaded, because drivers have threads and exit handlers that run its code.
class Library {
 public:
  /// Uses the first of `names` (at least one) that the process has already loaded, for example through MPI.
  /// If it has loaded none, loads the first that can be loaded. Throws LibraryError about the first that
  /// exists but cannot be loaded, or else about the first name.
  explicit Library(std::span<const char* const> names);
  /// Name of the library that was loaded.
  const char* name() const { return name_; }
  /// Returns the address of a function, or null.
  void* find(const char* function) const;

 private:
  void* handle_ = nullptr;
  const char* name_ = nullptr;
};

/// Returns the address of a function that a library of this process exports, or null.
void* find_function(const char* name);

}  // namespace openimb::system
