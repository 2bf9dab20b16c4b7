// Describes a benchmark as plain data. src/benchmarks has the code of one repetition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "model/figures.h"
#include "model/names.h"
#include "model/topology.h"
#include "model/torus.h"

namespace openimb {

/// The guide's classes of benchmarks. The kind decides how many processes are active and which table is
/// printed, unless the Spec names another table.
enum class Kind {
  single_transfer,    ///< two active processes
  multiple_transfer,  ///< one process with all others of the group
  parallel_transfer,  ///< all processes of the group, each with its neighbors or with all others
  collective,         ///< all processes of the group in one MPI collective
  synchronization     ///< no message: one row, no #bytes column
};
/// "synchronisation" keeps the spelling of the first records, which must stay readable.
template <>
inline constexpr Names<5> names_of<Kind> = {"single_transfer", "multiple_transfer", "parallel_transfer",
                                            "collective", "synchronisation"};
/// The kinds in -help and -list.
inline constexpr Names<5> kind_titles = {"single transfer", "multiple transfer", "parallel transfer",
                                         "collective", "synchronization"};
constexpr const char* kind_title(Kind kind) { return kind_titles[static_cast<std::size_t>(kind)]; }

constexpr const TableFormat* default_table(Kind kind) {
  if (kind == Kind::single_transfer || kind == Kind::multiple_transfer) return &tables::time_and_bandwidth;
  return kind == Kind::parallel_transfer ? &tables::range_and_bandwidth : &tables::range;
}

/// The number of messages of the size under test that one rank's buffer holds.
enum class Messages {
  none,
  one,
  two,
  in_flight,     ///< one for each message that is received at once: see plan_geometry()
  per_rank,      ///< one message for each process of the group
  per_neighbor,  ///< one for each neighbor of the benchmark's topology
  per_stencil,   ///< one for each neighbor of the benchmark's stencil
  even_share,    ///< this rank's part of one message divided over the group; the first elements % processes
                 ///< ranks have one element more
  block_share    ///< this rank's part of one message divided over the group: ceil(elements / processes)
};

/// The unit of the displacement arguments of a vector collective. int arguments limit the displacements.
enum class Displacements { none, elements, bytes };

/// Where a collective may use one buffer for input and output (MPI_IN_PLACE). Source: MPI 3.1, chapter 5.
enum class InPlace {
  no,
  everywhere,     ///< every rank's input lies in its receive buffer
  root_sends,     ///< the root's input lies in its receive buffer (Gather, Reduce)
  root_receives,  ///< the root's own part stays in its send buffer (Scatter)
};

/// Who completes a transfer, and how. Source: MPI 3.1, section 11.5.
enum class Access {
  two_sided,
  active_target,   ///< MPI_Win_fence on all processes
  passive_target,  ///< lock and flush at the origin; the target is not involved
  file             ///< the transfer is between a process and a file
};

/// -window: who owns the memory of a window. Source: MPI 3.1, section 11.2.
enum class WindowKind { create, allocate, shared, dynamic };
template <>
inline constexpr Names<4> names_of<WindowKind> = {"create", "allocate", "shared", "dynamic"};

/// Whether MPI allocates the memory of the window.
constexpr bool allocates(WindowKind kind) {
  return kind == WindowKind::allocate || kind == WindowKind::shared;
}

/// -sync_mode: what completes one-sided transfers. standard: what the benchmark's definition requires.
/// Source: MPI 4.1, section 12.5.
enum class SyncMode { standard, fence, pscw, lock, lock_all, flush, flush_local };
template <>
inline constexpr Names<7> names_of<SyncMode> = {"standard", "fence", "pscw",       "lock",
                                                "lock_all", "flush", "flush_local"};

/// -send_mode: which calls send messages from one process to another. Source: MPI 4.1, section 3.4.
enum class SendMode { standard, synchronous, buffered };
template <>
inline constexpr Names<3> names_of<SendMode> = {"standard", "synchronous", "buffered"};

/// Upper bound of MPI_BSEND_OVERHEAD, the bytes that MPI adds to a buffered message.
inline constexpr std::int64_t max_send_overhead = 1024;

/// Which send modes besides standard a benchmark can use.
struct SendModes {
  bool any = false;
  std::string_view not_buffered = {};  ///< why MPI_Bsend is not possible; empty: it is possible
};
inline constexpr SendModes every_send_mode{.any = true};

/// In which of MPI-2's modes a benchmark runs, and which mode comes first. aggregate: all transfers of a
/// sample complete together. non_aggregate: each transfer completes before the next. Source: guide, "MPI-2
/// Benchmark Modes"; for the order: reference outputs.
enum class Aggregation { none, aggregate_first, non_aggregate_first, aggregate_only, non_aggregate_only };

/// The MPI-2 mode of one table. unmarked: the benchmark has no such modes.
enum class Transfers { unmarked, aggregate, non_aggregate };

/// How long an overlap benchmark computes between start and wait when it is timed a second time. none: the
/// benchmark does not measure overlap.
enum class Overlap {
  none,
  matched,  ///< as long as the operation takes alone
  fixed     ///< TARGET_CPU_SECS
};

/// Which buffer the other processes reach through a window.
enum class ExposedBuffer { nothing, send, receive };

/// Facts of one-sided benchmarks.
struct OneSided {
  ExposedBuffer exposed = ExposedBuffer::nothing;
  bool lengths_of_reductions = false;  ///< lengths are rounded up to whole elements of the reduction type
  bool single_element = false;         ///< always one element of a predefined type (MPI_Fetch_and_op)
  bool integers_only = false;          ///< elements are int; -data_type does not apply
  bool compares =
      false;  ///< MPI_Compare_and_swap: the second message of the send buffer is the value to compare with
  bool computing_target = false;       ///< timed twice, the second time while the target computes outside MPI
  SyncMode sync = SyncMode::standard;  ///< what completes its transfers; standard: calls in its step
  bool any_sync = false;               ///< -sync_mode may choose another synchronization
  std::optional<WindowKind> window = {};  ///< the only kind of window that it can use
  bool loads_and_stores = false;          ///< moves bytes with loads and stores; -data_type does not apply

