// What the fake drivers of CUDA and HIP have in common: memory, failures, a report. Variables beside those of
// inject.h:
//   FAKE_GPU_COUNT=n    GPUs (default 2)
//   FAKE_GPU_L2=b       bytes of the cache of each (default 1 MiB)
//   FAKE_GPU_MANAGED=m  1: managed memory, but not beside kernels; 0: none
//   FAKE_GPU_MEMORY=b   bytes of each (default 1 GiB)
//   FAKE_GPU_REPORT=f   a file to which each process adds a line of JSON when it ends
//   FAIL_CALL=name      such as cuMemAlloc_v2; FAIL_AT=k: its k-th call fails with FAIL_CODE
// After 700, 719 and 999 all later calls fail in the same way, as those of a real context do.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "../guarded/guard.h"
#include "../inject.h"
#include "guard.h"

namespace fake_gpu {

enum : int {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  not_initialized = 3,
  no_device = 100,
  invalid_device = 101,
  invalid_context = 201,
  invalid_ptx = 218,
  invalid_handle = 400,
  not_found = 500,
  not_ready = 600,
};

inline const char* text_of(int code) {
  switch (code) {
    case success:
      return "no error";
    case invalid_value:
      return "invalid argument";
    case out_of_memory:
      return "out of memory";
    case not_initialized:
      return "initialization error";
    case no_device:
      return "no GPU is detected";
    case invalid_device:
      return "invalid device ordinal";
    case invalid_context:
      return "invalid device context";
    case invalid_ptx:
      return "a PTX compilation failed";
    case invalid_handle:
      return "invalid resource handle";
    case not_found:
      return "named symbol not found";
    case not_ready:
      return "device not ready";
    case 700:
      return "an illegal memory access was encountered";
    case 719:
      return "unspecified launch failure";
    case 999:
      return "unknown error";
    default:
      return nullptr;
  }
}

/// device: without access rights for the host.
enum class Kind { device, managed, pinned };

struct Allocation {
  Kind kind;
  std::size_t bytes;
  std::size_t mapped;
  int gpu;
};

struct State {
  std::mutex mutex;
  std::map<std::string, int> calls;
  std::map<std::byte*, Allocation> memory;
  std::map<int, std::size_t> used;     // bytes by GPU
  std::map<std::string, int> balance;  // what was made less what was given back
  int lost = success;                  // a context's last error
};

// No destructor: static objects of the program may free memory after those of this library.
inline State& state() {
  static auto* const all = new State;
  return *all;
}

inline int gpus() { return inject::number_in("FAKE_GPU_COUNT", 2); }
inline std::size_t bytes_of_gpu() {
  const char* const text = std::getenv("FAKE_GPU_MEMORY");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : std::size_t{1} << 30;
}

/// Counts a call; the error with which it fails.
inline int failure(const char* name) {
  static const char* const wanted = std::getenv("FAIL_CALL");
  static const int at = inject::number_in("FAIL_AT", 0), code = inject::number_in("FAIL_CODE", 999);
  State& all = state();
  const std::lock_guard lock(all.mutex);
  const int number = ++all.calls[name];
  if (all.lost != success) return all.lost;
  if (wanted == nullptr || !inject::here() || std::strcmp(wanted, name) != 0 || number != at) return success;
  inject::announce(name);
  if (code == 700 || code == 719 || code == 999) all.lost = code;
  return code;
}

inline void add(const char* what, int number) {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  all.balance[what] += number;
}

inline int allocate(Kind kind, int gpu, std::size_t bytes, std::byte** made) {
  if (bytes == 0 || made == nullptr) return invalid_value;
  State& all = state();
  const std::lock_guard lock(all.mutex);
  if (kind != Kind::pinned && all.used[gpu] + bytes > bytes_of_gpu()) return out_of_memory;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t mapped = (bytes + page - 1) / page * page;
  void* const at = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return out_of_memory;
  *made = static_cast<std::byte*>(at);
  all.memory[*made] = {kind, bytes, mapped, gpu};
  if (kind != Kind::pinned) all.used[gpu] += bytes;
  ++all.balance[kind == Kind::pinned ? "pinned" : "memory"];
  if (kind == Kind::device) fake_gpu_guard(at, mapped);
  return success;
}

inline int release(bool pinned, std::byte* begin) {
  if (begin == nullptr) return success;
  State& all = state();
  const std::lock_guard lock(all.mutex);
  const auto found = all.memory.find(begin);
  if (found == all.memory.end()) return invalid_value;
  const Allocation freed = found->second;
  if ((freed.kind == Kind::pinned) != pinned) return invalid_value;
  if (freed.kind == Kind::device) fake_gpu_forget(begin);
  munmap(begin, freed.mapped);
  all.memory.erase(found);
  if (!pinned) all.used[freed.gpu] -= freed.bytes;
  --all.balance[pinned ? "pinned" : "memory"];
  return success;
}

/// Whether all the bytes lie in one allocation of the GPU's.
inline bool is_device(const void* begin, std::size_t bytes) {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  auto* const first = static_cast<std::byte*>(const_cast<void*>(begin));
  auto found = all.memory.upper_bound(first);
  if (found == all.memory.begin()) return false;
  --found;
  return found->second.kind != Kind::pinned && first + bytes <= found->first + found->second.bytes;
}

inline int copy(void* to, const void* from, std::size_t bytes, bool into_device) {
  if (!is_device(into_device ? to : from, bytes)) return invalid_value;
  if (is_device(into_device ? from : to, 1)) return invalid_value;  // what is called the host's is not
  const openimb::guard::Open open;
  std::memcpy(to, from, bytes);
  return success;
}

inline int copy_within(void* to, const void* from, std::size_t bytes) {
  if (!is_device(to, bytes) || !is_device(from, bytes)) return invalid_value;
  const openimb::guard::Open open;
  std::memcpy(to, from, bytes);
  return success;
}

inline std::string as_json(const std::map<std::string, int>& numbers) {
  std::string text;
  for (const auto& [name, number] : numbers) {
    (text += text.empty() ? "{\"" : ", \"") += name + "\": " + std::to_string(number);
  }
  return (text.empty() ? "{" : text) + "}";
}

/// To be called when the process ends.
inline void report(const char* api) {
  const char* const path = std::getenv("FAKE_GPU_REPORT");
  if (path == nullptr) return;
  State& all = state();
  const std::lock_guard lock(all.mutex);
  const std::string line =
      "{\"api\": \"" + std::string(api) + "\", \"rank\": " + std::to_string(inject::rank()) +
      ", \"balance\": " + as_json(all.balance) + ", \"calls\": " + as_json(all.calls) + "}\n";
  const int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return;
  [[maybe_unused]] const auto written = write(file, line.data(), line.size());
  close(file);
}

}  // namespace fake_gpu
