#include "fake_launch.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <utility>

#include "meeting.h"

namespace openimb::fake {

namespace {

constexpr std::chrono::seconds patience{30};  // only a failing test waits this long

std::string numbered(const char* word, std::int64_t number) {
  return std::string(word) + ' ' + std::to_string(number);
}

// The meeting of all ranks, and one for each group of each table, which the first rank of the group to arrive
// creates.
class World {
 public:
  explicit World(int ranks) : all_("world", ranks, verdict_, patience) {}
  Meeting& all() { return all_; }
  Verdict& verdict() { return verdict_; }
  Meeting& group(const std::string& name, int ranks) {
    const std::scoped_lock lock(mutex_);
    auto& group = groups_[name];
    if (!group) group = std::make_unique<Meeting>(name, ranks, verdict_, patience);
    return *group;
  }

 private:
  Verdict verdict_;
  Meeting all_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Meeting>> groups_;
};

class FakeBatch final : public Batch {
 public:
  FakeBatch(const Model& model, const Table& table, const Point& point, Rank& rank, Meeting& group, int mine)
      : model_(model), rank_(rank), group_(group), mine_(mine), at_{table, point.bytes, rank.rank} {}
  FakeBatch(const FakeBatch&) = delete;
  FakeBatch& operator=(const FakeBatch&) = delete;
  // All ranks of the group free it together, as they do with windows and files.
  ~FakeBatch() override {
    try {
      group_.exchange(mine_, numbered("free batch", at_.bytes));
    } catch (const Disagreement&) {  // the verdict has the reason
    }
  }

  void prepare() override { call("prepare"); }
  void conclude(std::int64_t repetitions) override { call("conclude", repetitions); }

  double run(std::int64_t repetitions, Timing timing, std::span<double> repetition_seconds) override {
    return timed("run", repetitions, timing, repetition_seconds, [&] { return model_.seconds(at_); });
  }

  double run_with_load(std::int64_t repetitions, Timing timing, std::span<double> repetition_seconds,
                       LoadUse& load) override {
    return timed("run with load", repetitions, timing, repetition_seconds, [&] {
      if (model_.computing) load.computing += model_.computing(at_, load);
      return model_.with_load(at_, load);
    });
  }

  std::int64_t check(std::int64_t repetitions) override {
    call("check", repetitions);
    return model_.wrong_bytes ? model_.wrong_bytes(at_) : 0;
  }

  bool takes_part() const override { return !model_.takes_part || model_.takes_part(at_.table, at_.rank); }
  std::string take_error() override { return std::exchange(error_, {}); }
  Hints hints() const override { return model_.hints; }

 private:
  void call(const char* what, std::int64_t repetitions = -1) {
    rank_.log.push_back(repetitions < 0 ? what : numbered(what, repetitions));
    const bool in_loops = repetitions >= 0 && std::string_view(what) != "conclude";
    if (in_loops && rank_.variant != at_.table.variant) {
      rank_.log.push_back("run under \"" + rank_.variant + "\" instead of " + std::string(at_.table.variant));
    }
    group_.exchange(mine_, rank_.log.back());
    if (model_.error && error_.empty()) error_ = model_.error(at_, what);
  }

  template <class Seconds>
  double timed(const char* what, std::int64_t repetitions, Timing timing,
               std::span<double> repetition_seconds, Seconds seconds) {
    call(what, repetitions);
    double sum = 0;
    for (at_.repetition = 0; at_.repetition < repetitions; ++at_.repetition) {
      const double took = takes_part() ? seconds() : 0;
      sum += took;
      const auto stamps_at = static_cast<std::size_t>(at_.repetition);
      if (timing == Timing::at_agreed_times) {
        const double start = rank_.clock + sum - took;
        std::ranges::copy(std::array{start, start, start + took},
                          repetition_seconds.subspan(stamps_each * stamps_at).begin());
      } else if (timing != Timing::total) {
        repetition_seconds[stamps_at] = took;
      }
    }
    at_.repetition = 0;
    ++at_.run;
    rank_.clock += sum;
    return sum;
  }

  const Model& model_;
  Rank& rank_;
  Meeting& group_;
  int mine_;
  At at_;
  std::string error_;
};

class FakeTable final : public OpenTable {
 public:
  FakeTable(const Model& model, const TablePlan& plan, Rank& rank, World& world, int number)
      : model_(model),
        plan_(plan),
        rank_(rank),
        world_(world),
        name_(std::string(plan.spec().name) + ' ' + std::to_string(plan.table.grouping.processes)),
        group_number_(plan.table.grouping.group_of(rank.rank)),
        meeting_(meeting_of(number)),
        group_(meeting_, plan.table.grouping.rank_in_group(rank.rank)) {
    world_.all().exchange(rank.rank, "open table " + name_);
  }
  FakeTable(const FakeTable&) = delete;
  FakeTable& operator=(const FakeTable&) = delete;
  ~FakeTable() override {
    try {
      world_.all().exchange(rank_.rank, "close table " + name_);
    } catch (const Disagreement&) {  // the verdict has the reason
    }
  }

