// The output of a launch with -memory: failure rows of benchmarks that cannot use it, the banner, the record.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "plan/schedule.h"
#include "report/banner.h"
#include "report/run_record.h"

using namespace openimb;

namespace {

constexpr Spec catalog[] = {
    {.name = "PingPong", .kind = Kind::single_transfer},
    {.name = "Unidir_put",
     .kind = Kind::single_transfer,
     .access = Access::passive_target,
     .one_sided = {.exposed = ExposedBuffer::receive}},
    {.name = "Shared_store",
     .kind = Kind::single_transfer,
     .access = Access::passive_target,
     .one_sided = {.exposed = ExposedBuffer::receive,
                   .window = WindowKind::shared,
                   .loads_and_stores = true}},
};

Options everything_in(MemoryKind send, MemoryKind receive) {
  Options options;
  for (int index = 0; index < 3; ++index) options.selection.push_back({.index = index});
  options.memory = {.send = send, .receive = receive};
  return options;
}

/// Returns the names of benchmarks with a failure instead of a table.
std::vector<std::string> refused(const Options& options) {
  const std::optional<OffCache> no_off_cache;
  const Schedule schedule(catalog, options, 2, no_off_cache, true);
  std::vector<std::string> names;
  for (const TableKey& key : schedule.tables()) {
    const TablePlan plan = schedule.plan(key);
    if (!plan.failure) continue;
    CHECK(plan.failure->cause == Failure::Cause::unavailable);
    CHECK(plan.failure->detail.starts_with("-memory " + options.memory.names() + ": "));
    names.emplace_back(plan.spec().name);
  }
  return names;
}

RunFacts facts_with_gpu() {
  RunFacts facts;
  facts.gpus = {{.host = "node1",
                 .index = 1,
                 .name = "Example GPU",
                 .api = GpuApi::cuda,
                 .driver = "12.8",
                 .bus_address = "0000:17:00.0",
                 .ranks = {0, 2}}};
  facts.gpu_support =
      GpuSupport{.answer = GpuSupport::Answer::yes, .source = "MPIX_Query_cuda_support", .remedy = {}};
  return facts;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("benchmarks that cannot use the memory have a failure row, the others a table") {
  using Names = std::vector<std::string>;
  CHECK(refused(everything_in(MemoryKind::host, MemoryKind::host)).empty());
  CHECK(refused(everything_in(MemoryKind::cuda, MemoryKind::cuda)) == Names{"Shared_store"});
  Options allocated = everything_in(MemoryKind::host, MemoryKind::cuda_managed);
  allocated.window_kind = WindowKind::allocate;
  CHECK(refused(allocated) == Names{"Unidir_put", "Shared_store"});
  allocated.memory = {.send = MemoryKind::pinned};
  CHECK(refused(allocated) == Names{"Shared_store"});
}

TEST_CASE("the banner states the memory, the GPUs with their ranks, and the MPI's support") {
  const RunFacts facts = facts_with_gpu();
  Options options = everything_in(MemoryKind::cuda, MemoryKind::host);
  const std::string text = banner(facts, options, {});
  CHECK(has(text, "# Memory                         :   cuda (send), host (receive)\n"));
  CHECK(has(text,
            "# GPU                            :   node1 1: Example GPU, 0000:17:00.0, CUDA 12.8, "
            "ranks 0,2\n"));
  CHECK(has(text, "# MPI and GPU memory             :   yes (MPIX_Query_cuda_support)\n"));
  options.memory.receive = MemoryKind::cuda;
  options.memory.load = LoadPlace::device;
  CHECK(has(banner(facts, options, {}), "# Memory                         :   cuda; load on the GPU\n"));
  CHECK_FALSE(has(banner({}, Options{}, {}), "Memory"));
}

TEST_CASE("the record does not mention GPUs if buffers are on the host") {
  CHECK_FALSE(has(run_record({}, {}), "gpu"));
  const std::string text = run_record(facts_with_gpu(), {});
  CHECK(has(text, R"("gpu_support":{"answer":"yes","source":"MPIX_Query_cuda_support"})"));
  CHECK(has(text, R"("ranks":[0,2]})"));
}
