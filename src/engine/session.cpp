#include "engine/session.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <new>
#include <optional>
#include <stdexcept>

#include "engine/file_content.h"
#include "mpi/file.h"
#include "mpi/window.h"
#include "plan/files.h"
#include "plan/layout.h"
#include "plan/lengths.h"
#include "plan/repetitions.h"
#include "result/statistics.h"

namespace openimb {

namespace {

// Guide, "Warm-Up Phase": a message of sizeof(assign_type), here at least one element.
constexpr std::int64_t assign_type_bytes = 4;
// What is written at once to a file that will be read.
constexpr std::int64_t fill_chunk = 16 * mebibyte;

void library_barrier(MPI_Comm comm) { MPI_Barrier(comm); }

// What a rank reports of a batch: seconds per repetition, or NaN where it took no part.
double mean_of(const Batch* batch, double elapsed, std::int64_t repetitions) {
  if (batch == nullptr || !batch->takes_part()) return std::numeric_limits<double>::quiet_NaN();
  return elapsed / static_cast<double>(repetitions);
}

// Room for the times of repetitions from this one on, where there is any.
std::span<double> samples_from(std::span<double> samples, std::int64_t first) {
  return samples.empty() ? samples : samples.subspan(static_cast<std::size_t>(first));
}

// Thrown by all ranks at once: the point under way becomes this row.
struct PointFailed {
  Failure failure;
};

class Session {
 public:
  Session(const Communicator& world, const Options& options, const std::optional<OffCache>& off_cache,
          CpuLoad& load, Reporter& reporter, const Surroundings& surroundings)
      : world_(world),
        options_(options),
        off_cache_(off_cache),
        reporter_(reporter),
        surroundings_(surroundings),
        barrier_(options.own_barrier ? dissemination_barrier : library_barrier),
        info_(options.info),
        load_(load),
        rank_(world.rank()),
        ranks_(world.size()) {}

  Ending run(std::span<const Entry> entries);

 private:
  // One benchmark on one layout, seen from this rank.
  struct Scene {
    const Entry& entry;
    Table table;
    Element element;
    SumOperation sum;
    Communicator group;  ///< null on ranks that wait
    IterationPolicy policy;

    bool active() const { return group.contains_me(); }
    const Spec& spec() const { return *entry.spec; }
    bool on_files() const { return spec().access == Access::file; }
    int processes() const { return table.layout.processes; }
  };

  void run_benchmark(const Entry& entry, Multi multi);
  void run_table(Scene& scene);
  void run_point(Scene& scene, std::int64_t bytes);
  void measure(Scene& scene, Batch* batch, std::int64_t bytes);
  std::int64_t measured_repetitions(Scene& scene, Batch* batch, std::int64_t bytes, double& estimate);
  void warm_up(Scene& scene);
  std::optional<Failure> failure_before_allocation(const Scene& scene, std::int64_t bytes) const;
  void allocate(const Scene& scene, std::vector<std::int64_t>& lengths);
  std::int64_t planned(const Scene& scene, std::int64_t bytes) const {
    const std::int64_t most = most_repetitions(options_.settings, scene.spec(), scene.table.transfers);
    return planned_repetitions(options_.settings, most, scene.policy, bytes, scene.processes());
  }
  Geometry geometry(const Scene& scene, std::int64_t bytes) const {
    // Files have room for every repetition; buffers need none for that.
    const std::int64_t sections =
        scene.on_files()
            ? 1
            : disjoint_sections(options_.settings, scene.table.transfers, planned(scene, bytes), bytes);
    return plan_geometry(scene.spec(), bytes, scene.processes(), scene.element, off_cache_, sections);
  }
  /// Bytes per process that a point needs, as -mem counts them; each repetition's own time included, which is
  /// kept twice where ranks are compared.
  std::int64_t needed_bytes(const Scene& scene, std::int64_t bytes) const {
    const std::int64_t samples = options_.every_repetition() ? planned(scene, bytes) : 0;
    return memory_needed(geometry(scene, bytes), options_.check) + 2 * samples * std::int64_t{sizeof(double)};
  }
  /// The side whose memory MPI allocates.
  Exposed elsewhere(const Scene& scene) const {
    return allocates(options_.window_kind) ? scene.spec().exposed : Exposed::nothing;
  }
  std::vector<Transfers> modes_of(const Spec& spec) const;
  bool windows_work(const Scene& scene);
  static std::int64_t warm_up_bytes(const Scene& scene) {
    const bool synchronisation = scene.spec().kind == Kind::synchronisation;
    return synchronisation ? 0 : std::max(assign_type_bytes, scene.element.size());
  }
  template <class Use>
  void with_batch(Scene& scene, std::int64_t bytes, Use use);
  Window open_window(const Scene& scene, const Geometry& plan);
  void require_space(const Scene& scene, std::int64_t bytes) const;
  void fill_files(const Scene& scene, std::int64_t bytes) const;
  void require_no_trouble(const Scene& scene, std::int64_t bytes, std::string mine) const;
  int parts_of(const Scene& scene, std::int64_t bytes, std::int64_t repetitions) const;
  // Runs so many repetitions from this one on; seconds.
  using Part = std::function<double(std::int64_t first, std::int64_t count)>;
  double run_parts(const Scene& scene, Batch* batch, std::int64_t bytes, std::int64_t repetitions,
                   const Part& run, bool nonblocking = false) const;
  double run_batch(const Scene& scene, Batch* batch, std::int64_t bytes, std::int64_t repetitions,
                   Timing timing, std::span<double> samples) const;
  void prepare(const Scene& scene, Batch* batch, std::int64_t bytes) const;
  Overlapped while_target_computes(Batch* batch, std::int64_t repetitions, double pure);
  Overlapped while_computing(const Scene& scene, Batch* batch, std::int64_t bytes, std::int64_t repetitions,
                             Timing timing, double pure);
  double drift_of_load();
  std::vector<std::vector<double>> gather_samples(const Scene& scene, std::vector<double>& mine) const;
  void add_samples(const Scene& scene, std::vector<Row>& rows, std::vector<double>& mine) const;
  void add_defects(const Scene& scene, std::vector<Row>& rows, std::int64_t mine);
  void report(const Scene& scene, const Failure& failure);
  bool stopping();