  std::optional<Failure> failure() const override {
    return model_.table_failure ? model_.table_failure(plan_.table) : std::nullopt;
  }
  bool has_memory_for(const Point& point) const override { return every_rank(model_.has_memory, point); }
  ProcessGroup& group() override { return group_; }

  OpenResult open(const Point& point, std::int64_t) override {
    world_.all().exchange(rank_.rank, numbered("open batch", point.bytes));
    ++rank_.batches;
    rank_.log.push_back(numbered("open", point.bytes));
    if (!every_rank(model_.opens, point)) return {.batch = nullptr, .failure = out_of_memory(point, false)};
    if (group_number_ < 0) return {.batch = std::make_unique<IdleBatch>(), .failure = {}};
    return {.batch = std::make_unique<FakeBatch>(model_, plan_.table, point, rank_, meeting_, group_.rank()),
            .failure = {}};
  }

  bool resume() override {
    rank_.log.emplace_back("resume");
    return !model_.loses_memory || !model_.loses_memory(plan_.table);
  }
  void use_variant(bool on) override {
    if (on) rank_.variant = plan_.table.variant;
    if (!on) rank_.variant.clear();
  }
  double probe(int exchanges) override {
    if (!rank_.variant.empty()) rank_.log.push_back("probe under " + rank_.variant);
    if (group_number_ < 0) return std::nan("");
    meeting_.exchange(group_.rank(), numbered("probe", exchanges));
    const double each = model_.probe ? model_.probe(rank_) : 0x1p-20;
    rank_.clock += each * exchanges;
    return each;
  }

  std::string fill_files(const Point& point) override {
    world_.all().exchange(rank_.rank, "fill files");
    return model_.error ? model_.error({plan_.table, point.bytes, rank_.rank}, "fill") : "";
  }

 private:
  Meeting& meeting_of(int number) {
    const std::string name = "table " + std::to_string(number) + ", ";
    if (group_number_ < 0) return world_.group(name + "idle rank " + std::to_string(rank_.rank), 1);
    return world_.group(name + "group " + std::to_string(group_number_), plan_.table.grouping.processes);
  }

  // Whether the answer is yes for every rank, as if the ranks had agreed on it.
  bool every_rank(const std::function<bool(const Table&, const Point&, int)>& question,
                  const Point& point) const {
    if (!question) return true;
    for (int rank = 0; rank < world_.all().ranks(); ++rank) {
      if (!question(plan_.table, point, rank)) return false;
    }
    return true;
  }

  const Model& model_;
  const TablePlan& plan_;
  Rank& rank_;
  World& world_;
  std::string name_;
  int group_number_;
  Meeting& meeting_;
  ThreadProcessGroup group_;
};

class FakeResources final : public Resources {
 public:
  FakeResources(const Model& model, Rank& rank, World& world) : model_(model), rank_(rank), world_(world) {}
  std::unique_ptr<OpenTable> open(const TablePlan& plan) override {
    return std::make_unique<FakeTable>(model_, plan, rank_, world_, tables_++);
  }

 private:
  const Model& model_;
  Rank& rank_;
  World& world_;
  int tables_ = 0;
};

// The group of all ranks, which can lose ranks.
class ProcessGroupWithLosses final : public ThreadProcessGroup {
 public:
  ProcessGroupWithLosses(Meeting& meeting, const Model& model, Rank& rank)
      : ThreadProcessGroup(meeting, rank.rank), model_(model), rank_(rank) {}
  double allreduce_max(double mine) override {
    if (!rank_.variant.empty()) rank_.log.push_back("agreement under " + rank_.variant);
    const double all = ThreadProcessGroup::allreduce_max(mine);
    ++rank_.agreements;
    if (model_.lost) {
      if (std::vector<int> silent = model_.lost(rank_.agreements); !silent.empty()) {
        throw UnresponsiveRanks{std::move(silent)};
      }
    }
    return all;
  }
  using ThreadProcessGroup::gather;
  std::vector<std::string> gather(const std::string& mine) override {
    std::vector<std::string> all = ThreadProcessGroup::gather(mine);
    std::vector<int> lengths;
    for (const std::string& text : all) lengths.push_back(static_cast<int>(text.size()));
    const std::int64_t bytes = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
    if (bytes > max_gathered_bytes()) throw std::length_error("more than rank 0 can gather");
    return all;
  }
  std::int64_t max_gathered_bytes() const override { return model_.max_gathered_bytes; }

