#include "system/scratch_lock.h"

#include <filesystem>
#include <utility>

#include "system/lock_file.h"

namespace openimb::system {

namespace {

constexpr const char* cleaning_mark = "cleaning\n";

}  // namespace

std::string lock_file_of(const std::string& base) {
  const std::filesystem::path path(base);
  return (path.parent_path() / ("." + path.filename().string() += lock_suffix)).string();
}

ScratchLock::ScratchLock(std::string base, std::string token)
    : base_(std::move(base)), token_(std::move(token)) {}

ScratchLock::~ScratchLock() {
  if (file_ >= 0) delete_locked_file(file_, lock_file_of(base_));
}

ScratchLock::State ScratchLock::state_of_holder() const {
  const std::string text = text_of_lock_file(lock_file_of(base_));
  if (text.starts_with(token_ + "\n")) return State::shared;
  return text.ends_with(cleaning_mark) ? State::cleaning : State::busy;
}

ScratchLock::State ScratchLock::take() {
  if (file_ >= 0) return State::held;
  const LockedFile taken = open_and_lock(lock_file_of(base_));
  if (taken.is_busy) return state_of_holder();
  if (taken.file < 0) return State::none;
  file_ = taken.file;
  abandoned_ = taken.had_text;
  replace_text(file_, token_ + "\n");
  return State::held;
}

void ScratchLock::mark_cleaning() const {
  if (file_ >= 0) replace_text(file_, token_ + "\n" + cleaning_mark);
}

}  // namespace openimb::system
