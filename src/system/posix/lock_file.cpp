#include "system/lock_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace openimb::system {

LockedFile open_and_lock(const std::string& path) {
  for (;;) {
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file < 0) return {};
    struct stat mine{}, there{};
    if (flock(file, LOCK_EX | LOCK_NB) != 0) {
      const int error = errno;
      close(file);
      if (error == EWOULDBLOCK) return {.is_busy = true};
      unlink(path.c_str());  // this file system has no locks
      return {};
    }
    // The last holder may have deleted the file between open and flock: then the lock is on a deleted file.
    if (fstat(file, &mine) == 0 && stat(path.c_str(), &there) == 0 && mine.st_ino == there.st_ino &&
        mine.st_dev == there.st_dev) {
      return {.file = file, .had_text = mine.st_size > 0};
    }
    close(file);
  }
}

std::string text_of_lock_file(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0) return "";
  std::array<char, 512> text{};
  const ssize_t count = read(file, text.data(), text.size());
  close(file);
  return count > 0 ? std::string(text.data(), static_cast<std::size_t>(count)) : "";
}

void replace_text(int file, const std::string& text) {
  // A full disk leaves the file empty, which another launch reads as "busy".
  if (ftruncate(file, 0) != 0 || pwrite(file, text.data(), text.size(), 0) < 0) return;
}

void delete_locked_file(int file, const std::string& path) {
  unlink(path.c_str());  // before the lock is released, so that no other holder's file is deleted
  close(file);
}

}  // namespace openimb::system
