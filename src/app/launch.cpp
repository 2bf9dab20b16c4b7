#include "app/launch.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "benchmarks/components.h"
#include "engine/wall_clock.h"
#include "mpi/datatype.h"
#include "mpi/optional.h"
#include "report/catalog.h"
#include "resolve/gathered_text.h"
#include "system/cpu_list.h"
#include "system/environment.h"
#include "system/machine.h"
#include "system/output_file.h"
#include "system/storage.h"
#include "system/threads.h"

namespace openimb {

namespace {

Program program_of(const Component& component, const std::string& name) {
  const ComponentFacts& facts = component.list.facts;
  Defaults defaults = facts.defaults;
#ifdef CHECK  // CPPFLAGS=-DCHECK of IMB
  defaults.check = true;
#endif
  return {name, facts.title, component.list.benchmarks, defaults, facts.uses_files, all_components()};
}

// Avoids iostreams: a failed allocation inside them shortens the text without an exception.
FileText read_text(const std::string& path) {
  const OwnedFile file(std::fopen(path.c_str(), "rb"));
  if (!file) return {false, "", std::strerror(errno)};
  std::string text;
  std::vector<char> part(1 << 16);
  errno = 0;
  while (const std::size_t count = std::fread(part.data(), 1, part.size(), file.get())) {
    text.append(part.data(), count);
  }
  if (std::ferror(file.get()) == 0) return {true, text, ""};
  return {false, "", errno != 0 ? std::strerror(errno) : "cannot be read"};
}

void require_type(const char* option, const Element& element) {
  if (base_type(element.type) == MPI_DATATYPE_NULL) {
    throw UsageError(std::string(option) + " " + name_of(element.type) +
                     ": this MPI has no such type; use byte, char, int, float or double");
  }
  const bool half = element.type == DataType::float16 || element.type == DataType::bfloat16;
  if (half && element.contiguity != Contiguity::base) {
    throw UsageError(std::string(option) + " " + name_of(element.type) + ": requires -contig_type base");
  }
}

void require_info(const Options& options) {
  for (const auto& [key, value] : options.info) {
    if (key.size() >= MPI_MAX_INFO_KEY || value.size() >= MPI_MAX_INFO_VAL) {
      throw UsageError("-info " + key.substr(0, 20) + "...: this MPI takes keys of less than " +
                       std::to_string(MPI_MAX_INFO_KEY) + " and values of less than " +
                       std::to_string(MPI_MAX_INFO_VAL) + " characters");
    }
  }
}

// Opens a file at rank 0 and keeps its contents; OutputFiles empties the files once all are open.
OwnedFile open_shared(ProcessGroup& world, const char* option, const std::string& path) {
  OwnedFile file;
  if (path.empty()) return file;
  std::string why;
  if (world.rank() == 0) {
    file.reset(system::open_output(path, &file.get_deleter().unused));
    if (!file) why = std::strerror(errno);
  }
  why = world.broadcast(why);
  if (!why.empty()) {
    throw UsageError(std::string(option) + ": cannot write \"" + path + "\": " + why +
                     "; name a file in a folder that exists and is writable");
  }
  return file;
}

std::string formatted_time(std::time_t now, const char* format, const std::tm* (*zone)(const std::time_t*)) {
  char text[64];
  const std::tm* const parts = zone(&now);
  return parts != nullptr && std::strftime(text, sizeof text, format, parts) > 0 ? text : "";
}

// Formats a time like ctime(), but without %e, which some C libraries of Windows lack.
std::string local_date(std::time_t now) {
  std::string text = formatted_time(now, "%a %b %d %H:%M:%S %Y",
                                    [](const std::time_t* t) -> const std::tm* { return std::localtime(t); });
  constexpr std::size_t day = 8;
  if (text.size() > day && text[day] == '0') text[day] = ' ';
  return text;
}

}  // namespace

std::string launch_name(const Component& component) { return executable_of(component.list.facts.name); }

Launch parse_on_all_ranks(const Component& component, ProcessGroup& world, int argc, char** argv) {
  const std::string own_arguments = join_words(std::vector<std::string>(argv, argv + argc));
  Launch launch{.command_line = split_words(world.broadcast(own_arguments)), .options = {}};
  const std::vector<std::string> arguments(launch.command_line.begin() + 1, launch.command_line.end());

  const ReadFile read_at_rank_0 = [&](const std::string& path) {
    const FileText mine = world.rank() == 0 ? read_text(path) : FileText{};
    const bool ok = world.broadcast(mine.ok ? "y" : "") == "y";
    return FileText{ok, world.broadcast(mine.text), world.broadcast(mine.why)};
  };
  const SameFile same_at_rank_0 = [&](const std::string& a, const std::string& b) {
    return world.broadcast(world.rank() == 0 && system::same_file(a, b) ? "y" : "") == "y";
  };
  const std::string name = launch_name(component);
  launch.options =
      parse(program_of(component, name), arguments, world.ranks(), read_at_rank_0, same_at_rank_0);
  require_type("-data_type", launch.options.data);
  require_type("-red_data_type", launch.options.reduction);
  require_info(launch.options);
  return launch;
}

std::optional<std::string> text_to_print(const Component& component, const Launch& launch) {
  const std::string name = launch_name(component);
  const Program program = program_of(component, name);
  switch (launch.options.action) {
    case Options::Action::help:
      return help_text(program, launch.options.help_topic);
    case Options::Action::list:
      return launch.options.list_as_json ? catalog_json(all_components(), OPENIMB_VERSION)
                                         : list_text(program, launch.options.selection);
    case Options::Action::version:
      return version_text(program);
    case Options::Action::run:
      break;
  }
  return std::nullopt;
}

std::vector<std::string> warnings_of(const Launch& launch) {
  std::vector<std::string> warnings = launch.options.warnings;
  const ThreadLevel requested = launch.options.thread_level;
  const auto& [level, place] = launch.granted;
  if (level < requested) {
    warnings.push_back("asked for " + name_in_mpi(requested) + ", MPI granted " + name_in_mpi(level) + place);
  }
  return warnings;
}

OutputFiles::OutputFiles(ProcessGroup& world, const Options& options)
    : records(open_shared(world, "-json", options.json_file)),
      dump(open_shared(world, "-dumpfile", options.dump_file)) {
  // The open files are compared, not their names: standard output may be redirected to one of them, and names
  // that differ in case may be the same file.
  std::string why;
  const auto require_distinct = [&](std::FILE* a, std::FILE* b, const char* what) {
    if (a != nullptr && b != nullptr && system::are_one_file(a, b)) {
      why = std::string(what) + " are the same file; use different files";
    }
  };
  require_distinct(records.get(), dump.get(), "-json and -dumpfile");
  require_distinct(records.get(), stdout, "-json and standard output");
  require_distinct(records.get(), stderr, "-json and standard error");
  require_distinct(dump.get(), stdout, "-dumpfile and standard output");
  require_distinct(dump.get(), stderr, "-dumpfile and standard error");
  why = first_message(world, why);
  if (!why.empty()) throw UsageError(why);
  for (OwnedFile* const file : {&records, &dump}) {
    if (*file) system::empty_file(file->get());
    file->get_deleter().unused.clear();
  }
}

std::unique_ptr<system::Interleave> connect_interleave(ProcessGroup& world, const Options& options) {
  std::unique_ptr<system::Interleave> connection;
  if (!options.interleaving) return connection;
  std::string why;
#ifdef OPENIMB_SMPI
  why = "-turns: not available in the simulator, where all ranks are one process";
#else
  try {
    connection = std::make_unique<system::Interleave>(options.interleaving->host, options.interleaving->port,
                                                      options.interleaving->token);
  } catch (const std::runtime_error& error) {
    why = error.what();
  }
#endif
  why = first_message(world, why);
  if (!why.empty()) throw UsageError(why + "; imb ab --parts and imb campaign set this option");
  return connection;
}

namespace {

#ifdef OPENIMB_SMPI
constexpr bool starts_processes = false;  // all ranks of the simulator are in one process
#else
constexpr bool starts_processes = true;
#endif

Startup gather_startup(ProcessGroup& world, const InitCall& mine) {
  const std::vector<double> began = world.gather(mine.began), seconds = world.gather(mine.seconds);
  if (world.rank() != 0) return {};
  const auto [first, last] = std::ranges::minmax(began);
  const auto [shortest, longest] = std::ranges::minmax_element(seconds);
  return {.first_began = first,
          .last_began = last,
          .shortest = *shortest,
          .longest = *longest,
          .slowest_rank = static_cast<int>(longest - seconds.begin())};
}

// Parses the host and the CPUs of each rank.
std::vector<RankPlace> places_in(const std::vector<std::string>& texts) {
  std::vector<RankPlace> places;
  for (const std::string& text : texts) {
    const std::vector<std::string> words = split_words(text);
    places.push_back({words[0], words[1]});
  }
  return places;
}

// Describes the first host with more ranks than CPUs on which they may run; empty if there is none.
std::string find_oversubscribed_host(const std::vector<RankPlace>& places) {
  std::map<std::string, std::pair<int, std::set<int>>> hosts;
  for (const RankPlace& place : places) {
    auto& [ranks, cpus] = hosts[place.host];
    const std::vector<int> mine = system::parse_cpu_list(place.cpus);
    ++ranks;
    cpus.insert(mine.begin(), mine.end());
  }
  for (const auto& [host, ranks_and_cpus] : hosts) {
    const auto& [ranks, cpus] = ranks_and_cpus;
    if (cpus.empty() || ranks <= static_cast<int>(cpus.size())) continue;
    return std::to_string(ranks) + " ranks on " + std::to_string(cpus.size()) +
           (cpus.size() == 1 ? " CPU of " : " CPUs of ") + host;
  }
  return {};
}

}  // namespace

RunFacts gather_facts(const Component& component, ProcessGroup& world, const Environment& environment,
                      const Launch& launch, const std::optional<OffCache>& off_cache,
                      const std::string& scratch_path) {
  // One gather sends both: with a thousand ranks, the number of messages that rank 0 receives costs more than
  // their content.
  const std::vector<std::string> places = world.gather(
      join_words(std::array{system::host_name(), system::format_cpu_list(system::usable_cpus())}));
  RunFacts facts;
  if (starts_processes) facts.startup = gather_startup(world, environment.init());
  if (world.rank() != 0) return facts;
  facts.ranks = places_in(places);
  if (starts_processes) facts.oversubscribed_host = find_oversubscribed_host(facts.ranks);
  facts.endpoints = launch.endpoints;
  const system::Machine machine = system::machine();
  const std::time_t now = std::time(nullptr);
  facts.component = component.list.facts.name;
  facts.part = component.list.facts.title;
  facts.quirks = component.list.facts.quirks;
  facts.style = component.list.facts.style;
  facts.version = OPENIMB_VERSION;
  facts.date = local_date(now);
  facts.date_iso = formatted_time(now, "%Y-%m-%dT%H:%M:%SZ",
                                  [](const std::time_t* t) -> const std::tm* { return std::gmtime(t); });
  facts.machine = machine.machine;
  facts.system = machine.system;
  facts.release = machine.release;
  facts.kernel = machine.kernel;
  facts.mpi_version = mpi_standard();
  facts.mpi_library = mpi_library();
  facts.thread_level = name_in_mpi(launch.granted.level);
  const bool takes_turns =
      launch.options.thread_level == ThreadLevel::serialized && launch.options.threads.count > 1;
  facts.clock = takes_turns ? "steady_clock" : "MPI_Wtime";
  facts.clock_resolution = takes_turns ? TurnClock::resolution() : WallClock::resolution();
  facts.compiler = OPENIMB_COMPILER;
  facts.build_flags = OPENIMB_BUILD_FLAGS;
  facts.interface = call::binary_interface;
  facts.command_line = launch.command_line;
  facts.environment = system::mpi_environment();
  facts.variants = launch.options.variants;
  facts.off_cache = off_cache;
  facts.file = scratch_path;
  if (!scratch_path.empty()) {
    facts.file_system = system::file_system_type(system::folder_of(scratch_path));
  }
  for (const SelectedBenchmark& selected : launch.options.selection) {
    const Spec& spec = component.list.benchmarks[static_cast<std::size_t>(selected.index)];
    facts.benchmarks.push_back(std::string(selected.multi ? multi_prefix : "") + std::string(spec.name));
    facts.benchmark_notes.emplace_back(spec.notes);
  }
  return facts;
}

}  // namespace openimb
