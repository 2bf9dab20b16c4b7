// IMB-IO: each process writes or reads its share of an I/O portion. The template parameters of a benchmark
// are the operation (write, read), the position in the file (individual pointer, offset, shared pointer), and
// the processes that transfer. io.h has the catalog. Source: guide, "IMB-IO Blocking Benchmarks", "IMB-IO
// Non-blocking Benchmarks".
#pragma once

#include "engine/file_batch.h"
#include "engine/pattern.h"
#include "model/spec.h"
#include "mpi/calls.h"

namespace openimb {

struct Write {
  static constexpr FileUse use = FileUse::write;
  template <class Way, class C>
  static void move(const C& c, const Iteration& it) {
    Way::write(c.file, it.offset, it.send, c.count, c.type);
  }
  template <class Way, class C>
  static void start(const C& c, const Iteration& it, MPI_Request* request) {
    Way::start_write(c.file, it.offset, it.send, c.count, c.type, request);
  }
  template <class Way, class C>
  static void finish(const C& c, const Iteration& it, MPI_Request* request) {
    Way::finish_write(c.file, it.send, request);
  }
};

struct Read {
  static constexpr FileUse use = FileUse::read;
  template <class Way, class C>
  static void move(const C& c, const Iteration& it) {
    Way::read(c.file, it.offset, it.receive, c.count, c.type);
  }
  template <class Way, class C>
  static void start(const C& c, const Iteration& it, MPI_Request* request) {
    Way::start_read(c.file, it.offset, it.receive, c.count, c.type, request);
  }
  template <class Way, class C>
  static void finish(const C& c, const Iteration& it, MPI_Request* request) {
    Way::finish_read(c.file, it.receive, request);
  }
};

/// How a call gets its position in the file. The names are the ends of the guide's names: individual pointer
/// (Indv), explicit offset (Expl), shared pointer (Shared). Priv has an individual pointer, and each process
/// has its own file.
struct Indv {
  static constexpr FilePointer pointer = FilePointer::individual;
  static constexpr bool own_file = false;
  using One = call::IndividualPointerCalls;
  using All = call::CollectiveIndividualCalls;
};
struct Expl {
  static constexpr FilePointer pointer = FilePointer::offset;
  static constexpr bool own_file = false;
  using One = call::OffsetCalls;
  using All = call::CollectiveOffsetCalls;
};
struct Shared {
  static constexpr FilePointer pointer = FilePointer::shared;
  static constexpr bool own_file = false;
  using One = call::SharedPointerCalls;
  using All = call::OrderedCalls;
};
struct Priv {
  static constexpr FilePointer pointer = FilePointer::individual;
  static constexpr bool own_file = true;
  using One = call::IndividualPointerCalls;
};

/// Which processes transfer, and how. These are the beginnings of the guide's names: S_ (one process), P_
/// (all processes, independent calls), C_ (all processes, collective calls).
struct Single {
  static constexpr Kind kind = Kind::single_transfer;
  template <class Pointer>
  using Way = typename Pointer::One;
};
struct Parallel {
  static constexpr Kind kind = Kind::parallel_transfer;
  template <class Pointer>
  using Way = typename Pointer::One;
};
struct Collective {
  static constexpr Kind kind = Kind::collective;
  template <class Pointer>
  using Way = typename Pointer::All;
};

template <class Action, class Who, class Pointer>
constexpr Spec file_transfer(std::string_view name, Aggregation aggregation) {
  constexpr bool writes = Action::use == FileUse::write;
  return {.name = name,
          .kind = Who::kind,
          .table =
              Who::kind == Kind::single_transfer ? &tables::time_and_bandwidth : &tables::range_and_bandwidth,
          .send = writes ? Messages::even_share : Messages::none,
          .receive = writes ? Messages::none : Messages::even_share,
          .access = Access::file,
          .aggregation = aggregation,
          .file = {.use = Action::use, .pointer = Pointer::pointer, .own = Pointer::own_file},
          .needs = "File_open"};
}

/// The calls of a blocking benchmark (`step`) and of its nonblocking form (`post`, `finish`). The time of
/// `step` is the t_pure of the nonblocking form.
template <class Action, class Way>
struct FileCalls : PatternBase {
  template <class C>
  static void step(const C& c, const Iteration& it) {
    Action::template move<Way>(c, it);
  }
  template <class C>
  static void post(const C& c, const Iteration& it, MPI_Request* request) {
    Action::template start<Way>(c, it, request);
  }
  template <class C>
  static void finish(const C& c, const Iteration& it, MPI_Request* request) {
    Action::template finish<Way>(c, it, request);
  }
};

/// A blocking benchmark. A read leaves nothing to complete, so it has only one table; the reference outputs
/// call its mode aggregate.
template <Label name, class Who, class Action, class Pointer>
struct BlockingFile : PatternBase {
  using Loop = FileCalls<Action, typename Who::template Way<Pointer>>;
  static constexpr Spec spec = file_transfer<Action, Who, Pointer>(
      name.view(),
      Action::use == FileUse::write ? Aggregation::aggregate_first : Aggregation::aggregate_only);
};

/// A nonblocking benchmark. It computes between start and wait.
template <Label name, class Who, class Action, class Pointer>
struct NonblockingFile : PatternBase {
  using Loop = FileCalls<Action, typename Who::template Way<Pointer>>;
  static constexpr Spec spec = [] {
    Spec spec = file_transfer<Action, Who, Pointer>(name.view(), Aggregation::non_aggregate_only);
    spec.overlap = Overlap::fixed;
    spec.table = &tables::overlap;
    return spec;
  }();
};

/// Opens and closes a file. Each process also writes one byte; the guide calls this a negligible action.
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