 private:
  const Model& model_;
  Rank& rank_;
};

// Computes 1,024 units in a second.
class FakeLoad final : public Load {
 public:
  FakeLoad(const Model& model, Rank& rank) : model_(model), rank_(rank), calibrated_(model.calibrated) {}
  void calibrate(double) override {
    calibrated_ = true;
    rank_.log.push_back("calibrate");
  }
  bool calibrated() const override { return calibrated_; }
  std::int64_t units_for(double seconds) const override { return std::llround(seconds * 1024); }
  double seconds_for(std::int64_t units) const override { return static_cast<double>(units) / 1024; }
  double drift(double) override { return model_.drift ? model_.drift(rank_.rank, rank_.drifts++) : 0; }
  void compute(std::int64_t units) override {
    rank_.log.push_back(numbered("compute", units));
    rank_.clock += seconds_for(units);
  }

 private:
  const Model& model_;
  Rank& rank_;
  bool calibrated_;
};

// The model times of ranks are the common time.
class FakeClock final : public CommonClock {
 public:
  FakeClock(Rank& rank, World& world) : rank_(rank), world_(world) {}
  bool synchronize() override {
    world_.all().exchange(rank_.rank, "synchronize clocks");
    rank_.clock_ages.push_back(age());
    synchronized_ = rank_.clock;
    return true;
  }
  double age() const override { return rank_.clock - synchronized_; }
  double common_time(double reading) const override { return reading; }
  double bound(double) const override { return 0; }
  double disagreement() const override { return std::nan(""); }
  double tolerance() const override { return 0; }
  double now() const override { return rank_.clock; }

 private:
  Rank& rank_;
  World& world_;
  double synchronized_ = -std::numeric_limits<double>::infinity();
};

// Records what rank 0 reports. A call on another rank is a disagreement.
class RecordingReporter final : public Reporter {
 public:
  RecordingReporter(int rank, Verdict& verdict, std::vector<ReporterCall>& reported)
      : rank_(rank), verdict_(verdict), reported_(reported) {}
  void begin(const RunFacts&, const Options&) override { verdict_.disagree("the session calls begin"); }
  void open_table(const Table& table) override { add({ReporterCall::What::open_table, table}); }
  void close_table(const Table& table) override { add({ReporterCall::What::close_table, table}); }
  void row(const Table& table, const Measurement& measurement) override {
    add({.what = ReporterCall::What::row, .table = table, .measurement = measurement});
  }
  void sample(const Table& table, const PassSample& sample) override {
    add({.what = ReporterCall::What::sample, .table = table, .sample = sample});
  }
  void pairs(const Table& table, std::span<const PairSample> samples) override {
    add({.what = ReporterCall::What::pairs, .table = table, .pairs = {samples.begin(), samples.end()}});
  }
  void failure(const Table& table, const Failure& failure) override {
    add({.what = ReporterCall::What::failure, .table = table, .failure = failure});
  }
  void end(const Ending&) override { verdict_.disagree("the session calls end"); }

 private:
  void add(ReporterCall reported) {
    if (rank_ != 0) return verdict_.disagree(numbered("a reporter is called on rank", rank_));
    reported_.push_back(std::move(reported));
  }

  int rank_;
  Verdict& verdict_;
  std::vector<ReporterCall>& reported_;
};

class FakeHostServices final : public HostServices {
 public:
  FakeHostServices(const Model& model, Rank& rank, std::vector<Ending>& endings)
      : model_(model), rank_(rank), endings_(endings) {}
  bool stop_requested() override { return model_.stop && model_.stop(rank_); }
  std::string stop_reason() override { return numbered("as rank sees it:", rank_.rank); }
  void pause(double seconds) override { rank_.log.push_back("pause " + std::to_string(seconds)); }
  void progress(const Ending& so_far) override { endings_.push_back(so_far); }
  void wait_for_row() override { rank_.log.emplace_back("wait for a row"); }
  void wait_for_segment() override { rank_.log.emplace_back("wait for a segment"); }
  std::int64_t free_bytes() override {
    return model_.free_bytes ? model_.free_bytes(rank_) : std::int64_t{1} << 50;
  }
  std::optional<Reading> evidence() override {
    return model_.reading ? std::optional(model_.reading(rank_)) : std::nullopt;
  }
  double now() override { return rank_.clock; }
  double clock_resolution() override { return 1e-9; }

