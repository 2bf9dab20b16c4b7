// IMB-IO: each rank writes or reads its share of an I/O portion. The template parameters of a benchmark are
// the operation (write, read), the position in the file (individual pointer, offset, shared pointer), and the
// ranks that transfer. io.h has the catalog. Source: guide, "IMB-IO Blocking Benchmarks", "IMB-IO
// Non-blocking Benchmarks".
#pragma once

#include "engine/file_batch.h"
#include "engine/pattern.h"
#include "model/spec.h"
#include "mpi/calls.h"

namespace openimb {

struct Write {
  static constexpr FileUse use = FileUse::write;
  template <class Calls, class C>
  static void transfer(const C& c, const Iteration& it) {
    Calls::write(c.file, it.offset, it.send, c.count, c.type);
  }
  template <class Calls, class C>
  static void start(const C& c, const Iteration& it, MPI_Request* request) {
    Calls::start_write(c.file, it.offset, it.send, c.count, c.type, request);
  }
  template <class Calls, class C>
  static void finish(const C& c, const Iteration& it, MPI_Request* request) {
    Calls::finish_write(c.file, it.send, request);
  }
};

struct Read {
  static constexpr FileUse use = FileUse::read;
  template <class Calls, class C>
  static void transfer(const C& c, const Iteration& it) {
    Calls::read(c.file, it.offset, it.receive, c.count, c.type);
  }
  template <class Calls, class C>
  static void start(const C& c, const Iteration& it, MPI_Request* request) {
    Calls::start_read(c.file, it.offset, it.receive, c.count, c.type, request);
  }
  template <class Calls, class C>
  static void finish(const C& c, const Iteration& it, MPI_Request* request) {
    Calls::finish_read(c.file, it.receive, request);
  }
};

/// How a call gets its position in the file. Each name is the end of the guide's names: individual pointer
/// (Indv), explicit offset (Expl), shared pointer (Shared). Priv has an individual pointer, and each rank has
/// its own file.
struct Indv {
  static constexpr FilePointer pointer = FilePointer::individual;
  static constexpr bool own_file = false;
  using IndependentCalls = call::IndividualPointerCalls;
  using CollectiveCalls = call::CollectiveIndividualCalls;
};
struct Expl {
  static constexpr FilePointer pointer = FilePointer::offset;
  static constexpr bool own_file = false;
  using IndependentCalls = call::OffsetCalls;
  using CollectiveCalls = call::CollectiveOffsetCalls;
};
struct Shared {
  static constexpr FilePointer pointer = FilePointer::shared;
  static constexpr bool own_file = false;
  using IndependentCalls = call::SharedPointerCalls;
  using CollectiveCalls = call::OrderedCalls;
};
struct Priv {
  static constexpr FilePointer pointer = FilePointer::individual;
  static constexpr bool own_file = true;
  using IndependentCalls = call::IndividualPointerCalls;
};

/// Which ranks transfer, and how. Each corresponds to the beginning of the guide's names: S_ (one rank), P_
/// (all ranks, independent calls), C_ (all ranks, collective calls).
struct Single {
  static constexpr Kind kind = Kind::single_transfer;
  template <class Pointer>
  using Calls = typename Pointer::IndependentCalls;
};
struct Parallel {
  static constexpr Kind kind = Kind::parallel_transfer;
  template <class Pointer>
  using Calls = typename Pointer::IndependentCalls;
};
struct Collective {
  static constexpr Kind kind = Kind::collective;
  template <class Pointer>
  using Calls = typename Pointer::CollectiveCalls;
};

template <class Operation, class Ranks, class Pointer>
constexpr Spec file_transfer(std::string_view name, Aggregation aggregation) {
  constexpr bool writes = Operation::use == FileUse::write;
  return {.name = name,
          .kind = Ranks::kind,
          .table = Ranks::kind == Kind::single_transfer ? &tables::time_and_bandwidth
                                                        : &tables::range_and_bandwidth,
          .send = writes ? Messages::even_share : Messages::none,
          .receive = writes ? Messages::none : Messages::even_share,
          .access = Access::file,
          .aggregation = aggregation,
          .file = {.use = Operation::use, .pointer = Pointer::pointer, .own = Pointer::own_file},
          .needs = "File_open"};
}

/// The calls of a blocking benchmark (`step`) and of its nonblocking form (`post`, `finish`). The time of
/// `step` is the t_pure of the nonblocking form.
template <class Operation, class Calls>
struct FileCalls : PatternBase {
  template <class C>
  static void step(const C& c, const Iteration& it) {
    Operation::template transfer<Calls>(c, it);
  }
  template <class C>
  static void post(const C& c, const Iteration& it, MPI_Request* request) {
    Operation::template start<Calls>(c, it, request);
  }
  template <class C>
  static void finish(const C& c, const Iteration& it, MPI_Request* request) {
    Operation::template finish<Calls>(c, it, request);
  }
};

/// A blocking benchmark. A read leaves nothing to complete, so it has only one table; the reference outputs
/// call its mode aggregate.
template <Label name, class Ranks, class Operation, class Pointer>
struct BlockingFile : PatternBase {
  using Loop = FileCalls<Operation, typename Ranks::template Calls<Pointer>>;
  static constexpr Spec spec = file_transfer<Operation, Ranks, Pointer>(
      name.view(),
      Operation::use == FileUse::write ? Aggregation::aggregate_first : Aggregation::aggregate_only);
};

/// A nonblocking benchmark. It computes between start and wait.
template <Label name, class Ranks, class Operation, class Pointer>
struct NonblockingFile : PatternBase {
  using Loop = FileCalls<Operation, typename Ranks::template Calls<Pointer>>;
  static constexpr Spec spec = [] {
    Spec spec = file_transfer<Operation, Ranks, Pointer>(name.view(), Aggregation::non_aggregate_only);
    spec.overlap = Overlap::fixed;
    spec.table = &tables::overlap;
    return spec;
  }();
};

/// Opens and closes a file. Each rank also writes one byte, which the guide calls a negligible action.
struct Open_Close : PatternBase {
  static constexpr Spec spec{.name = "Open_Close",
                             .kind = Kind::synchronization,
                             .send = Messages::none,
                             .receive = Messages::none,
                             .access = Access::file,
                             .file = {.use = FileUse::open},
                             .needs = "File_open"};
  /// Keeps errors, because the time of an open that fails must not count.
  template <class C>
  static void step(const C& c, const Iteration&) {
    MPI_File file = MPI_FILE_NULL;
    c.errors->keep(MPI_File_open(c.comm, c.name, C::mode, c.info, &file));
    if (file == MPI_FILE_NULL) {
      // Throws if other ranks opened the file: their MPI_File_close would wait for this rank.
      c.errors->all_opened(false);
      return;
    }
    c.errors->keep(MPI_File_write_at(file, c.rank, c.mark, 1, MPI_BYTE, MPI_STATUS_IGNORE));
    c.errors->keep(MPI_File_close(&file));
  }
};

}  // namespace openimb
