// What a launch was asked to do. src/cli fills in the options, and src/resolve completes those that depend on
// the machine. After that they are const.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/arrival.h"
#include "model/data_type.h"
#include "model/fabric_options.h"
#include "model/memory_kind.h"
#include "model/names.h"
#include "model/random.h"
#include "model/spec.h"

namespace openimb {

inline constexpr std::int64_t mebibyte = 1 << 20;
inline constexpr int default_cache_line = 64;  ///< bytes; for constants, and if the machine's is unknown
inline constexpr std::int64_t gibibyte = 1 << 30;
inline constexpr int default_in_flight = 256;  ///< messages per repetition

/// -iter_policy: how the number of repetitions is limited (plan/repetitions.h).
enum class IterationPolicy { dynamic, multiple_np, automatic, off };
template <>
inline constexpr Names<4> names_of<IterationPolicy> = {"dynamic", "multiple_np", "auto", "off"};

/// -multi. off: one group. summary (-multi 0): one row with the extremes over all groups. each_group
/// (-multi 1): one row per group.
enum class Multi { off, summary, each_group };
// Names in records; -multi takes numbers.
template <>
inline constexpr Names<3> names_of<Multi> = {"off", "summary", "each_group"};

/// -fsync: when written data are forced to storage. standard: whenever the guide requires completion. Source:
/// guide, "Assured Completion of Transfers".
enum class FileSync { standard, never };
template <>
inline constexpr Names<2> names_of<FileSync> = {"standard", "never"};

/// -aggregate_mode: which of the two modes run.
enum class AggregateMode { aggregate, non_aggregate, both };
template <>
inline constexpr Names<3> names_of<AggregateMode> = {"aggregate", "non_aggregate", "multi"};

/// -thread_level: the MPI_THREAD_... level that is requested.
enum class ThreadLevel { single, funneled, serialized, multiple };
template <>
inline constexpr Names<4> names_of<ThreadLevel> = {"single", "funneled", "serialized", "multiple"};

/// "MPI_THREAD_SINGLE".
inline std::string name_in_mpi(ThreadLevel level) {
  std::string name = "MPI_THREAD_";
  for (const char letter : std::string_view(name_of(level))) name += static_cast<char>(letter - 'a' + 'A');
  return name;
}
inline constexpr int max_threads = 4096;  ///< largest number of threads of a process

/// -comm: how the messages of a process's threads are kept apart: each thread has its own communicator, or
/// all threads share one and use different tags.
enum class ThreadComm { per_thread, shared };
template <>
inline constexpr Names<2> names_of<ThreadComm> = {"per_thread", "shared"};

/// -malloc_algo. serial: the main thread allocates and fills the buffers of all threads. continuous: like
/// serial, but without pages between the buffers. parallel: each thread fills its own buffers, so that they
/// are placed near it (first touch).
enum class ThreadMemory { serial, continuous, parallel };
template <>
inline constexpr Names<3> names_of<ThreadMemory> = {"serial", "continuous", "parallel"};

/// The threads of each process.
struct Threads {
  std::optional<int> asked;  ///< -threads
  int count = 1;             ///< number of threads that run, including the main thread
  ThreadComm comm = ThreadComm::per_thread;
  ThreadMemory memory = ThreadMemory::serial;
  std::int64_t alignment = 64;  ///< -malloc_align, bytes
  bool pinned = false;          ///< -pin_threads
};

/// The guide's table "Parameters Controlling Intel MPI Benchmarks", with its standard-mode values. -set sets
/// each by name; the comments name the option that also sets it.
struct Settings {
  int min_message_log = 0;                            ///< MINMSGLOG, -msglog
  int max_message_log = 22;                           ///< MAXMSGLOG, -msglog
  IterationPolicy policy = IterationPolicy::dynamic;  ///< ITER_POLICY, -iter_policy
  std::int64_t repetitions = 1000;                    ///< MSGSPERSAMPLE, -iter
  std::int64_t non_aggregate_repetitions = 100;       ///< MSGS_NONAGGR, -iter
  std::int64_t overall_volume = 40 * mebibyte;        ///< OVERALL_VOL in bytes; -iter takes MiB
  double seconds_per_sample = 10;                     ///< SECS_PER_SAMPLE, -time
  int barriers = 2;                                   ///< N_BARR
  int warm_up_repetitions = 10;                       ///< N_WARMUP
  double target_cpu_seconds = 0.01;                   ///< TARGET_CPU_SECS
  std::int64_t max_memory = gibibyte;                 ///< MAX_MEM_USAGE in bytes per process; -mem takes GB
  std::int64_t cache_size = 0;  ///< CACHE_SIZE in bytes for -off_cache -1; 0: ask the machine
  int cache_line = 0;           ///< CACHE_LINE_SIZE in bytes for -off_cache -1; 0: ask the machine
  bool operator==(const Settings&) const = default;
};

/// As the value of Defaults::min_processes: benchmarks run only on all processes.
inline constexpr int all_processes = std::numeric_limits<int>::max();

/// The defaults of a component.
struct Defaults {
  Settings settings;
  int min_processes = 2;
  DataType data = DataType::byte;
  DataType reduction = DataType::single_precision;
  int in_flight = default_in_flight;
  std::array<std::int64_t, 4> counts = {};   ///< lengths in elements, instead of MINMSGLOG to MAXMSGLOG
  std::array<std::int64_t, 3> lengths = {};  ///< lengths in bytes, instead of MINMSGLOG to MAXMSGLOG
  bool threaded = false;                     ///< benchmarks run on all threads
  bool random_partners = false;              ///< some benchmarks have random partners (PairOptions)
  bool fabric = false;                       ///< measures pairs of endpoints in rounds (FabricOptions)
  bool check = false;                        ///< -check unless the command line has -check off
  bool operator==(const Defaults&) const = default;
};

/// The defaults of IMB-IO. Source: guide, IMB_settings_io.h; its examples begin with one process.
inline constexpr Defaults file_defaults{.settings = {.max_message_log = 24,
                                                     .repetitions = 50,
                                                     .non_aggregate_repetitions = 10,
                                                     .overall_volume = 16 * mebibyte,
                                                     .target_cpu_seconds = 0.1},
                                        .min_processes = 1};

/// The defaults of IMB-P2P. Source: public user guide of IMB 2021, "Command-Line Control for IMB-P2P
/// Benchmarks".
inline constexpr Defaults pair_defaults{.settings = {.repetitions = 100000, .overall_volume = 800 * mebibyte},
                                        .min_processes = all_processes,
                                        .random_partners = true};

/// The defaults of IMB-MT. Source: options of IMB 2021.
inline constexpr Defaults thread_defaults{.settings = {.warm_up_repetitions = 100},
                                          .min_processes = all_processes,
                                          .data = DataType::integer,
                                          .reduction = DataType::integer,
                                          .in_flight = 64,
                                          .counts = {1, 2, 4, 8},
                                          .threaded = true};

/// The defaults of IMB-FABRIC. There are many pairs, so each is measured for only a few milliseconds.
inline constexpr Defaults fabric_defaults{
    .settings = {.overall_volume = 4 * mebibyte, .seconds_per_sample = 1},
    .min_processes = all_processes,
    .in_flight = 16,
    .lengths = {8, 64 << 10, 1 << 20},
    .fabric = true};

/// -off_cache. 0 means that the option does not say; src/resolve then fills in the machine's value.
struct OffCache {
  std::int64_t cache_size = 0;  ///< bytes
  int cache_line = 0;           ///< bytes
};

/// -map PxQ: processes are numbered along the rows of a P x Q matrix, row r holding r, r+P, r+2P, ...
struct Map {
  int rows = 1;     ///< P
  int columns = 1;  ///< Q
};

/// The prefix of a benchmark's name that requests groups.
inline constexpr std::string_view multi_prefix = "Multi-";

/// One benchmark to run: its index in the component's catalog, and whether a Multi- prefix requested groups.
struct SelectedBenchmark {
  int index = 0;
  bool multi = false;
  bool by_default = false;  ///< selected by the default list, not by its name
};

/// -turns: launches that run at the same time alternate. Each row is divided into `segments` segments, and
/// only one launch measures at a time.
struct Interleaving {
  int segments = 1;
  std::string host, port;  ///< of the interleaving server
  std::string token;       ///< identifies this launch at the server
};

inline constexpr double default_budget = 60;  ///< seconds; if -precision is given without another limit
inline constexpr int default_passes = 20;     ///< if -alternate is given without any limit

/// -passes, -precision, -budget: the whole selection is measured repeatedly, one sample of each point per
/// pass, until one of these limits is reached.
struct Passes {
  std::optional<int> most;  ///< -passes
  /// -precision: half width of the 95 % confidence interval of each row's figure, as a share of the figure.
  std::optional<double> precision;
  std::optional<double> budget;  ///< -budget: seconds that the launch may take
};

/// A line of -alternate's file: values of control variables (MPI_T) of the MPI library. Every point is
/// measured under each variant. A variant without variables uses the values that the library had at the
/// start.
struct Variant {
  std::string label;
  std::vector<std::pair<std::string, std::string>> variables;  ///< names and values, as written
};

/// Options that only IMB-P2P has.
struct PairOptions {
  std::uint64_t seed = default_seed;  ///< -seed: for random partners
  Stencil halo{.dimensions = 3};      ///< -halo
  int max_pairs = 0;                  ///< -pairs: limit for Multi_pair; 0: all pairs
};

/// All options of a launch.
struct Options {
  enum class Action { run, help, list, version };
  Action action = Action::run;
  bool list_as_json = false;
  std::string help_topic;  ///< -help TOPIC: an option or a benchmark; empty: everything

