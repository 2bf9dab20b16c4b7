// Shared libraries, loaded at run time.
#pragma once

#include <span>
#include <stdexcept>

namespace openimb::system {

/// Its message: "libcuda.so.1: cannot open shared object file: No such file or directory".
class LibraryError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Whether libraries have names as on Windows: "nvcuda.dll".
extern const bool libraries_are_dlls;

/// A shared library. It stays loaded, as drivers have threads and exit handlers that run its code.
class Library {
 public:
  /// Takes the first of `names` (at least one) that the process has loaded already, for example through MPI;
  /// otherwise loads the first that can be loaded. Throws LibraryError about the first that exists and cannot
  /// be loaded, or else about the first name.
  explicit Library(std::span<const char* const> names);
  /// Name of the library that was loaded.
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
