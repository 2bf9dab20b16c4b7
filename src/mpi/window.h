// Owns windows of every kind, and epochs that stay open around a benchmark's runs. Source: MPI 3.1, chapter
// 11.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/options.h"
#include "mpi/errors.h"
#include "mpi/optional.h"

namespace openimb {

/// -info as an MPI object; MPI_INFO_NULL without -info.
class Info {
 public:
  explicit Info(std::span<const std::pair<std::string, std::string>> pairs);
  ~Info();
  Info(const Info&) = delete;
  Info& operator=(const Info&) = delete;
  MPI_Info handle() const { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

/// Number of bytes to attach: MPI cannot attach zero bytes.
constexpr MPI_Aint at_least_one_byte(MPI_Aint bytes) { return bytes > 0 ? bytes : 1; }

/// Creates a window and returns MPI's code. The benchmark Window of IMB-EXT times this function, and its
/// window keeps MPI's own error handler, because setting another one would also be timed. Displacements count
/// bytes. MPI_Win_free frees every kind, including attached memory, and returns only when all ranks have
/// called it. After an error there may be a window (dynamic: created, but nothing attached).
inline int open_window(WindowKind kind, void*& memory, MPI_Aint bytes, MPI_Info info, MPI_Comm comm,
                       MPI_Win& win) {
  switch (kind) {
    case WindowKind::create:
      return MPI_Win_create(memory, bytes, 1, info, comm, &win);
    case WindowKind::allocate:
      return MPI_Win_allocate(bytes, 1, info, comm, static_cast<void*>(&memory), &win);
    case WindowKind::shared:
      return MPI_Win_allocate_shared(bytes, 1, info, comm, static_cast<void*>(&memory), &win);
    case WindowKind::dynamic:
      break;
  }
  const int code = MPI_Win_create_dynamic(info, comm, &win);
  return code != MPI_SUCCESS ? code : MPI_Win_attach(win, memory, at_least_one_byte(bytes));
}

/// An owned window over the ranks of a communicator; creation and destruction are collective.
class Window {
 public:
  Window() = default;
  /// `memory`: the memory to expose, of which at least one byte is allocated; ignored by kinds that allocate.
  /// Converts to false if MPI cannot create the window on this rank.
  Window(WindowKind kind, std::byte* memory, std::int64_t bytes, MPI_Info info, MPI_Comm comm);
  Window(Window&& other) noexcept { *this = std::move(other); }
  Window& operator=(Window&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(win_, other.win_);
    std::swap(good_, other.good_);
    std::swap(dynamic_, other.dynamic_);
    std::swap(bases_, other.bases_);
    return *this;
  }
  ~Window() {
    if (win_ != MPI_WIN_NULL) MPI_Win_free(&win_);
  }

  explicit operator bool() const { return good_; }
  /// Whether there is a window to free, usable or not.
  bool has_handle() const { return win_ != MPI_WIN_NULL; }
  /// Leaves the window unfreed: it cannot be freed if another rank has none.
  void abandon() { win_ = MPI_WIN_NULL; }
  /// Exchanges the addresses of the memory of a dynamic window. Collective; call it once all ranks have a
  /// window.
  void exchange_bases(MPI_Comm comm);

  MPI_Win handle() const { return win_; }
  std::byte* memory() const { return static_cast<std::byte*>(memory_); }
  /// For each rank, the displacement at which its memory begins: 0, or an address in a dynamic window.
  const std::vector<MPI_Aint>& bases() const { return bases_; }

 private:
  void* memory_ = nullptr;
  MPI_Win win_ = MPI_WIN_NULL;
  bool good_ = false;
  bool dynamic_ = false;
  std::vector<MPI_Aint> bases_;
};

/// Whether all ranks of a communicator can share memory; collective.
bool share_memory(MPI_Comm comm);

/// A window without memory, to which memory can be attached.
class DynamicWindow {
 public:
  DynamicWindow(MPI_Info info, MPI_Comm comm) {
    MPI_Win_create_dynamic(info, comm, &win_);
    make_errors_fatal_on_window(win_);
  }
  ~DynamicWindow() { MPI_Win_free(&win_); }
  DynamicWindow(const DynamicWindow&) = delete;
  DynamicWindow& operator=(const DynamicWindow&) = delete;
  MPI_Win view() const { return win_; }

 private:
  MPI_Win win_ = MPI_WIN_NULL;
};

/// The address in this process of a rank's part of a shared window.
class SharedPart {
 public:
  SharedPart(int rank, MPI_Win win) {
    MPI_Aint bytes = 0;
    int unit = 1;
    MPI_Win_shared_query(win, rank, &bytes, &unit, static_cast<void*>(&memory_));
  }
  char* view() const { return memory_; }

 private:
  char* memory_ = nullptr;
};

/// Passive-target epochs with shared locks, so that all origins can work at the same time.
class LockEpoch {
 public:
  LockEpoch(int target, MPI_Win win, int type = MPI_LOCK_SHARED) : target_(target), win_(win) {
    MPI_Win_lock(type, target, 0, win);
  }
  ~LockEpoch() { MPI_Win_unlock(target_, win_); }
  LockEpoch(const LockEpoch&) = delete;
  LockEpoch& operator=(const LockEpoch&) = delete;

 private:
  int target_;
  MPI_Win win_;
};

/// Locks two targets, which may be the same.
class TwoLocksEpoch {
 public:
  TwoLocksEpoch(int first, int second, MPI_Win win) : first_(first, win) {
    if (second != first) second_.emplace(second, win);
  }

 private:
  LockEpoch first_;
  std::optional<LockEpoch> second_;
};

class LockAllEpoch {
 public:
  explicit LockAllEpoch(MPI_Win win) : win_(win) { MPI_Win_lock_all(0, win); }
  ~LockAllEpoch() { MPI_Win_unlock_all(win_); }
  LockAllEpoch(const LockAllEpoch&) = delete;
  LockAllEpoch& operator=(const LockAllEpoch&) = delete;

 private:
  MPI_Win win_;
};

/// An active-target epoch, which the pattern's own fences divide into several. Collective.
class FenceEpoch {
 public:
  explicit FenceEpoch(MPI_Win win) : win_(win) { MPI_Win_fence(MPI_MODE_NOPRECEDE, win); }
  ~FenceEpoch() { MPI_Win_fence(MPI_MODE_NOSUCCEED, win_); }
  FenceEpoch(const FenceEpoch&) = delete;
  FenceEpoch& operator=(const FenceEpoch&) = delete;

 private:
  MPI_Win win_;
};

}  // namespace openimb
