// Setup: everything that the batch of a point needs on a rank.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <string>

#include "clocks/gate.h"
#include "engine/cpu_load.h"
#include "engine/device_load.h"
#include "engine/expected.h"
#include "engine/timed_loop.h"
#include "memory/memory.h"
#include "model/options.h"
#include "model/spec.h"
#include "model/topology.h"
#include "mpi/attached_buffer.h"
#include "mpi/datatype.h"
#include "mpi/window.h"
#include "plan/files.h"
#include "plan/geometry.h"

namespace openimb {

/// A rank in its group. The table owns the communicators, which outlive this.
struct GroupSetup {
  MPI_Comm comm = MPI_COMM_NULL;        ///< for the calls under test
  MPI_Comm control = MPI_COMM_NULL;     ///< has the same ranks; for messages of the suite itself
  void (*barrier)(MPI_Comm) = nullptr;  ///< barrier between repetitions of a synchronized batch
  Gate* gate = nullptr;       ///< makes repetitions begin at agreed times; null without -sync_start clock
  GroupRank me;               ///< me.root is the root of the first repetition
  Neighborhood neighborhood;  ///< empty if the benchmark has no topology
};

/// The memory of messages, and their types.
struct BufferSetup {
  Geometry geometry;
  Element element;
  ElementType type;    ///< consists of type.covers() base elements
  ElementType single;  ///< one base element
  InPlace in_place = InPlace::no;
  Memory* send = nullptr;
  Memory* receive = nullptr;
  std::unique_ptr<Memory> send_part;  ///< part of the rank's buffer that a thread uses
  std::unique_ptr<Memory> receive_part;
};

/// The window of a one-sided benchmark.
struct WindowSetup {
  WindowKind kind = WindowKind::create;
  SyncMode sync = SyncMode::standard;  ///< synchronization that the benchmark uses
  Window win;                          ///< has no handle if the benchmark exposes nothing
  std::unique_ptr<Memory> memory;      ///< memory of the window, if MPI allocated it
};

/// The file of a benchmark.
struct FileSetup {
  std::string name;
  Tile tile;
  std::int64_t bytes = 0;        ///< the message size under test
  std::int64_t repetitions = 0;  ///< number of repetitions for which a file that is read has contents
  FileSync sync = FileSync::standard;
};

class Marking;
class Turn;

/// A thread of a team.
struct TeamSetup {
  int thread = 0;
  bool tagged = false;         ///< threads share a communicator
  Turn* turn = nullptr;        ///< null unless threads take turns
  Marking* marking = nullptr;  ///< null unless threads mark the parts of a message
};

/// The batch owns its setup, and destroys the pattern's objects before the setup. The table owns operation
/// and info, which outlive the batch.
struct Setup {
  GroupSetup group;
  BufferSetup buffers;
  WindowSetup window;
  FileSetup file;
  TeamSetup team;
  bool aggregate = false;
  bool root_shift = true;
  std::int64_t completed = 0;  ///< repetitions of the point that completed before this batch
  MPI_Op op = MPI_SUM;
  MPI_Info info = MPI_INFO_NULL;
  SendMode send_mode = SendMode::standard;
  std::unique_ptr<AttachedBuffer> send_buffer;  ///< for buffered sends
  CpuLoad* load = nullptr;
  DeviceLoad* device_load = nullptr;  ///< null: the CPU computes
};

/// Whether this rank passes MPI_IN_PLACE as its send buffer (sends_in_place) or, as the root, as its receive
/// buffer (receives_in_place).
inline bool sends_in_place(const Setup& setup) {
  return setup.buffers.in_place == InPlace::everywhere ||
         (setup.buffers.in_place == InPlace::root_sends && setup.group.me.rank == setup.group.me.root);
}
inline bool receives_in_place(const Setup& setup) {
  return setup.buffers.in_place == InPlace::root_receives && setup.group.me.rank == setup.group.me.root;
}

/// The plan of iterations for a setup. `reads_remote`: transfers read the target's send buffer. `rotates`:
/// the root may change with each repetition.
inline IterationPlan iteration_plan(const Setup& setup, bool reads_remote, bool rotates) {
  const Geometry& geometry = setup.buffers.geometry;
  const auto address = [](const Memory* memory) {
    return memory != nullptr ? reinterpret_cast<char*>(memory->address()) : nullptr;
  };
  const bool no_send = sends_in_place(setup), no_receive = receives_in_place(setup);
  return {.first = {.send = no_send ? static_cast<char*>(MPI_IN_PLACE) : address(setup.buffers.send),
                    .receive = no_receive ? static_cast<char*>(MPI_IN_PLACE) : address(setup.buffers.receive),
                    .offset = setup.file.tile.first},
          .send_stride = no_send ? 0 : geometry.send.stride,
          .receive_stride = no_receive ? 0 : geometry.receive.stride,
          .remote_stride = reads_remote ? geometry.send.stride : geometry.receive.stride,
          .slots = geometry.slots,
          .ranks = setup.group.me.ranks,
          .root_step = rotates && setup.root_shift ? 1 : 0,
          .offset_stride = setup.file.tile.portion,
          .completed = setup.aggregate ? 0 : setup.completed};
}

}  // namespace openimb
