// The rows of the option table, and the functions that they call. Sources: see cli/command_line.h.
#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/option_table.h"
#include "cli/parameters.h"
#include "cli/text_file.h"
#include "model/synchronization.h"
#include "model/topology.h"
#include "plan/groups.h"

namespace openimb {

namespace {

// Which benchmarks use an option; a row of the table names one of these filters.

constexpr BenchmarkFilter random_benchmarks{.matches = [](const Spec& spec) {
  return spec.random_partners || spec.in_rounds || spec.topology.exists();
}};
constexpr BenchmarkFilter grouped_benchmarks{
    .matches = [](const Spec& spec) { return !spec.in_rounds; },
    .why = "measures pairs of endpoints in rounds and has no use for it"};
constexpr BenchmarkFilter hint_benchmarks{
    .matches = [](const Spec& spec) { return spec.uses_windows() || spec.uses_files(); }};
constexpr BenchmarkFilter window_kind_benchmarks{
    .matches = [](const Spec& spec) { return spec.uses_windows() && !spec.one_sided.window; }};
constexpr BenchmarkFilter in_flight_benchmarks{.matches = [](const Spec& spec) { return spec.message_rate; },
                                               .unused = UnusedOption::noted};
constexpr BenchmarkFilter in_place_benchmarks{
    .matches = [](const Spec& spec) { return spec.in_place != InPlace::no; }};
constexpr BenchmarkFilter multi_pair_benchmarks{
    .matches = [](const Spec& spec) { return spec.in_pairs && spec.message_rate; }};
constexpr BenchmarkFilter round_benchmarks{.matches = [](const Spec& spec) { return spec.in_rounds; }};
constexpr BenchmarkFilter topology_benchmarks{
    .matches = [](const Spec& spec) { return spec.topology.exists(); }};
constexpr BenchmarkFilter torus_benchmarks{.matches = [](const Spec& spec) { return spec.any_torus; }};
constexpr BenchmarkFilter aggregate_mode_benchmarks{
    .matches =
        [](const Spec& spec) {
          return spec.aggregation == Aggregation::aggregate_first ||
                 spec.aggregation == Aggregation::non_aggregate_first;
        },
    .unused = UnusedOption::noted};
constexpr BenchmarkFilter memory_benchmarks{.matches = [](const Spec& spec) { return !spec.uses_files(); },
                                            .why = "writes and reads files from memory of the host"};
constexpr BenchmarkFilter typed_benchmarks{.matches = [](const Spec& spec) { return !spec.uses_files(); },
                                           .why = "writes and reads bytes (MPI_BYTE)"};
constexpr BenchmarkFilter file_benchmarks{.matches = [](const Spec& spec) { return spec.uses_files(); },
                                          .why = "uses no files"};
constexpr BenchmarkFilter window_benchmarks{.matches = [](const Spec& spec) { return spec.uses_windows(); }};
constexpr BenchmarkFilter overlap_benchmarks{.matches = [](const Spec& spec) { return spec.overlaps(); }};
constexpr BenchmarkFilter partitioned_benchmarks{
    .matches = [](const Spec& spec) { return spec.partitioned; }};
constexpr BenchmarkFilter reduction_benchmarks{.matches = [](const Spec& spec) { return spec.reduction; },
                                               .unused = UnusedOption::noted};
constexpr BenchmarkFilter rooted_benchmarks{.matches = [](const Spec& spec) { return spec.rooted; },
                                            .unused = UnusedOption::noted};
constexpr BenchmarkFilter send_mode_benchmarks{
    .matches = [](const Spec& spec) { return spec.send_modes.any; }};
constexpr BenchmarkFilter message_rate_benchmarks{.matches = [](const Spec& spec) { return spec.sent > 0; }};
constexpr BenchmarkFilter threaded_benchmarks{.matches = [](const Spec& spec) { return spec.threaded; }};
constexpr BenchmarkFilter threaded_or_partitioned_benchmarks{
    .matches = [](const Spec& spec) { return spec.threaded || spec.partitioned; }};
constexpr BenchmarkFilter threaded_pair_benchmarks{
    .matches = [](const Spec& spec) { return spec.threaded && spec.kind == Kind::parallel_transfer; }};
constexpr BenchmarkFilter clock_start_benchmarks{
    .matches = [](const Spec& spec) { return spec.can_start_by_clock(); },
    .why = "has no blocking collectives"};
constexpr BenchmarkFilter layout_benchmarks{.matches = [](const Spec& spec) { return spec.takes_layout(); }};

// Options that measure a row in many short samples. Options that need all repetitions of a row together
// exclude them.
constexpr std::string_view in_passes = "passes precision budget alternate";

// Selection and ranks

void read_benchmarks(ParseState& state, std::string_view path) {
  state.options.input_files.emplace_back(path);
  for (const TextEntry& entry :
       read_entries(state.read_file, std::string(path), "input", "benchmark names")) {
    state.names.named.push_back({entry.text, entry.where});
  }
}

void set_processes(ParseState& state, std::string_view word) {
  state.wanted_processes = parse_integer(word, 1, max_int);
  state.options.min_processes = static_cast<int>(std::min<std::int64_t>(state.wanted_processes, state.world));
}

OptionValue get_processes(const Options& options) {
  return std::int64_t{options.min_processes.value_or(options.defaults.min_processes)};
}

void imply_processes(ParseState& state) {
  if (state.wanted_processes <= state.world) return;
  state.options.warnings.push_back("-npmin " + std::to_string(state.wanted_processes) +
                                   ": above the number of ranks launched; -npmin " +
                                   std::to_string(state.world) + " is used");
}

void set_multi(ParseState& state, std::string_view word) {
  if (word != "0" && word != "1") throw BadValue(quoted(word) + " is neither 0 nor 1");
  state.options.multi = word == "0" ? Multi::summary : Multi::each_group;
}

OptionValue get_multi(const Options& options) {
  if (options.multi == Multi::off) return {};
  return std::int64_t{options.multi == Multi::summary ? 0 : 1};
}

void set_map(ParseState& state, std::string_view word) {
  const std::size_t cross = word.find_first_of("xX");
  if (cross == std::string_view::npos) throw BadValue(quoted(word) + " is not PxQ");
  const std::int64_t rows = parse_integer(word.substr(0, cross), 1, max_int);
  const std::int64_t columns = parse_integer(word.substr(cross + 1), 1, max_int);
  if (rows * columns > state.world) {
    throw BadValue(sanitized(word) + " needs " + std::to_string(rows * columns) + " ranks, the launch has " +
                   std::to_string(state.world));
  }
  state.options.map = Map{static_cast<int>(rows), static_cast<int>(columns)};
}

OptionValue get_map(const Options& options) {
  if (!options.map) return {};
  return std::to_string(options.map->rows) + "x" + std::to_string(options.map->columns);
}

// Message sizes and repetitions

void set_exponents(ParseState& state, std::string_view word) {
  const std::size_t colon = word.find(':');
  Settings& settings = state.options.settings;
  const auto exponent = [](std::string_view text) {
    return static_cast<int>(parse_integer(text, 0, max_exponent));
  };
  if (colon != std::string_view::npos) settings.min_message_log = exponent(word.substr(0, colon));
  settings.max_message_log = exponent(word.substr(colon == std::string_view::npos ? 0 : colon + 1));
}

OptionValue get_exponents(const Options& options) {
  return std::to_string(options.settings.min_message_log) + ":" +
         std::to_string(options.settings.max_message_log);
}

void check_exponents(const ParseState& state) {
  const Settings& settings = state.options.settings;
  if (settings.min_message_log <= settings.max_message_log) return;
  throw UsageError("-msglog: smallest exponent, " + std::to_string(settings.min_message_log) +
                   ", is above the largest, " + std::to_string(settings.max_message_log) +
                   "; for example: -msglog 3:7");
}

void read_lengths(ParseState& state, std::string_view path) {
  state.options.input_files.emplace_back(path);
  state.options.lengths.clear();
  for (const TextEntry& entry : read_entries(state.read_file, std::string(path), "msglen", "message sizes")) {
    try {
      state.options.lengths.push_back(parse_bytes(entry.text, 1, 0, max_bytes));
    } catch (const BadValue& error) {
      throw UsageError(entry.where + error.what() + "; a message size is a line such as 4096 or 64k");
    }
  }
}

void add_lengths(ParseState& state, std::string_view word) {
  for (const std::string_view part : split(word, ',')) {
    state.options.lengths.push_back(parse_bytes(part, 1, 0, max_bytes));
  }
}

void set_lengths(ParseState& state, std::string_view word) {
  state.options.lengths.clear();
  add_lengths(state, word);
}

void add_length(ParseState& state, std::string_view word) {
  const bool is_first = std::ranges::count(state.given, "msgsz") == 1;
  if (is_first) state.options.lengths.clear();
  add_lengths(state, word);
}

OptionValue get_lengths(const Options& options) { return field::to_option_value(options.lengths); }

// Drops a component's default counts, which are numbers of elements, if the user gives message sizes in
// bytes.
void drop_default_counts(ParseState& state) {
  if (!state.has("count")) state.options.counts.clear();
}

// Drops a component's default counts and message sizes if the user gives exponents.
void drop_default_sizes(ParseState& state) {
  drop_default_counts(state);
  const bool has_lengths = state.has("msglen") || state.has("msgsize") || state.has("msgsz");
  if (!has_lengths) state.options.lengths.clear();
}

void imply_parameters(ParseState& state) {
  const Settings& settings = state.options.settings;
  const Settings& defaults = state.options.defaults.settings;
  if (settings.min_message_log != defaults.min_message_log ||
      settings.max_message_log != defaults.max_message_log) {
    drop_default_sizes(state);
  }
}

void check_zero_size(const ParseState& state) {
  const std::vector<std::int64_t>& lengths = state.options.lengths;
  const auto is_zero = [](std::int64_t length) { return length == 0; };
  if (state.options.zero_size || lengths.empty() || !std::ranges::all_of(lengths, is_zero)) return;
  throw UsageError(
      "-zero_size off leaves no message size to measure; give one above 0, for example: -msgsize 0,8");
}

void set_repetitions(ParseState& state, std::string_view word) {
  Settings& settings = state.options.settings;
  std::vector<std::string_view> parts = split(word, ',');
  // Numbers begin with a digit or a sign, policies with a letter.
  if (const std::string_view last = parts.back(); !last.empty() && last.front() >= 'A') {
    settings.policy = parse_choice<IterationPolicy>(last);
    parts.pop_back();
  }
  if (parts.size() > 3) throw BadValue(quoted(word) + " has too many parts");
  if (!parts.empty()) settings.repetitions = parse_integer(parts[0], 1, max_int);
  if (parts.size() > 1) settings.overall_volume = parse_bytes(parts[1], mebibyte, 1, max_bytes);
  if (parts.size() > 2) settings.non_aggregate_repetitions = parse_integer(parts[2], 1, max_int);
}

// Omits the policy, which -iter_policy shows.
OptionValue get_repetitions(const Options& options) {
  const Settings& settings = options.settings;
  return std::to_string(settings.repetitions) + "," +
         to_text(settings.overall_volume, size(mebibyte, 1, max_bytes)) + "," +
         std::to_string(settings.non_aggregate_repetitions);
}

// Method

void set_reduction_type(ParseState& state, std::string_view word) {
  if (same_name(word, "byte")) throw BadValue("MPI_SUM is not defined for bytes");
  state.options.reduction.type = parse_choice<DataType>(word);
}

void check_reduction_type(const ParseState& state) {
  if (!state.program.uses_files) return;
  throw UsageError("-red_data_type: " + std::string(state.program.name) + " " +
                   std::string(typed_benchmarks.why) + "; leave it out");
}

void set_contiguity(ParseState& state, std::string_view word) {
  state.options.data.contiguity = state.options.reduction.contiguity = parse_choice<Contiguity>(word);
}

void set_off_cache(ParseState& state, std::string_view word) {
  const Settings& settings = state.options.settings;
  const std::size_t comma = word.find(',');
  const std::string_view bytes = word.substr(0, comma);
  OffCache cache{settings.cache_size, settings.cache_line};
  if (bytes != "-1") cache.cache_size = parse_bytes(bytes, mebibyte, 1, max_cache);
  if (comma != std::string_view::npos) {
    cache.cache_line = static_cast<int>(parse_bytes(word.substr(comma + 1), 1, 1, max_cache_line));
  }
  state.options.off_cache = cache;
}

OptionValue get_off_cache(const Options& options) {
  if (!options.off_cache) return {};
  const auto [cache, line] = *options.off_cache;
  return (cache == 0 ? "-1" : to_text(cache, size(mebibyte, 1, max_cache))) +
         (line == 0 ? "" : "," + std::to_string(line));
}

PairOptions& pairs_of(ParseState& state) {
  std::optional<PairOptions>& pairs = state.options.pairs;
  return pairs ? *pairs : pairs.emplace();
}

void set_halo(ParseState& state, std::string_view word) {
  const std::vector<std::string_view> parts = split(word, ',');
  constexpr std::string_view faces = "faces", corners = "corners";
  Stencil& halo = pairs_of(state).halo;
  if (parts.size() > 2) throw BadValue(quoted(word) + " has too many parts");
  halo.dimensions = static_cast<int>(parse_integer(parts.front(), 1, max_dimensions));
  halo.corners = false;
  if (parts.size() == 1) return;
  halo.corners = same_name(parts.back(), corners);
  if (!halo.corners && !same_name(parts.back(), faces)) {
    throw BadValue(quoted(parts.back()) + " is neither faces nor corners");
  }
}

OptionValue get_halo(const Options& options) {
  const Stencil halo = options.pairs.value_or(PairOptions{}).halo;
  return std::to_string(halo.dimensions) + (halo.corners ? ",corners" : "");
}

// `max`: the largest value that the number of ranks allows.
[[noreturn]] void refuse_pairs(const std::string& option, const std::string& why, int max, int world) {
  throw UsageError(option + ": " +
                   (world == 1 ? "needs at least 2 ranks" : why + "; give at most " + std::to_string(max)));
}

void check_pairs(const ParseState& state) {
  const int max = state.world / 2, pairs = state.options.pairs->max_pairs;
  if (pairs <= max) return;
  refuse_pairs(
      "-pairs " + std::to_string(pairs),
      std::to_string(state.world) + " ranks make " + (max == 1 ? "1 pair" : std::to_string(max) + " pairs"),
      max, state.world);
}

void check_stride(const ParseState& state) {
  const int stride = state.options.stride;
  if (stride < state.world) return;
  refuse_pairs("-stride " + std::to_string(stride),
               "no two of " + std::to_string(state.world) + " ranks are that far apart", state.world - 1,
               state.world);
}

// -msgwr and -msgrd are accepted, so that command lines of IMB-P2P work. They have no effect, as the timed
// loop has MPI calls only.
template <bool sends>
void accept_payload(ParseState& state, std::string_view word) {
  if (!parse_switch(word)) return;
  state.options.warnings.push_back(
      std::string(sends ? "-msgwr" : "-msgrd") + " on: no effect; buffers are " +
      (sends ? "written before a table, not before each message" : "not read after each message"));
}

// Reads a grid: "4x2" or "3d".
void set_grid(Topology& topology, std::string_view word) {
  const std::vector<std::string_view> parts = split(word, 'x');
  if (parts.size() == 1) {
    if (!word.ends_with('d') && !word.ends_with('D')) {
      throw BadValue(quoted(word) + " is no grid: give its extents, as 4x2, or its dimensions, as 3d");
    }
    topology.dimensions = static_cast<int>(parse_integer(word.substr(0, word.size() - 1), 1, max_dimensions));
    return;
  }
  if (parts.size() > max_dimensions) {
    throw BadValue(quoted(word) + " has more than " + std::to_string(max_dimensions) + " dimensions");
  }
  topology.dimensions = static_cast<int>(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    topology.extents[i] = static_cast<int>(parse_integer(parts[i], 1, max_extent));
  }
}

void set_topology(ParseState& state, std::string_view word) {
  constexpr std::string_view graph = name_of(TopologyKind::graph), random = name_of(TopologyKind::random);
  const std::size_t colon = word.find(':');
  const std::string_view kind = word.substr(0, colon);
  const std::string_view rest = colon == std::string_view::npos ? std::string_view{} : word.substr(colon + 1);
  Topology topology;
  if (same_name(kind, random)) {
    if (rest.empty()) throw BadValue("random needs a number of neighbors, as random:3");
    topology.kind = TopologyKind::random;
    topology.degree = static_cast<int>(parse_integer(rest, 1, max_int));
  } else if (same_name(kind, graph)) {
    topology.kind = TopologyKind::graph;
    topology.dimensions = default_grid_dimensions;
    if (colon != std::string_view::npos) set_grid(topology, rest);
  } else if (colon != std::string_view::npos) {
    throw BadValue(quoted(kind) + " is neither graph nor random");
  } else {
    set_grid(topology, word);
  }
  state.options.topology = topology;
}

OptionValue get_topology(const Options& options) {
  const Topology topology = options.topology.value_or(Topology{.dimensions = default_grid_dimensions});
  if (topology.kind == TopologyKind::random) return "random:" + std::to_string(topology.degree);
  std::string grid = topology.kind == TopologyKind::graph ? "graph:" : "";
  if (!topology.has_extents()) return grid + std::to_string(topology.dimensions) + "d";
  for (int i = 0; i < topology.dimensions; ++i) {
    (grid += i == 0 ? "" : "x") += std::to_string(topology.extents[static_cast<std::size_t>(i)]);
  }
  return grid;
}

void check_topology(const ParseState& state) {
  const Topology& topology = *state.options.topology;
  const int world = state.world, max = topology.neighbors(world);
  if (topology.degree > max) {
    throw UsageError("-topo random:" + std::to_string(topology.degree) + ": with " + std::to_string(world) +
                     (world == 1 ? " rank" : " ranks") + ", give at most random:" + std::to_string(max));
  }
  if (!topology.has_extents()) return;
  // It is a usage error only if no group has the size of the grid.
  const Options& options = state.options;
  const int available = static_cast<int>(rank_order(world, options.map).size());
  const int least = std::min(options.min_processes.value_or(options.defaults.min_processes), available);
  const std::vector<int> counts = process_counts({}, available, least);
  if (std::ranges::find(counts, topology.size()) != counts.end()) return;
  std::string groups;
  for (const int count : counts) groups += (groups.empty() ? "" : ", ") + std::to_string(count);
  throw UsageError("-topo: a grid of " + std::to_string(topology.size()) + " ranks, but groups have " +
                   groups + "; give other extents, or " + std::to_string(topology.dimensions) +
                   "d for any number of ranks");
}

void imply_clock(ParseState& state) {
  if (state.options.starts_by_clock() && !state.has("sync")) state.options.synchronize_each = true;
}

void check_clock(const ParseState& state) {
  if (!state.options.starts_by_clock() || state.options.synchronize_each) return;
  throw UsageError(
      "-sync off: repetitions that begin at agreed times (-sync_start clock) are timed one by one; leave it "
      "out");
}

void set_arrival(ParseState& state, std::string_view word) {
  constexpr double longest = 1e6, max_factor = 1000;
  const std::size_t colon = word.find(':');
  ArrivalChoice arrival{.pattern = parse_choice<ArrivalPattern>(word.substr(0, colon))};
  if (colon == std::string_view::npos) {
    arrival.relative = arrival.pattern != ArrivalPattern::even;
    arrival.width = arrival.relative ? 1 : 0;
  } else if (arrival.pattern == ArrivalPattern::even) {
    throw BadValue(quoted(word) + ": all ranks arrive at the same time, so that there is no width");
  } else {
    const std::string_view text = word.substr(colon + 1);
    arrival.relative = text.starts_with('x') || text.starts_with('X');
    arrival.width =
        arrival.relative ? parse_real(text.substr(1), 0, max_factor) : parse_real(text, 0, longest) / 1e6;
  }
  state.options.arrival = arrival;
}

OptionValue get_arrival(const Options& options) {
  if (!options.arrival) return {};
  const ArrivalChoice& arrival = *options.arrival;
  const std::string pattern = name_of(arrival.pattern);
  if (arrival.pattern == ArrivalPattern::even) return pattern;
  const OptionValue value = arrival.width;
  return pattern + ":" + (arrival.relative ? "x" : "") +
         to_text(value, real(0, 1e6, arrival.relative ? 1 : 1e6));
}

void imply_arrival(ParseState& state) {
  if (!state.has("sync_start")) state.options.sync_start = SyncStart::clock;
  imply_clock(state);
}

void check_arrival(const ParseState& state) {
  if (!state.options.starts_by_clock()) {
    throw UsageError(
        "-arrival: ranks arrive at agreed times with -sync_start clock only; leave -sync_start out");
  }
  check_clock(state);
  if (state.has("root_shift") && state.options.root_shift) {
    throw UsageError("-arrival: ranks count from the root, which stays; leave -root_shift out");
  }
}

void set_seed(ParseState& state, std::string_view word) {
  state.seed = static_cast<std::uint64_t>(parse_integer(word, 0, max_seed));
}

bool draws_graph(const Options& options) {
  return options.topology && options.topology->kind == TopologyKind::random;
}

void imply_seed(ParseState& state) {
  Options& options = state.options;
  if (draws_graph(options)) options.topology->seed = *state.seed;
  if (options.fabric) options.fabric->seed = *state.seed;
  if (options.pairs) options.pairs->seed = *state.seed;
}

OptionValue get_seed(const Options& options) {
  std::uint64_t seed = options.topology.value_or(Topology{}).seed;
  if (options.fabric) seed = options.fabric->seed;
  if (options.pairs) seed = options.pairs->seed;
  return static_cast<std::int64_t>(seed);
}

void check_seed(const ParseState& state) {
  if (draws_graph(state.options) || std::ranges::none_of(state.program.catalog, topology_benchmarks.matches))
    return;
  throw UsageError("-seed: " + std::string(state.program.name) +
                   " uses it with -topo random:N only; leave it out");
}

void check_sync_mode(const ParseState& state) {
  const SyncMode mode = state.options.sync_mode;
  const auto has = [&](Access access) {
    return std::ranges::any_of(state.program.catalog,
                               [&](const Spec& spec) { return spec.access == access; });
  };
  const bool active_only = has(Access::active_target) && !has(Access::passive_target);
  if (!active_only || mode == SyncMode::standard || needs_targets(mode)) return;
  throw UsageError("-sync_mode " + std::string(name_of(mode)) + ": a mode of passive targets; " +
                   std::string(state.program.name) + " has active ones: give fence or pscw, or run IMB-RMA");
}

void set_layout(ParseState& state, std::string_view word) {
  constexpr std::int64_t max = 1 << 20;
  const std::vector<std::string_view> parts = split(word, ':');
  DataLayout layout{.placement = parse_choice<Placement>(parts.front())};
  if (layout.placement != Placement::vector) {
    if (parts.size() > 1) throw BadValue(quoted(word) + ": only a vector has numbers, as vector:1:8");
  } else if (parts.size() != 3) {
    throw BadValue(quoted(word) + ": a vector has a block and a stride, as vector:1:8");
  } else {
    layout.block = parse_integer(parts[1], 1, max);
    layout.stride = parse_integer(parts[2], 1, max);
    if (layout.stride < layout.block) {
      throw BadValue(quoted(word) + ": the stride is less than the block, so that blocks would overlap");
    }
    if (layout.stride == layout.block) layout = {};
  }
  state.options.layout = layout;
}

OptionValue get_layout(const Options& options) { return name_of(options.layout); }

void check_layout(const ParseState& state) {
  const Options& options = state.options;
  const std::string layout = "-layout " + name_of(options.layout);
  if (!options.layout.has_gaps()) return;
  if (options.data.contiguity != Contiguity::base) {
    throw UsageError(cannot_combine(layout, "-contig_type"));
  }
  if (options.layout.placement == Placement::structure && options.data.type != DataType::byte) {
    throw UsageError(layout + " is a record of several types, counted in bytes; give -data_type byte");
  }
}

// Output, files, passes

void read_parameters(ParseState& state, std::string_view path) {
  state.options.input_files.emplace_back(path);
  for (const TextEntry& entry : read_entries(state.read_file, std::string(path), "set", "settings")) {
    try {
      set_parameter(state.options, entry.text);
    } catch (const BadValue& error) {
      throw UsageError(entry.where + error.what() + "; a setting is a line such as MSGSPERSAMPLE=20");
    }
  }
}

void set(ParseState& state, std::string_view word) {
  if (word == "@") throw BadValue("file name missing after @");
  if (word.starts_with('@')) return read_parameters(state, word.substr(1));
  set_parameter(state.options, word);
}

OptionValue get_set(const Options& options) { return settings_without_option(options); }

// Output files must differ from each other and from the files that the command line reads.
void check_files(const ParseState& state) {
  constexpr std::size_t max_path = 1024;
  const Options& options = state.options;
  const auto same = [&](const std::string& a, const std::string& b) {
    const auto normal = [](const std::string& name) {
      return std::filesystem::path(name).lexically_normal();
    };
    if (a.empty() || b.empty()) return false;
    return state.same_file ? state.same_file(a, b) : normal(a) == normal(b);
  };
  if (same(options.json_file, options.dump_file)) {
    throw UsageError("-json and -dumpfile name the same file, " + sanitized(options.json_file, max_path) +
                     "; use different files");
  }
  const auto check_overwriting = [&](const std::string& option, const std::string& name) {
    const auto input =
        std::ranges::find_if(options.input_files, [&](const std::string& path) { return same(name, path); });
    if (input == options.input_files.end()) return;
    throw UsageError(option + " would overwrite " + sanitized(*input, max_path) +
                     ", which this command line reads; name another file");
  };
  check_overwriting("-json", options.json_file);
  check_overwriting("-dumpfile", options.dump_file);
}

void add_info(ParseState& state, std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == word.size()) {
    throw BadValue(quoted(word) + " is not KEY=VALUE");
  }
  const std::string key(word.substr(0, equals));
  const std::string value(word.substr(equals + 1));
  auto& info = state.options.info;
  const auto hint = std::ranges::find(info, key, &std::pair<std::string, std::string>::first);
  if (hint != info.end()) {
    hint->second = value;
  } else {
    info.emplace_back(key, value);
  }
}

OptionValue get_info(const Options& options) {
  std::vector<std::string> hints;
  for (const auto& [key, value] : options.info) hints.push_back(key + "=" + value);
  return field::to_option_value(hints);
}

void set_file(ParseState& state, std::string_view word) {
  if (word.empty()) throw BadValue("the name is empty");
  state.options.file = word;
}

void check_reorder(const ParseState& state) {
  const int reorder = state.options.reorder, world = state.world;
  if (reorder == 0 || reorder % world != 0) return;
  throw UsageError(
      "-reorder " + std::to_string(reorder) + ": with " + std::to_string(world) +
      (world == 1 ? " rank" : " ranks") +
      ", each rank would read what it wrote; give a number from 1 to the number of ranks less 1");
}

// -precision alone does not limit the passes, so it gets a default budget.
void imply_budget(ParseState& state) {
  Passes& passes = *state.options.passes;
  if (!passes.most && !passes.budget) passes.budget = default_budget;
}

void read_variant(ParseState& state, std::string text) {
  constexpr std::size_t max_label = 60;
  constexpr auto is_graphic = [](char c) { return c > ' ' && c <= '~'; };
  std::ranges::replace(text, '\t', ' ');
  Variant variant;
  for (const std::string_view word : split(text, ' ')) {
    if (word.empty()) continue;
    const std::size_t equals = word.find('=');
    if (variant.label.empty()) {
      if (equals != std::string_view::npos) throw BadValue("the label is missing before " + quoted(word));
      if (word.size() > max_label || !std::ranges::all_of(word, is_graphic)) {
        throw BadValue(quoted(word) + " is not a label of up to " + std::to_string(max_label) +
                       " ASCII characters");
      }
      variant.label = word;
      continue;
    }
    if (equals == std::string_view::npos || equals == 0) throw BadValue(quoted(word) + " is not NAME=VALUE");
    const std::string name(word.substr(0, equals));
    if (std::ranges::find(variant.variables, name, &std::pair<std::string, std::string>::first) !=
        variant.variables.end()) {
      throw BadValue(quoted(std::string_view(name)) + " is set twice");
    }
    variant.variables.emplace_back(name, word.substr(equals + 1));
  }
  auto& variants = state.options.variants;
  if (std::ranges::find(variants, variant.label, &Variant::label) != variants.end()) {
    throw BadValue("a second variant " + quoted(std::string_view(variant.label)));
  }
  variants.push_back(std::move(variant));
}

void read_variants(ParseState& state, std::string_view path) {
  state.options.input_files.emplace_back(path);
  state.options.variants.clear();
  for (const TextEntry& entry : read_entries(state.read_file, std::string(path), "alternate", "variants")) {
    try {
      read_variant(state, entry.text);
    } catch (const BadValue& error) {
      throw UsageError(entry.where + error.what() + "; a variant is a line such as ring " +
                       "coll_tuned_allreduce_algorithm=4");
    }
  }
}

// Variants alternate sample by sample, so they need passes.
void imply_passes(ParseState& state) {
  std::optional<Passes>& passes = state.options.passes;
  if (!passes) passes.emplace().most = default_passes;
}

void set_interleaving(ParseState& state, std::string_view word) {
  const std::vector<std::string_view> parts = split(word, ',');
  const std::size_t colon = parts.size() == 3 ? parts[1].rfind(':') : std::string_view::npos;
  if (colon == std::string_view::npos || colon == 0 || parts[2].empty()) {
    throw BadValue(quoted(word) + " is not PARTS,HOST:PORT,TOKEN");
  }
  parse_integer(parts[1].substr(colon + 1), 1, 65535);
  state.options.interleaving = {.segments = static_cast<int>(parse_integer(parts[0], 1, 1000)),
                                .host = std::string(parts[1].substr(0, colon)),
                                .port = std::string(parts[1].substr(colon + 1)),
                                .token = std::string(parts[2])};
}

OptionValue get_turns(const Options& options) {
  if (!options.interleaving) return {};
  return std::int64_t{options.interleaving->segments};
}

// Threads

void set_threads(ParseState& state, std::string_view word) {
  state.options.threads.asked = static_cast<int>(parse_integer(word, 1, max_threads));
}

OptionValue get_threads(const Options& options) { return std::int64_t{options.threads.count}; }

// Several threads need MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE. The default is the latter.
void imply_level(ParseState& state) {
  Options& options = state.options;
  if (options.threads.asked.value_or(1) > 1 && !state.has("thread_level")) {
    options.thread_level = ThreadLevel::multiple;
  }
}

void set_counts(ParseState& state, std::string_view word) {
  state.options.counts.clear();
  for (const std::string_view part : split(word, ',')) {
    state.options.counts.push_back(parse_integer(part, 0, max_bytes >> 8));
  }
}

OptionValue get_counts(const Options& options) { return field::to_option_value(options.counts); }

void set_type(ParseState& state, std::string_view word) {
  constexpr DataType types[] = {DataType::integer, DataType::character};
  state.options.data.type = state.options.reduction.type = parse_choice(types, name_of<DataType>, word);
}

void set_warm_up(ParseState& state, std::string_view word) {
  state.options.settings.warm_up_repetitions = static_cast<int>(parse_integer(word, 0, max_int));
  state.options.warm_up = state.options.settings.warm_up_repetitions > 0;
}

void set_barrier(ParseState& state, std::string_view word) {
  state.options.own_barrier = same_name(word, "special");
  if (state.options.own_barrier) return;
  if (!is_switch(word)) throw BadValue(quoted(word) + " is not one of on, off, special");
  state.options.thread_barrier = parse_switch(word);
}

void set_alignment(ParseState& state, std::string_view word) {
  const std::int64_t alignment = parse_bytes(word, 1, 1, 1 << 30);
  if ((alignment & (alignment - 1)) != 0) throw BadValue(quoted(word) + " is not a power of two");
  state.options.threads.alignment = alignment;
}

// Fabrics

constexpr int max_endpoints = 1 << 24;

FabricOptions& fabric_of(ParseState& state) {
  std::optional<FabricOptions>& fabric = state.options.fabric;
  return fabric ? *fabric : fabric.emplace();
}

void set_rounds(ParseState& state, std::string_view word) {
  FabricOptions& fabric = fabric_of(state);
  for (const RoundKind kind : {RoundKind::one_to_all, RoundKind::all_to_one}) {
    if (same_name(word, name_of(kind))) {
      fabric.rounds = kind;
      return;
    }
  }
  if (!word.empty() && word.front() > '9') {
    throw BadValue(quoted(word) + " is neither a number nor one_to_all nor all_to_one");
  }
  fabric.requested_rounds = static_cast<int>(parse_integer(word, 1, max_endpoints));
  fabric.rounds = RoundKind::some;
}

OptionValue get_rounds(const Options& options) {
  const FabricOptions fabric = options.fabric.value_or(FabricOptions{});
  if (fabric.rounds == RoundKind::some) return std::int64_t{fabric.requested_rounds};
  if (has_hub(fabric.rounds)) return std::string(name_of(fabric.rounds));
  return {};
}

OptionValue get_halves(const Options& options) {
  return options.fabric && options.fabric->rounds == RoundKind::halves;
}

OptionValue get_pairs_file(const Options& options) {
  return options.fabric && options.fabric->rounds == RoundKind::listed ? OptionValue(true) : OptionValue();
}

// -check is not possible with a hub: a build with -check by default then measures without it.
void imply_hub(ParseState& state) {
  if (has_hub(state.options.fabric->rounds) && !state.has("check")) state.options.check = false;
}

void check_hub(const ParseState& state) {
  const FabricOptions& fabric = *state.options.fabric;
  if (!has_hub(fabric.rounds)) return;
  const std::string rounds = std::string("not possible with -rounds ") + name_of(fabric.rounds);
  if (state.options.check) {
    throw UsageError("-check: " + rounds +
                     ", where messages of several endpoints arrive in one buffer; leave one of them out");
  }
  if (fabric.serial) {
    throw UsageError("-serial: " + rounds + ", whose pairs communicate at once; leave one of them out");
  }
}

EndpointPair pair_of(std::string_view word) {
  const std::size_t dash = word.find('-');
  if (dash == std::string_view::npos) throw BadValue(quoted(word) + " is not A-B");
  const EndpointPair pair{static_cast<int>(parse_integer(word.substr(0, dash), 0, max_endpoints)),
                          static_cast<int>(parse_integer(word.substr(dash + 1), 0, max_endpoints))};
  if (pair.a == pair.b) throw BadValue(quoted(word) + " pairs an endpoint with itself");
  return pair;
}

EndpointPairs round_of(std::string text) {
  std::ranges::replace(text, '\t', ' ');
  EndpointPairs pairs;
  std::set<int> busy;
  for (const std::string_view word : split(text, ' ')) {
    if (word.empty()) continue;
    const EndpointPair pair = pairs.emplace_back(pair_of(word));
    for (const int endpoint : {pair.a, pair.b}) {
      if (busy.insert(endpoint).second) continue;
      throw BadValue("endpoint " + std::to_string(endpoint) + " is in two pairs of one round");
    }
  }
  return pairs;
}

void read_pairs(ParseState& state, std::string_view path) {
  state.options.input_files.emplace_back(path);
  FabricOptions& fabric = fabric_of(state);
  fabric.rounds = RoundKind::listed;
  fabric.listed.clear();
  for (const TextEntry& entry : read_entries(state.read_file, std::string(path), "pairs_file", "rounds")) {
    try {
      fabric.listed.push_back(round_of(entry.text));
    } catch (const BadValue& error) {
      throw UsageError(entry.where + error.what() + "; a round is a line such as 0-1 2-3");
    }
  }
}

// Memory of buffers, and GPUs

/// A word for a kind of memory. `any_api`: the kind belongs to the driver that is installed, CUDA or ROCm.
struct KindName {
  std::string_view name;
  MemoryKind kind = MemoryKind::host;
  bool any_api = false;
};
constexpr KindName letters[] = {
    {"H", MemoryKind::host}, {"D", MemoryKind::cuda, true}, {"M", MemoryKind::cuda_managed, true}};
constexpr auto kind_names = [] {
  std::array<KindName, names_of<MemoryKind>.size() + std::size(letters)> all{};
  for (std::size_t i = 0; i < names_of<MemoryKind>.size(); ++i) {
    const auto kind = static_cast<MemoryKind>(i);
    all[i] = {name_of(kind), kind, kind == MemoryKind::pinned};
  }
  std::ranges::copy(letters, all.end() - std::size(letters));
  return all;
}();

// The values of -mem_alloc_type in IMB-MPI1-GPU.
constexpr KindName alloc_type_names[] = {{"cpu", MemoryKind::host},
                                         {"host", MemoryKind::pinned, true},
                                         {"device", MemoryKind::cuda, true},
                                         {"shared", MemoryKind::cuda_managed, true}};

void set_kinds(MemoryChoice& memory, const KindName& send, const KindName& receive) {
  const auto api_named = [](const KindName& word) { return word.any_api ? std::nullopt : api_of(word.kind); };
  const std::optional<GpuApi> first = api_named(send), second = api_named(receive);
  if (first && second && *first != *second) {
    throw BadValue("CUDA and ROCm cannot be combined");
  }
  const std::optional<GpuApi> api = first ? first : second;
  memory.send = api ? kind_for_api(send.kind, *api) : send.kind;
  memory.receive = api ? kind_for_api(receive.kind, *api) : receive.kind;
  memory.any_api = !api && (send.any_api || receive.any_api);
}

void set_memory(ParseState& state, std::string_view word) {
  const std::vector<std::string_view> sides = split(word, ',');
  if (sides.size() > 2) throw BadValue(quoted(word) + ": there are two sides, send and receive");
  const KindName& send = parse_choice(kind_names, &KindName::name, sides.front());
  set_kinds(state.options.memory, send, parse_choice(kind_names, &KindName::name, sides.back()));
}

OptionValue get_memory(const Options& options) { return options.memory.names(); }

bool is_memory_kind(std::string_view word) {
  return std::ranges::any_of(kind_names, [&](const KindName& kind) { return same_name(kind.name, word); });
}

void set_alloc_type(ParseState& state, std::string_view word) {
  const KindName& kind = parse_choice(alloc_type_names, &KindName::name, word);
  set_kinds(state.options.memory, kind, kind);
}

[[noreturn]] void refuse_gpus(const std::string& option, const Program& program) {
  throw UsageError(option + ": " + std::string(program.name) + " " + std::string(memory_benchmarks.why) +
                   "; leave it out");
}

// Buffers of IMB-IO are on the host, so -memory host is accepted and other kinds are refused.
void check_memory(const ParseState& state) {
  if (!state.program.uses_files || state.options.memory.is_host()) return;
  refuse_gpus(state.has("memory") ? "-memory" : "-mem_alloc_type", state.program);
}

void set_gpu(ParseState& state, std::string_view word) {
  MemoryChoice& memory = state.options.memory;
  for (const GpuChoice by_rank : {GpuChoice::local_rank, GpuChoice::round_robin}) {
    if (same_name(word, name_of(by_rank))) {
      memory.gpu = by_rank;
      return;
    }
  }
  if (!word.empty() && word.front() > '9') {
    throw BadValue(quoted(word) + " is neither a number nor local_rank nor round_robin");
  }
  memory.gpu = GpuChoice::number;
  memory.gpu_number = static_cast<int>(parse_integer(word, 0, 1023));
}

OptionValue get_gpu(const Options& options) {
  const MemoryChoice& memory = options.memory;
  if (memory.gpu == GpuChoice::number) return std::int64_t{memory.gpu_number};
  return std::string(name_of(memory.gpu));
}

void check_gpu(const ParseState& state) {
  if (state.options.memory.needs_gpu()) return;
  throw UsageError(
      std::string(state.has("gpu") ? "-gpu" : "-gpu_check") +
      ": no effect with buffers on the host; also give -memory, for example -memory cuda, or leave it out");
}

void check_load(const ParseState& state) {
  const MemoryChoice& memory = state.options.memory;
  if (memory.load != LoadPlace::device) return;
  if (state.program.uses_files) refuse_gpus("-load device", state.program);
  if (api_of(memory.send) == GpuApi::rocm || api_of(memory.receive) == GpuApi::rocm) {
    throw UsageError("-load device: there is no load for ROCm; give -load cpu, or leave it out");
  }
  if (memory.is_host() && !state.has("gpu")) {
    throw UsageError(
        "-load device: no GPU is in use; choose one with -gpu, as -gpu local_rank, or give -memory cuda");
  }
}

// The rows

constexpr Option selection_rows[] = {
    {.name = "input",
     .syntax = "FILE",
     .help = "run the benchmarks that FILE names",
     .example = "-input chosen.txt",
     .details = "FILE has one name per line; a comment begins with #, blank lines are skipped. The names "
                "replace this option on the command line.",
     .apply = read_benchmarks},
    {.name = "include",
     .common = true,
     .values = Values::list,
     .syntax = "NAME...",
     .help = "also run these, after the others",
     .example = "-include PingPongSpecificSource Uniband",
     .details = "Names are separated by blanks or by commas. If the first word has a comma, it is the whole "
                "list; otherwise all words up to the next option belong to the list.",
     .apply = [](ParseState& state, std::string_view word) { add_names(state.names.included, word); }},
    {.name = "exclude",
     .common = true,
     .values = Values::list,
     .syntax = "NAME...",
     .help = "do not run these",
     .example = "-exclude Alltoall,Alltoallv",
     .details = "Names are separated by blanks or by commas, as for -include. Excluding a benchmark that "
                "would not run is allowed; excluding all is an error.",
     .apply = [](ParseState& state, std::string_view word) { add_names(state.names.excluded, word); }},
    {.name = "list",
     .common = true,
     .values = Values::optional_one,
     .syntax = "[json|NAME...]",
     .help = "show the benchmarks and stop",
     .example = "-list",
     .details = "json: the benchmarks of all components, with their kinds, as one JSON object.\n"
                "NAME...: these benchmarks only. Other options have no effect.",
     .action = Options::Action::list},
};

constexpr Option process_rows[] = {
    {.name = "npmin",
     .common = true,
     .syntax = "N",
     .help = "run on N, 2N, 4N, ... and all ranks",
     .default_of =
         [](const Defaults& defaults) {
           return defaults.min_processes == all_processes ? "all ranks"
                                                          : std::to_string(defaults.min_processes);
         },
     .example = "-npmin 4",
     .details = "A launch of 10 ranks with -npmin 2 runs on 2, 4, 8 and 10. If N is above the number "
                "of ranks launched, all of them run, with a warning. Single transfers always run on "
                "2.",
     .field = computed_by<get_processes>,
     .apply = set_processes,
     .used_by = &grouped_benchmarks,
     .imply = imply_processes},
    {.name = "multi",
     .common = true,
     .syntax = "0|1",
     .help = "run in as many groups as possible at once",
     .default_text = "one group",
     .example = "-multi 1",
     .details = "0: one row with the extremes over all groups.\n1: one row for each group.\n"
                "The prefix Multi- before a name asks for groups for that benchmark only.",
     .field = computed_by<get_multi>,
     .apply = set_multi,
     .used_by = &grouped_benchmarks},
    {.name = "map",
     .common = true,
     .syntax = "PxQ",
     .help = "number the ranks along the rows of a P x Q matrix",
     .default_text = "in order of rank",
     .example = "-map 4x2",
     .details =
         "Row r of the matrix holds the ranks r, r+P, r+2P, ...; groups are filled row by row. With two "
         "nodes of P ranks each, -map Px2 -multi 0 PingPong pairs every rank with its counterpart on the "
         "other node. P times Q must not exceed the number of ranks launched; other ranks are idle.",
     .field = computed_by<get_map>,
     .apply = set_map,
     .used_by = &grouped_benchmarks},
    {.name = "thread_level",
     .syntax = "LEVEL",
     .example = "-thread_level multiple",
     .details = "Thread support requested from MPI. At any level, benchmarks communicate from one thread, "
                "except in IMB-MT: see -threads. The banner shows what MPI granted; a lower level than "
                "requested gives a warning.",
     .field = at<&Options::thread_level>,
     .early = true},
};

constexpr Option length_rows[] = {
    {.name = "msglog",
     .common = true,
     .syntax = "[MIN:]MAX",
     .help = "message sizes 0, 2^MIN, 2^(MIN+1), ... 2^MAX bytes",
     .default_of = [](const Defaults& defaults) -> std::string {
       if (defaults.counts.back() > 0) return "message sizes of -count";
       if (defaults.lengths.back() > 0) return "message sizes of -msgsize";
       return std::to_string(defaults.settings.min_message_log) + ":" +
              std::to_string(defaults.settings.max_message_log);
     },
     .example = "-msglog 3:7",
     .details = "Exponents from 0 to {max_exponent}. MIN defaults to MINMSGLOG (-set).",
     .field = computed_by<get_exponents>,
     .apply = set_exponents,
     .imply = drop_default_sizes,
     .check = check_exponents},
    {.name = "msglen",
     .syntax = "FILE",
     .help = "use the message sizes listed in FILE",
     .example = "-msglen sizes.txt",
     .details = "One message size per line, in bytes or with k, m or g, in any order; a comment "
                "begins with #.",
     .apply = read_lengths,
     .excludes = "msgsize msglog msgsz",
     .imply = drop_default_counts},
    {.name = "msgsize",
     .common = true,
     .syntax = "SIZE[,SIZE...]",
     .help = "use these message sizes",
     .example = "-msgsize 0,1,4k,1m",
     .details = "In bytes or with k, m or g (powers of 1024), in the order given. A message size that "
                "is not a multiple of the data type's size is rounded up.",
     .field = computed_by<get_lengths>,
     .apply = set_lengths,
     .excludes = "msglog msgsz",
     .imply = drop_default_counts},
    {.name = "msgsz",
     .syntax = "SIZE",
     .help = "measure this message size; repeat for more",
     .example = "-msgsz 4097 -msgsz 5k",
     .details = "Option of IMB-P2P. The sizes are measured in the order given, instead of the powers of two.",
     .apply = add_length,
     .excludes = "msglog",
     .imply = drop_default_counts},
    {.name = "zero_size",
     .help = "also measure messages of 0 bytes",
     .example = "-zero_size off",
     .field = at<&Options::zero_size>,
     .check = check_zero_size},
};

constexpr Option repetition_rows[] = {
    {.name = "iter",
     .common = true,
     .syntax = "N[,VOL[,NONAGGR[,POLICY]]]",
     .help = "number of repetitions and its limits",
     .default_of =
         [](const Defaults& defaults) {
           const Settings& settings = defaults.settings;
           return std::to_string(settings.repetitions) + "," +
                  std::to_string(settings.overall_volume / mebibyte) + "," +
                  std::to_string(settings.non_aggregate_repetitions) + "," + name_of(settings.policy);
         },
     .example = "-iter 2000,multiple_np",
     .details = "N: maximum repetitions per message size.\n"
                "VOL: maximum volume per message size in MiB (or 64k, 1g), which limits repetitions.\n"
                "NONAGGR: maximum repetitions of non-aggregate benchmarks.\n"
                "POLICY: see -iter_policy; after any of the numbers, or alone.",
     .field = computed_by<get_repetitions>,
     .apply = set_repetitions},
    {.name = "iter_policy",
     .syntax = "POLICY",
     .example = "-iter_policy multiple_np",
     .details = "dynamic: as many repetitions as VOL of -iter and -time allow.\n"
                "multiple_np: the same, in multiples of the number of ranks, so that each is root "
                "equally often.\n"
                "auto: multiple_np for collectives with a root, dynamic for all others.\n"
                "off: always N repetitions (-iter); VOL and -time have no effect.",
     .field = at<&Options::settings, &Settings::policy>},
    {.name = "time",
     .common = true,
     .syntax = "SECONDS",
     .help = "maximum seconds per message size; 0: no limit",
     .example = "-time 1.5",
     .details =
         "Limits the number of repetitions, by an estimate that takes a tenth as long, at most about one "
         "second. If not one repetition fits, the message size gets a time-out row and the run continues.",
     .field = at<&Options::settings, &Settings::seconds_per_sample>,
     .range = real(0, 1e9)},
    {.name = "warm_up",
     .help = "run untimed repetitions before the timed ones",
     .example = "-warm_up off",
     .details = "A tenth of the number of repetitions, at least one, at most N_WARMUP (-help set).",
     .field = at<&Options::warm_up>},
    {.name = "msg_pause",
     .help = "pause after each message size",
     .example = "-msg_pause on",
     .field = at<&Options::message_pause>,
     .used_by = &grouped_benchmarks,
     .excludes = in_passes},
    {.name = "pause",
     .syntax = "MICROSECONDS",
     .help = "pause for this long after each message size",
     .example = "-pause 100000",
     .details = "The default of IMB-P2P 2021 is 100000.",
     .field = at<&Options::pause_seconds>,
     .range = real(0, 1e12, 1e6),
     .used_by = &grouped_benchmarks,
     .excludes = in_passes},
};

constexpr Option method_rows[] = {
    {.name = "off_cache",
     .common = true,
     .syntax = "SIZE[,LINE]",
     .help = "step through buffers larger than the cache",
     .default_text = "reuse one buffer",
     .example = "-off_cache 16,128",
     .details = "SIZE: size of the last-level cache, in MB of 2^20 bytes or with k, m or g. LINE: "
                "size of a cache line, in bytes. If SIZE is -1, or LINE is left out, the value of the "
                "machine is used, or the value of CACHE_SIZE or CACHE_LINE_SIZE (-set). Messages lie at "
                "least two cache lines apart.",
     .field = computed_by<get_off_cache>,
     .apply = set_off_cache},
    {.name = "mem",
     .common = true,
     .syntax = "GB",
     .help = "memory limit for message buffers, per rank",
     .example = "-mem 0.5",
     .details = "In GB of 2^30 bytes or with k, m or g. A message size that needs more becomes an "
                "out-of-mem row that shows the memory needed, and the run continues.",
     .field = at<&Options::settings, &Settings::max_memory>,
     .range = size(gibibyte, 1, max_bytes)},
    {.name = "root_shift",
     .help = "change the root with each repetition",
     .example = "-root_shift off",
     .field = at<&Options::root_shift>,
     .used_by = &rooted_benchmarks},
    {.name = "in_place",
     .help = "run collectives with one buffer (MPI_IN_PLACE)",
     .example = "-in_place on",
     .details = "on: input and result are in the receive buffer; in rooted collectives only at the "
                "root, which then is rank 0. Other benchmarks run as with off.",
     .field = at<&Options::in_place>,
     .used_by = &in_place_benchmarks},
    {.name = "sync",
     .help = "put an untimed barrier between repetitions",
     .example = "-sync on",
     .details = "on: each repetition is timed by itself. off: all repetitions are timed together.",
     .field = at<&Options::synchronize_each>,
     .used_by = &grouped_benchmarks},
    {.name = "sync_start",
     .help = "choose what lets ranks begin a repetition together",
     .example = "-sync_start clock",
     .details = "barrier: as -sync says. clock: each repetition of a blocking collective begins at an "
                "agreed time of a clock that all ranks share; implies -sync on. Further columns show "
                "medians of the time from the last arrival (t_last) and from the first one (t_all) to "
                "the last exit, the skews, the share of repetitions in which no rank was late (only "
                "these count), and how far the clock may be off.",
     .field = at<&Options::sync_start>,
     .used_by = &clock_start_benchmarks,
     .imply = imply_clock,
     .check = check_clock,
     .banner = "Start of repetitions"},
    {.name = "arrival",
     .syntax = "PATTERN[:WIDTH]",
     .help = "let ranks arrive at different times",
     .default_text = "even",
     .example = "-arrival last:50",
     .details = "even, first, last: the first or the last rank arrives late; ascending: each a little "
                "later than the one before; random. WIDTH: microseconds from the first to the last "
                "arrival, or xN: N times the duration of the operation with even arrival, under the first "
                "variant of -alternate; the default is x1. Ranks count from the root, which stays rank "
                "0. Implies -sync_start clock.",
     .field = computed_by<get_arrival>,
     .apply = set_arrival,
     .used_by = &clock_start_benchmarks,
     .imply = imply_arrival,
     .check = check_arrival,
     .banner = "Start of repetitions"},
    {.name = "imb_barrier",
     .help = "synchronize without MPI_Barrier",
     .example = "-imb_barrier on",
     .details = "on: a barrier of point-to-point messages, the same with every MPI. The benchmark Barrier "
                "always measures MPI_Barrier.",
     .field = at<&Options::own_barrier>,
     .used_by = &grouped_benchmarks},
    {.name = "data_type",
     .syntax = "TYPE",
     .example = "-data_type double",
     .details = "Data type of messages. float16 and bfloat16 need an MPI that has them.",
     .field = at<&Options::data, &Element::type>,
     .used_by = &typed_benchmarks},
    {.name = "red_data_type",
     .syntax = "TYPE",
     .help = "data type of reductions: as -data_type, but not byte",
     .example = "-red_data_type double",
     .details = "The operation is MPI_SUM, which is not defined for bytes.",
     .field = at<&Options::reduction, &Element::type>,
     .apply = set_reduction_type,
     .used_by = &reduction_benchmarks,
     .check = check_reduction_type},
    {.name = "contig_type",
     .syntax = "TYPE",
     .example = "-contig_type resize",
     .details = "Layout of elements in memory, for messages and reductions. base: contiguous. resize: each "
                "element has twice its extent. base_vec, resize_vec: the same as a vector of elements.",
     .field = at<&Options::data, &Element::contiguity>,
     .apply = set_contiguity,
     .used_by = &typed_benchmarks},
    {.name = "aggregate_mode",
     .syntax = "MODE",
     .example = "-aggregate_mode non_aggregate",
     .details = "For benchmarks with both modes. non_aggregate: each transfer is completed before the next. "
                "aggregate: all transfers of a sample, to disjoint memory, are completed together.",
     .field = at<&Options::aggregate_mode>,
     .used_by = &aggregate_mode_benchmarks},
    {.name = "window_size",
     .syntax = "N",
     .help = "messages in flight per repetition",
     .example = "-window_size 64",
     .field = at<&Options::in_flight>,
     .range = whole(1, 1000000),
     .used_by = &in_flight_benchmarks},
    {.name = "partitions",
     .syntax = "N",
     .help = "IMB-MPI4: parts of a message of Partitioned_...",
     .example = "-partitions 16",
     .details = "Upper limit: a message has the largest number of equal parts, up to N.",
     .field = at<&Options::partitions>,
     .range = whole(1, 1000000),
     .used_by = &partitioned_benchmarks},
    {.name = "seed",
     .syntax = "N",
     .help = "draw other random partners, or another random graph",
     .example = "-seed 7",
     .details = "Seed of random partners, of -topo random:N, and of the order of rounds in IMB-FABRIC. The "
                "same number gives the same partners in the same order, with every MPI. Partners are drawn "
                "for {partner_rounds} rounds before the clock starts; further repetitions use them again.",
     .field = computed_by<get_seed>,
     .apply = set_seed,
     .used_by = &random_benchmarks,
     .imply = imply_seed,
     .check = check_seed},
    {.name = "halo",
     .syntax = "N[,corners]",
     .help = "IMB-P2P: the periodic grid of Halo and simple_halo",
     .example = "-halo 2,corners Halo",
     .details =
         "N: 1 to {max_dimensions} dimensions, whose extents are as equal as the number of ranks "
         "allows. Each rank exchanges with 2 neighbors per dimension; corners: also with "
         "neighbors across edges and corners, 26 in 3 dimensions (N,faces: without them). A rank is its own "
         "neighbor in a dimension of extent 1.",
     .field = computed_by<get_halo>,
     .apply = set_halo,
     .used_by = &torus_benchmarks},
    {.name = "topo",
     .syntax = "TOPOLOGY",
     .help = "neighbors of a rank in neighborhood collectives",
     .example = "-topo 2x2 Neighbor_alltoall",
     .details = "3d: a periodic grid of 1 to {max_dimensions} dimensions, whose extents are as equal as the "
                "number of ranks allows. 4x2: with these extents, in groups of 8. graph, graph:4x2, "
                "graph:3d: the same neighbors, as a distributed graph. random:N: a graph drawn at random "
                "(-seed), in which each rank sends to N others and receives from N others.",
     .field = computed_by<get_topology>,
     .apply = set_topology,
     .used_by = &topology_benchmarks,
     .check = check_topology},
    {.name = "pairs",
     .syntax = "N",
     .help = "IMB-P2P: pairs of ranks of Multi_pair",
     .default_text = "half of the ranks",
     .example = "-pairs 2 Multi_pair",
     .details = "N in all: rank i of the first half with rank i of the second, for the first N ranks of "
                "each; others are idle. On two nodes with half of the ranks each, in order, N is the number "
                "of pairs per node.",
     .field = at<&Options::pairs, &PairOptions::max_pairs>,
     .range = whole(1, max_int),
     .used_by = &multi_pair_benchmarks,
     .check = check_pairs},
    {.name = "msgwr",
     .syntax = "on|off",
     .help = "IMB-P2P: accepted, no effect",
     .default_text = "off",
     .example = "-msgwr off",
     .details = "IMB-P2P 2021 writes the send buffer before each message unless this is off. Here the timed "
                "loop has MPI calls only; buffers are written before a table. on prints a warning.",
     .apply = accept_payload<true>,
     .used_by = &message_rate_benchmarks},
    {.name = "msgrd",
     .syntax = "on|off",
     .help = "IMB-P2P: accepted, no effect",
     .default_text = "off",
     .example = "-msgrd off",
     .details = "IMB-P2P 2021 reads the receive buffer after each message unless this is off. Here the timed "
                "loop has MPI calls only. on prints a warning.",
     .apply = accept_payload<false>,
     .used_by = &message_rate_benchmarks},
};

constexpr Option output_rows[] = {
    {.name = "show_tail",
     .help = "print quantiles of the repetitions below each row",
     .example = "-show_tail on",
     .details = "Each repetition is timed; the time of its slowest rank counts. t_min, t_avg and "
                "t_max in the row are still taken over the mean times of the ranks, not over "
                "repetitions.",
     .field = at<&Options::show_tail>,
     .used_by = &grouped_benchmarks,
     .excludes = in_passes},
    {.name = "dumpfile",
     .syntax = "FILE",
     .help = "write the time of each repetition to FILE",
     .example = "-dumpfile times.txt",
     .details = "One line per repetition: bytes and microseconds.",
     .field = at<&Options::dump_file>,
     .used_by = &grouped_benchmarks,
     .excludes = in_passes,
     .check = check_files},
    {.name = "help",
     .alias = "h",
     .common = true,
     .values = Values::optional_one,
     .syntax = "[all|full|NAME]",
     .help = "show this help, all options, all details, or the details of one option or benchmark",
     .example = "-help iter",
     .action = Options::Action::help},
    {.name = "version",
     .values = Values::none,
     .help = "show the version and stop",
     .example = "-version",
     .action = Options::Action::version},
};

constexpr Option thread_rows[] = {
    {.name = "threads",
     .syntax = "N",
     .help = "threads of each process",
     .default_text = "OMP_NUM_THREADS with -thread_level multiple or serialized, else 1",
     .example = "-threads 4",
     .details =
         "More than one thread needs MPI_THREAD_MULTIPLE, which is then requested, or MPI_THREAD_SERIALIZED "
         "with -thread_level serialized: then the repetitions of the threads take turns. IMB-MPI4: threads "
         "that mark the parts of a message of Partitioned_... (MPI_Pready).",
     .field = computed_by<get_threads>,
     .apply = set_threads,
     .used_by = &threaded_or_partitioned_benchmarks,
     .imply = imply_level,
     .early = true},
    {.name = "comm",
     .syntax = "WHICH",
     .example = "-comm shared PingPongMT",
     .details = "per_thread: each thread has a communicator. shared: all use one, with one tag per thread; "
                "transfers only, as MPI forbids concurrent collectives on one communicator.",
     .field = at<&Options::threads, &Threads::comm>,
     .used_by = &threaded_benchmarks},
    {.name = "pin_threads",
     .help = "bind each thread to a CPU",
     .example = "-pin_threads on",
     .details =
         "Thread t gets the t-th CPU that its process may use; processes with the same CPUs divide them.",
     .field = at<&Options::threads, &Threads::pinned>,
     .used_by = &threaded_or_partitioned_benchmarks},
    {.name = "stride",
     .syntax = "N",
     .help = "distance between communicating ranks",
     .example = "-stride 1",
     .details = "1: pairs 0 and 1, 2 and 3, ...; 2: 0 and 2, 1 and 3, ... 0: half of the ranks; 1 in "
                "the chains of SendRecvMT and ExchangeMT. Ranks without a partner are idle.",
     .field = at<&Options::stride>,
     .range = whole(0, 1 << 30),
     .used_by = &threaded_pair_benchmarks,
     .check = check_stride},
    {.name = "count",
     .syntax = "N[,N...]",
     .help = "elements in each message of a thread",
     .example = "-count 1,1024",
     .details = "#bytes shows the bytes of all threads of a process together.",
     .field = computed_by<get_counts>,
     .apply = set_counts,
     .used_by = &threaded_benchmarks,
     .instead = "-msgsize",
     .excludes = "msglen msgsize msglog msgsz"},
    {.name = "datatype",
     .syntax = "TYPE",
     .help = "int or char, for messages and reductions",
     .default_text = "int",
     .example = "-datatype char",
     .details = "-data_type and -red_data_type have more.",
     .apply = set_type,
     .used_by = &threaded_benchmarks,
     .instead = "-data_type",
     .excludes = "data_type red_data_type"},
    {.name = "repeat",
     .syntax = "N",
     .help = "number of repetitions; as -iter N",
     .example = "-repeat 100",
     .field = at<&Options::settings, &Settings::repetitions>,
     .recorded = false,
     .range = whole(1, max_int),
     .excludes = "iter"},
    {.name = "warmup",
     .syntax = "N",
     .help = "maximum untimed repetitions; as N_WARMUP of -set",
     .example = "-warmup 10",
     .details = "A tenth of the number of repetitions, at least one, at most N; 0: none.",
     .field = at<&Options::settings, &Settings::warm_up_repetitions>,
     .apply = set_warm_up},
    {.name = "barrier",
     .syntax = "on|off|special",
     .help = "synchronize ranks before each sample",
     .example = "-barrier special",
     .details =
         "on: in MPI_Barrier. off: only between the threads of a process. special: as -imb_barrier on.",
     .field = at<&Options::thread_barrier>,
     .apply = set_barrier,
     .used_by = &threaded_benchmarks,
     .instead = "-imb_barrier"},
    {.name = "malloc_align",
     .syntax = "BYTES",
     .help = "alignment of each thread's buffers",
     .example = "-malloc_align 2m",
     .details =
         "A power of two. Without -malloc_algo continuous, each thread's part begins on a page at least.",
     .field = at<&Options::threads, &Threads::alignment>,
     .apply = set_alignment,
     .used_by = &threaded_benchmarks},
    {.name = "malloc_algo",
     .syntax = "HOW",
     .example = "-malloc_algo parallel",
     .details = "serial: the main thread writes to all buffers first. continuous: the same, and the buffers "
                "of two threads may share a page. parallel: each thread writes to its buffers first, so that "
                "their memory is near its CPU.",
     .field = at<&Options::threads, &Threads::memory>,
     .used_by = &threaded_benchmarks},
    {.name = "noheader",
     .values = Values::none,
     .help = "print no banner",
     .example = "-noheader",
     .apply = [](ParseState& state, std::string_view) { state.options.header = false; },
     .used_by = &threaded_benchmarks},
};

constexpr Option fabric_rows[] = {
    {.name = "endpoint",
     .syntax = "WHAT",
     .example = "-endpoint host",
     .details = "What to measure. One rank stands for each endpoint, the first one on it; the others "
                "are idle. socket, numa and core need ranks that are bound to the CPUs of one socket, "
                "NUMA node or core. rank: each rank is an endpoint.",
     .field = at<&Options::fabric, &FabricOptions::endpoint>,
     .used_by = &round_benchmarks},
    {.name = "rounds",
     .syntax = "K|one_to_all|all_to_one",
     .help = "instead of all pairs: each endpoint meets K others",
     .default_text = "all pairs",
     .example = "-rounds 3",
     .details =
         "Without it, N endpoints meet in N - 1 rounds of disjoint pairs. K: they meet in K such rounds, in "
         "random order (-seed). one_to_all, all_to_one: N rounds, in each of which one endpoint sends to "
         "all others at once, or all others to it; Pair_Bidirectional goes both ways in both.",
     .field = computed_by<get_rounds>,
     .apply = set_rounds,
     .used_by = &round_benchmarks,
     .excludes = "halves pairs_file",
     .imply = imply_hub,
     .check = check_hub},
    {.name = "halves",
     .values = Values::none,
     .help = "measure only pairs of the first half with the second",
     .example = "-halves",
     .details = "Every pair that crosses the middle of the list of endpoints, in N/2 rounds that load the "
                "bisection.",
     .field = computed_by<get_halves>,
     .apply = [](ParseState& state, std::string_view) { fabric_of(state).rounds = RoundKind::halves; },
     .used_by = &round_benchmarks,
     .excludes = "pairs_file"},
    {.name = "pairs_file",
     .syntax = "FILE",
     .help = "measure the rounds listed in FILE",
     .example = "-pairs_file rounds.txt",
     .details = "One round per line: pairs of numbers of endpoints, as 0-1 2-3, of which the first one "
                "sends. A comment begins with #.",
     .field = computed_by<get_pairs_file>,
     .apply = read_pairs,
     .used_by = &round_benchmarks},
    {.name = "serial",
     .values = Values::none,
     .help = "measure one pair after the other, not a round at once",
     .example = "-serial",
     .field = at<&Options::fabric, &FabricOptions::serial>,
     .used_by = &round_benchmarks},
    {.name = "matrix",
     .values = Values::none,
     .help = "print a line for each pair",
     .example = "-matrix",
     .details = "Each line is printed as soon as the pair is measured. -json also has them.",
     .field = at<&Options::fabric, &FabricOptions::matrix>,
     .used_by = &round_benchmarks},
    {.name = "pair_timeout",
     .syntax = "SECONDS",
     .help = "leave out a rank that does not respond in time",
     .example = "-pair_timeout 5",
     .details = "The limit is SECONDS beyond twice the time of a sample (-time). The pairs of such a "
                "rank have failure rows, the others are measured, and the run ends with exit status "
                "3. A rank that waits for it within an exchange is also left out; if that is rank 0, "
                "the run is aborted with exit status 5. A run is also aborted if its start takes "
                "{start_timeout_factor} times as long. 0: wait forever.",
     .field = at<&Options::fabric, &FabricOptions::timeout_seconds>,
     .range = real(0, 1e6),
     .used_by = &round_benchmarks,
     .early = true},
};

constexpr Option memory_rows[] = {
    {.name = "memory",
     .values = Values::one_or_two,
     .syntax = "KIND[,KIND]",
     .help = "where buffers live: one kind, or one to send and one to receive",
     .example = "-memory cuda,host",
     .details = "host; pinned: on the host, page-locked by a GPU's driver; cuda, rocm: on the GPU; "
                "cuda_managed, rocm_managed: managed memory, which migrates between both. H, D, M: "
                "host, GPU and managed memory, of the driver that is found, CUDA before ROCm. The MPI "
                "must handle memory of GPUs (-gpu_check). Benchmarks that cannot use a kind have a "
                "failure row with the reason.",
     .field = computed_by<get_memory>,
     .apply = set_memory,
     .excludes = "mem_alloc_type",
     .check = check_memory,
     .is_second = is_memory_kind},
    {.name = "mem_alloc_type",
     .syntax = "TYPE",
     .help = "kind of memory, as IMB-MPI1-GPU names it",
     .default_text = "cpu",
     .example = "-mem_alloc_type device",
     .details = "cpu: host. host: pinned. device: cuda or rocm. shared: cuda_managed or rocm_managed.",
     .apply = set_alloc_type,
     .check = check_memory},
    {.name = "gpu",
     .alias = "gpu_select",
     .syntax = "N|local_rank|round_robin",
     .help = "which GPU a rank uses",
     .example = "-memory cuda -gpu 0",
     .details = "GPUs are numbered from 0, among those that the process sees (CUDA_VISIBLE_DEVICES, "
                "ROCR_VISIBLE_DEVICES). N: GPU N for all ranks. local_rank: the rank's number on its "
                "host, modulo the number of GPUs. round_robin: the rank's number in the launch, "
                "modulo the number of GPUs.",
     .field = computed_by<get_gpu>,
     .apply = set_gpu,
     .used_by = &memory_benchmarks,
     .check = check_gpu},
    {.name = "gpu_check",
     .help = "check that the MPI handles GPU memory",
     .example = "-memory cuda -gpu_check trust",
     .details = "query: refuse an MPI that does not handle GPU memory or does not report it, and name "
                "the setting to change, because its first message would crash. "
                "Calls that Open MPI does not support on GPUs have a failure row. trust: run "
                "everything.",
     .field = at<&Options::memory, &MemoryChoice::check>,
     .used_by = &memory_benchmarks,
     .check = check_gpu},
    {.name = "load",
     .help = "where benchmarks with overlap compute",
     .example = "-memory cuda -load device Ibcast",
     .details = "device: on the GPU of the rank, which -memory or -gpu chooses. CUDA only.",
     .field = at<&Options::memory, &MemoryChoice::load>,
     .used_by = &overlap_benchmarks,
     .check = check_load},
};

constexpr Option own_rows[] = {
    {.name = "window",
     .syntax = "KIND",
     .example = "-window allocate",
     .details =
         "How one-sided benchmarks create windows. create: MPI_Win_create, on memory of the benchmark. "
         "allocate: MPI_Win_allocate, as in most programs. shared: MPI_Win_allocate_shared; ranks that "
         "share no memory have failure rows. dynamic: MPI_Win_create_dynamic and MPI_Win_attach.",
     .field = at<&Options::window_kind>,
     .used_by = &window_kind_benchmarks},
    {.name = "sync_mode",
     .syntax = "MODE",
     .default_text = "by benchmark",
     .example = "-sync_mode lock",
     .details = "fence: MPI_Win_fence. pscw: MPI_Win_post, _start, _complete, _wait. lock, lock_all: "
                "MPI_Win_lock (shared) or MPI_Win_lock_all around each transfer. flush, flush_local: in a "
                "lock held around the sample. In aggregate mode: once for all transfers of a sample. "
                "standard: as each benchmark is defined.",
     .field = at<&Options::sync_mode>,
     .used_by = &window_benchmarks,
     .check = check_sync_mode,
     .banner = "Completion of transfers"},
    {.name = "send_mode",
     .syntax = "MODE",
     .example = "-send_mode synchronous",
     .details = "standard: MPI_Send, MPI_Isend. synchronous: MPI_Ssend, MPI_Issend; they complete after the "
                "receive has started. buffered: MPI_Bsend, MPI_Ibsend; the buffer counts toward -mem. "
                "Benchmarks that cannot use a mode have a failure row with the reason.",
     .field = at<&Options::send_mode>,
     .used_by = &send_mode_benchmarks,
     .banner = "Sends"},
    {.name = "layout",
     .syntax = "LAYOUT",
     .help = "gaps between the elements of a message",
     .example = "-layout vector:1:8 -data_type double PingPong",
     .details = "Derived types, on both sides; #bytes counts data, not gaps. vector:BLOCK:STRIDE: blocks of "
                "BLOCK elements, STRIDE elements from one beginning to the next. indexed: blocks and gaps of "
                "1 to 8 elements. struct: records of three doubles, a char and an int. Benchmarks that "
                "cannot have gaps have a failure row with the reason.",
     .field = computed_by<get_layout>,
     .apply = set_layout,
     .used_by = &layout_benchmarks,
     .check = check_layout,
     .banner = "Messages"},
    {.name = "progress",
     .syntax = "N",
     .help = "call MPI_Test N times while computing",
     .example = "-progress 10",
     .details = "For benchmarks of overlap: the computation of a repetition is divided into N + 1 parts, "
                "with a call of MPI_Test between two parts. Many MPIs advance a nonblocking operation only "
                "inside MPI calls.",
     .field = at<&Options::progress>,
     .range = whole(0, 1000000),
     .used_by = &overlap_benchmarks},
    {.name = "info",
     .syntax = "KEY=VALUE",
     .help = "give MPI a hint for windows and files",
     .example = "-info no_locks=true",
     .details = "May be repeated. Replaces editing User_Set_Info (user guide). MPI ignores unknown keys.",
     .field = computed_by<get_info>,
     .apply = add_info,
     .used_by = &hint_benchmarks},
    {.name = "file",
     .syntax = "PATH",
     .help = "IMB-IO: folder or name of the files",
     .default_text = "./IMB_out",
     .example = "-file /scratch/me",
     .details =
         "If PATH is an existing folder, the names of the files in it begin with IMB_out. Otherwise they "
         "begin with PATH, whose folder must exist. A part that is unique to the launch follows. Files of "
         "groups end in _g and the group, files of single ranks in _ and the rank. All are deleted, "
         "however the run ends.",
     .apply = set_file,
     .used_by = &file_benchmarks},
    {.name = "fsync",
     .help = "IMB-IO: when writes reach storage",
     .example = "-fsync never",
     .details =
         "standard: MPI_File_sync, MPI_Barrier and MPI_File_sync complete each write, in aggregate mode all "
         "writes together. never: MPI_Barrier only; this measures writes to the page cache, not to storage.",
     .field = at<&Options::file_sync>,
     .used_by = &file_benchmarks},
    {.name = "reorder",
     .syntax = "N",
     .help = "IMB-IO: each rank reads what rank + N wrote",
     .example = "-reorder 4",
     .details = "0: each rank reads what it wrote, which may still be in the page cache. With N ranks per "
                "host, -reorder N makes each rank read what another host wrote. Through a shared "
                "pointer, the order of reading decides which rank reads what.",
     .field = at<&Options::reorder>,
     .range = whole(0, 1 << 30),
     .used_by = &file_benchmarks,
     .check = check_reorder},
    {.name = "check",
     .common = true,
     .values = Values::optional_switch,
     .help = "verify received data; adds the column defects",
     .default_of = [](const Defaults& defaults) { return std::string(defaults.check ? "on" : ""); },
     .example = "-check",
     .details = "In a separate pass before the timed one, so times stay comparable. A defect is a received "
                "byte that differs from what a correct MPI delivers.",
     .field = at<&Options::check>},
    {.name = "strict",
     .syntax = "on|off",
     .help = "exit with status 3 also if rows exceed -mem, -time or -budget",
     .example = "-strict on",
     .details = "Such a row names its limit. Without -strict the exit status stays 0, as IMB's does.",
     .field = at<&Options::strict>,
     .recorded = false},
    {.name = "json",
     .common = true,
     .syntax = "FILE",
     .help = "also write results to FILE as JSON lines",
     .example = "-json run.jsonl",
     .field = at<&Options::json_file>,
     .recorded = false,
     .check = check_files},
    {.name = "passes",
     .syntax = "N",
     .help = "measure in N passes; each row is the median over them",
     .default_text = "one burst per row",
     .example = "-passes 20",
     .details = "Each pass measures one short sample of every row, between two probes of the machine. Tables "
                "follow at the end, with a column +-[%]: half of the 95 % interval of the median. The probes "
                "detect changes of the machine's speed; times come from its fastest state. With "
                "-precision or -budget, N is the maximum.",
     .field = at<&Options::passes, &Passes::most>,
     .range = whole(1, 1000000)},
    {.name = "precision",
     .syntax = "PERCENT",
     .help = "repeat passes until each row is this precise",
     .example = "-precision 2",
     .details = "Until the 95 % interval of each row's median is within +-PERCENT of the median. Rows that "
                "are precise enough are not measured further. Without -passes and -budget, the budget is "
                "{default_budget} seconds. See -passes.",
     .field = at<&Options::passes, &Passes::precision>,
     .range = real(0.001, 100, 100),
     .used_by = &grouped_benchmarks,
     .imply = imply_budget},
    {.name = "budget",
     .syntax = "SECONDS",
     .help = "repeat passes for this long",
     .example = "-budget 30",
     .details = "Also determines the size of samples. With -precision the launch ends earlier if all rows "
                "are precise enough. See -passes.",
     .field = at<&Options::passes, &Passes::budget>,
     .range = real(0.1, 1e7)},
    {.name = "alternate",
     .syntax = "FILE",
     .help = "measure each row under several settings of the MPI",
     .example = "-alternate variants.txt",
     .details =
         "One variant per line: LABEL NAME=VALUE ..., separated by blanks. NAME is a control variable of the "
         "MPI (MPI_T). A line with only a label measures the values at launch. A comment begins with #. In "
         "each pass every row has a sample of every variant, in the same memory, on a communicator made "
         "with its values. Each variant has a table. Without -passes, -precision, -budget: {default_passes} "
         "passes.",
     .recorded = false,
     .apply = read_variants,
     .used_by = &grouped_benchmarks,
     .imply = imply_passes},
    {.name = "turns",
     .syntax = "PARTS,HOST:PORT,TOKEN",
     .help = "interleave with other launches",
     .example = "-turns 10,127.0.0.1:40000,abc",
     .details = "Set by imb ab and imb campaign. Before each row, and PARTS - 1 times within it, all "
                "ranks sleep until the interleaving server at HOST:PORT lets this launch continue. "
                "The time of a row is the mean over its segments without the slowest and the fastest "
                "tenth. Files and aggregate mode are measured in one segment. In passes a segment has "
                "one or more samples.",
     .field = computed_by<get_turns>,
     .apply = set_interleaving,
     .used_by = &grouped_benchmarks},
    {.name = "set",
     .syntax = "NAME=VALUE",
     .help = "set a parameter of IMB_settings.h; @FILE: set several",
     .example = "-set MSGSPERSAMPLE=20",
     .details = "May be repeated. Applied before all other options, at any position. FILE has one NAME=VALUE "
                "per line; a comment begins with #. Parameters, with their values in standard mode:",
     .lists_parameters = true,
     .field = computed_by<get_set>,
     .apply = set,
     .imply = imply_parameters,
     .check = check_exponents,
     .stage = Stage::settings},
    {.name = "mbyte",
     .syntax = "BYTES",
     .help = "bytes per megabyte in Mbytes/sec",
     .example = "-mbyte 1e6",
     .details = "The user guide has 1048576, IMB 2021 has 1e6.",
     .field = at<&Options::bytes_per_megabyte>,
     .range = size(1, 1, gibibyte)},
    {.name = "ignore_unknown",
     .values = Values::none,
     .help = "warn about unknown options and names instead of stopping",
     .example = "-ignore_unknown",
     .details = "For wrapper scripts. An unknown option is dropped with the arguments after it, up to the "
                "next option or benchmark. If all named benchmarks are unknown, that is still an error.",
     .stage = Stage::lenient},
};

constexpr OptionGroup groups[] = {
    {"Selection", selection_rows},  {"Ranks", process_rows},
    {"Message sizes", length_rows}, {"Repetitions", repetition_rows},
    {"Method", method_rows},        {"Output", output_rows},
    {"IMB-MT", thread_rows},        {"IMB-FABRIC", fabric_rows},
    {"GPU buffers", memory_rows},   {"Extensions (not in IMB)", own_rows},
};

constexpr bool option_exists(std::string_view name) {
  for (const OptionGroup& group : groups) {
    for (const Option& option : group.options) {
      if (option.name == name) return true;
    }
  }
  return false;
}
constexpr bool exclusions_exist() {
  for (const OptionGroup& group : groups) {
    for (const Option& option : group.options) {
      std::string_view names = option.excludes;
      while (!names.empty()) {
        const std::size_t end = std::min(names.find(' '), names.size());
        if (!option_exists(names.substr(0, end))) return false;
        names.remove_prefix(std::min(end + 1, names.size()));
      }
    }
  }
  return true;
}
static_assert(exclusions_exist(), "an option excludes one that does not exist");

}  // namespace

std::span<const OptionGroup> option_groups() { return groups; }

}  // namespace openimb
