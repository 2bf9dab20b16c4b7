// Interposed by LD_PRELOAD: an allocation of 256 MiB and more is one piece of memory of 64 MiB, mapped again
// and again, so that messages beyond 2 GiB run where memory is short. Bytes that are far apart are the same,
// so -check has no meaning.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

constexpr std::size_t piece = std::size_t{64} << 20, least = std::size_t{256} << 20;

struct Mapping {
  void* at = nullptr;
  std::size_t bytes = 0;
};
Mapping mappings[256];

void* repeated(std::size_t bytes) {
  static const int file = [] {
    const int made = memfd_create("repeated_memory", MFD_CLOEXEC);
    return made >= 0 && ftruncate(made, piece) == 0 ? made : -1;
  }();
  Mapping* free_one = nullptr;
  for (Mapping& one : mappings)
    if (one.at == nullptr) free_one = &one;
  if (file < 0 || free_one == nullptr) return nullptr;
  const std::size_t whole = (bytes + piece - 1) / piece * piece;
  void* const at = mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  for (std::size_t begin = 0; begin < whole; begin += piece)
    if (mmap(static_cast<char*>(at) + begin, piece, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
             0) == MAP_FAILED)
      return nullptr;
  *free_one = {at, whole};
  return at;
}

void release(void* at) {
  for (Mapping& one : mappings)
    if (at != nullptr && one.at == at) {
      munmap(at, one.bytes);
      one = {};
      return;
    }
  std::free(at);
}

}  // namespace

void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  const auto boundary = static_cast<std::size_t>(alignment);
  return bytes >= least ? repeated(bytes)
                        : std::aligned_alloc(boundary, (bytes + boundary - 1) / boundary * boundary);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  if (void* const at = operator new(bytes, alignment, std::nothrow)) return at;
  throw std::bad_alloc();
}
void operator delete(void* at, std::align_val_t) noexcept { release(at); }
void operator delete(void* at, std::size_t, std::align_val_t) noexcept { release(at); }
