// What is printed on stderr when a launch ends.
#include <catch2/catch.hpp>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>

#include "plan/groups.h"
#include "report/summary.h"
#include "temporary.h"

using namespace openimb;

namespace {

constexpr Spec pingpong{.name = "PingPong", .kind = Kind::single_transfer};
constexpr Spec barrier{.name = "Barrier", .kind = Kind::synchronization};

Table table_of(const Spec& spec, int processes) {
  return {.spec = spec, .grouping = make_grouping(processes, processes, false, {})};
}
Ending make_ending(std::int64_t failed, std::int64_t defects, std::int64_t limited = 0) {
  return {.reason = "", .measured = 3, .failed = failed, .limited = limited, .defects = defects};
}

std::string summary_of(const std::function<void(Reporter&)>& use) {
  const testing::Folder folder;
  const std::string path = folder.file("errors");
  {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "w"), std::fclose);
    REQUIRE(file);
    SummaryReporter reporter(file.get());
    RunFacts facts;
    facts.component = "MPI1";
    reporter.begin(facts, Options{});
    use(reporter);
  }
  return testing::text_in(path);
}

}  // namespace

TEST_CASE("a launch that measured everything ends without a line on stderr") {
  CHECK(summary_of([](Reporter& out) { out.end(make_ending(0, 0)); }).empty());
}

TEST_CASE("rows beyond a limit and failed rows have a line each with the first cause") {
  const Failure memory{.cause = Failure::Cause::out_of_memory,
                       .bytes = 4194304,
                       .needed_bytes = 8388608,
                       .detail = "above the limit set by -mem",
                       .limit = true};
  const std::string first =
      "PingPong, 2 processes, 4194304 B: out of memory: above the limit set by -mem (0.008 GB needed); give "
      "more memory with -mem, or run smaller messages (-msglog) or fewer ranks\n";
  CHECK(summary_of([&](Reporter& out) {
          out.failure(table_of(pingpong, 2), memory);
          out.end(make_ending(1, 0, 1));
        }) == "IMB-MPI1: 1 row beyond a limit: " + first);
  CHECK(summary_of([&](Reporter& out) {
          out.failure(table_of(barrier, 2), {.cause = Failure::Cause::no_space, .detail = "full"});
          out.failure(table_of(pingpong, 2), memory);
          out.failure(table_of(barrier, 2), {.cause = Failure::Cause::time_out, .detail = "", .limit = true});
          out.end(make_ending(3, 0, 2));
        }) == "IMB-MPI1: 2 rows beyond a limit, the first: " + first +
                  "IMB-MPI1: 1 row failed: Barrier, 2 processes: no space: full; choose a folder with more " +
                  "space (-file), or run smaller messages (-msglog) or fewer repetitions (-iter)\n");
}

TEST_CASE("a table that failed is named without a length") {
  CHECK(summary_of([](Reporter& out) {
          out.failure(table_of(pingpong, 1),
                      {.cause = Failure::Cause::invalid_processes, .detail = "needs at least 2 ranks"});
          out.end(make_ending(1, 0));
        }) ==
        "IMB-MPI1: 1 row failed: PingPong, 1 process: invalid processes: needs at least 2 ranks; launch "
        "more ranks\n");
}

TEST_CASE("a row without a length is named without one") {
  CHECK(
      summary_of([](Reporter& out) {
        out.failure(table_of(barrier, 4),
                    {.cause = Failure::Cause::time_out, .seconds = 1.5, .detail = "too long"});
        out.end(make_ending(1, 0));
      }) ==
      "IMB-MPI1: 1 row failed: Barrier, 4 processes: time out: too long (1.5 s); give more time with -time, "
      "or run smaller messages (-msglog)\n");
}

TEST_CASE("an early end and wrong bytes have a line each") {
  CHECK(summary_of([](Reporter& out) {
          out.end({.state = Ending::State::interrupted, .reason = "SIGHUP", .measured = 1, .defects = 12});
        }) ==
        "IMB-MPI1: interrupted: SIGHUP; 1 point measured\n"
        "IMB-MPI1: 12 wrong bytes; do not trust these results\n");
}
