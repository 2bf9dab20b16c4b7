// What bench/gpu.sh holds the suite's figures against, written by hand on CUDA's driver:
//
//   gpu_by_hand pingpong REPETITIONS BYTES...   two ranks, buffers on GPU 0
//   gpu_by_hand copy REPETITIONS BYTES...       one rank: copies within GPU 0, each waited for
//
// A line NAME BYTES SECONDS for each length; PingPong's time is halved. Exit status 2: no driver, or an error
// of it.
#include <dlfcn.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bare.h"

namespace {

using Address = std::uint64_t;

void* driver = nullptr;

[[noreturn]] void give_up(const char* what, int code) {
  std::fprintf(stderr, "gpu_by_hand: %s failed (%d)\n", what, code);
  MPI_Abort(MPI_COMM_WORLD, 2);
  std::abort();
}

template <class... A>
void call(const char* name, A... arguments) {
  using Function = int (*)(A...);
  const auto function = reinterpret_cast<Function>(dlsym(driver, name));
  const int code = function != nullptr ? function(arguments...) : -1;
  if (code != 0) give_up(name, code);
}

char* on_gpu(int bytes) {
  Address made = 0;
  call("cuMemAlloc_v2", &made, static_cast<std::size_t>(bytes) + guard);
  return reinterpret_cast<char*>(made);
}

void release(char* begin) { call("cuMemFree_v2", reinterpret_cast<Address>(begin)); }

double copies(char* to, char* from, int bytes, long repetitions) {
  return repeat(repetitions, [&] {
    call("cuMemcpyDtoD_v2", reinterpret_cast<Address>(to), reinterpret_cast<Address>(from),
         static_cast<std::size_t>(bytes));
    call("cuCtxSynchronize");
  });
}

}  // namespace

int main(int argc, char** argv) {
  int rank = 0, ranks = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const std::string what = argc > 1 ? argv[1] : "";
  const bool ping = what == "pingpong" && ranks == 2, copy = what == "copy" && ranks == 1;
  if (argc < 4 || !(ping || copy)) {
    std::fprintf(stderr, "usage: gpu_by_hand pingpong|copy REPETITIONS BYTES...; two ranks or one\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (driver == nullptr) give_up("dlopen of libcuda.so.1", 0);
  void* context = nullptr;
  int device = 0;
  call("cuInit", 0U);
  call("cuDeviceGet", &device, 0);
  call("cuDevicePrimaryCtxRetain", &context, device);
  call("cuCtxSetCurrent", context);
  const long repetitions = std::atol(argv[2]);
  for (int i = 3; i < argc; ++i) {
    const int bytes = std::atoi(argv[i]);
    char* const send = on_gpu(bytes);
    char* const receive = on_gpu(bytes);
    // Long messages need fewer repetitions.
    const long number = std::max(4L, std::min(repetitions, repetitions * (1L << 16) / std::max(bytes, 1)));
    if (copy) {
      measure("Copy", bytes, 1, rank, number, [&](long n) { return copies(receive, send, bytes, n); });
    } else {
      measure("PingPong", bytes, 0.5, rank, number,
              [&](long n) { return ping_pong(send, receive, bytes, rank, MPI_COMM_WORLD, n); });
    }
    release(send);
    release(receive);
  }
  call("cuDevicePrimaryCtxRelease_v2", device);
  MPI_Finalize();
  return 0;
}
