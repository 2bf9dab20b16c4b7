// Replaces src/memory/host.cpp: message memory that no code can read or write, but for MPI calls
// (guarded_calls.cpp) and its own write() and read(). Anything else ends the process with a message.
//
// Memory of `allocate` and `shared` windows belongs to MPI. Of it, whole pages are guarded: the bytes before
// the first page border and behind the last one share a page with others and are not.
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "guard.h"
#include "memory/memory.h"

namespace openimb {

namespace {

struct Pages {
  std::byte* begin;
  std::size_t bytes;
};

// No destructor: MPI_Finalize may come after those of static objects.
std::vector<Pages>& guarded() {
  static auto* const pages = new std::vector<Pages>;
  return *pages;
}
int depth = 0;
bool lent = false;

std::uintptr_t page_bytes() {
  static const auto bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

void protect(const Pages& pages, int access) {
  if (pages.bytes > 0 && mprotect(pages.begin, pages.bytes, access) != 0) std::abort();
}
void protect_all(int access) {
  for (const Pages& pages : guarded()) protect(pages, access);
}

void report(int, siginfo_t* info, void*) {
  const auto* const at = static_cast<const std::byte*>(info->si_addr);
  for (const Pages& pages : guarded()) {
    if (at < pages.begin || at >= pages.begin + pages.bytes) continue;
    constexpr char message[] = "guard: message memory touched outside of MPI calls and of its Memory\n";
    [[maybe_unused]] const auto written = write(STDERR_FILENO, message, sizeof message - 1);
    break;
  }
  std::signal(SIGSEGV, SIG_DFL);  // the same instruction again ends the process
}

void watch() {
  struct sigaction action = {};
  action.sa_sigaction = report;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, nullptr);  // anew: MPI libraries install handlers of their own
}

class GuardedMemory : public Memory {
 public:
  GuardedMemory(std::byte* address, std::int64_t bytes, Pages pages)
      : address_(address), bytes_(bytes), pages_(pages) {
    watch();
    if (pages_.bytes > 0) guarded().push_back(pages_);
    if (depth == 0 && !lent) protect(pages_, PROT_NONE);
  }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;
  ~GuardedMemory() override {
    protect(pages_, PROT_READ | PROT_WRITE);
    if (pages_.bytes == 0) return;
    std::erase_if(guarded(), [&](const Pages& pages) { return pages.begin == pages_.begin; });
  }
  MemoryKind kind() const override { return MemoryKind::host; }
  std::byte* address() const override { return address_; }
  std::int64_t bytes() const override { return bytes_; }
  void write(std::int64_t at, std::span<const std::byte> image) override {
    const guard::Open open;
    if (!image.empty()) std::memcpy(address_ + at, image.data(), image.size());
  }
  void read(std::int64_t at, std::span<std::byte> image) const override {
    const guard::Open open;
    if (!image.empty()) std::memcpy(image.data(), address_ + at, image.size());
  }

 protected:
  const Pages& pages() const { return pages_; }

 private:
  std::byte* address_;
  std::int64_t bytes_;
  Pages pages_;
};

Pages fresh_pages(std::int64_t bytes) {
  const std::size_t whole =
      (static_cast<std::size_t>(bytes) + page_bytes() - 1) / page_bytes() * page_bytes();
  void* const at = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  return {static_cast<std::byte*>(at), whole};
}

// Frees its pages behind GuardedMemory's destructor, which opens them.
struct OwnedPages {
  explicit OwnedPages(std::int64_t bytes) : owned(fresh_pages(bytes)) {}
  OwnedPages(const OwnedPages&) = delete;
  OwnedPages& operator=(const OwnedPages&) = delete;
  ~OwnedPages() { munmap(owned.begin, owned.bytes); }
  Pages owned;
};
class OwnedGuardedMemory final : private OwnedPages, public GuardedMemory {
 public:
  explicit OwnedGuardedMemory(std::int64_t bytes)
      : OwnedPages(bytes), GuardedMemory(owned.begin, bytes, owned) {}
};

// None where they are guarded already: a thread's part of a buffer.
Pages whole_pages_of(std::byte* address, std::int64_t bytes) {
  for (const Pages& pages : guarded()) {
    if (address >= pages.begin && address < pages.begin + pages.bytes) return {address, 0};
  }
  const auto first = reinterpret_cast<std::uintptr_t>(address);
  const std::uintptr_t begin = (first + page_bytes() - 1) / page_bytes() * page_bytes();
  const std::uintptr_t end = (first + static_cast<std::uintptr_t>(bytes)) / page_bytes() * page_bytes();
  return {address + (begin - first), end > begin ? end - begin : 0};
}

}  // namespace

namespace guard {

Open::Open() {
  if (depth++ == 0 && !lent) protect_all(PROT_READ | PROT_WRITE);
}
Open::~Open() {
  if (--depth == 0 && !lent) protect_all(PROT_NONE);
}
void lend() { lent = true; }
void take_back() { lent = false; }

}  // namespace guard

std::unique_ptr<Memory> allocate_memory(MemoryKind, std::int64_t bytes, std::int64_t, Device*) {
  return std::make_unique<OwnedGuardedMemory>(bytes > 0 ? bytes : 1);
}

std::unique_ptr<Memory> adopt_memory(MemoryKind, std::byte* address, std::int64_t bytes, Device*) {
  return std::make_unique<GuardedMemory>(address, bytes, whole_pages_of(address, bytes));
}

void copy_on_cpu(void* to, const void* from, std::int64_t bytes) {
  const guard::Open open;
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

}  // namespace openimb
