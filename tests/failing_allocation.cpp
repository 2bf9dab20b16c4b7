// Interposed: the OOM_K-th operator new of at least OOM_MIN bytes on rank OOM_RANK throws std::bad_alloc.
#include <atomic>
#include <cstdlib>
#include <new>

namespace {

long number(const char* name, long otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::atol(text) : otherwise;
}

long my_rank() { return number("PMI_RANK", number("OMPI_COMM_WORLD_RANK", -1)); }

std::atomic<long> count{0};

}  // namespace

void* operator new(std::size_t size) {
  static const bool mine = number("OOM_RANK", -2) == my_rank();
  static const long smallest = number("OOM_MIN", 0), failing = number("OOM_K", -1);
  if (mine && size >= static_cast<std::size_t>(smallest) && ++count == failing) throw std::bad_alloc();
  void* const memory = std::malloc(size > 0 ? size : 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
