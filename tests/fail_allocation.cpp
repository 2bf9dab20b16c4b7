// An allocation that fails: one `operator new` of the program throws std::bad_alloc, or returns null where it
// is a nothrow form. ControlVariables beside those of inject.h:
//   FAIL_SITE=k    the first allocation at the k-th distinct call site fails, counted from 1 in order of use
//   FAIL_SITE=0    nothing fails; the number of sites goes to FAIL_LOG
//   FAIL_FRAMES=n  by how many frames call sites are told apart (default 6)
// A call site is the innermost frames that lie inside the executable, relative to where it is loaded, so that
// it is the same in every launch. Allocations of MPI and of the libraries below it are left alone. What the
// C++ library allocates for the executable counts as the executable's.
#include <link.h>
#include <mpi.h>
#include <unwind.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>

#include "inject.h"

namespace {

constexpr int most_frames = 32;
constexpr int most_sites = 1 << 14;

struct Range {
  std::uintptr_t begin = 0, end = 0;
  bool holds(std::uintptr_t address) const { return begin <= address && address < end; }
};

// The executable, and libraries through which it allocates: the C++ library and this one.
struct Loaded {
  std::uintptr_t base = 0;
  Range executable;
  Range transparent[8];
  int transparents = 0;
};

int add_library(dl_phdr_info* info, std::size_t, void* to) {
  Loaded& loaded = *static_cast<Loaded*>(to);
  Range range{UINTPTR_MAX, 0};
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD) continue;
    range.begin = std::min<std::uintptr_t>(range.begin, info->dlpi_addr + header.p_vaddr);
    range.end = std::max<std::uintptr_t>(range.end, info->dlpi_addr + header.p_vaddr + header.p_memsz);
  }
  const char* const name = info->dlpi_name;
  if (name == nullptr || *name == '\0') {
    if (loaded.executable.end != 0) return 0;  // the kernel's page has no name either
    loaded.base = info->dlpi_addr;
    loaded.executable = range;
  } else if (std::strstr(name, "libstdc++") != nullptr ||
             range.holds(reinterpret_cast<std::uintptr_t>(&add_library))) {
    if (loaded.transparents < 8) loaded.transparent[loaded.transparents++] = range;
  }
  return 0;
}

const Loaded& loaded() {
  static const Loaded all = [] {
    Loaded found;
    dl_iterate_phdr(add_library, &found);
    return found;
  }();
  return all;
}

struct Walk {
  std::uintptr_t frames[most_frames];
  int found = 0;
  int wanted = 0;
};

_Unwind_Reason_Code visit(_Unwind_Context* context, void* of) {
  Walk& walk = *static_cast<Walk*>(of);
  const std::uintptr_t at = _Unwind_GetIP(context);
  const Loaded& all = loaded();
  if (all.executable.holds(at)) {
    walk.frames[walk.found++] = at - all.base;
    return walk.found == walk.wanted ? _URC_END_OF_STACK : _URC_NO_REASON;
  }
  if (walk.found > 0) return _URC_NO_REASON;
  const bool through = std::any_of(all.transparent, all.transparent + all.transparents,
                                   [&](const Range& range) { return range.holds(at); });
  return through ? _URC_NO_REASON : _URC_END_OF_STACK;
}

std::mutex one_at_a_time;
std::uint64_t sites[most_sites];
int known = 0;
pid_t first_process = 0;  // a process that it forks is another program

// The number of a new site, counted from 1; 0 where it is known.
int number_of_new(const Walk& walk) {
  std::uint64_t hash = 14695981039346656037U;
  for (int i = 0; i < walk.found; ++i) hash = (hash ^ walk.frames[i]) * 1099511628211U;
  if (std::find(sites, sites + known, hash) != sites + known || known == most_sites) return 0;
  sites[known++] = hash;
  return known;
}

void announce(std::size_t bytes, int site, const Walk& walk) {
  int initialized = 0, finalized = 0;
  PMPI_Initialized(&initialized);
  PMPI_Finalized(&finalized);
  const char* const when = initialized == 0 ? "before" : finalized != 0 ? "after" : "within";
  char text[400];
  int length = std::snprintf(text, sizeof text, "allocation at site %d of %zu bytes, %s MPI, frames", site,
                             bytes, when);
  for (int i = 0; i < walk.found && length < 380; ++i) {
    length += std::snprintf(text + length, sizeof text - length, " %lx", static_cast<long>(walk.frames[i]));
  }
  inject::announce(text);
}

bool fails(std::size_t bytes) {
  static const int wanted = inject::number_in("FAIL_SITE", 0);
  static const int frames = std::clamp(inject::number_in("FAIL_FRAMES", 6), 1, most_frames);
  if (!inject::here()) return false;
  Walk walk;
  walk.wanted = frames;
  _Unwind_Backtrace(visit, &walk);
  if (walk.found == 0) return false;
  const std::lock_guard lock(one_at_a_time);
  if (first_process == 0) first_process = getpid();
  const int site = first_process == getpid() ? number_of_new(walk) : 0;
  if (site == 0 || site != wanted) return false;
  announce(bytes, site, walk);
  return true;
}

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (fails(bytes)) return nullptr;
  if (alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) return std::malloc(bytes > 0 ? bytes : 1);
  void* memory = nullptr;
  return posix_memalign(&memory, alignment, bytes) == 0 ? memory : nullptr;
}

void* or_throw(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

[[gnu::destructor]] void say_how_many() {
  if (inject::number_in("FAIL_SITE", 0) == 0 && known > 0 && first_process == getpid())
    inject::say_count(known);
}

}  // namespace

// What they return is freed by the C++ library's `operator delete`, which is free().
using std::align_val_t, std::size_t, std::nothrow_t;
void* operator new(size_t n) { return or_throw(allocate(n, 0)); }
void* operator new[](size_t n) { return or_throw(allocate(n, 0)); }
void* operator new(size_t n, const nothrow_t&) noexcept { return allocate(n, 0); }
void* operator new[](size_t n, const nothrow_t&) noexcept { return allocate(n, 0); }
void* operator new(size_t n, align_val_t a) { return or_throw(allocate(n, static_cast<size_t>(a))); }
void* operator new[](size_t n, align_val_t a) { return or_throw(allocate(n, static_cast<size_t>(a))); }
void* operator new(size_t n, align_val_t a, const nothrow_t&) noexcept {
  return allocate(n, static_cast<size_t>(a));
}
void* operator new[](size_t n, align_val_t a, const nothrow_t&) noexcept {
  return allocate(n, static_cast<size_t>(a));
}
