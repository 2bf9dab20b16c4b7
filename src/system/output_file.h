// Files that a run writes. Opening one keeps its contents, and a full disk leaves no torn lines.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>

namespace openimb::system {

/// Opens a file for writing and creates it if need be, but keeps its contents until empty_file(). Returns
/// null, with errno, on failure. `created` gets the path, with links resolved, of a file that did not exist;
/// it becomes empty for all others.
std::FILE* open_output(const std::string& path, std::string* created = nullptr);
/// Empties a regular file. Returns false, with errno, on failure.
bool empty_file(std::FILE* file);

/// Whether both streams write to the same regular file.
bool are_one_file(std::FILE* a, std::FILE* b);

/// Position of the next byte in a file; negative for a pipe.
long long position_of(std::FILE* file);
/// Removes what follows `position` and continues there. Returns false if the file cannot be cut.
bool cut_file(std::FILE* file, long long position);

/// The file descriptor, for write_whole().
int descriptor_of(std::FILE* file);

/// Writes all bytes. After an error it removes those written, if the file can be cut, and returns false.
/// Async-signal-safe.
bool write_whole(int descriptor, const char* text, std::size_t length) noexcept;

bool stderr_is_terminal();

/// Opens standard input, output and error if they are closed, so that no socket of MPI gets their numbers,
/// and with them our output. Writing to a closed standard output still fails.
void occupy_standard_streams();

}  // namespace openimb::system