 private:
  const Model& model_;
  Rank& rank_;
  std::vector<Ending>& endings_;
};

void run_rank(const Schedule& schedule, const Options& options, const Model& model, World& world, int number,
              LaunchResult& outcome) {
  Rank& rank = outcome.ranks[static_cast<std::size_t>(number)];
  rank.rank = number;
  ProcessGroupWithLosses all_ranks(world.all(), model, rank);
  FakeResources resources(model, rank, world);
  FakeLoad load(model, rank);
  RecordingReporter reporter(number, world.verdict(), outcome.reported);
  FakeHostServices host(model, rank, outcome.progress);
  FakeClock clock(rank, world);
  try {
    outcome.endings[static_cast<std::size_t>(number)] =
        run_session({options, schedule, all_ranks, resources, load, reporter, host, &clock});
  } catch (const Disagreement&) {  // the verdict has the reason
  } catch (const std::exception& error) {
    world.verdict().disagree(numbered("rank", number) + " throws " + error.what());
  }
  world.all().leave(number);
}

}  // namespace

LaunchResult launch_that_may_disagree(std::span<const Spec> catalog, const Options& options, int ranks,
                                      const Model& model) {
  const std::optional<OffCache> off_cache = options.off_cache;
  const Schedule schedule(catalog, options, ranks, off_cache, true);
  World world(ranks);
  LaunchResult outcome;
  outcome.endings.resize(static_cast<std::size_t>(ranks));
  outcome.ranks.resize(static_cast<std::size_t>(ranks));
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] { run_rank(schedule, options, model, world, rank, outcome); });
    }
  }
  outcome.disagreement = world.verdict().text();
  for (int rank = 0; rank < ranks; ++rank) outcome.calls.push_back(world.all().calls(rank));
  return outcome;
}

LaunchResult launch(std::span<const Spec> catalog, const Options& options, int ranks, const Model& model) {
  LaunchResult outcome = launch_that_may_disagree(catalog, options, ranks, model);
  INFO("the ranks disagree: " << outcome.disagreement);
  REQUIRE(outcome.disagreement.empty());
  for (const auto& calls : outcome.calls) REQUIRE(calls == outcome.calls.front());
  for (const Ending& ending : outcome.endings) {
    REQUIRE(ending.state == outcome.ending().state);
    REQUIRE(ending.measured == outcome.ending().measured);
    REQUIRE(ending.failed == outcome.ending().failed);
  }
  return outcome;
}

std::vector<Measurement> LaunchResult::rows(std::string_view benchmark, int processes) const {
  std::vector<Measurement> rows;
  for (const ReporterCall& one : reported) {
    if (one.what != ReporterCall::What::row || one.table.spec.name != benchmark) continue;
    if (processes == 0 || one.table.grouping.processes == processes) rows.push_back(one.measurement);
  }
  return rows;
}

std::vector<Failure> LaunchResult::failures() const {
  std::vector<Failure> failures;
  for (const ReporterCall& one : reported) {
    if (one.what == ReporterCall::What::failure) failures.push_back(one.failure);
  }
  return failures;
}

std::vector<std::string> LaunchResult::reported_lines() const {
  constexpr const char* words[] = {"open", "close", "row", "failure", "sample", "pairs"};
  std::vector<std::string> lines;
  for (const ReporterCall& one : reported) {
    std::string line = words[static_cast<int>(one.what)];
    line += ' ' + std::string(one.table.spec.name) + ' ' + std::to_string(one.table.grouping.processes);
    if (one.what == ReporterCall::What::row) line += ' ' + std::to_string(one.measurement.bytes);
    if (one.what == ReporterCall::What::failure) line += ' ' + std::to_string(one.failure.bytes);
    lines.push_back(line);
  }
  return lines;
}

std::vector<std::string> LaunchResult::log(int rank, std::initializer_list<std::string_view> words) const {
  std::vector<std::string> found;
  for (const std::string& line : ranks[static_cast<std::size_t>(rank)].log) {
    if (std::ranges::any_of(words, [&](std::string_view word) { return line.starts_with(word); })) {
      found.push_back(line);
    }
  }
  return found;
}

Options small_options(std::size_t benchmarks) {
  Options options;
  for (std::size_t i = 0; i < benchmarks; ++i) options.selection.push_back({.index = static_cast<int>(i)});
  options.lengths = {0, 8, 64};
  options.settings.repetitions = 8;
  options.settings.non_aggregate_repetitions = 4;
  options.warm_up = false;
  return options;
}

}  // namespace openimb::fake
