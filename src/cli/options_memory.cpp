// Rows of the option table: where message buffers are, and which GPU is used.
#include <string>
#include <vector>

#include "cli/memory.h"
#include "cli/option_table.h"
#include "cli/values.h"

namespace openimb {

namespace {

/// `any_api`: of the driver that is there.
struct KindWord {
  std::string_view word;
  MemoryKind kind;
  bool any_api = false;
};
constexpr KindWord kind_words[] = {
    {"host", MemoryKind::host},
    {"pinned", MemoryKind::pinned, true},
    {"cuda", MemoryKind::cuda},
    {"cuda_managed", MemoryKind::cuda_managed},
    {"rocm", MemoryKind::rocm},
    {"rocm_managed", MemoryKind::rocm_managed},
    {"H", MemoryKind::host},
    {"D", MemoryKind::cuda, true},
    {"M", MemoryKind::cuda_managed, true},
};

// Words of IMB-MPI1-GPU.
constexpr KindWord alloc_words[] = {{"cpu", MemoryKind::host},
                                    {"host", MemoryKind::pinned, true},
                                    {"device", MemoryKind::cuda, true},
                                    {"shared", MemoryKind::cuda_managed, true}};

void set_kinds(MemoryChoice& memory, const KindWord& send, const KindWord& receive) {
  const auto api_named = [](const KindWord& one) { return one.any_api ? std::nullopt : api_of(one.kind); };
  const std::optional<GpuApi> first = api_named(send), second = api_named(receive);
  if (first && second && *first != *second) {
    throw BadValue("CUDA and ROCm cannot be combined");
  }
  const std::optional<GpuApi> api = first ? first : second;
  memory.send = api ? of_api(send.kind, *api) : send.kind;
  memory.receive = api ? of_api(receive.kind, *api) : receive.kind;
  memory.any_api = !api && (send.any_api || receive.any_api);
}

void set_memory(Draft& draft, std::string_view word) {
  const std::vector<std::string_view> sides = split(word, ',');
  if (sides.size() > 2) throw BadValue(quoted(word) + ": there are two sides, send and receive");
  const KindWord& send = choice(kind_words, &KindWord::word, sides.front());
  set_kinds(draft.options.memory, send, choice(kind_words, &KindWord::word, sides.back()));
}

void set_alloc_type(Draft& draft, std::string_view word) {
  const KindWord& both = choice(alloc_words, &KindWord::word, word);
  set_kinds(draft.options.memory, both, both);
}

void set_gpu(Draft& draft, std::string_view word) {
  MemoryChoice& memory = draft.options.memory;
  memory.gpu_given = true;
  if (same_name(word, "local_rank")) {
    memory.gpu = GpuChoice::local_rank;
  } else if (same_name(word, "round_robin")) {
    memory.gpu = GpuChoice::round_robin;
  } else {
    if (!word.empty() && word.front() > '9') {
      throw BadValue(quoted(word) + " is neither a number nor local_rank nor round_robin");
    }
    memory.gpu = GpuChoice::number;
    memory.gpu_number = static_cast<int>(whole_number(word, 0, 1023));
  }
}

void set_gpu_check(Draft& draft, std::string_view word) {
  constexpr std::string_view words[] = {"query", "trust"};
  draft.options.memory.trusts_mpi =
      choice(words, [](std::string_view each) { return each; }, word) == "trust";
}

void set_load(Draft& draft, std::string_view word) {
  constexpr LoadPlace places[] = {LoadPlace::cpu, LoadPlace::device};
  draft.options.memory.load = choice(places, [](LoadPlace place) { return name_of(place); }, word);
}

constexpr Option memory_rows[] = {
    {.name = "memory",
     .values = Values::one_or_two,
     .syntax = "KIND[,KIND]",
     .help = "memory of buffers: of both, or of send and receive",
     .standard = "host",
     .example = "-memory cuda,host",
     .details =
         "host; pinned: on the host, page-locked by a GPU's driver; cuda, rocm: on the GPU; cuda_managed, "
         "rocm_managed: migrates between both. H, D, M: host, GPU, managed, of the driver that is there, "
         "CUDA "
         "before ROCm; D H is D,H.\n"
         "The driver (libcuda.so.1, libamdhip64.so) is loaded when it is needed. The MPI must handle memory "
         "of GPUs (-gpu_check). Not with IMB-IO. Benchmarks that cannot use a kind have a failure row with "
         "the reason.",
     .apply = set_memory,
     .is_second = is_memory_kind},
    {.name = "mem_alloc_type",
     .syntax = "TYPE",
     .help = "the same as IMB-MPI1-GPU has it",
     .standard = "cpu",
     .example = "-mem_alloc_type device",
     .details = "cpu: host. host: pinned. device: cuda or rocm. shared: cuda_managed or rocm_managed.",
     .apply = set_alloc_type},
    {.name = "gpu",
     .syntax = "N|local_rank|round_robin",
     .help = "which GPU a rank uses",
     .standard = "local_rank",
     .example = "-memory cuda -gpu 0",
     .details =
         "Of those that the process sees (CUDA_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES). N: GPU N for all "
         "ranks, from 0. local_rank: the rank on its host modulo the number of GPUs. round_robin: the rank "
         "of the launch modulo that number.",
     .apply = set_gpu},
    {.name = "gpu_select",
     .syntax = "N|local_rank|round_robin",
     .help = "the same as -gpu",
     .standard = "local_rank",
     .example = "-memory cuda -gpu_select 0",
     .apply = set_gpu},
    {.name = "gpu_check",
     .syntax = "query|trust",
     .help = "whether the MPI is asked if it handles GPU memory",
     .standard = "query",
     .example = "-memory cuda -gpu_check trust",
     .details =
         "query: an MPI that does not handle memory of GPUs is a usage error with the setting to change, "
         "because its first message would crash; so is one that does not report it. Calls that Open MPI "
         "does not support on GPUs have a failure row. trust: everything is run.",
     .apply = set_gpu_check},
    {.name = "load",
     .syntax = "cpu|device",
     .help = "where benchmarks with overlap compute",
     .standard = "cpu",
     .example = "-memory cuda -load device Ibcast",
     .details = "device: on the GPU of the rank, which -memory or -gpu chooses. CUDA only.",
     .apply = set_load},
};

}  // namespace

bool is_memory_kind(std::string_view word) {
  for (const KindWord& kind : kind_words) {
    if (same_name(kind.word, word)) return true;
  }
  return false;
}

std::span<const Option> memory_options() { return memory_rows; }

}  // namespace openimb