  /// The kind of window that the benchmark uses. `asked`: -window.
  constexpr WindowKind window_kind(WindowKind asked) const { return window.value_or(asked); }
};

/// What a benchmark does with its file.
enum class FileUse { none, write, read, open };

/// Where in its file a process writes or reads. Source: MPI 3.1, section 13.4.
enum class FilePointer {
  individual,  ///< each process has its own pointer; in a common file the processes' views are tiles
  offset,      ///< no pointer: the position is an argument of the call
  shared       ///< all processes share one pointer
};

/// Facts of benchmarks on files.
struct FileTransfer {
  FileUse use = FileUse::none;
  FilePointer pointer = FilePointer::individual;
  bool own = false;  ///< each process has its own file, opened with MPI_COMM_SELF
};

/// What a benchmark transfers and how it is timed and printed. Source: guide, "MPI-1 Benchmarks" and the
/// sections after it; docs/methodology.md defines the benchmarks that the guide does not have.
struct Spec {
  std::string_view name = {};
  Kind kind = Kind::collective;
  const TableFormat* table = default_table(kind);  ///< format of its results
  Messages send = Messages::one;
  Messages receive = Messages::one;
  double time_factor = 1.0;      ///< reported time / time of one repetition (PingPong: 0.5)
  int messages_per_process = 1;  ///< messages into and out of one process per repetition, for the throughput
  /// A team of threads runs it in each process. A length counts the messages of all threads together.
  bool threaded = false;
  bool message_rate = false;  ///< has many messages in flight per repetition; prints Mbytes/sec and Msg/sec
  int min_processes = 1;

  /// Messages that a participating process sends in the time shown, on average; with message_rate, to be
  /// multiplied by the number of messages in flight.
  double sent = 0;
  bool in_pairs = false;   ///< processes work in pairs; with an odd number the last is idle
  int max_pairs = 0;       ///< largest number of pairs; 0: no limit
  bool in_rounds = false;  ///< measures pairs of endpoints in rounds (plan/rounds.h)
  /// Partners change with each repetition: Iteration::root is the round (model/random.h).
  bool random_partners = false;
  Stencil stencil = {};    ///< which neighbors exchange messages
  bool any_torus = false;  ///< dimensions may have an extent of 1
  Topology topology = {};  ///< neighborhood collectives: topology of the communicator

  bool reduction = false;        ///< uses the reduction data type
  bool starts = false;           ///< nonblocking or persistent: its call only starts the operation
  int requests_per_slot = 0;     ///< persistent requests for each slot of its buffers
  bool rooted = false;           ///< root is i % processes in repetition i
  bool shares_buffer = false;    ///< the root sends from the receive buffer (Bcast)
  bool updates_receive = false;  ///< the receive buffer is input as well as output
  bool partitioned = false;      ///< messages have parts (-partitions) that the threads mark as ready
  bool replaces = false;         ///< each rank sends from its receive buffer (MPI_Sendrecv_replace)
  Displacements displacements = Displacements::none;
  InPlace in_place = InPlace::no;

  Access access = Access::two_sided;
  Aggregation aggregation = Aggregation::none;
  Overlap overlap = Overlap::none;
  OneSided one_sided = {};
  SendModes send_modes = {};
  FileTransfer file = {};

  bool in_default_list = true;
  std::string_view needs = {};  ///< an MPI call, without "MPI_", that a library may lack (mpi/optional.h)
  std::string_view unavailable = {};  ///< why this MPI cannot run it; empty: it can
  std::string_view measures = {};     ///< sentences for -help, if name and kind do not show what is timed
  std::string_view notes = {};        ///< comment lines after its name in the banner, each with # and newline

  constexpr bool uses_files() const { return access == Access::file; }
  constexpr bool uses_windows() const {
    return access == Access::active_target || access == Access::passive_target;
  }
  /// Whether -sync_start clock applies: blocking collectives and MPI_Barrier.
  constexpr bool can_start_by_clock() const {
    const bool collective = kind == Kind::collective || (kind == Kind::synchronization && needs.empty());
    return collective && access == Access::two_sided && !starts && !threaded && !overlaps();
  }
  /// Whether a rank receives its share of a message divided over the group.
  constexpr bool is_divided() const {
    return receive == Messages::even_share || receive == Messages::block_share;
  }
  /// Whether -layout can put gaps between the elements of its messages. MPI defines no reduction of derived
  /// types.
  constexpr bool takes_layout() const {
    return access == Access::two_sided && !reduction && !partitioned && !is_divided() &&
           (send != Messages::none || receive != Messages::none);
  }
  constexpr bool overlaps() const { return overlap != Overlap::none; }
  constexpr int participating_processes(int processes) const {
    if (!in_pairs) return processes;
    return 2 * (max_pairs > 0 && max_pairs < processes / 2 ? max_pairs : processes / 2);
  }
};

constexpr Spec off_by_default(Spec spec) {
  spec.in_default_list = false;
  return spec;
}
/// Returns the benchmark under a second name. It runs only when it is selected by that name.
constexpr Spec also_named(std::string_view name, Spec spec) {
  spec.name = name;
  return off_by_default(spec);
}

}  // namespace openimb