  const Communicator& world_;
  const Options& options_;
  const std::optional<OffCache>& off_cache_;
  Reporter& reporter_;
  const Surroundings& surroundings_;
  void (*const barrier_)(MPI_Comm);
  const Info info_;
  CpuLoad& load_;
  const int rank_;
  const int ranks_;
  Buffers buffers_;
  std::int64_t unallocatable_ = 0;  ///< from this many bytes on, this table's points found no memory; 0: none
  Ending ending_;
};

Ending Session::run(std::span<const Entry> entries) {
  for (const Selected& selected : options_.selection) {
    const bool prefixed_only = selected.multi && options_.multi == Multi::off;
    run_benchmark(entries[selected.index], prefixed_only ? Multi::summary : options_.multi);
    if (ending_.state != Ending::State::complete) break;
  }
  return ending_;
}

void Session::run_benchmark(const Entry& entry, Multi multi) {
  const Spec& spec = *entry.spec;
  const int available = static_cast<int>(rank_order(ranks_, options_.map).size());
  const int least = std::min(options_.min_processes.value_or(options_.standard.min_processes), available);
  const std::vector<int> counts = process_counts(spec, available, least);
  const Element element = options_.element(spec);
  const auto make_scene = [&](int processes, Transfers transfers) {
    Layout layout = make_layout(ranks_, processes, multi != Multi::off, options_.map);
    const int group = layout.group_of(rank_);
    const auto& members = layout.groups[std::max(group, 0)];
    const int key = static_cast<int>(std::ranges::find(members, rank_) - members.begin());
    return Scene{.entry = entry,
                 .table = {.spec = spec,
                           .layout = std::move(layout),
                           .kind = table_kind(spec, multi),
                           .multi = multi,
                           .transfers = transfers,
                           .defects = options_.check,
                           .tail = options_.show_tail},
                 .element = element,
                 .sum = SumOperation(element),
                 .group = world_.split(group, key),
                 .policy = effective_policy(options_.settings.policy, spec)};
  };
  if (counts.empty()) {
    Table table{.spec = spec, .layout = {.processes = available, .world = ranks_, .groups = {}, .map = {}}};
    ++ending_.failed;
    if (rank_ == 0) {
      reporter_.failure(table,
                        {.cause = Failure::Cause::invalid_processes, .detail = "needs at least 2 processes"});
    }
  }
  for (const int processes : counts) {
    for (const Transfers transfers : modes_of(spec)) {
      Scene scene = make_scene(processes, transfers);
      run_table(scene);
      if (ending_.state != Ending::State::complete) return;
    }
  }
}

std::vector<Transfers> Session::modes_of(const Spec& spec) const {
  if (spec.aggregation == Aggregation::none) return {Transfers::unmarked};
  if (spec.aggregation == Aggregation::aggregate_only) return {Transfers::aggregate};
  if (spec.aggregation == Aggregation::non_aggregate_only) return {Transfers::non_aggregate};
  if (options_.aggregate_mode == AggregateMode::aggregate) return {Transfers::aggregate};
  if (options_.aggregate_mode == AggregateMode::non_aggregate) return {Transfers::non_aggregate};
  if (spec.aggregation == Aggregation::aggregate_first)
    return {Transfers::aggregate, Transfers::non_aggregate};
  return {Transfers::non_aggregate, Transfers::aggregate};
}

// Whether MPI makes windows of this kind for this group at all. Collective over the world.
bool Session::windows_work(const Scene& scene) {
  if (scene.spec().access == Access::two_sided || scene.on_files()) return true;
  bool failed = false;
  if (scene.active()) {
    const MPI_Comm group = scene.group.handle();
    alignas(64) std::byte memory[64];
    failed = options_.window_kind == WindowKind::shared && !share_memory(group);
    if (!failed) failed = !Window(options_.window_kind, memory, sizeof memory, info_.handle(), group);
  }
  return !world_.anyone(failed);
}

void Session::run_table(Scene& scene) {
  if (stopping()) return;
  surroundings_.take_turn(true);
  if (!windows_work(scene)) {
    const std::string kind = name_of(options_.window_kind);
    const char* const why = options_.window_kind == WindowKind::shared ? ", or they share no memory" : "";
    return report(scene,
                  {.cause = Failure::Cause::unavailable,
                   .detail = "this MPI makes no window for these processes (-window " + kind + ")" + why});
  }
  if (rank_ == 0) reporter_.open_table(scene.table);
  std::vector<std::int64_t> lengths = message_lengths(scene.spec(), options_);
  std::vector<std::int64_t> possible;
  std::ranges::copy_if(lengths, std::back_inserter(possible),
                       [&](std::int64_t bytes) { return !failure_before_allocation(scene, bytes); });
  allocate(scene, possible);
  if (options_.warm_up && !possible.empty() && !scene.on_files()) warm_up(scene);
  for (const std::int64_t bytes : lengths) {
    if (stopping()) return;
    surroundings_.take_turn(true);
    run_point(scene, bytes);
  }
  if (rank_ == 0) reporter_.close_table(scene.table);
}

std::optional<Failure> Session::failure_before_allocation(const Scene& scene, std::int64_t bytes) const {
  const Geometry plan = geometry(scene, bytes);
  const std::int64_t needed = needed_bytes(scene, bytes);
  if (needed > options_.settings.max_memory || (unallocatable_ > 0 && needed >= unallocatable_)) {
    const bool limit = needed > options_.settings.max_memory;
    return Failure{
        .cause = Failure::Cause::out_of_memory,
        .bytes = bytes,
        .needed_bytes = needed,
        .detail = limit ? "more than the limit set by -mem" : "the machine has not that much memory left"};
  }
  if (plan.exceeds_int && scene.entry.make_large == nullptr) {
    return Failure{.cause = Failure::Cause::int_overflow,
                   .bytes = bytes,
                   .detail = "a count or displacement exceeds an int and this MPI has no large-count calls"};
  }
  return std::nullopt;
}

// One allocation for all lengths of a table, so that addresses stay the same; where memory is short, for
// fewer.
void Session::allocate(const Scene& scene, std::vector<std::int64_t>& lengths) {
  unallocatable_ = 0;
  const auto needed = [&](std::int64_t bytes) { return needed_bytes(scene, bytes); };
  std::ranges::sort(lengths, {}, needed);
  for (; !lengths.empty(); lengths.pop_back()) {
    Capacity capacity;
    capacity.cover(geometry(scene, warm_up_bytes(scene)));
    for (const std::int64_t bytes : lengths) capacity.cover(geometry(scene, bytes));
    bool failed = false;
    try {
      if (scene.active()) buffers_.ensure(capacity, options_.check, elsewhere(scene));
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    if (!world_.anyone(failed)) break;
    unallocatable_ = needed(lengths.back());
  }
  if (!scene.active() || lengths.empty()) return;
  if (elsewhere(scene) != Exposed::send) {
    fill_for_timing(buffers_.send.first(buffers_.capacity.send), scene.element, scene.spec(), rank_);
  }
  if (elsewhere(scene) != Exposed::receive) {
    fill_for_timing(buffers_.receive.first(buffers_.capacity.receive), scene.element, scene.spec(), rank_);
  }
}

// The window of one point; without a handle where the benchmark exposes nothing. Collective over the group.
Window Session::open_window(const Scene& scene, const Geometry& plan) {
  const Exposed exposed = scene.spec().exposed;
  if (exposed == Exposed::nothing) return {};
  const bool send = exposed == Exposed::send;
  const std::int64_t bytes = send ? plan.send.total : plan.receive.total;
  if (!allocates(options_.window_kind)) {
    const Memory& memory = send ? buffers_.send : buffers_.receive;
    return Window(options_.window_kind, memory.data(), bytes, info_.handle(), scene.group.handle());
  }
  // Room for the guard, and whole lines, so that every rank's part of shared memory is aligned.
  const std::int64_t room = (bytes + 2 * Content::guard - 1) / Content::guard * Content::guard;
  Window window(options_.window_kind, nullptr, room, info_.handle(), scene.group.handle());
  if (window) {
    const std::span memory(window.memory(), static_cast<std::size_t>(bytes));
    const LockOne own(scene.group.rank(), window.handle(), MPI_LOCK_EXCLUSIVE);
    fill_for_timing(memory, scene.element, scene.spec(), rank_);
  }
  return window;
}

// Calls use(Batch*) on every rank; ranks that wait get a null pointer. Where MPI cannot make the window, the
// point is a failure row instead.
template <class Use>
void Session::with_batch(Scene& scene, std::int64_t bytes, Use use) {
  const Spec& spec = scene.spec();
  const Geometry plan = geometry(scene, bytes);
  if (scene.active() && !buffers_.capacity.covers(plan))
    throw std::logic_error("a point needs larger buffers than its table has");
  const Window window = scene.active() ? open_window(scene, plan) : Window();
  if (spec.exposed != Exposed::nothing && world_.anyone(scene.active() && !window)) {
    return report(scene, {.cause = Failure::Cause::out_of_memory,
                          .bytes = bytes,
                          .needed_bytes = needed_bytes(scene, bytes),
                          .detail = "MPI could not make the window (-window " +
                                    std::string(name_of(options_.window_kind)) + ")"});
  }
  if (!scene.active()) {
    use(static_cast<Batch*>(nullptr));
    return;
  }
  const bool divided = spec.receive == Extent::even_share || spec.receive == Extent::block_share;
  const ElementType type(scene.element, divided ? 0 : plan.elements);
  Element single = scene.element;
  single.contiguity = scene.element.extent() == scene.element.size() ? Contiguity::base : Contiguity::resized;
  const ElementType single_type(single, 0);
  const Exposed from_mpi = elsewhere(scene);
  const Stage stage{
      .comm = scene.group.handle(),
      .place = {.rank = scene.group.rank(),
                .ranks = scene.group.size(),
                .root = 0,
                .elements = plan.elements,
                .own_window = !allocates(options_.window_kind)},
      .geometry = plan,
      .aggregate = scene.table.transfers == Transfers::aggregate,
      .element = scene.element,
      .type = type.handle(),
      .type_covers = type.covers(),
      .single_type = single_type.handle(),
      // Derived types too: only a predefined operation may be used one-sidedly (MPI 3.1, section 11.3.4).
      .op = spec.access == Access::two_sided ? scene.sum.handle() : MPI_SUM,
      .send = from_mpi == Exposed::send ? window.memory() : buffers_.send.data(),
      .receive = from_mpi == Exposed::receive ? window.memory() : buffers_.receive.data(),
      .expected = options_.check ? buffers_.expected.first(buffers_.capacity.receive_checked + Content::guard)
                                 : std::span<std::byte>(),
      .win = &window,
      .window_kind = options_.window_kind,
      .info = info_.handle(),
      .bytes = bytes,
      .file_name = file_name(surroundings_.file, spec, scene.table.layout,
                             std::max(0, scene.table.layout.group_of(rank_)), scene.group.rank()),
      .tile = tile_of(spec, bytes, scene.processes(), scene.group.rank()),
      .repetitions = planned(scene, bytes),
      .file_sync = options_.file_sync,
      .window = options_.window,
      .root_shift = options_.root_shift,
      .barrier = barrier_};
  const auto make = plan.exceeds_int ? scene.entry.make_large : scene.entry.make;
  const std::unique_ptr<Batch> batch = make(stage);
  use(batch.get());
}

// Guide, "Warm-Up Phase": N_WARMUP repetitions with a short message, once per table.
void Session::warm_up(Scene& scene) {
  const std::int64_t bytes = warm_up_bytes(scene);
  if (failure_before_allocation(scene, bytes)) return;
  with_batch(scene, bytes, [&](Batch* batch) {
    if (batch) batch->run(options_.settings.warm_up_repetitions, Timing::total, {});
  });
}

// Warm-up at the real length, then as many repetitions as all limits allow, agreed by all ranks. 0: time-out.
std::int64_t Session::measured_repetitions(Scene& scene, Batch* batch, std::int64_t bytes, double& estimate) {
  const Settings& settings = options_.settings;
  const int processes = scene.processes();
  const std::int64_t planned = this->planned(scene, bytes);
  // A load that does not depend on the transfer takes its time in each repetition too.
  const double load = scene.spec().fixed_load ? settings.target_cpu_seconds : 0;
  const auto seconds_each = [&](std::int64_t repetitions) {
    prepare(scene, batch, bytes);
    const double mine = run_batch(scene, batch, bytes, repetitions, Timing::total, {});
    return world_.largest(mine) / static_cast<double>(repetitions) + load;
  };
  // Guide, "Warm-Up Phase": none for files.
  if (options_.warm_up && batch && !scene.on_files()) {
    batch->run(warm_up_repetitions(settings, planned), Timing::total, {});
  }
  if (scene.policy == IterationPolicy::off) return planned;
  estimate = seconds_each(1);
  if (within_time(settings, scene.policy, planned, estimate, processes) == planned) return planned;
  // One repetition may have been unlucky: before giving any up, look closer.
  estimate = seconds_each(estimate_repetitions(settings, planned, estimate));
  return within_time(settings, scene.policy, planned, estimate, processes);
}

void Session::run_point(Scene& scene, std::int64_t bytes) {
  if (const auto failure = failure_before_allocation(scene, bytes)) return report(scene, *failure);
  try {
    if (scene.on_files()) require_space(scene, bytes);
    with_batch(scene, bytes, [&](Batch* batch) {
      if (scene.spec().file == FileUse::read) fill_files(scene, bytes);
      measure(scene, batch, bytes);
    });
  } catch (const PointFailed& failed) {
    report(scene, failed.failure);
  }
}

// What storage has left, as far as it says so, must hold all that a point writes. Collective over the world.
void Session::require_space(const Scene& scene, std::int64_t bytes) const {
  const int groups = scene.table.layout.group_count();
  const std::int64_t needed = planned(scene, bytes) * bytes * groups;
  const double least = -world_.largest(-static_cast<double>(surroundings_.free_bytes()));
  if (static_cast<double>(needed) <= least) return;
  throw PointFailed{{.cause = Failure::Cause::no_space,
                     .bytes = bytes,
                     .needed_bytes = needed,
                     .free_bytes = static_cast<std::int64_t>(least),
                     .detail = "the files of this point do not fit where they should lie"}};
}

// What is read must have been written: by position, and by the process that reads it, or, -reorder, by one
// further on. Collective over the world.
void Session::fill_files(const Scene& scene, std::int64_t bytes) const {
  const Spec& spec = scene.spec();
  const Layout& layout = scene.table.layout;
  const std::int64_t repetitions = planned(scene, bytes);
  const int reader = (rank_ - options_.reorder % ranks_ + ranks_) % ranks_;
  MPI_Barrier(world_.handle());
  if (const int group = layout.group_of(reader); group >= 0) {
    const auto& members = layout.groups[static_cast<std::size_t>(group)];
    const int rank = static_cast<int>(std::ranges::find(members, reader) - members.begin());
    const Tile tile = tile_of(spec, bytes, scene.processes(), rank);
    const std::string name = file_name(surroundings_.file, spec, layout, group, rank);
    const File file(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, info_.handle());
    const std::int64_t origin = first_place_in_all_files(spec, rank);
    std::vector<std::byte> memory(static_cast<std::size_t>(std::min(tile.share, fill_chunk)));
    for (std::int64_t i = 0; file && i < repetitions; ++i) {
      for (std::int64_t done = 0; done < tile.share; done += fill_chunk) {
        const std::int64_t at = tile.offset(i) + done;
        const std::span part =
            std::span(memory).first(static_cast<std::size_t>(std::min(fill_chunk, tile.share - done)));
        fill_as_file(part, origin + at);
        MPI_File_write_at(file.handle(), at, part.data(), static_cast<int>(part.size()), MPI_BYTE,
                          MPI_STATUS_IGNORE);
      }
    }
    if (file) MPI_File_sync(file.handle());
  }
  require_no_trouble(scene, bytes, take_file_trouble());
}

// Where calls that fail go on, somebody must ask. Collective over the world; nothing where errors end the
// job.
void Session::require_no_trouble(const Scene& scene, std::int64_t bytes, std::string mine) const {
  if (!scene.on_files() || !world_.anyone(!mine.empty())) return;
  const std::vector<std::string> words = world_.gather(mine);
  std::string detail;
  for (std::size_t rank = 0; rank < words.size() && detail.empty(); ++rank) {
    if (!words[rank].empty()) detail = "rank " + std::to_string(rank) + ": " + words[rank];
  }
  throw PointFailed{{.cause = Failure::Cause::io_error, .bytes = bytes, .detail = detail}};
}

void Session::prepare(const Scene& scene, Batch* batch, std::int64_t bytes) const {
  if (batch) batch->prepare();
  require_no_trouble(scene, bytes, batch ? batch->take_trouble() : "");
}

double Session::run_batch(const Scene& scene, Batch* batch, std::int64_t bytes, std::int64_t repetitions,
                          Timing timing, std::span<double> samples) const {
  const double elapsed = batch ? batch->run(repetitions, timing, samples) : 0.0;
  require_no_trouble(scene, bytes, batch ? batch->take_trouble() : "");
  return elapsed;
}

// In how many parts a row is measured by turns. Each begins anew with the first buffers and the first root,
// so it has whole cycles of both; what completes together, or goes on in a file, stays together.
int Session::parts_of(const Scene& scene, std::int64_t bytes, std::int64_t repetitions) const {
  if (!options_.turns || scene.on_files() || scene.table.transfers == Transfers::aggregate) return 1;
  const bool rotates = scene.spec().rooted && options_.root_shift;
  const std::int64_t cycle =
      std::max<std::int64_t>(geometry(scene, bytes).slots, rotates ? scene.processes() : 1);
  return static_cast<int>(
      std::clamp(repetitions / cycle, std::int64_t{1}, std::int64_t{options_.turns->parts}));
}

// A sample: seconds of all repetitions. By turns with other launches in parts, each warmed up by one
// repetition.
double Session::run_parts(const Scene& scene, Batch* batch, std::int64_t bytes, std::int64_t repetitions,
                          const Part& run, bool nonblocking) const {
  const int parts = parts_of(scene, bytes, repetitions);
  std::vector<double> each;  // seconds per repetition
  double elapsed = 0;
  for (int part = 0; part < parts; ++part) {
    const std::int64_t first = repetitions * part / parts;
    const std::int64_t count = repetitions * (part + 1) / parts - first;
    if (part > 0) {
      surroundings_.take_turn(false);
      if (options_.warm_up && batch) batch->run(1, Timing::total, {});
    }
    prepare(scene, batch, bytes);
    // Again, as close as can be: no library of docs/known-mpi-issues.md survives a nonblocking write that
    // fails.
    if (nonblocking && scene.spec().file == FileUse::write) require_space(scene, bytes);
    for (int i = 0; i < options_.settings.barriers; ++i) barrier_(world_.handle());
    elapsed = batch ? run(first, count) : 0.0;
    each.push_back(elapsed / static_cast<double>(count));
    barrier_(world_.handle());  // where the ranks that do not take part wait
  }
  return parts == 1 ? elapsed : trimmed_mean(std::move(each)) * static_cast<double>(repetitions);
}

void Session::measure(Scene& scene, Batch* batch, std::int64_t bytes) {
  double estimate = 0;
  const std::int64_t repetitions = measured_repetitions(scene, batch, bytes, estimate);
  if (repetitions == 0) {
    return report(scene, {.cause = Failure::Cause::time_out,
                          .bytes = bytes,
                          .seconds = estimate,
                          .detail = "one repetition takes longer than the time for all of them"});
  }
  const std::int64_t wrong = options_.check && batch ? batch->check(repetitions) : 0;
  if (options_.check) require_no_trouble(scene, bytes, batch ? batch->take_trouble() : "");

  const bool synchronise = options_.synchronise_each &&
                           can_synchronise(scene.spec().kind, scene.table.transfers == Transfers::aggregate);
  const Timing timing = synchronise                   ? Timing::synchronised
                        : options_.every_repetition() ? Timing::every_repetition
                                                      : Timing::total;
  std::vector<double> samples(timing == Timing::total ? 0 : static_cast<std::size_t>(repetitions), 0.0);

  const Part run = [&](std::int64_t first, std::int64_t count) {
    return batch->run(count, timing, samples_from(samples, first));
  };
  const double elapsed = run_parts(scene, batch, bytes, repetitions, run);
  if (options_.turns && stopping()) return;  // others may have measured at the same time
  if (batch) batch->conclude(repetitions);
  require_no_trouble(scene, bytes, batch ? batch->take_trouble() : "");

  const std::vector<double> seconds = world_.gather(mean_of(batch, elapsed, repetitions));
  const Overlapped computing =
      scene.spec().computing_target ? while_target_computes(batch, repetitions, elapsed)
      : scene.spec().overlap        ? while_computing(scene, batch, bytes, repetitions, timing, elapsed)
                                    : Overlapped();
  if (options_.turns && scene.spec().overlap && stopping()) return;
  Measurement measurement{.bytes = bytes, .repetitions = repetitions, .rows = {}};
  if (rank_ == 0) measurement.rows = rows_of(scene.table, bytes, options_.window, seconds, computing);
  if (options_.every_repetition()) add_samples(scene, measurement.rows, samples);
  if (options_.check) add_defects(scene, measurement.rows, wrong);
  if (scene.spec().overlap) {
    const double drift = drift_of_load();
    for (Row& row : measurement.rows) row.load_drift = drift;
  }
  ++ending_.measured;
  if (batch && rank_ == 0) {
    for (Row& row : measurement.rows) row.hints = batch->hints();
  }
  if (rank_ == 0) {
    reporter_.row(scene.table, measurement);
    surroundings_.progress(ending_);
  }
  if (options_.message_pause) surroundings_.pause(std::max(0.1, elapsed / 10));
}

// The batch once more, while ranks that take no part compute for as long as all ranks together needed before,
// and only then come to wait in MPI. Each rank's mean at rank 0.
Overlapped Session::while_target_computes(Batch* batch, std::int64_t repetitions, double pure) {
  if (!load_.calibrated()) load_.calibrate<WallClock>(options_.settings.target_cpu_seconds);
  const std::int64_t units = load_.units_for(world_.largest(pure));
  for (int i = 0; i < options_.settings.barriers; ++i) barrier_(world_.handle());
  if (batch && !batch->takes_part()) load_.compute(units);
  const double elapsed = batch ? batch->run(repetitions, Timing::total, {}) : 0.0;
  barrier_(world_.handle());
  return {.t_ovrl = world_.gather(mean_of(batch, elapsed, repetitions)), .t_cpu = {}};
}

// The batch once more, every rank computing in each repetition: for as long as the slowest of its group
// needed without, or for TARGET_CPU_SECS. Each rank's means at rank 0; of a fixed load what it takes when
// nothing else runs, by the guide's definition of t_CPU for files.
Overlapped Session::while_computing(const Scene& scene, Batch* batch, std::int64_t bytes,
                                    std::int64_t repetitions, Timing timing, double pure) {
  const bool fixed = scene.spec().fixed_load;
  const double target = options_.settings.target_cpu_seconds;
  if (!load_.calibrated()) load_.calibrate<WallClock>(target);
  const double slowest = scene.active() ? scene.group.largest(pure) : 0;
  const std::int64_t units = load_.units_for(fixed ? target : slowest / static_cast<double>(repetitions));
  double computing = 0;
  std::vector<double> each;  // seconds of computing per repetition
  const Load load = make_load(load_, units, options_.progress, computing);
  std::vector<double> samples(timing == Timing::total ? 0 : static_cast<std::size_t>(repetitions), 0.0);
  const Part run = [&](std::int64_t first, std::int64_t count) {
    computing = 0;
    const double took = batch->run_with_load(count, timing, samples_from(samples, first), load);
    each.push_back(computing / static_cast<double>(count));
    return took;
  };
  const double elapsed = run_parts(scene, batch, bytes, repetitions, run, true);
  if (batch) batch->conclude(repetitions);
  require_no_trouble(scene, bytes, batch ? batch->take_trouble() : "");
  if (each.size() > 1) computing = trimmed_mean(std::move(each)) * static_cast<double>(repetitions);
  if (fixed) computing = load_.seconds_for(units) * static_cast<double>(repetitions);
  return {.t_ovrl = world_.gather(mean_of(batch, elapsed, repetitions)),
          .t_cpu = world_.gather(mean_of(batch, computing, repetitions))};
}

// Whether the load still takes what it was calibrated for, on the rank where it does least; what has changed
// is calibrated anew.
double Session::drift_of_load() {
  constexpr double noticeable = 0.1;
  const double seconds = options_.settings.target_cpu_seconds;
  const double mine = load_.drift<WallClock>(seconds);
  if (std::abs(mine) > noticeable) load_.calibrate<WallClock>(seconds);
  const double up = world_.largest(mine), down = -world_.largest(-mine);
  return up > -down ? up : down;
}

void Session::report(const Scene& scene, const Failure& failure) {
  ++ending_.failed;
  if (rank_ != 0) return;
  reporter_.failure(scene.table, failure);
  surroundings_.progress(ending_);
}

// Of every repetition the slowest rank's time, one series per row, at rank 0. `mine` is scaled in place.
std::vector<std::vector<double>> Session::gather_samples(const Scene& scene,
                                                         std::vector<double>& mine) const {
  for (double& seconds : mine) seconds *= scene.spec().time_factor;
  const int count = static_cast<int>(mine.size());
  std::vector<double> slowest(mine.size());
  if (scene.table.multi != Multi::each_group) {
    MPI_Reduce(mine.data(), slowest.data(), count, MPI_DOUBLE, MPI_MAX, 0, world_.handle());
    return {std::move(slowest)};
  }
  constexpr int samples_tag = 2;
  if (scene.active()) {
    MPI_Reduce(mine.data(), slowest.data(), count, MPI_DOUBLE, MPI_MAX, 0, scene.group.handle());
    if (scene.group.rank() == 0 && rank_ != 0) {
      MPI_Send(slowest.data(), count, MPI_DOUBLE, 0, samples_tag, world_.handle());
    }
  }
  std::vector<std::vector<double>> series;
  if (rank_ != 0) return series;
  for (const std::vector<int>& group : scene.table.layout.groups) {
    if (group.front() != 0) {
      MPI_Recv(mine.data(), count, MPI_DOUBLE, group.front(), samples_tag, world_.handle(),
               MPI_STATUS_IGNORE);
    }
    series.push_back(group.front() == 0 ? slowest : mine);
  }
  return series;
}

void Session::add_samples(const Scene& scene, std::vector<Row>& rows, std::vector<double>& mine) const {
  std::vector<std::vector<double>> series = gather_samples(scene, mine);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].samples = series[i];
    rows[i].tail = tail_of(series[i]);
  }
}

void Session::add_defects(const Scene& scene, std::vector<Row>& rows, std::int64_t mine) {
  const std::vector<double> wrong = world_.gather(static_cast<double>(mine));
  const Layout& layout = scene.table.layout;
  for (Row& row : rows) {
    std::int64_t defects = 0;
    for (int group = 0; group < layout.group_count(); ++group) {
      if (row.group >= 0 && row.group != group) continue;
      for (const int member : layout.groups[group]) defects += static_cast<std::int64_t>(wrong[member]);
    }
    row.defects = defects;
    ending_.defects += defects;
  }
}

bool Session::stopping() {
  if (!world_.anyone(surroundings_.stop_requested())) return false;
  ending_.state = Ending::State::interrupted;
  ending_.reason = surroundings_.stop_reason();
  return true;
}

}  // namespace

bool needs_fixed_load(std::span<const Entry> entries, const Options& options) {
  return std::ranges::any_of(options.selection, [&](const Selected& selected) {
    return entries[static_cast<std::size_t>(selected.index)].spec->fixed_load;
  });
}

Ending run_session(const Communicator& world, std::span<const Entry> entries, const Options& options,
                   const std::optional<OffCache>& off_cache, CpuLoad& load, Reporter& reporter,
                   const Surroundings& surroundings) {
  return Session(world, options, off_cache, load, reporter, surroundings).run(entries);
}

}  // namespace openimb
