// IMB-RMA: loads and stores in windows of shared memory.
#pragma once

#include "benchmarks/passive_target.h"

namespace openimb {

/// The Spec of a benchmark in which rank 0 copies bytes to or from rank 1's part of shared memory.
/// MPI_Win_sync orders these loads and stores with the loads and stores of other ranks. Source: MPI 4.1,
/// sections 12.2.3 and 12.7.
constexpr Spec shared_memory_spec(std::string_view name, ExposedBuffer exposed, std::string_view measures) {
  Spec spec = passive_spec(name, Kind::single_transfer, exposed);
  spec.one_sided.sync = SyncMode::standard;
  spec.one_sided.window = WindowKind::shared;
  spec.one_sided.loads_and_stores = true;
  spec.needs = "Win_shared_query";
  spec.measures = measures;
  return off_by_default(spec);
}

struct SharedPair : PatternBase {
  static bool takes_part(const GroupRank& e) { return OneWay::is_origin(e.rank); }
  template <class C>
  static LockAllEpoch epoch(const C& c) {
    return LockAllEpoch(c.win);
  }
  template <class C>
  static SharedPart prepare(const C& c, const IterationPlan&) {
    return {c.peer, c.win};
  }
};

struct Shared_store : SharedPair {
  static constexpr Spec spec = shared_memory_spec(
      "Shared_store", ExposedBuffer::receive,
      "Time in which rank 0 copies a message with its CPU to rank 1's part of a shared-memory window, and "
      "calls MPI_Win_sync.");
  template <class C>
  static void step(const C& c, const Iteration& it, char* part) {
    copy_on_cpu(part + it.remote, it.send, c.message_stride);
    MPI_Win_sync(c.win);
  }
  static ExpectedContents expects(const GroupRank& e) { return pair_contents<Put, OneWay>(e); }
};

struct Shared_load : SharedPair {
  static constexpr Spec spec = shared_memory_spec(
      "Shared_load", ExposedBuffer::send,
      "Time in which rank 0 calls MPI_Win_sync, and copies a message with its CPU from rank 1's part of a "
      "shared-memory window.");
  template <class C>
  static void step(const C& c, const Iteration& it, char* part) {
    MPI_Win_sync(c.win);
    copy_on_cpu(it.receive, part + it.remote, c.message_stride);
  }
  static ExpectedContents expects(const GroupRank& e) { return pair_contents<Get, OneWay>(e); }
};

}  // namespace openimb
