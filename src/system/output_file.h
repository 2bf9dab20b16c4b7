// The files that a run writes. Opening a file keeps its contents, and a full disk leaves no incomplete lines.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>

namespace openimb::system {

/// Opens a file for writing and creates it if need be, but keeps its contents until empty_file(). Returns
/// null, with errno, on failure. If the file did not exist, `created` gets its path with links resolved;
/// otherwise it becomes empty.
std::FILE* open_output(const std::string& path, std::string* created = nullptr);
/// Empties a regular file. Returns false, with errno, on failure.
bool empty_file(std::FILE* file);

/// Whether both streams write to the same regular file.
bool are_one_file(std::FILE* a, std::FILE* b);

/// Returns the position of the next byte in a file; negative for a pipe.
long long file_position(std::FILE* file);
/// Truncates the file at `position` and continues writing there. Returns false if that is not possible.
bool truncate_file(std::FILE* file, long long position);

/// Returns the file descriptor, for write_all().
int descriptor_of(std::FILE* file);

/// Writes all bytes. After an error it removes the bytes already written, if the file can be truncated, and
/// returns false. Async-signal-safe.
bool write_all(int descriptor, const char* text, std::size_t length) noexcept;

bool stderr_is_terminal();

/// Opens standard input, output and error if they are closed. Otherwise a socket of MPI might get one of
/// their numbers, and with it our output. Writing to a closed standard output still fails.
void occupy_standard_streams();

}  // namespace openimb::system
