#include "cli/memory.h"

#include <algorithm>
#include <string>

#include "cli/command_line.h"

namespace openimb {

namespace {

constexpr std::string_view of_gpus[] = {"memory", "mem_alloc_type", "gpu", "gpu_select", "gpu_check", "load"};

void check_load(const MemoryChoice& memory) {
  if (memory.load != LoadPlace::device) return;
  if (api_of(memory.send) == GpuApi::rocm || api_of(memory.receive) == GpuApi::rocm) {
    throw UsageError("-load device: there is no load for ROCm; give -load cpu, or leave it out");
  }
  if (memory.is_host() && !memory.gpu_given) {
    throw UsageError(
        "-load device: no GPU is in use; choose one with -gpu, as -gpu local_rank, or give -memory cuda");
  }
}

}  // namespace

void check_memory(const Draft& draft, std::span<const std::string_view> given) {
  const auto is_given = [&](std::string_view name) { return std::ranges::find(given, name) != given.end(); };
  const MemoryChoice& memory = draft.options.memory;
  for (const std::string_view option : of_gpus) {
    if (!draft.program.uses_files || !is_given(option)) continue;
    if (memory.is_host() && option.starts_with("mem")) continue;
    throw UsageError("-" + std::string(option) + ": " + std::string(draft.program.name) +
                     " writes and reads files from memory of the host; leave it out");
  }
  check_load(memory);
  if (memory.needs_gpu()) {
    if (draft.options.packing == Packing::hand && memory.on_device()) {
      throw UsageError("-packing hand: its loops cannot access -memory " + memory.names() +
                       "; give -packing mpi, or -memory host");
    }
    return;
  }
  for (const std::string_view option : {"gpu", "gpu_select", "gpu_check"}) {
    if (!is_given(option)) continue;
    throw UsageError("-" + std::string(option) + ": no effect with buffers on the host; give -memory, too, " +
                     "as -memory cuda, or leave it out");
  }
}

}  // namespace openimb
