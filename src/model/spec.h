// What a benchmark is, as plain data. What one repetition of it does lives in src/benchmarks.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/figures.h"
#include "model/names.h"
#include "model/topology.h"
#include "model/torus.h"

namespace openimb {

/// The guide's classes of benchmarks. The kind decides how many processes are active and, where a Spec names
/// no other one, which table is printed.
enum class Kind {
  single_transfer,    ///< two active processes
  multiple_transfer,  ///< one process with all others of the group
  parallel_transfer,  ///< all processes of the group, each with its neighbors or with all others
  collective,         ///< all processes of the group in one MPI collective
  synchronization     ///< no message: one row, no #bytes column
};
/// Spelled as in the first records, which must stay readable.
template <>
inline constexpr Names<5> names_of<Kind> = {"single_transfer", "multiple_transfer", "parallel_transfer",
                                            "collective", "synchronisation"};

constexpr const TableFormat* default_table(Kind kind) {
  if (kind == Kind::single_transfer || kind == Kind::multiple_transfer) return &tables::time_and_bandwidth;
  return kind == Kind::parallel_transfer ? &tables::range_and_bandwidth : &tables::range;
}

/// How many messages of the size under test one rank's buffer holds.
enum class Messages {
  none,
  one,
  two,
  in_flight,     ///< one for each that is received at once: see plan_geometry()
  per_rank,      ///< one message for each process of the group
  per_neighbor,  ///< one for each neighbor of the benchmark's topology
  per_stencil,   ///< one for each neighbor of the benchmark's stencil
  even_share,    ///< the message divided over the group, the first ranks one element more where it does not
                 ///< divide
  block_share    ///< the message divided over the group, every rank ceil(elements / processes)
};

/// What the displacement arguments of a vector collective count; int arguments limit them.
enum class Displacements { none, elements, bytes };

/// Where a collective may use one buffer for input and output (MPI_IN_PLACE). Source: MPI 3.1, chapter 5.
enum class InPlace {
  no,
  everywhere,     ///< every rank's input lies in its receive buffer
  root_sends,     ///< the root's input does: it sends nothing to itself
  root_receives,  ///< what the root would receive stays in its send buffer
};

/// Who completes a transfer, and how. Source: MPI 3.1, section 11.5.
enum class Access {
  two_sided,
  active_target,   ///< MPI_Win_fence on all processes
  passive_target,  ///< lock and flush at the origin; the target is not involved
  file             ///< a file takes the place of the other process
};

/// -window: who owns the memory of a window. Source: MPI 3.1, section 11.2.
enum class WindowKind { create, allocate, shared, dynamic };
template <>
inline constexpr Names<4> names_of<WindowKind> = {"create", "allocate", "shared", "dynamic"};

/// Kinds whose memory comes from MPI.
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

/// Upper bound of what MPI adds to a buffered message (MPI_BSEND_OVERHEAD), in bytes.
inline constexpr std::int64_t most_send_overhead = 1024;

/// Which send modes besides standard a transfer between two processes has.
struct SendModes {
  bool any = false;
  std::string_view not_buffered = {};  ///< why MPI_Bsend is not possible; empty: it is
};
inline constexpr SendModes every_send_mode{.any = true};

/// Whether transfers are completed one by one or all of a sample at once, and which table comes first where
/// there are two. Source: guide, "MPI-2 Benchmark Modes"; the order: reference outputs.
enum class Aggregation { none, aggregate_first, non_aggregate_first, aggregate_only, non_aggregate_only };

/// The mode of one table.
enum class Transfers { unmarked, aggregate, non_aggregate };

/// Whether a benchmark is timed once more with computation between start and wait, and for how long it then
/// computes.
enum class Overlap {
  none,
  matched,  ///< as long as the operation takes alone
  fixed     ///< TARGET_CPU_SECS, whatever the operation takes
};

/// Which buffer the other processes reach through a window.
enum class ExposedBuffer { nothing, send, receive };

/// Facts of one-sided benchmarks.
struct OneSided {
  ExposedBuffer exposed = ExposedBuffer::nothing;
  bool lengths_of_reductions = false;  ///< lengths are whole reduction elements, whatever is transferred
  bool single_element = false;         ///< always one element of a predefined type (MPI_Fetch_and_op)
  bool integers_only = false;          ///< elements are int, whatever type is asked for
  bool compares = false;  ///< the second message of the send buffer is compared with what the target holds
  bool computing_target = false;          ///< timed twice, once while the target computes outside MPI
  SyncMode sync = SyncMode::standard;     ///< what completes its transfers; standard: calls in its step
  bool any_sync = false;                  ///< -sync_mode may choose another one
  std::optional<WindowKind> window = {};  ///< the only kind that it can use
  bool loads_and_stores = false;          ///< moves bytes without MPI, whatever type is asked for

