#include "system/scratch_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace openimb::system {

namespace {

constexpr const char* cleaning_mark = "cleaning\n";

std::string contents_of(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0) return "";
  std::array<char, 512> text{};
  const ssize_t count = read(file, text.data(), text.size());
  close(file);
  return count > 0 ? std::string(text.data(), static_cast<std::size_t>(count)) : "";
}

void write_contents(int file, const std::string& text) {
  // A full disk leaves the file empty, which another launch reads as "busy".
  if (ftruncate(file, 0) != 0 || pwrite(file, text.data(), text.size(), 0) < 0) return;
}

}  // namespace

std::string lock_file_of(const std::string& base) {
  const std::size_t name = base.rfind('/') + 1;  // 0 where there is no folder
  return base.substr(0, name) + "." + base.substr(name) + ".imb-lock";
}

ScratchLock::ScratchLock(std::string base, std::string token)
    : base_(std::move(base)), token_(std::move(token)) {}

ScratchLock::~ScratchLock() {
  if (file_ < 0) return;
  unlink(lock_file_of(base_).c_str());  // before the lock is released, so that no other file is hit
  close(file_);
}

// False where another process holds the lock. Where there are no locks: true, and file_ stays -1.
bool ScratchLock::open_and_lock() {
  const std::string path = lock_file_of(base_);
  for (;;) {
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file < 0) return true;
    struct stat mine{}, there{};
    if (flock(file, LOCK_EX | LOCK_NB) != 0) {
      const int error = errno;
      close(file);
      if (error == EWOULDBLOCK) return false;
      unlink(path.c_str());  // no locks here
      return true;
    }
    // The holder before may have deleted the file between open and flock: then the lock is on nothing.
    if (fstat(file, &mine) == 0 && stat(path.c_str(), &there) == 0 && mine.st_ino == there.st_ino &&
        mine.st_dev == there.st_dev) {
      file_ = file;
      abandoned_ = mine.st_size > 0;
      return true;
    }
    close(file);
  }
}

ScratchLock::State ScratchLock::state_of_holder() const {
  const std::string text = contents_of(lock_file_of(base_));
  if (text.starts_with(token_ + "\n")) return State::shared;
  return text.ends_with(cleaning_mark) ? State::cleaning : State::busy;
}

ScratchLock::State ScratchLock::take() {
  if (file_ >= 0) return State::held;
  if (!open_and_lock()) return state_of_holder();
  if (file_ < 0) return State::none;
  write_contents(file_, token_ + "\n");
  return State::held;
}

void ScratchLock::mark_cleaning() const {
  if (file_ >= 0) write_contents(file_, token_ + "\n" + cleaning_mark);
}

}  // namespace openimb::system
