// The context of a step: the handles and numbers that a pattern uses. All contexts derive from GroupContext,
// and each family of benchmarks adds its own fields. A context is constant during a batch and is copied into
// the timed loop.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "engine/expected.h"
#include "mpi/calls.h"
#include "mpi/window.h"

namespace openimb {

/// This rank in its group.
struct GroupContext {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  int ranks = 1;
  int peer = 0;  ///< the other rank of a pair
  int left = 0;  ///< neighbors in the periodic chain
  int right = 0;
  const GroupRank* me = nullptr;  ///< for `prepare`, which may need values of options
};

/// The context of point-to-point messages and collectives. `Count` is int or MPI_Count.
template <class Count>
struct MessageContext : GroupContext {
  Count count = 0;                  ///< MPI elements in one message
  std::int64_t message_stride = 0;  ///< bytes from one message to the next in a buffer that holds several
  MPI_Datatype type = MPI_BYTE;
  MPI_Datatype element = MPI_BYTE;  ///< one base element; `type` may be a vector of base elements
  MPI_Op op = MPI_SUM;
  const Count* counts = nullptr;                             ///< `count` for each rank
  const call::Displacement<Count>* displacements = nullptr;  ///< of each rank's message, in elements
  const Count* shares = nullptr;    ///< elements of each rank, if a message is divided over the group
  Count share = 0;                  ///< shares[0]; of every rank, if the message is divided into equal blocks
  int in_flight = 1;                ///< messages per repetition
  MPI_Request* requests = nullptr;  ///< array of 2 * in_flight requests
};

class Turn;

/// The context of a thread that shares its communicator with other threads, or takes turns with them.
template <class Count>
struct ThreadContext : MessageContext<Count> {
  int tag = 0;  ///< added to the tags of its messages
  int thread = 0;
  Turn* turn = nullptr;
  double* waiting = nullptr;  ///< sum of the seconds that the thread waits for its turn
};

class Marking;

/// The context of messages whose partitions a team of threads marks ready.
template <class Count>
struct MarkingContext : MessageContext<Count> {
  Marking* marking = nullptr;
};

/// The context of one-sided transfers.
template <class Count>
struct WindowContext : MessageContext<Count> {
  MPI_Win win = MPI_WIN_NULL;
  const MPI_Aint* bases = nullptr;  ///< for each rank, the displacement at which its window begins
  MPI_Aint peer_base = 0;           ///< the peer's entry of `bases`
  const int* others = nullptr;      ///< array of the ranks - 1 other ranks, the right neighbor first
  WindowKind window_kind = WindowKind::create;
  MPI_Info info = MPI_INFO_NULL;
  MPI_Aint window_bytes = 0;  ///< bytes of one message, for windows that a step creates
};

class FileErrors;

/// The context of transfers to and from a file. `comm` is the communicator that opens the file.
template <class Count>
struct FileContext : GroupContext {
  static constexpr int mode = MPI_MODE_CREATE | MPI_MODE_RDWR;
  MPI_File file = MPI_FILE_NULL;
  Count count = 0;  ///< bytes of this rank's share
  MPI_Datatype type = MPI_BYTE;
  const char* name = nullptr;
  MPI_Info info = MPI_INFO_NULL;
  /// The byte that Open_Close writes: 1 to 255 by rank, because a hole in a file reads as 0. It is not a
  /// member of the context: MPI gets its address, and with an address within the context no field could stay
  /// in a register.
  const unsigned char* mark = nullptr;
  FileErrors* errors = nullptr;  ///< receives the errors of files that a step opens
};

}  // namespace openimb
