#include "engine/mpi_table.h"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "engine/file_content.h"
#include "engine/marking_batch.h"
#include "engine/setup.h"
#include "engine/team_batch.h"
#include "engine/wall_clock.h"
#include "model/saturating.h"
#include "model/synchronization.h"
#include "mpi/file.h"
#include "plan/files.h"
#include "plan/mpi_memory.h"

namespace openimb {

namespace {

Communicator split_for(const Communicator& world, const Grouping& grouping) {
  const int rank = world.rank();
  return world.split(grouping.group_of(rank), grouping.rank_in_group(rank));
}

// Bytes from one thread's part of a buffer to the next, if a part has `bytes` bytes. Parts begin at multiples
// of -malloc_align and, except with -malloc_algo continuous, share no page.
std::int64_t part_stride(std::int64_t bytes, const Threads& threads) {
  const std::int64_t unit = threads.memory == ThreadMemory::continuous
                                ? threads.alignment
                                : std::max(buffer_alignment, threads.alignment);
  return rounded_up(plus(bytes, Content::guard), unit);
}

std::unique_ptr<Memory> try_to_allocate_memory(MemoryKind kind, std::int64_t bytes, Device* device) {
  try {
    return allocate_memory(kind, bytes, 1, device);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

// One base element with its extent, without the gaps of -layout.
Element single_element(Element element) {
  element.layout = {};
  element.contiguity = element.extent() == element.size() ? Contiguity::base : Contiguity::resized;
  return element;
}

OpenTable::OpenResult memory_failure(const Point& point, std::string detail) {
  return {.batch = nullptr,
          .failure = Failure{.cause = Failure::Cause::out_of_memory,
                             .bytes = point.bytes,
                             .needed_bytes = point.needed_bytes,
                             .detail = std::move(detail)}};
}

}  // namespace

std::unique_ptr<OpenTable> MpiResources::open(const TablePlan& plan) {
  return std::make_unique<MpiTable>(*this, plan);
}

MpiTable::MpiTable(MpiResources& shared, const TablePlan& plan)
    : shared_(shared),
      plan_(plan),
      group_(group_of_thread(0)),
      control_(make_control()),
      group_ranks_(*control_, barrier_of(shared.options_)),
      gate_(active() && plan.gated ? std::make_unique<Gate>(control_->handle(), *shared.clock_) : nullptr),
      sum_(plan.element),
      neighborhood_(neighborhood_of_rank()) {
  if (!can_create_windows()) {
    const std::string kind = name_of(window_kind());
    const char* const or_no_shared_memory =
        window_kind() == WindowKind::shared ? ", or they share no memory" : "";
    const std::string over_memory =
        exposed_kind() == MemoryKind::host ? "" : std::string(" over -memory ") + name_of(exposed_kind());
    failure_ = {.cause = Failure::Cause::unavailable,
                .detail = "MPI cannot create a window for these ranks" + over_memory + " (-window " + kind +
                          ")" + or_no_shared_memory};
    return;
  }
  make_thread_comms();
  allocate();
}

void MpiTable::use_variant(bool on) {
  if (plan_.variant >= 0) shared_.variables_->use(on ? std::optional(plan_.variant) : std::nullopt);
}

std::shared_ptr<const Communicator> MpiResources::communicator(const CommunicatorKey& key,
                                                               const std::function<Communicator()>& make) {
  std::weak_ptr<const Communicator>& known = communicators_[key];
  if (auto open = known.lock()) return open;
  auto made = std::make_shared<const Communicator>(make());
  known = made;
  return made;
}

// Returns the communicator for the calls under test of a thread. The variant's values are set here, because
// some libraries choose algorithms when they create a communicator. Other libraries choose at the call;
// open() and the session set the values for those.
MpiTable::Shared MpiTable::group_of_thread(int thread) {
  const Grouping& grouping = plan_.table.grouping;
  return shared_.communicator({grouping.groups, plan_.variant, thread}, [&] {
    const VariantScope variant(*this);
    return thread == 0 ? split_for(shared_.world_, grouping) : Communicator::duplicate(group_->handle());
  });
}

// All ranks in their order need no communicator of their own. It would take 12 of the 130 KB that each of
// 1,024 simulated ranks has.
MpiTable::Shared MpiTable::make_control() const {
  const std::vector<std::vector<int>>& groups = plan_.table.grouping.groups;
  const Communicator& world = shared_.world_;
  if (std::ssize(groups[0]) == world.size() && std::ranges::is_sorted(groups[0])) return {Shared(), &world};
  return shared_.communicator({.groups = groups, .thread = -1},
                              [&] { return Communicator::duplicate(group_->handle()); });
}

// The main thread uses the group's communicator. The other threads get their own, because concurrent
// collectives of several threads on one communicator are erroneous. Source: MPI 4.0, section 6.14.
void MpiTable::make_thread_comms() {
  if (!active() || shared_.options_.threads.comm == ThreadComm::shared) return;
  for (int thread = 1; thread < threads(); ++thread) thread_comms_.push_back(group_of_thread(thread));
}

// The buffer whose memory MPI allocates together with the window.
ExposedBuffer MpiTable::allocated_by_mpi() const {
  return allocates(window_kind()) ? spec().one_sided.exposed : ExposedBuffer::nothing;
}

// Returns whether MPI can create windows of this kind in all groups, by creating a small one.
bool MpiTable::can_create_windows() {
  if (spec().access == Access::two_sided || spec().uses_files()) return true;
  bool failed = active() && window_kind() == WindowKind::shared && !share_memory(group_->handle());
  if (shared_.ranks_.any(failed)) return false;
  alignas(64) std::byte on_stack[64];
  std::byte* memory = on_stack;
  std::unique_ptr<Memory> on_device;
  if (exposed_kind() != MemoryKind::host && !allocates(window_kind())) {
    on_device = try_to_allocate_memory(exposed_kind(), sizeof on_stack, shared_.device_);
    if (shared_.ranks_.any(!on_device)) return true;  // the rows of the points will report it
    memory = on_device->address();
  }
  Window trial;
  if (active())
    trial = Window(window_kind(), memory, sizeof on_stack, shared_.info_.handle(), group_->handle());
  failed = active() && !trial;
  if (!shared_.ranks_.any(failed)) return true;
  if (group_ranks_.any(active() && !trial.has_handle())) trial.abandon();
  return false;
}

// Allocates buffers once for all points of a table, so that their addresses stay the same. If there is too
// little memory, it leaves out the largest points.
void MpiTable::allocate() {
  std::vector<const Point*> points;
  for (const Point& point : plan_.points) {
    if (!point.failure) points.push_back(&point);
  }
  if (points.empty()) return;
  std::ranges::sort(points, {}, &Point::needed_bytes);
  if (plan_.warm_up) points.insert(points.begin(), &*plan_.warm_up);
  const std::size_t least = plan_.warm_up ? 1 : 0;
  for (; points.size() > least; points.pop_back()) {
    if (!shared_.ranks_.any(active() && !try_to_allocate(points))) break;
    unallocatable_ = points.back()->needed_bytes;
  }
}

bool MpiTable::try_to_allocate(std::span<const Point* const> points) {
  Capacity capacity;
  for (const Point* point : points) capacity.cover(point->geometry);
  const ExposedBuffer elsewhere = allocated_by_mpi();
  Capacity part;
  if (threads() > 1)
    part = {part_stride(capacity.send, thread_options()), part_stride(capacity.receive, thread_options())};
  const Capacity whole{plus(times(threads() - 1, part.send), capacity.send),
                       plus(times(threads() - 1, part.receive), capacity.receive)};
  try {
    shared_.buffers_.ensure(whole, elsewhere, thread_options().alignment);
  } catch (const std::bad_alloc&) {
    return false;
  }
  if (elsewhere == ExposedBuffer::send) capacity.send = 0;
  if (elsewhere == ExposedBuffer::receive) capacity.receive = 0;
  capacity_ = capacity;
  part_ = part;
  fill_buffers();
  return true;
}

void MpiTable::fill_buffers() {
  Buffers& buffers = shared_.buffers_;
  Filling filling = filling_for_timing(plan_.element, spec());
  filling.part = part_;
  if (buffers.filling != filling) buffers.filled = {};
  buffers.filling = filling;
  if (threads() > 1 && thread_options().memory == ThreadMemory::parallel) {
    shared_.team_.run([this](int thread) { fill_part(thread); });
  } else {
    for (int thread = 0; thread < threads(); ++thread) fill_part(thread);
  }
  buffers.filled.send = std::max(buffers.filled.send, capacity_.send);
  buffers.filled.receive = std::max(buffers.filled.receive, capacity_.receive);
}

void MpiTable::fill_part(int thread) {
  const int rank = shared_.ranks_.rank();
  const auto fill = [&](const Buffer& buffer, std::int64_t bytes, std::int64_t part) {
    if (bytes == 0) return;
    fill_for_timing(*buffer.part(thread * part, bytes), bytes, plan_.element, spec(), rank);
  };
  fill(shared_.buffers_.send, capacity_.send, part_.send);
  fill(shared_.buffers_.receive, capacity_.receive, part_.receive);
}

// Prepares the buffers for a table that was opened before. Tables with the same filling share the contents.
bool MpiTable::resume() {
  const Buffers& buffers = shared_.buffers_;
  const bool uses_buffers = active() && (capacity_.send > 0 || capacity_.receive > 0);
  const bool large_enough = buffers.send.holds((threads() - 1) * part_.send + capacity_.send) &&
                            buffers.receive.holds((threads() - 1) * part_.receive + capacity_.receive);
  if (shared_.ranks_.any(uses_buffers && !large_enough)) return false;
  if (!uses_buffers) return true;
  Filling filling = filling_for_timing(plan_.element, spec());
  filling.part = part_;
  const bool filled = buffers.filling == filling && capacity_.send <= buffers.filled.send &&
                      capacity_.receive <= buffers.filled.receive;
  if (!filled) fill_buffers();
  return true;
}

// Returns the seconds of one exchange with the neighbors in a ring, which exist in groups of any size. The
// first part of the exchanges does not count, because ranks may arrive late. The result is the mean of the
// shortest of the other parts, because a short disturbance is no lasting state of the machine.
double MpiTable::probe(int exchanges) {
  if (!active()) return std::numeric_limits<double>::quiet_NaN();
  constexpr int length = 8, tag = 1, parts = 5;
  const MPI_Comm comm = control_->handle();
  const int ranks = group_->size(), right = (group_->rank() + 1) % ranks,
            left = (group_->rank() + ranks - 1) % ranks;
  char out[length] = {}, in[length] = {};
  const int exchanges_per_part = std::max(1, exchanges / parts);
  double shortest = std::numeric_limits<double>::infinity();
  for (int part = 0; part < parts; ++part) {
    const double start = WallClock::now();
    for (int i = 0; i < exchanges_per_part; ++i) {
      MPI_Sendrecv(out, length, MPI_CHAR, right, tag, in, length, MPI_CHAR, left, tag, comm,
                   MPI_STATUS_IGNORE);
    }
    const double seconds = (WallClock::now() - start) / exchanges_per_part;
    if (part > 0) shortest = std::min(shortest, seconds);
  }
  return shortest;
}

// Creates the window of a point on active ranks. On idle ranks, and for benchmarks that expose nothing, the
// window has no handle.
Window MpiTable::make_window(const Geometry& geometry) {
  const ExposedBuffer exposed = spec().one_sided.exposed;
  if (exposed == ExposedBuffer::nothing || !active()) return {};
  const VariantScope variant(*this);
  const bool send = exposed == ExposedBuffer::send;
  const std::int64_t bytes = send ? geometry.send.total : geometry.receive.total;
  if (!allocates(window_kind())) {
    const Buffer& buffer = send ? shared_.buffers_.send : shared_.buffers_.receive;
    std::byte* const memory = buffer.memory()->address();
    return {window_kind(), memory, bytes, shared_.info_.handle(), group_->handle()};
  }
  // The window also has room for the guard. A multiple of a cache line keeps each rank's part of shared
  // memory aligned.
  const std::int64_t room = rounded_up(plus(bytes, Content::guard), Content::guard);
  return {window_kind(), nullptr, room, shared_.info_.handle(), group_->handle()};
}

OpenTable::OpenResult MpiTable::open(const Point& point, std::int64_t completed) {
  Window window = make_window(point.geometry);
  if (spec().one_sided.exposed != ExposedBuffer::nothing) {
    if (shared_.ranks_.any(active() && !window)) {
      // MPI_Win_free is collective: if one rank has no window to free, the others cannot free theirs.
      if (group_ranks_.any(active() && !window.has_handle())) window.abandon();
      return memory_failure(
          point, "MPI could not create the window (-window " + std::string(name_of(window_kind())) + ")");
    }
    if (active()) window.exchange_bases(control_->handle());
  }
  std::unique_ptr<AttachedBuffer> send_buffer = attach_buffer(point);
  if (shared_.options_.send_mode == SendMode::buffered && shared_.ranks_.any(send_buffer && !*send_buffer)) {
    return memory_failure(point, "no memory for MPI_Buffer_attach, or MPI refuses so many bytes");
  }
  const bool has_team = active() && threads() > 1;
  std::unique_ptr<Setup> setup =
      active() && !has_team ? make_setup(point, completed, std::move(window)) : nullptr;
  // Idle ranks return below, so from here on only the ranks of a group may communicate.
  if (has_team) {
    const VariantScope variant(*this);
    return {.batch = make_team(point, completed), .failure = {}};
  }
  if (!setup) return {.batch = std::make_unique<IdleBatch>(), .failure = {}};
  setup->send_buffer = std::move(send_buffer);
  adopt_window_memory(*setup);
  // No rank may access the window of another rank that still fills it.
  if (allocated_by_mpi() != ExposedBuffer::nothing) group_ranks_.barrier();
  const Entry& entry = shared_.entries_[static_cast<std::size_t>(plan_.benchmark)];
  const auto make = point.geometry.exceeds_int ? entry.make_large : entry.make;
  const VariantScope variant(*this);  // MPI may choose an algorithm when a batch makes a persistent request
  if (plan_.table.grouping.threads == 1) return {.batch = make(std::move(setup)), .failure = {}};
  auto marking = std::make_unique<Marking>(plan_.table.grouping.threads);
  setup->team.marking = marking.get();
  return {.batch = std::make_unique<MarkingBatch>(shared_.team_, std::move(marking), make(std::move(setup)),
                                                  rank_barrier()),
          .failure = {}};
}

// Writes the files that the point will read. Each rank writes what it reads itself or, with -reorder N, what
// another rank reads: rank r reads what rank r + N wrote. Returns the error, or an empty text.
std::string MpiTable::fill_files(const Point& point) {
  constexpr std::int64_t chunk = 16 * mebibyte;  // bytes per write
  const Grouping& grouping = plan_.table.grouping;
  const int ranks = shared_.ranks_.ranks();
  const int reader = (shared_.ranks_.rank() - shared_.options_.reorder % ranks + ranks) % ranks;
  shared_.ranks_.barrier();
  const int group = grouping.group_of(reader);
  if (group < 0) return {};
  const int rank = grouping.rank_in_group(reader);
  const Tile tile = tile_of(spec(), point.bytes, grouping.processes, rank);
  const std::string name = file_name(shared_.file_base_, spec(), grouping, group, rank);
  FileErrors errors;
  {
    const File file(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, shared_.info_.handle(), errors);
    const std::int64_t origin = first_content_position(spec(), rank);
    std::vector<std::byte> memory(static_cast<std::size_t>(std::min(tile.share, chunk)));
    for (std::int64_t i = 0; file && i < point.planned; ++i) {
      for_each_chunk(memory, tile.share, [&](std::int64_t begin, std::span<std::byte> part) {
        const std::int64_t at = tile.offset(i) + begin;
        fill_as_file(part, origin + at);
        MPI_File_write_at(file.handle(), at, part.data(), static_cast<int>(part.size()), MPI_BYTE,
                          MPI_STATUS_IGNORE);
      });
    }
    if (file) MPI_File_sync(file.handle());
  }
  return errors.take();
}

std::unique_ptr<AttachedBuffer> MpiTable::attach_buffer(const Point& point) const {
  if (shared_.options_.send_mode != SendMode::buffered || !active()) return nullptr;
  const ElementType type(single_element(plan_.element), 0);
  return std::make_unique<AttachedBuffer>(buffered_messages(spec(), point.in_flight), point.geometry.elements,
                                          type.handle(), group_->handle());
}

// Returns the function that synchronizes the ranks before each run of a team (-barrier).
std::function<void()> MpiTable::rank_barrier() const {
  return [enabled = shared_.options_.thread_barrier, barrier = barrier_of(shared_.options_),
          comm = control_->handle()] {
    if (enabled) barrier(comm);
  };
}

// Makes the batches of a team. Each thread has its part of the buffers, and its own communicator or tags.
std::unique_ptr<Batch> MpiTable::make_team(const Point& point, std::int64_t completed) const {
  const Entry& entry = shared_.entries_[static_cast<std::size_t>(plan_.benchmark)];
  const auto make = point.geometry.exceeds_int ? entry.make_large : entry.make;
  const bool takes_turns = shared_.options_.thread_level == ThreadLevel::serialized;
  std::unique_ptr<Turn> turn = takes_turns ? std::make_unique<Turn>(threads()) : nullptr;
  std::vector<std::unique_ptr<Batch>> members;
  for (int thread = 0; thread < threads(); ++thread) {
    std::unique_ptr<Setup> setup = make_setup(point, completed, {});
    setup->team.thread = thread;
    setup->team.tagged = thread_comms_.empty();
    setup->team.turn = turn.get();
    if (thread > 0 && !thread_comms_.empty()) {
      // One communicator is enough: only collectives have barriers between repetitions, and a collective
      // benchmark receives no point-to-point messages that could match a message of the barrier.
      setup->group.comm = setup->group.control =
          thread_comms_[static_cast<std::size_t>(thread) - 1]->handle();
    }
    setup->buffers.send_part =
        shared_.buffers_.send.part(thread * part_.send, capacity_.send + Content::guard);
    setup->buffers.receive_part =
        shared_.buffers_.receive.part(thread * part_.receive, capacity_.receive + Content::guard);
    setup->buffers.send = setup->buffers.send_part.get();
    setup->buffers.receive = setup->buffers.receive_part.get();
    members.push_back(make(std::move(setup)));
  }
  return std::make_unique<TeamBatch>(shared_.team_, std::move(members), std::move(turn), rank_barrier());
}

FileSetup MpiTable::file_of(const Point& point) const {
  const Grouping& grouping = plan_.table.grouping;
  const int group = grouping.group_of(shared_.ranks_.rank()), rank = group_->rank();
  return {.name = file_name(shared_.file_base_, spec(), grouping, group, rank),
          .tile = tile_of(spec(), point.bytes, grouping.processes, rank),
          .bytes = point.bytes,
          .repetitions = point.planned,
          .sync = shared_.options_.file_sync};
}

std::unique_ptr<Setup> MpiTable::make_setup(const Point& point, std::int64_t completed, Window window) const {
  const Options& options = shared_.options_;
  std::unique_ptr<Setup> setup(new Setup{
      .group = {.comm = group_->handle(),
                .control = control_->handle(),
                .barrier = barrier_of(options),
                .gate = gate_.get(),
                .me = {.rank = group_->rank(),
                       .ranks = group_->size(),
                       .root = 0,
                       .elements = point.geometry.elements,
                       .own_window = !allocates(window_kind()),
                       .in_place = options.runs_in_place(spec()),
                       .stencil = spec().stencil,
                       .max_pairs = spec().max_pairs,
                       .seed = options.pairs.value_or(PairOptions{}).seed,
                       .stride = options.stride,
                       .partitions = options.partitions,
                       .in_flight = point.in_flight},
                .neighborhood = neighborhood_},
      .buffers = {.geometry = point.geometry,
                  .element = plan_.element,
                  .type = ElementType(plan_.element, spec().is_divided() ? 0 : point.geometry.elements),
                  .single = ElementType(single_element(plan_.element), 0),
                  .in_place = options.in_place ? spec().in_place : InPlace::no,
                  .send = shared_.buffers_.send.memory(),
                  .receive = shared_.buffers_.receive.memory(),
                  .send_part = nullptr,
                  .receive_part = nullptr},
      .window = {.kind = window_kind(),
                 .sync = sync_of(spec(), options.sync_mode),
                 .win = std::move(window),
                 .memory = nullptr},
      .file = file_of(point),
      .team = {},
      .aggregate = plan_.table.aggregate(),
      .root_shift = options.moves_root(spec()),
      .completed = completed,
      // One-sided calls accept only predefined operations, even for derived types (MPI 3.1, section 11.3.4).
      .op = spec().access == Access::two_sided ? sum_.handle() : MPI_SUM,
      .info = shared_.info_.handle(),
      .send_mode = options.send_mode,
      .send_buffer = nullptr,
      .load = &shared_.loads_.cpu(),
      .device_load = shared_.loads_.device()});
  setup->group.me.neighborhood = &setup->group.neighborhood;
  setup->group.me.round_partners = point.round_partners;
  return setup;
}

Neighborhood MpiTable::neighborhood_of_rank() const {
  if (!spec().topology.exists() || !active()) return {};
  return neighborhood_of(spec().topology, group_->size(), group_->rank());
}

// Replaces a buffer with the memory that MPI allocated for the window, and fills it. With passive targets a
// rank locks its window for this, which synchronizes the public and the private copy. In other modes no lock
// is needed before the first epoch, and a window with the info key no_locks does not allow one.
void MpiTable::adopt_window_memory(Setup& setup) const {
  const ExposedBuffer exposed = allocated_by_mpi();
  if (exposed == ExposedBuffer::nothing) return;
  const bool send = exposed == ExposedBuffer::send;
  const std::int64_t bytes = send ? setup.buffers.geometry.send.total : setup.buffers.geometry.receive.total;
  setup.window.memory = adopt_memory(MemoryKind::host, setup.window.win.memory(), bytes + Content::guard);
  (send ? setup.buffers.send : setup.buffers.receive) = setup.window.memory.get();
  const auto fill = [&] {
    fill_for_timing(*setup.window.memory, bytes, plan_.element, spec(), shared_.ranks_.rank());
  };
  if (uses_locks(spec(), setup.window.sync)) {
    const LockEpoch own(setup.group.me.rank, setup.window.win.handle(), MPI_LOCK_EXCLUSIVE);
    fill();
  } else {
    fill();
  }
}

}  // namespace openimb
