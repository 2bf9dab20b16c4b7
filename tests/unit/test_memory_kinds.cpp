// -memory and related options: the command line, benchmarks that cannot use a kind, what an MPI reports about
// GPUs, and memory that a driver allocates.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <new>
#include <sstream>
#include <vector>

#include "cli/command_line.h"
#include "device/driver.h"
#include "memory/memory.h"
#include "model/mpi_products.h"
#include "plan/exclusions.h"

using namespace openimb;

namespace {

constexpr Spec catalog[] = {
    {.name = "PingPong", .kind = Kind::single_transfer},
    {.name = "Ibcast", .overlap = Overlap::matched},
};
constexpr Spec files[] = {{.name = "S_Read_Expl", .access = Access::file}};
constexpr Program program{"IMB-NBC", "", catalog};
constexpr Program of_files{"IMB-IO", "", files, file_defaults, true};

Options parsed(const std::string& line, const Program& of = program) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return parse(of, words, 2, [](const std::string&) { return FileText{}; });
}

std::string error_of(const std::string& line, const Program& of = program) {
  try {
    parsed(line, of);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

std::string kinds_of(const std::string& line) {
  const MemoryChoice memory = parsed(line).memory;
  return memory.names() + (memory.any_api ? " of any" : "");
}

/// A device whose memory is in this process. It counts calls, and allocates misaligned memory.
class OwnDevice : public Device {
 public:
  const DeviceFacts& facts() const override { return facts_; }
  void attach_thread() override {}
  std::byte* allocate(DeviceMemory kind, std::int64_t bytes) override {
    if (bytes > most) throw std::bad_alloc();
    auto* const all = static_cast<std::byte*>(
        ::operator new(static_cast<std::size_t>(bytes + misaligned), std::align_val_t(4096)));
    kinds[all + misaligned] = kind;
    return all + misaligned;
  }
  void deallocate(DeviceMemory kind, std::byte* address) noexcept override {
    wrongly_freed = wrongly_freed || kinds.count(address) == 0 || kinds[address] != kind;
    kinds.erase(address);
    ::operator delete(address - misaligned, std::align_val_t(4096));
  }
  void copy_in(std::byte* to, const std::byte* from, std::int64_t bytes) override {
    ++copies;
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
  void copy_out(std::byte* to, const std::byte* from, std::int64_t bytes) override {
    ++copies;
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
  void synchronize() override {}
  void prepare_load() override {}
  void start_load(std::int64_t) override {}
  bool load_is_done() override { return true; }
  void wait_for_load() override {}

  std::map<std::byte*, DeviceMemory> kinds;
  std::int64_t most = 1 << 20;
  int misaligned = 0;
  int copies = 0;
  bool wrongly_freed = false;

 private:
  DeviceFacts facts_;
};

}  // namespace

TEST_CASE("kinds of memory, for both sides or for each") {
  CHECK(kinds_of("PingPong") == "host");
  CHECK(kinds_of("-memory cuda PingPong") == "cuda");
  CHECK(kinds_of("-memory CUDA,host") == "cuda,host");
  CHECK(kinds_of("-memory host rocm_managed PingPong") == "host,rocm_managed");
  CHECK(kinds_of("-memory D H PingPong") == "cuda,host of any");
  CHECK(kinds_of("-memory M") == "cuda_managed of any");
  CHECK(kinds_of("-memory M,rocm") == "rocm_managed,rocm");
  CHECK(kinds_of("-memory pinned,cuda") == "pinned,cuda");
  CHECK(kinds_of("-memory pinned,host") == "pinned,host of any");
  CHECK(kinds_of("-memory cuda -memory host") == "host");
  CHECK(kinds_of("-mem_alloc_type cpu") == "host");
  CHECK(kinds_of("-mem_alloc_type host") == "pinned of any");
  CHECK(kinds_of("-mem_alloc_type device") == "cuda of any");
  CHECK(kinds_of("-mem_alloc_type shared") == "cuda_managed of any");
}

TEST_CASE("the second word of -memory is a kind, or a benchmark") {
  CHECK(parsed("-memory cuda PingPong").selection.size() == 1);
  CHECK(parsed("-memory cuda host PingPong").selection.size() == 1);
  CHECK(error_of("-memory cuda hots").starts_with("unknown benchmark"));
}

TEST_CASE("the choice of a GPU") {
  CHECK(parsed("-memory cuda").memory.gpu == GpuChoice::local_rank);
  CHECK(parsed("-memory cuda -gpu round_robin").memory.gpu == GpuChoice::round_robin);
  const MemoryChoice third = parsed("-memory cuda -gpu_select 2 -gpu_check trust").memory;
  CHECK(third.gpu == GpuChoice::number);
  CHECK(third.gpu_number == 2);
  CHECK(third.trusts_mpi());
  CHECK(parsed("-load device -gpu 0 Ibcast").memory.needs_gpu());
  CHECK_FALSE(parsed("-memory host -load cpu Ibcast").memory.needs_gpu());
}

TEST_CASE("impossible combinations are an error of one line") {
  CHECK(error_of("-memory gpu") ==
        "-memory: \"gpu\" is not one of host, pinned, cuda, cuda_managed, rocm, rocm_managed, H, D, M; for "
        "example: -memory cuda,host");
  CHECK(error_of("-memory D,H,M") ==
        "-memory: \"D,H,M\": there are two sides, send and receive; for example: -memory cuda,host");
  CHECK(error_of("-memory cuda,rocm").starts_with("-memory: CUDA and ROCm cannot be combined"));
  CHECK(error_of("-gpu first -memory cuda").starts_with("-gpu: \"first\" is neither a number nor"));
  CHECK(error_of("-gpu 0 PingPong") ==
        "-gpu: no effect with buffers on the host; also give -memory, for example -memory cuda, or leave it "
        "out");
  CHECK(error_of("-load device Ibcast") ==
        "-load device: no GPU is in use; choose one with -gpu, as -gpu local_rank, or give -memory cuda");
  CHECK(error_of("-load device -memory rocm Ibcast") ==
        "-load device: there is no load for ROCm; give -load cpu, or leave it out");
  CHECK(error_of("-memory cuda -load device PingPong") ==
        "-load: no effect on the selected benchmarks; leave it out, or add Ibcast");
  CHECK(error_of("-memory cuda -mem_alloc_type device") ==
        "-memory and -mem_alloc_type cannot be combined; give one of them");
  CHECK(parsed("-memory D -gpu 0 -gpu_select 1").memory.gpu_number == 1);  // the last one of two counts
  CHECK(error_of("-memory cuda", of_files) ==
        "-memory: IMB-IO writes and reads files from memory of the host; leave it out");
  CHECK(error_of("-memory host", of_files) == "no error");
  CHECK(error_of("-mem_alloc_type cpu", of_files) == "no error");
}

TEST_CASE("benchmarks that cannot use a kind of memory") {
  const MemoryChoice both{.send = MemoryKind::cuda, .receive = MemoryKind::cuda};
  const MemoryChoice source{.send = MemoryKind::cuda};
  Spec put{.name = "Put", .access = Access::passive_target};
  put.one_sided.exposed = ExposedBuffer::receive;
  CHECK(memory_error(put, both, WindowKind::create).empty());
  CHECK(memory_error(put, both, WindowKind::dynamic).empty());
  CHECK(memory_error(put, source, WindowKind::allocate).empty());
  CHECK(memory_error(put, {}, WindowKind::allocate).empty());
  CHECK(memory_error(put, both, WindowKind::allocate) ==
        "-memory cuda: MPI allocates the memory of this window, on the host; use -window create or dynamic");
  put.one_sided.loads_and_stores = true;
  CHECK(memory_error(put, source, WindowKind::create) ==
        "-memory cuda,host: loads and stores of the CPU need host memory");
}

TEST_CASE("calls of Open MPI that do not support GPU memory") {
  MemoryChoice memory{.send = MemoryKind::rocm, .limited_mpi = true};
  const auto runs = [&](const Spec& spec) { return memory_error(spec, memory, WindowKind::create).empty(); };
  const Spec blocking{.name = "Allreduce", .reduction = true};
  const Spec accumulate{.name = "Accumulate", .reduction = true, .access = Access::passive_target};
  const Spec nonblocking{.name = "Iallreduce_pure", .reduction = true, .starts = true};
  const Spec persistent{.name = "Allreduce_persist", .reduction = true, .starts = true};
  const Spec moving{.name = "Ibcast", .starts = true};
  const Spec scattered{.name = "Reduce_scatter", .receive = Messages::even_share, .reduction = true};
  const Spec local{.name = "Reduce_local", .reduction = true, .updates_receive = true};
  const Spec in_blocks{.name = "Reduce_scatter_block", .receive = Messages::block_share, .reduction = true};
  const Spec put{.name = "Unidir_put", .access = Access::passive_target};
  CHECK(runs(blocking));
  CHECK(runs(in_blocks));
  CHECK_FALSE(runs(scattered));
  CHECK_FALSE(runs(local));
  CHECK(memory_error(put, memory, WindowKind::create) ==
        "-memory rocm,host: this MPI documents no one-sided communication with GPU memory; -gpu_check "
        "trust runs it");
  CHECK(runs(moving));
  CHECK_FALSE(runs(accumulate));
  CHECK_FALSE(runs(nonblocking));
  CHECK_FALSE(runs(persistent));
  CHECK(
      memory_error(persistent, memory, WindowKind::create) ==
      "-memory rocm,host: this MPI reduces GPU memory only in Allreduce, Reduce, Reduce_scatter_block, Scan "
      "and Exscan; -gpu_check trust runs it");
  memory.send = MemoryKind::rocm_managed;
  CHECK(runs(persistent));
  memory = {.send = MemoryKind::rocm};
  CHECK(runs(persistent));
}

TEST_CASE("whether an MPI supports GPU memory") {
  std::map<std::string, std::string> set;
  const auto answer = [&](GpuAnswers answers, GpuApi api = GpuApi::cuda) {
    answers.setting = [&](const char* name) -> std::optional<std::string> {
      if (set.count(name) == 0) return std::nullopt;
      return set[name];
    };
    const GpuSupport support = support_of(api, answers);
    return std::string(name_of(support.answer)) + ": " + support.source + ": " + support.remedy;
  };
  const std::string call = "MPIX_Query_cuda_support";
  CHECK(answer({.library = "Open MPI v5.0.7", .call = call, .supported = true}) == "yes: " + call + ": ");
  CHECK(answer({.library = "Open MPI v5.0.7", .call = call}) ==
        "no: " + call + " returned 0: use an MPI built with --with-cuda");
  CHECK(answer({.library = "Open MPI v6.0.0", .memory_kinds = "system,mpi,rocm:device"}, GpuApi::rocm) ==
        "yes: mpi_memory_alloc_kinds system,mpi,rocm:device: ");
  CHECK(answer({.library = "Another MPI"}) == "unknown: no call or info key of this MPI: ");
  CHECK(answer({.library = "Intel(R) MPI Library 2021.14"}) ==
        "no: I_MPI_OFFLOAD is not set: set I_MPI_OFFLOAD=1");
  CHECK(answer({.library = "CRAY MPICH version 8.1"}) ==
        "no: MPICH_GPU_SUPPORT_ENABLED is not set: set MPICH_GPU_SUPPORT_ENABLED=1 and "
        "LD_PRELOAD=libmpi_gtl_cuda.so");
  CHECK(answer({.library = "CRAY MPICH version 8.1"}, GpuApi::rocm) ==
        "no: MPICH_GPU_SUPPORT_ENABLED is not set: set MPICH_GPU_SUPPORT_ENABLED=1 and "
        "LD_PRELOAD=libmpi_gtl_hsa.so");
  CHECK(answer({.library = "Open MPI v6.0.0", .memory_kinds = "system,mpi,cuda:host"})
            .starts_with("unknown: "));
  CHECK(answer({.library = "Open MPI v6.0.0", .memory_kinds = "cuda,mpi"}).starts_with("yes: "));
  set = {{"I_MPI_OFFLOAD", "1"}, {"MPICH_GPU_SUPPORT_ENABLED", "1"}, {"MPIR_CVAR_ENABLE_GPU", "0"}};
  CHECK(answer({.library = "Intel(R) MPI Library 2021.14"}) == "yes: I_MPI_OFFLOAD=1: ");
  CHECK(answer({.library = "Intel(R) MPI Library 2021.14"}, GpuApi::rocm) ==
        "no: Intel(R) MPI does not support AMD GPUs: use an MPI built with --with-hip");
  set["I_MPI_OFFLOAD_MODE"] = "level_zero";
  CHECK(answer({.library = "Intel(R) MPI Library 2021.14"}) ==
        "no: I_MPI_OFFLOAD_MODE=level_zero: set I_MPI_OFFLOAD_MODE=cuda");
  set["I_MPI_OFFLOAD_MODE"] = "auto";
  CHECK(answer({.library = "Intel(R) MPI Library 2021.14"}) == "yes: I_MPI_OFFLOAD=1: ");
  CHECK(answer({.library = "CRAY MPICH version 8.1"}) == "yes: MPICH_GPU_SUPPORT_ENABLED=1: ");
  CHECK(answer({.library = "MPICH Version: 5.0.2", .call = call, .supported = true}) ==
        "no: MPIR_CVAR_ENABLE_GPU=0: set MPIR_CVAR_ENABLE_GPU=1");
  CHECK(supports_gpus_in_part("Open MPI v5.0.7"));
  CHECK_FALSE(supports_gpus_in_part("MPICH Version: 5.0.2"));
}

TEST_CASE("MPI products: calls that hang, variables without effect") {
  CHECK(hang_reason("Psend_init", "Open MPI v5.0.11, package: x") ==
        "this MPI, Open MPI 5.0, hangs in partitioned communication");
  CHECK(hang_reason("Psend_init", "Open MPI v6.0.0").empty());
  CHECK(hang_reason("Send", "Open MPI v5.0.11").empty());
  CHECK_FALSE(init_only_reason("MPIR_CVAR_CH4_NETMOD").empty());
  CHECK(init_only_reason("CH4_NETMOD").empty());
  CHECK(init_only_reason("MPIR_CVAR_BCAST_INTRA_ALGORITHM").empty());
  CHECK(required_switch("coll_tuned_bcast_algorithm").name == "coll_tuned_use_dynamic_rules");
  CHECK(required_switch("coll_tuned_use_dynamic_rules").name.empty());
  CHECK(device_switch("MPIR_CVAR_BCAST_INTRA_ALGORITHM").name == "MPIR_CVAR_BCAST_DEVICE_COLLECTIVE");
  CHECK(device_switch("MPIR_CVAR_BCAST_MIN_PROCS").name.empty());
}

TEST_CASE("an MPI is asked for its own settings only") {
  const auto asked = [](const char* library, GpuApi api = GpuApi::cuda) {
    std::string names;
    support_of(api, {.library = library, .setting = [&](const char* name) -> std::optional<std::string> {
                       (names += name) += ' ';
                       return "1";
                     }});
    return names;
  };
  CHECK(asked("Open MPI v5.0.7").empty());
  CHECK(asked("Another MPI").empty());
  CHECK(asked("MPICH Version: 5.0.2") == "MPIR_CVAR_ENABLE_GPU ");
  CHECK(asked("CRAY MPICH version 8.1") == "MPICH_GPU_SUPPORT_ENABLED ");
  CHECK(asked("Intel(R) MPI Library 2021.14") == "I_MPI_OFFLOAD I_MPI_OFFLOAD_MODE ");
  CHECK(asked("Intel(R) MPI Library 2021.14", GpuApi::rocm).empty());
}

TEST_CASE("memory from a driver: written bytes are read, also in parts, and everything is freed") {
  for (const auto& [kind, how] : {std::pair{MemoryKind::pinned, DeviceMemory::pinned},
                                  {MemoryKind::cuda, DeviceMemory::device},
                                  {MemoryKind::rocm_managed, DeviceMemory::managed}}) {
    for (const int misaligned : {0, 256}) {
      OwnDevice device;
      device.misaligned = misaligned;
      {
        const auto memory = allocate_memory(kind, 10000, 8192, &device);
        CHECK(memory->kind() == kind);
        CHECK(memory->bytes() == 10000);
        CHECK(reinterpret_cast<std::uintptr_t>(memory->address()) % 8192 == 0);
        REQUIRE(device.kinds.size() == 1);
        CHECK(device.kinds.begin()->second == how);
        const std::vector<std::byte> image(100, std::byte{7});
        memory->write(9900, image);
        const auto part = adopt_memory(kind, memory->address() + 9000, 1000, &device);
        CHECK(part->kind() == kind);
        std::vector<std::byte> read(100);
        part->read(900, read);
        CHECK(read == image);
        memory->write(0, {});
        CHECK(device.copies == (kind == MemoryKind::pinned ? 0 : 2));
      }
      CHECK(device.kinds.empty());
      CHECK_FALSE(device.wrongly_freed);
    }
  }
}

TEST_CASE("a GPU with too little memory") {
  OwnDevice device;
  CHECK_THROWS_AS(allocate_memory(MemoryKind::cuda, 2 << 20, 1, &device), std::bad_alloc);
  CHECK(device.kinds.empty());
}