  std::vector<SelectedBenchmark> selection;
  std::optional<int> min_processes;  ///< -npmin
  Multi multi = Multi::off;
  std::optional<OffCache> off_cache;
  Defaults defaults;
  Settings settings;  ///< the defaults, changed by -set and other options
  /// -msglen or -msgsize, bytes, in the order given; empty: powers of two.
  std::vector<std::int64_t> lengths;
  std::vector<std::int64_t> counts;  ///< -count, elements; empty: lengths are given in bytes
  std::optional<Map> map;
  ThreadLevel thread_level = ThreadLevel::single;
  Threads threads;
  bool thread_barrier = true;  ///< -barrier: a barrier of the processes precedes the runs of their threads
  int stride = 0;  ///< -stride: distance from a rank to its partner; 0: processes / 2 in pairs, 1 in a chain

  bool root_shift = true;
  bool in_place = false;          ///< -in_place on: collectives that can use MPI_IN_PLACE do; root is rank 0
  bool synchronize_each = false;  ///< -sync on
  SyncStart sync_start = SyncStart::barrier;
  std::optional<ArrivalChoice> arrival;  ///< -arrival; empty: even
  bool own_barrier = false;              ///< -imb_barrier on
  Element data{DataType::byte, Contiguity::base};
  Element reduction{DataType::single_precision, Contiguity::base};
  bool zero_size = true;
  bool warm_up = true;
  bool message_pause = false;
  double pause_seconds = 0;  ///< -pause, after each length
  WindowKind window_kind = WindowKind::create;
  SyncMode sync_mode = SyncMode::standard;
  SendMode send_mode = SendMode::standard;
  DataLayout layout;
  MemoryChoice memory;  ///< of message buffers
  AggregateMode aggregate_mode = AggregateMode::both;
  std::vector<std::pair<std::string, std::string>> info;  ///< -info, for windows and files
  std::string file;  ///< -file: a folder, or the name of a file; empty: IMB_out in the current folder
  FileSync file_sync = FileSync::standard;
  int reorder = 0;     ///< -reorder: distance from a reading rank to the rank that filled its data
  int progress = 0;    ///< -progress: calls of MPI_Test within the computation of an overlapped repetition
  int partitions = 8;  ///< -partitions: parts of a message of partitioned communication, at most
  int in_flight = default_in_flight;  ///< messages per repetition of Uniband, Biband and Multi_pair
  bool show_tail = false;
  std::string dump_file;
  bool check = false;
  bool strict = false;  ///< -strict on: rows beyond a limit count as failures in the exit status
  bool header = true;   ///< -noheader: no banner
  std::string json_file;
  std::vector<std::string> input_files;  ///< files that options of the command line named and the parser read
  std::optional<Interleaving> interleaving;
  std::optional<Passes> passes;
  std::vector<Variant> variants;         ///< -alternate; empty: the launch has none
  std::optional<PairOptions> pairs;      ///< set in components with random partners
  std::optional<FabricOptions> fabric;   ///< set in IMB-FABRIC
  std::optional<Topology> topology;      ///< -topo; empty: the topology of each benchmark
  double bytes_per_megabyte = mebibyte;  ///< -mbyte
  std::vector<std::string> warnings;     ///< for stderr, one line each

