#include "allocations.h"

#include <cstdlib>
#include <new>

namespace {

thread_local std::size_t allocated = 0;

}  // namespace

void* operator new(std::size_t bytes) {
  allocated += bytes;
  if (void* const found = std::malloc(bytes > 0 ? bytes : 1)) return found;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  allocated += bytes;
  return std::malloc(bytes > 0 ? bytes : 1);
}
void operator delete(void* bytes) noexcept { std::free(bytes); }
void operator delete(void* bytes, std::size_t) noexcept { std::free(bytes); }

namespace openimb::fake {

std::size_t allocated_by_this_thread() { return allocated; }

}  // namespace openimb::fake
