// The context of a step: what a pattern sees of its rank. All patterns have GroupContext; each family adds
// its own. A context is constant over a batch and is copied into the timed loop.
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
  const GroupRank* me = nullptr;  ///< for `prepare`, which may depend on options
};

/// Messages between ranks: point-to-point and collectives. `Count` is int or MPI_Count.
template <class Count>
struct MessageContext : GroupContext {
  Count count = 0;                  ///< MPI elements in one message
  std::int64_t message_stride = 0;  ///< bytes from one message to the next in a buffer that holds several
  MPI_Datatype type = MPI_BYTE;
  MPI_Datatype element = MPI_BYTE;  ///< one base element, where `type` may be a vector of them
  MPI_Op op = MPI_SUM;
  const Count* counts = nullptr;                             ///< per rank: `count` each
  const call::Displacement<Count>* displacements = nullptr;  ///< per rank, in elements
  const Count* shares = nullptr;    ///< per rank, of a message divided over the group
  Count share = 0;                  ///< the same for equal blocks
  int in_flight = 1;                ///< messages per repetition
  MPI_Request* requests = nullptr;  ///< 2 * in_flight of them
};

class Turn;

/// Messages of a thread that shares its communicator with other threads, or takes turns with them.
template <class Count>
struct ThreadContext : MessageContext<Count> {
  int tag = 0;  ///< added to the tags of its messages
  int thread = 0;
  Turn* turn = nullptr;
  double* waiting = nullptr;  ///< the seconds that it waits for its turn are added here
};

class Marking;

/// Messages whose partitions the threads of a team mark ready.
template <class Count>
struct MarkingContext : MessageContext<Count> {
  Marking* marking = nullptr;
};

/// One-sided transfers.
template <class Count>
struct WindowContext : MessageContext<Count> {
  MPI_Win win = MPI_WIN_NULL;
  const MPI_Aint* bases = nullptr;  ///< per rank, the displacement at which its window begins
  MPI_Aint peer_base = 0;           ///< the peer's entry of `bases`
  const int* others = nullptr;      ///< the ranks - 1 other ranks, the right neighbor first
  WindowKind window_kind = WindowKind::create;
  MPI_Info info = MPI_INFO_NULL;
  MPI_Aint window_bytes = 0;  ///< bytes of one message, for windows that a step creates
};

class FileErrors;

/// Transfers to and from a file; `comm` is the communicator that opens it.
template <class Count>
struct FileContext : GroupContext {
  static constexpr int mode = MPI_MODE_CREATE | MPI_MODE_RDWR;
  MPI_File file = MPI_FILE_NULL;
  Count count = 0;  ///< bytes of this process's share
  MPI_Datatype type = MPI_BYTE;
  const char* name = nullptr;
  MPI_Info info = MPI_INFO_NULL;
  /// The byte that Open_Close writes: 1 to 255, by rank, as a hole reads as 0. It is outside the context, as
  /// MPI gets its address: if MPI had an address within the context, no field could stay in a register.
  const unsigned char* mark = nullptr;
  FileErrors* errors = nullptr;  ///< receives the errors of files that a step opens
};

}  // namespace openimb
