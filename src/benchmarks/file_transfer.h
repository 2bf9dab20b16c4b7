// IMB-IO: each process writes or reads its share of an I/O portion. A template has three parameters: the
// operation (write, read), the position in the file (individual pointer, offset, shared pointer), and the
// processes that transfer. The entries of the catalog are in io.h. Source: guide, "IMB-IO Blocking
// Benchmarks", "IMB-IO Non-blocking Benchmarks".
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

/// The position in the file, as at the end of the guide's names: Indv, Expl, Shared. Priv is Indv in a file
/// of each process.
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

/// The processes that transfer, as at the beginning of the guide's names: S_, P_, C_.
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

/// The calls of a blocking benchmark and of its nonblocking form, whose t_pure is the time of `step`.
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

/// A blocking benchmark. Reads have nothing to complete, so they have one table, with the mode that the
/// reference outputs show.
template <Label name, class Who, class Action, class Pointer>
struct BlockingFile : PatternBase {
  using Loop = FileCalls<Action, typename Who::template Way<Pointer>>;
  static constexpr Spec spec = file_transfer<Action, Who, Pointer>(
      name.view(),
      Action::use == FileUse::write ? Aggregation::aggregate_first : Aggregation::aggregate_only);
};

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

/// Opens and closes a file. Each process writes one byte, the negligible action of the guide.
struct Open_Close : PatternBase {
  static constexpr Spec spec{.name = "Open_Close",
                             .kind = Kind::synchronization,
                             .send = Messages::none,
                             .receive = Messages::none,
                             .access = Access::file,
                             .file = {.use = FileUse::open},
                             .needs = "File_open"};
  /// The error is kept, as the time of an open that fails must not count.
  template <class C>
  static void step(const C& c, const Iteration&) {
    MPI_File file = MPI_FILE_NULL;
    c.errors->keep(MPI_File_open(c.comm, c.name, C::mode, c.info, &file));
    if (file == MPI_FILE_NULL) {
      c.errors->opened_by_all(false);  // does not return where others go on to MPI_File_close
      return;
    }
    c.errors->keep(MPI_File_write_at(file, c.rank, c.mark, 1, MPI_BYTE, MPI_STATUS_IGNORE));
    c.errors->keep(MPI_File_close(&file));
  }
};

}  // namespace openimb
