#include "plan/schedule.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "model/saturating.h"
#include "model/synchronization.h"
#include "plan/exclusions.h"
#include "plan/groups.h"
#include "plan/lengths.h"
#include "plan/mpi_memory.h"

namespace openimb {

namespace {

// The length of the warm-up message is sizeof(assign_type), but at least one element. Source: guide, "Warm-Up
// Phase".
constexpr std::int64_t assign_type_bytes = 4;

std::int64_t warm_up_bytes(const Spec& spec, const Element& element) {
  return spec.kind == Kind::synchronization ? 0 : std::max(assign_type_bytes, element.size());
}

Failure invalid_processes(const Spec& spec, int processes) {
  const std::string grid = spec.stencil.dimensions == 2 ? "two numbers above 1: 4, 6, 8, 9, ..."
                                                        : "three numbers above 1: 8, 12, 16, 18, ...";
  return {.cause = Failure::Cause::invalid_processes,
          .detail = has_torus(spec, processes) ? "needs at least 2 ranks"
                                               : "needs a number of ranks that is a product of " + grid};
}

}  // namespace

Failure out_of_memory(const Point& point, bool beyond_limit, bool on_gpu) {
  const char* const left =
      on_gpu ? "not enough memory left on the GPU or the machine" : "not enough memory left on the machine";
  return {.cause = Failure::Cause::out_of_memory,
          .bytes = point.bytes,
          .needed_bytes = point.needed_bytes,
          .detail = beyond_limit ? "above the limit set by -mem" : left,
          .limit = beyond_limit};
}

Schedule::Schedule(std::span<const Spec> catalog, const Options& options, int ranks,
                   const std::optional<OffCache>& off_cache, bool large_counts)
    : catalog_(catalog),
      options_(options),
      ranks_(ranks),
      off_cache_(off_cache),
      large_counts_(large_counts) {
  for (const SelectedBenchmark& selected : options.selection) add_tables(selected);
}

void Schedule::add_tables(const SelectedBenchmark& selected) {
  const Spec& spec = catalog_[static_cast<std::size_t>(selected.index)];
  const bool prefixed_only = selected.multi && options_.multi == Multi::off;
  const Multi multi = prefixed_only ? Multi::summary : options_.multi;
  const int most = available();
  const int least = std::min(options_.min_processes.value_or(options_.defaults.min_processes), most);
  const std::vector<int> counts = process_counts(spec, most, least);
  if (counts.empty() || !exclusion_reason(spec).empty()) {
    tables_.push_back({.benchmark = selected.index, .multi = Multi::off, .processes = most});
    return;
  }
  for (const int processes : counts) {
    for (const Transfers transfers : modes_of(spec)) {
      add_variants({selected.index, multi, processes, transfers});
    }
  }
}

// Adds a table for each variant. The variants of a table follow each other.
void Schedule::add_variants(TableKey key) {
  if (options_.variants.empty()) return tables_.push_back(key);
  for (std::size_t i = 0; i < options_.variants.size(); ++i) {
    key.variant = static_cast<int>(i);
    tables_.push_back(key);
  }
}

std::vector<int> variant_order(int variants, int visit) {
  std::vector<int> order;
  const bool reversed = visit / variants % 2 == 1;
  for (int i = 0; i < variants; ++i) {
    const int place = reversed ? variants - 1 - i : i;
    order.push_back((visit + place) % variants);
  }
  return order;
}

int Schedule::available() const {
  const std::size_t ranks =
      options_.fabric ? options_.fabric->ranks.size() : rank_order(ranks_, options_.map).size();
  return static_cast<int>(ranks);
}

std::string Schedule::exclusion_reason(const Spec& spec) const {
  if (!spec.unavailable.empty()) return std::string(spec.unavailable);
  for (const std::string& why :
       {sync_mode_error(spec, options_.sync_mode), send_mode_error(spec, options_.send_mode),
        layout_error(spec, options_.layout), memory_error(spec, options_.memory, options_.window_kind),
        clock_error(spec)}) {
    if (!why.empty()) return why;
  }
  return {};
}

std::string Schedule::clock_error(const Spec& spec) const {
  if (!options_.starts_by_clock() || spec.can_start_by_clock()) return {};
  return "-sync_start clock works only with blocking collectives and MPI_Barrier";
}

std::vector<Transfers> Schedule::modes_of(const Spec& spec) const {
  if (spec.aggregation == Aggregation::none) return {Transfers::unmarked};
  if (spec.aggregation == Aggregation::aggregate_only) return {Transfers::aggregate};
  if (spec.aggregation == Aggregation::non_aggregate_only) return {Transfers::non_aggregate};
  if (options_.aggregate_mode == AggregateMode::aggregate) return {Transfers::aggregate};
  if (options_.aggregate_mode == AggregateMode::non_aggregate) return {Transfers::non_aggregate};
  if (spec.aggregation == Aggregation::aggregate_first) {
    return {Transfers::aggregate, Transfers::non_aggregate};
  }
  return {Transfers::non_aggregate, Transfers::aggregate};
}

// Returns the Spec of a benchmark with the changes that options make.
Spec Schedule::spec_of(int benchmark) const {
  Spec spec = catalog_[static_cast<std::size_t>(benchmark)];
  if (spec.topology.exists() && options_.topology) spec.topology = *options_.topology;
  if (options_.starts_by_clock() && spec.can_start_by_clock()) {
    spec.table = options_.arrival ? &tables::arrivals_of_pattern : &tables::arrivals;
  }
  if (!options_.pairs) return spec;
  if (spec.any_torus) {
    spec.stencil = options_.pairs->halo;
    spec.sent = spec.stencil.neighbors();
  }
  if (spec.in_pairs && spec.message_rate) spec.max_pairs = options_.pairs->max_pairs;
  return spec;
}

// Returns how many messages one process receives at once. All partners of a hub send to it.
std::int64_t Schedule::received_at_once(int in_flight) const {
  const bool hub = options_.fabric && has_hub(options_.fabric->rounds);
  return hub ? times(available() - 1, in_flight) : in_flight;
}

bool Schedule::was_named(int benchmark) const {
  return std::ranges::any_of(options_.selection, [&](const SelectedBenchmark& selected) {
    return selected.index == benchmark && !selected.by_default;
  });
}

TablePlan Schedule::plan(const TableKey& key) const {
  const Spec spec = spec_of(key.benchmark);
  TablePlan plan{.benchmark = key.benchmark,
                 .variant = key.variant,
                 .table = {.spec = spec,
                           .grouping = {.processes = key.processes,
                                        .threads = threads_that_communicate(spec),
                                        .world = ranks_,
                                        .groups = {},
                                        .map = {}},
                           .multi = key.multi,
                           .transfers = key.transfers,
                           .defects = options_.check,
                           .tail = options_.show_tail,
                           .precision = options_.passes.has_value(),
                           .names_topology = spec.topology.exists() && options_.topology.has_value()},
                 .element = options_.element(spec),
                 .policy = effective_policy(options_.settings.policy, spec),
                 .synchronized = options_.synchronize_each && spec.kind == Kind::collective &&
                                 key.transfers != Transfers::aggregate,
                 .gated = options_.starts_by_clock(),
                 .points = {},
                 .warm_up = {},
                 .failure = {}};
  if (key.variant >= 0) plan.table.variant = options_.variants[static_cast<std::size_t>(key.variant)].label;
  if (const std::string why = exclusion_reason(spec); !why.empty()) {
    plan.failure = {.cause = Failure::Cause::unavailable, .detail = why};
  } else if (process_counts(spec, key.processes, key.processes).empty()) {
    plan.failure = invalid_processes(spec, key.processes);
    plan.failure->counts = has_torus(spec, key.processes) || was_named(key.benchmark);
  }
  if (!plan.failure && spec.threaded && options_.stride >= key.processes) {
    plan.failure = {
        .cause = Failure::Cause::invalid_processes,
        .detail = "no two of its ranks are -stride " + std::to_string(options_.stride) + " apart"};
  }
  if (plan.failure) return plan;
  plan.table.grouping = make_grouping(ranks_, key.processes, key.multi != Multi::off, options_.map);
  if (options_.fabric) plan.table.grouping.groups = {options_.fabric->ranks};
  plan.table.grouping.threads = threads_that_communicate(spec);
  for (const std::int64_t bytes : message_lengths(spec, options_)) {
    plan.points.push_back(plan_point(plan, bytes));
  }
  // Files have no warm-up. Source: guide, "Warm-Up Phase".
  if (options_.warm_up && !spec.uses_files()) {
    plan.warm_up = plan_point(plan, threads_with_messages(spec) * warm_up_bytes(spec, plan.element));
    if (plan.warm_up->failure) plan.warm_up.reset();
  }
  return plan;
}

// If the messages in flight exceed -mem, the point gets as many as fit. IMB-FABRIC does not reduce the
// number, because it compares pairs with each other.
Point Schedule::plan_point(const TablePlan& plan, std::int64_t bytes) const {
  const auto fits = [this](const Point& candidate) {
    return candidate.needed_bytes <= options_.settings.max_memory;
  };
  Point point = plan_point(plan, bytes, options_.in_flight);
  if (fits(point) || plan.spec().receive != Messages::in_flight || options_.fabric) return point;
  int fitting = 0, exceeding = options_.in_flight;
  while (exceeding - fitting > 1) {
    const int middle = fitting + (exceeding - fitting) / 2;
    Point fewer = plan_point(plan, bytes, middle);
    if (fits(fewer)) {
      fitting = middle;
      point = std::move(fewer);
    } else {
      exceeding = middle;
    }
  }
  return point;
}

Point Schedule::plan_point(const TablePlan& plan, std::int64_t bytes, int in_flight) const {
  const Spec& spec = plan.spec();
  const Settings& settings = options_.settings;
  const int processes = plan.table.grouping.processes;
  const std::int64_t bytes_per_thread = bytes / threads_with_messages(spec);
  Point point{.bytes = bytes,
              .geometry = {},
              .in_flight = in_flight,
              .fewer = in_flight < options_.in_flight,
              .failure = {}};
  point.planned = planned_repetitions(settings, max_repetitions(settings, spec, plan.table.transfers),
                                      plan.policy, bytes_per_thread, processes);
  // Every repetition has its own part of the file, so one section of the buffers is enough.
  const std::int64_t sections =
      spec.uses_files() ? 1 : disjoint_sections(settings, plan.table.transfers, point.planned, bytes);
  point.geometry = plan_geometry(spec, bytes_per_thread, processes, plan.element, off_cache_, sections,
                                 received_at_once(in_flight));
  point.needed_bytes = memory_needed(plan, point);
  point.failure = failure_of(plan, point);
  return point;
}

int Schedule::threads_with_messages(const Spec& spec) const {
  return spec.threaded ? options_.threads.count : 1;
}
int Schedule::threads_that_communicate(const Spec& spec) const {
  return spec.partitioned ? options_.threads.count : threads_with_messages(spec);
}

// Returns the bytes that a process needs for a point: message buffers, requests, the times of repetitions
// (two copies, one of them to compare ranks), the attached buffer of buffered sends, and with -check one
// chunk to compose and one to read. Every thread has its own buffers, chunks and requests.
std::int64_t Schedule::memory_needed(const TablePlan& plan, const Point& point) const {
  const Geometry& geometry = point.geometry;
  const std::int64_t widest =
      plan.spec().uses_files() ? geometry.total() : geometry.receive_span(geometry.sections);
  const std::int64_t images = options_.check ? 2 * std::min(image_chunk, widest) : 0;
  const bool each_timed = options_.every_repetition() || plan.synchronized || plan.gated;
  // Counts the series of time stamps and the series that are computed from them.
  constexpr std::int64_t gated_series = 10;
  const std::int64_t samples = plan.gated   ? times(gated_series, point.planned)
                               : each_timed ? point.planned
                                            : 0;
  const int threads = plan.table.timed_threads();
  const std::int64_t series = 2 + (threads > 1 ? threads : 0);
  const std::int64_t buffered = options_.send_mode == SendMode::buffered
                                    ? buffered_bytes(plan.spec(), point.in_flight, point.bytes)
                                    : 0;
  const std::int64_t requests = request_bytes(plan.spec(), geometry,
                                              {.processes = plan.table.grouping.processes,
                                               .partitions = options_.partitions,
                                               .one_way = received_at_once(point.in_flight)});
  return plus(times(threads, plus(geometry.total(), images, requests)),
              times(series, samples, std::int64_t{sizeof(double)}), buffered);
}

std::optional<Failure> Schedule::failure_of(const TablePlan& plan, const Point& point) const {
  constexpr int max_int = std::numeric_limits<int>::max();
  if (point.needed_bytes > options_.settings.max_memory) return out_of_memory(point, true);
  if (plan.spec().message_rate && received_at_once(point.in_flight) > max_int / 2) {
    return Failure{.cause = Failure::Cause::int_overflow,
                   .bytes = point.bytes,
                   .detail = "MPI_Waitall cannot count the messages in flight; use a smaller -window_size",
                   .limit = true};
  }
  if (point.geometry.exceeds_int && !large_counts_) {
    return Failure{.cause = Failure::Cause::int_overflow,
                   .bytes = point.bytes,
                   .detail = "a count or displacement exceeds an int and this MPI has no large-count calls",
                   .limit = true};
  }
  return std::nullopt;
}

std::unique_ptr<Sampling> Schedule::sampling(const TablePlan& plan, const Point& point) const {
  std::unique_ptr<Sampling> sampling = std::make_unique<GuideSampling>(limits(plan, point));
  if (options_.fabric) return std::make_unique<AtLeastOneSampling>(std::move(sampling));
  const std::int64_t cycle = cycle_of(plan, point);
  // Aggregate transfers complete together, and the repetitions of a file continue in it, so neither has
  // segments.
  if (options_.interleaving && !plan.spec().uses_files() && !plan.table.aggregate()) {
    const int segments = options_.interleaving->segments;
    sampling = std::make_unique<SegmentedSampling>(std::move(sampling), segments, cycle);
  }
  if (plan.gated) sampling = std::make_unique<EarlyExitSampling>(std::move(sampling), cycle);
  return sampling;
}

std::unique_ptr<Sampling> Schedule::sampling(const TablePlan& plan, const Point& point,
                                             PassLimits pass) const {
  const Spec& spec = plan.spec();
  pass.cycle = rotation(plan);
  const bool count_requested = options_.settings.repetitions != options_.defaults.settings.repetitions;
  pass.limited = count_requested || spec.uses_files() || plan.table.aggregate() || plan.synchronized;
  pass.runs = spec.overlap == Overlap::matched                     ? 3
              : spec.one_sided.computing_target || spec.overlaps() ? 2
                                                                   : 1;
  auto sample = std::make_unique<PassSampling>(limits(plan, point), pass);
  if (!plan.gated) return sample;
  return std::make_unique<EarlyExitSampling>(std::move(sample), cycle_of(plan, point));
}

SamplingLimits Schedule::limits(const TablePlan& plan, const Point& point) const {
  const Spec& spec = plan.spec();
  return {.settings = options_.settings,
          .policy = plan.policy,
          .planned = point.planned,
          .processes = plan.table.grouping.processes,
          .load_seconds = spec.overlap == Overlap::fixed ? options_.settings.target_cpu_seconds : 0,
          .warm_up = options_.warm_up && !spec.uses_files()};
}

// Returns the number of repetitions after which buffers and roots repeat.
std::int64_t Schedule::cycle_of(const TablePlan& plan, const Point& point) const {
  return std::max(point.geometry.slots, rotation(plan));
}

// Returns the number of repetitions after which the first root is root again.
std::int64_t Schedule::rotation(const TablePlan& plan) const {
  return options_.moves_root(plan.spec()) ? plan.table.grouping.processes : 1;
}

}  // namespace openimb
