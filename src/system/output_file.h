// Files that a run writes: opened without losing their contents, and without torn lines when a disk is full.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>

namespace openimb::system {

/// Opens for writing and creates the file if need be, but leaves its contents until empty_file(). Null, with
/// errno, where that fails. `created`: gets the path of a file that did not exist, without the link that led
/// to it; empty for all others.
std::FILE* open_output(const std::string& path, std::string* created = nullptr);
/// Empties a regular file; false, with errno, where that fails.
bool empty_file(std::FILE* file);

/// Whether both are open on one regular file.
bool are_one_file(std::FILE* a, std::FILE* b);

/// Position of the next byte in a file; negative for a pipe, which has none.
long long position_of(std::FILE* file);
/// Removes what follows `position` and continues there. False where the file cannot be cut.
bool cut_file(std::FILE* file, long long position);

/// For write_whole().
int descriptor_of(std::FILE* file);

/// Writes all bytes, or none where the file can be cut. Async-signal-safe.
bool write_whole(int descriptor, const char* text, std::size_t length) noexcept;

bool stderr_is_terminal();

/// Opens what is closed of standard input, output and error, so that no socket of MPI gets their numbers and
/// our output. Writing to a closed standard output still fails.
void occupy_standard_streams();

}  // namespace openimb::system
