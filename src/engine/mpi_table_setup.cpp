// What a table gives to the batches of its points.
#include <utility>

#include "engine/mpi_table.h"
#include "engine/setup.h"
#include "engine/team_batch.h"
#include "plan/files.h"
#include "plan/sending.h"
#include "plan/synchronization.h"

namespace openimb {

namespace {

// One base element, as elements lie in a buffer.
Element single_element(Element element) {
  element.layout = {};
  element.contiguity = element.extent() == element.size() ? Contiguity::base : Contiguity::resized;
  return element;
}

}  // namespace

std::unique_ptr<AttachedBuffer> MpiTable::attach_buffer(const Point& point) const {
  if (shared_.options_.send_mode != SendMode::buffered || !active()) return nullptr;
  const ElementType type(single_element(plan_.element), 0);
  return std::make_unique<AttachedBuffer>(buffered_messages(spec(), point.in_flight), point.geometry.elements,
                                          type.handle(), group_.handle());
}

// Before each run of a team.
std::function<void()> MpiTable::meeting_of_ranks() const {
  return [meets = shared_.options_.thread_barrier, barrier = barrier_of(shared_.options_),
          comm = control_.handle()] {
    if (meets) barrier(comm);
  };
}

// Each thread with its part of the buffers and its communicator, or tags.
std::unique_ptr<Batch> MpiTable::make_team(const Point& point, std::int64_t gone) const {
  const Entry& entry = shared_.entries_[static_cast<std::size_t>(plan_.benchmark)];
  const auto make = point.geometry.exceeds_int ? entry.make_large : entry.make;
  const bool in_turns = shared_.options_.thread_level == ThreadLevel::serialized;
  std::unique_ptr<Turn> turn = in_turns ? std::make_unique<Turn>(threads()) : nullptr;
  std::vector<std::unique_ptr<Batch>> members;
  for (int thread = 0; thread < threads(); ++thread) {
    std::unique_ptr<Setup> setup = make_setup(point, gone, {});
    setup->thread = thread;
    setup->tagged = of_threads_.empty();
    setup->turn = turn.get();
    if (thread > 0 && !of_threads_.empty()) {
      // Only collectives have barriers between repetitions, and these receive no messages themselves.
      setup->comm = setup->control = of_threads_[static_cast<std::size_t>(thread) - 1].handle();
    }
    setup->send_part = shared_.buffers_.send.part(thread * part_.send, capacity_.send + Content::guard);
    setup->receive_part =
        shared_.buffers_.receive.part(thread * part_.receive, capacity_.receive + Content::guard);
    setup->send = setup->send_part.get();
    setup->receive = setup->receive_part.get();
    members.push_back(make(std::move(setup)));
  }
  return std::make_unique<TeamBatch>(shared_.team_, std::move(members), std::move(turn), meeting_of_ranks());
}

// This rank's file and its part of it.
FileSetup MpiTable::file_of(const Point& point) const {
  const Layout& layout = plan_.table.layout;
  const int group = layout.group_of(shared_.ranks_.rank()), rank = group_.rank();
  return {.name = file_name(shared_.file_base_, spec(), layout, group, rank),
          .tile = tile_of(spec(), point.bytes, layout.processes, rank),
          .bytes = point.bytes,
          .repetitions = point.planned,
          .sync = shared_.options_.file_sync};
}

std::unique_ptr<Setup> MpiTable::make_setup(const Point& point, std::int64_t gone, Window window) const {
  const Options& options = shared_.options_;
  std::unique_ptr<Setup> setup(new Setup{
      .comm = group_.handle(),
      .control = control_.handle(),
      .endpoint = {.rank = group_.rank(),
                   .ranks = group_.size(),
                   .root = 0,
                   .elements = point.geometry.elements,
                   .own_window = !allocates(window_kind()),
                   .in_place = options.runs_in_place(spec()),
                   .pairs = options.pairs.value_or(PairOptions{}),
                   .stride = options.stride,
                   .partitions = options.partitions,
                   .in_flight = point.in_flight},
      .neighborhood = neighborhood_,
      .geometry = point.geometry,
      .aggregate = plan_.table.aggregate(),
      .root_shift = options.moves_root(spec()),
      .in_place = options.in_place ? spec().in_place : InPlace::no,
      .gone = gone,
      .in_flight = point.in_flight,
      .element = plan_.element,
      .type = ElementType(plan_.element, is_divided(spec()) ? 0 : point.geometry.elements),
      .single = ElementType(single_element(plan_.element), 0),
      // Derived types too: only a predefined operation may be used one-sidedly (MPI 3.1, section 11.3.4).
      .op = spec().access == Access::two_sided ? sum_.handle() : MPI_SUM,
      .info = shared_.info_.handle(),
      .window_kind = window_kind(),
      .sync = sync_of(spec(), options.sync_mode),
      .send_mode = options.send_mode,
      .send_buffer = nullptr,
      .packed = nullptr,
      .window = std::move(window),
      .window_memory = nullptr,
      .send = shared_.buffers_.send.memory(),
      .receive = shared_.buffers_.receive.memory(),
      .file = file_of(point),
      .send_part = nullptr,
      .receive_part = nullptr,
      .load = &shared_.loads_.cpu(),
      .device_load = shared_.loads_.device(),
      .barrier = barrier_of(options)});
  setup->endpoint.neighborhood = &setup->neighborhood;
  setup->endpoint.meeting = point.meeting;
  return setup;
}

Neighborhood MpiTable::neighborhood_of_rank() const {
  if (!spec().topology.exists() || !active()) return {};
  return neighborhood_of(spec().topology, group_.size(), group_.rank());
}

// Memory that MPI allocated takes the place of a buffer. Before the first epoch, a rank's own stores need no
// lock, which a window with no_locks does not have; passive targets synchronize their copies by one.
void MpiTable::adopt_window_memory(Setup& setup) const {
  const Exposed exposed = allocated_by_mpi();
  if (exposed == Exposed::nothing) return;
  const bool send = exposed == Exposed::send;
  const std::int64_t bytes = send ? setup.geometry.send.total : setup.geometry.receive.total;
  setup.window_memory = adopt_memory(MemoryKind::host, setup.window.memory(), bytes + Content::guard);
  (send ? setup.send : setup.receive) = setup.window_memory.get();
  const auto fill = [&] {
    fill_for_timing(*setup.window_memory, bytes, plan_.element, spec(), shared_.ranks_.rank());
  };
  if (uses_locks(spec(), setup.sync)) {
    const LockOne own(setup.endpoint.rank, setup.window.handle(), MPI_LOCK_EXCLUSIVE);
    fill();
  } else {
    fill();
  }
}

}  // namespace openimb