  /// The kind in force. `asked`: -window.
  constexpr WindowKind window_kind(WindowKind asked) const { return window.value_or(asked); }
};

/// What a benchmark does with its file.
enum class FileUse { none, write, read, open };

/// Where in its file a process writes or reads. Source: MPI 3.1, section 13.4.
enum class FilePointer {
  individual,  ///< of each process; through a tiled view where the file is a common one
  offset,      ///< none: the place is an argument of the call
  shared       ///< one for all processes
};

/// Facts of benchmarks on files.
struct FileTransfer {
  FileUse use = FileUse::none;
  FilePointer pointer = FilePointer::individual;
  bool own = false;  ///< each process has a file of its own, opened for MPI_COMM_SELF
};

/// Source: guide, "MPI-1 Benchmarks" and the following; the definitions of the names that the guide lacks are
/// in docs/methodology.md.
struct Spec {
  std::string_view name = {};
  Kind kind = Kind::collective;
  const TableFormat* table = default_table(kind);  ///< in which its results are printed
  Messages send = Messages::one;
  Messages receive = Messages::one;
  double time_factor = 1.0;      ///< reported time / time of one repetition (PingPong: 0.5)
  int messages_per_process = 1;  ///< messages into and out of one process per repetition, for the throughput
  /// Run by a team of threads in each process; a length counts all threads together.
  bool threaded = false;
  bool message_rate = false;  ///< has many messages in flight per repetition; prints Mbytes/sec and Msg/sec
  int min_processes = 1;

  /// Messages that each process that takes part sends in the time shown, on average; with message_rate, times
  /// those in flight.
  double sent = 0;
  bool in_pairs = false;   ///< processes work in pairs; with an odd number the last is idle
  int most_pairs = 0;      ///< how many pairs at most; 0: no limit
  bool in_rounds = false;  ///< measures pairs of endpoints in rounds (plan/rounds.h)
  /// Partners change with each repetition: Iteration::root is the round (model/random.h).
  bool random_partners = false;
  Stencil stencil = {};    ///< which neighbors exchange messages
  bool any_torus = false;  ///< dimensions may have an extent of 1
  Topology topology = {};  ///< of its communicator, for neighborhood collectives

  bool reduction = false;        ///< uses the reduction data type
  bool starts = false;           ///< its call starts the operation: nonblocking or persistent
  int requests_per_slot = 0;     ///< persistent requests that it makes for each slot of its buffers
  bool rooted = false;           ///< root is i % processes in repetition i
  bool shares_buffer = false;    ///< the root sends from the receive buffer (Bcast)
  bool updates_receive = false;  ///< the receive buffer is input as well as output
  bool partitioned = false;      ///< messages are in parts (-partitions), which -threads mark
  bool replaces = false;         ///< every rank sends from its receive buffer and receives there
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
  std::string_view measures = {};     ///< sentences for -help, where name and kind do not show what is timed
  std::string_view notes = {};        ///< comment lines under its name in the banner, each with # and newline

  constexpr bool uses_files() const { return access == Access::file; }
  constexpr bool uses_windows() const {
    return access == Access::active_target || access == Access::passive_target;
  }
  /// Whether its repetitions may begin at agreed times: blocking collectives, and MPI_Barrier.
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
  constexpr int processes_taking_part(int processes) const {
    if (!in_pairs) return processes;
    return 2 * (most_pairs > 0 && most_pairs < processes / 2 ? most_pairs : processes / 2);
  }
};

constexpr Spec off_by_default(Spec spec) {
  spec.in_default_list = false;
  return spec;
}
/// The same benchmark under a second name, which runs only when it is named.
constexpr Spec also_named(std::string_view name, Spec spec) {
  spec.name = name;
  return off_by_default(spec);
}

}  // namespace openimb