  /// Whether an option needs the time of each repetition, not only the total.
  bool every_repetition() const { return show_tail || !dump_file.empty(); }
  bool runs_in_place(const Spec& spec) const { return in_place && spec.in_place != InPlace::no; }
  /// Whether the root changes with each repetition. With -arrival it does not, because its patterns count
  /// ranks from the root.
  bool moves_root(const Spec& spec) const {
    return spec.rooted && root_shift && !runs_in_place(spec) && !arrival;
  }
  bool starts_by_clock() const { return sync_start == SyncStart::clock; }
  /// The element of a benchmark's messages. Source for files: guide, "IMB-IO Blocking Benchmarks".
  Element element(const Spec& spec) const {
    if (spec.uses_files() || spec.one_sided.loads_and_stores) return {DataType::byte, Contiguity::base};
    Element element = spec.reduction ? reduction : data;
    if (spec.one_sided.integers_only) element.type = DataType::integer;
    if (spec.one_sided.single_element) element.contiguity = Contiguity::base;
    element.layout = layout;
    return element;
  }
};

/// The options that the banner states.
struct StatedOptions {
  std::vector<std::string> settings;  ///< "NAME=VALUE" for each parameter that differs from standard mode
  std::vector<std::pair<std::string, std::string>> lines;  ///< title of the line, and "-send_mode buffered"
};

}  // namespace openimb
