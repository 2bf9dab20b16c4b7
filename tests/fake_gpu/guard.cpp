// Interposed by LD_PRELOAD beside ../guarded/guarded_calls.cpp: device memory of the fake drivers has access
// rights only inside MPI calls, as if the MPI handled it, and inside the drivers' own copies. Any other
// access ends the process with a message. Memory is open to all threads of a process while one of them may
// use it.
//
// FAKE_GPU_ANSWER=0|1: what MPIX_Query_cuda_support() and MPIX_Query_rocm_support() return (default 1).
#include "guard.h"

#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <mutex>

#include "../guarded/guard.h"

namespace {

// Plain arrays: a signal handler reads them.
constexpr int most = 4096;
struct Pages {
  std::byte* begin;
  std::size_t bytes;
} guarded[most];
int known = 0;
int depth = 0;

std::mutex& one_at_a_time() {
  static auto* const mutex = new std::mutex;  // MPI_Finalize may come after destructors of static objects
  return *mutex;
}

void protect(const Pages& pages, int access) {
  if (mprotect(pages.begin, pages.bytes, access) != 0) std::abort();
}
void protect_all(int access) {
  for (int i = 0; i < known; ++i) protect(guarded[i], access);
}

void report(int, siginfo_t* info, void*) {
  const auto* const at = static_cast<const std::byte*>(info->si_addr);
  for (int i = 0; i < known; ++i) {
    if (at < guarded[i].begin || at >= guarded[i].begin + guarded[i].bytes) continue;
    constexpr char message[] = "fake GPU: the host touched device memory\n";
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

int answer() {
  const char* const text = std::getenv("FAKE_GPU_ANSWER");
  return text != nullptr ? std::atoi(text) : 1;
}

}  // namespace

namespace openimb::guard {

Open::Open() {
  const std::lock_guard lock(one_at_a_time());
  if (depth++ == 0) protect_all(PROT_READ | PROT_WRITE);
}
Open::~Open() {
  const std::lock_guard lock(one_at_a_time());
  if (--depth == 0) protect_all(PROT_NONE);
}
void lend() {}  // no files
void take_back() {}

}  // namespace openimb::guard

extern "C" {

void fake_gpu_guard(void* begin, std::size_t bytes) {
  const std::lock_guard lock(one_at_a_time());
  if (known == most) std::abort();
  watch();
  const Pages pages{static_cast<std::byte*>(begin), bytes};
  guarded[known++] = pages;
  if (depth == 0) protect(pages, PROT_NONE);
}

void fake_gpu_forget(void* begin) {
  const std::lock_guard lock(one_at_a_time());
  for (int i = 0; i < known; ++i) {
    if (guarded[i].begin != begin) continue;
    guarded[i] = guarded[--known];
    return;
  }
}

int MPIX_Query_cuda_support() { return answer(); }
int MPIX_Query_rocm_support() { return answer(); }

}  // extern "C"
