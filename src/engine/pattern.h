// What a benchmark's step sees. Everything a new benchmark needs is in this file, in engine/expected.h, in
// plan/spec.h and in mpi/calls.h.
//
// A benchmark is a struct of
//   static constexpr Spec spec;
//   template <class C> static void step(const C& c, const Lap& lap);   one repetition, timed
//   static Expected expects(const Place& place);                       what it must have received, never
//   timed
// and, where it needs them,
//   static bool takes_part(const Place& place);                        some ranks of the group stand aside
//   static int peer_of(const Place& place);                            a pair that is not "the right
//   neighbour" static bool updates(const Place& place);                           its receive buffer is input
//   too template <class C> static void close(const C& c);                  timed: completes one repetition's
//   step, or,
//                                                                      in aggregate mode, those of all
//   template <class C> static auto hold(const C& c);                   untimed: an object that lives as long
//   as
//                                                                      the batch, such as a lock
#pragma once

#include <cstdint>

#include "engine/expected.h"
#include "engine/timed_loop.h"
#include "mpi/calls.h"
#include "mpi/window.h"
#include "plan/spec.h"

namespace openimb {

inline constexpr int message_tag = 1;

/// One rank's view of the group, constant over a batch. `Count` is int or MPI_Count.
template <class Count>
struct Context {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  int ranks = 1;
  int peer = 0;  ///< the other rank of a pair
  int left = 0;  ///< neighbours in the periodic chain
  int right = 0;
  Count count = 0;        ///< MPI elements in one message
  std::int64_t span = 0;  ///< bytes from one message to the next in a buffer that holds several
  MPI_Datatype type = MPI_BYTE;
  MPI_Datatype element = MPI_BYTE;  ///< one base element, where `type` may be a vector of them
  MPI_Op op = MPI_SUM;
  const Count* counts = nullptr;                             ///< per rank: `count` each
  const call::Displacement<Count>* displacements = nullptr;  ///< per rank, in elements
  const Count* shares = nullptr;    ///< per rank, of a message divided over the group
  Count share = 0;                  ///< the same for equal blocks
  int window = 1;                   ///< messages per repetition
  MPI_Request* requests = nullptr;  ///< 2 * window of them

  // One-sided.
  MPI_Win win = MPI_WIN_NULL;
  const MPI_Aint* bases = nullptr;  ///< per rank, the displacement at which its window begins
  MPI_Aint peer_base = 0;           ///< the peer's of these
  const int* others = nullptr;      ///< the ranks - 1 other ranks, the right neighbour first
  WindowKind window_kind = WindowKind::create;
  MPI_Info info = MPI_INFO_NULL;
  MPI_Aint window_bytes = 0;  ///< to expose: one message
};

}  // namespace openimb
