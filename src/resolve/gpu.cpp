#include "resolve/gpu.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "cli/command_line.h"
#include "mpi/gpu_support.h"
#include "resolve/gathered_text.h"
#include "system/library.h"
#include "system/machine.h"

namespace openimb {

namespace {

GpuApi parse_api(std::string_view name) {
  return name == name_of(GpuApi::cuda) ? GpuApi::cuda : GpuApi::rocm;
}

std::string memory_option(const MemoryChoice& memory) {
  return memory.is_host() ? "-load device" : "-memory " + memory.names();
}

std::optional<GpuApi> requested_api(const MemoryChoice& memory) {
  if (memory.any_api) return std::nullopt;
  const std::optional<GpuApi> send = api_of(memory.send);
  return send ? send : api_of(memory.receive);
}

/// The API for which rank 0 finds a driver and a GPU, or why there is none. CUDA comes before ROCm.
struct ApiChoice {
  std::optional<GpuApi> api;
  std::string why;
};
ApiChoice find_api() {
  ApiChoice choice;
  for (const GpuApi api : {GpuApi::cuda, GpuApi::rocm}) {
    std::string why = "no GPU";
    try {
      if (count_devices(api) > 0) return {api, {}};
    } catch (const DeviceError& error) {
      why = error.what();
    }
    ((choice.why += choice.why.empty() ? "" : "; ") += title_of(api)) += ": " + why;
  }
  return choice;
}

GpuApi choose_api(ProcessGroup& world, MemoryChoice& memory) {
  std::optional<GpuApi> api = requested_api(memory);
  if (!api && !memory.any_api) api = GpuApi::cuda;  // only -load device, which needs CUDA
  if (api) return *api;
  const ApiChoice mine = world.rank() == 0 ? find_api() : ApiChoice{};
  const std::string why = world.broadcast(mine.why);
  const std::string name = world.broadcast(mine.api ? name_of(*mine.api) : "");
  if (name.empty()) throw UsageError(memory_option(memory) + ": no usable GPU: " + why);
  api = parse_api(name);
  memory.send = kind_for_api(memory.send, *api);
  memory.receive = kind_for_api(memory.receive, *api);
  memory.any_api = false;
  return *api;
}

// Returns the index of this rank's GPU. Throws DeviceError.
int choose_index(int world_rank, int host_rank, const MemoryChoice& memory, int devices) {
  if (devices == 0) throw DeviceError("the driver reports no GPU");
  switch (memory.gpu) {
    case GpuChoice::local_rank:
      return host_rank % devices;
    case GpuChoice::round_robin:
      return world_rank % devices;
    case GpuChoice::number:
      break;
  }
  if (memory.gpu_number < devices) return memory.gpu_number;
  throw DeviceError("-gpu " + std::to_string(memory.gpu_number) + ": there " +
                    (devices == 1 ? "is 1 GPU" : "are " + std::to_string(devices) + " GPUs") +
                    (devices == 1 ? "; give 0" : "; give a number from 0 to " + std::to_string(devices - 1)));
}

// Throws DeviceError if the GPU cannot serve the chosen managed memory. Without concurrent access, the host
// must not access managed memory while a kernel runs.
void require_managed(const Device& device, const MemoryChoice& memory) {
  if (!memory.is_managed()) return;
  const std::string gpu = device.facts().name;
  if (!device.facts().has_managed_memory) throw DeviceError(gpu + " has no managed memory; use -memory D");
  if (memory.load == LoadPlace::device && !device.facts().concurrent_managed_access) {
    throw DeviceError(gpu + ": the host cannot access managed memory while the GPU computes; use -load cpu");
  }
}

std::unique_ptr<Device> open(MpiProcessGroup& world, const MemoryChoice& memory, GpuApi api) {
  const int host_rank = world.communicator().split_by_host().rank();
  std::unique_ptr<Device> device;
  std::string what = memory_option(memory), why;
  try {
    const int index = choose_index(world.rank(), host_rank, memory, count_devices(api));
    device = open_device(api, index);
    require_managed(*device, memory);
    if (memory.load == LoadPlace::device) {
      what = "-load device";
      device->prepare_load();
    }
  } catch (const DeviceError& error) {
    why = error.what();
  } catch (const std::bad_alloc&) {
    why = "out of memory";
  }
  if (!why.empty()) {
    why = what + ": rank " + std::to_string(world.rank()) + " on " + system::host_name() + ": " + why;
  }
  why = first_message(world, why);
  if (!why.empty()) throw UsageError(why);
  return device;
}

// Describes this rank's GPU in a text for group_by_gpu().
std::string facts_to_text(const DeviceFacts& facts) {
  const std::string api = name_of(facts.api);
  return join_words(std::array{system::host_name(), std::to_string(facts.index), facts.name, api,
                               facts.driver, facts.bus_address, std::to_string(facts.memory_bytes),
                               std::to_string(facts.l2_bytes)});
}

GpuFacts parse_facts(std::string_view text) {
  const std::vector<std::string> words = split_words(text);
  return {.host = words[0],
          .index = std::stoi(words[1]),
          .name = words[2],
          .api = parse_api(words[3]),
          .driver = words[4],
          .bus_address = words[5],
          .memory_bytes = std::stoll(words[6]),
          .l2_bytes = std::stoll(words[7]),
          .ranks = {}};
}

// Returns the GPUs of the launch with their ranks, in the order of their first ranks.
std::vector<GpuFacts> group_by_gpu(const std::vector<std::string>& texts) {
  std::vector<GpuFacts> all;
  std::vector<std::string_view> seen;
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    const auto position = std::ranges::find(seen, std::string_view(texts[rank]));
    const auto index = static_cast<std::size_t>(position - seen.begin());
    if (position == seen.end()) {
      seen.emplace_back(texts[rank]);
      all.push_back(parse_facts(texts[rank]));
    }
    all[index].ranks.push_back(static_cast<int>(rank));
  }
  return all;
}

// Throws UsageError if the MPI does not support the chosen memory. Pinned memory is host memory and needs no
// support. Managed memory needs support, because transports that bypass the CPU cannot follow its pages.
GpuSupport require_support(ProcessGroup& world, GpuApi api, Options& options) {
  MemoryChoice& memory = options.memory;
  const GpuAnswers answers = ask_for_gpu_support(api, system::find_function);
  const GpuSupport mine = support_of(api, answers);
  memory.limited_mpi = !memory.trusts_mpi() && supports_gpus_in_part(answers.library);
  if (memory.trusts_mpi() || (!memory.uses_device() && !memory.is_managed())) return mine;
  std::string why;
  if (mine.answer == GpuSupport::Answer::no) {
    why = "does not support " + std::string(title_of(api)) + " memory (" + mine.source + "); " + mine.remedy;
  } else if (mine.answer == GpuSupport::Answer::unknown) {
    why = "may not support " + std::string(title_of(api)) + " memory (" + mine.source +
          ") and could crash; use another MPI";
  }
  why = first_message(world, why);
  if (!why.empty())
    throw UsageError(memory_option(memory) + ": this MPI " + why + ", or give -gpu_check trust");
  return mine;
}

// Without NVIDIA's MPS, the kernels of several processes run one after another.
void warn_of_shared_gpus(const std::vector<GpuFacts>& all, Options& options) {
  for (const GpuFacts& gpu : all) {
    if (options.memory.load != LoadPlace::device || gpu.ranks.size() < 2) continue;
    options.warnings.push_back("-load device: " + std::to_string(gpu.ranks.size()) + " ranks use " +
                               gpu.name + " at " + gpu.host + " " + gpu.bus_address +
                               "; without MPS their kernels run one after the other");
    return;
  }
}

}  // namespace

Gpu open_gpu(MpiProcessGroup& world, Options& options) {
  MemoryChoice& memory = options.memory;
  if (options.action != Options::Action::run || !memory.needs_gpu()) return {};
#ifdef OPENIMB_SMPI
  throw UsageError(memory_option(memory) + ": the simulator has no GPUs; leave it out");
#endif
  const GpuApi api = choose_api(world, memory);
  Gpu gpu{.device = open(world, memory, api)};
  gpu.support = require_support(world, api, options);
  gpu.all = group_by_gpu(world.gather(facts_to_text(gpu.device->facts())));
  warn_of_shared_gpus(gpu.all, options);
  return gpu;
}

}  // namespace openimb
