// The one main: every IMB executable is this file and one catalogue.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "app/abort.h"
#include "app/launch.h"
#include "app/scratch.h"
#include "benchmarks/catalogue.h"
#include "cli/command_line.h"
#include "engine/session.h"
#include "mpi/world.h"
#include "report/output.h"
#include "report/records.h"
#include "report/tee.h"
#include "report/text.h"
#include "system/guardian.h"
#include "system/output_file.h"
#include "system/signals.h"
#include "system/sleep.h"
#include "system/storage.h"

namespace openimb {

namespace {

constexpr int exit_usage = 2;       // nothing was measured
constexpr int exit_incomplete = 3;  // at least one failure row, or output that could not be written
constexpr int exit_defects = 4;     // -check found wrong bytes
// exit_aborted, 5: a rank could not go on; 128 + signal: a stop that did not come about in time

// Open MPI's launcher kills a quarter of a second after it asked a job to stop; others wait longer.
constexpr double stop_grace_seconds = 0.15;

constexpr const char* connection_lost =
    "lost connection to the interleaving server; run stopped after the last complete row";

std::string folder_of(const std::string& path) { return std::filesystem::path(path).parent_path().string(); }

int exit_status(const Ending& ending, bool written) {
  if (ending.defects > 0) return exit_defects;
  if (ending.failed > 0 || !written || ending.state != Ending::State::complete) return exit_incomplete;
  return 0;
}

// On all ranks at once, as it will run; the slowest one's rate.
double calibrated_flops(const Communicator& world, CpuLoad& load, double seconds) {
  MPI_Barrier(world.handle());
  load.calibrate<WallClock>(seconds);
  return -world.largest(-load.flops_per_second());
}

// What the handlers of signals and of exceptions write when the session cannot end in order.
system::EndRecords end_records(Ending ending) {
  system::EndRecords records;
  ending.state = Ending::State::interrupted;
  for (std::size_t i = 0; i < system::stop_signal_count; ++i) {
    ending.reason = system::stop_signal_name(i);
    records.by_signal[i] = end_record(ending);
  }
  constexpr std::string_view marker = "REASON";
  ending.state = Ending::State::aborted;
  ending.reason = marker;
  const std::string text = end_record(ending);
  const std::size_t at = text.find(marker);
  records.before_reason = text.substr(0, at);
  records.after_reason = text.substr(at + marker.size());
  return records;
}

int print(const std::string& text) {
  bool ok = true;
  write_and_flush(stdout, text, {.program = launch_name(), .name = "standard output"}, ok);
  return ok ? 0 : exit_incomplete;
}

int measure(const Communicator& world, const Environment& environment, const Launch& launch,
            std::optional<system::Guardian>& guardian) {
  const Options& options = launch.options;
  // Files last of all that can be a mistake: opening them empties them.
  const std::optional<OffCache> off_cache = known_off_cache(world, options);
  const std::unique_ptr<system::Interleave> turns = connect_interleave(world, options);
  const ScratchFiles scratch(world, options, guardian);
  const std::string& base = scratch.base();
  OutputFiles files(world, options);
  Tee tee;
  RunFacts facts = gather_facts(world, environment, launch, off_cache, base);
  CpuLoad load;
  if (needs_fixed_load(component().entries, options)) {
    facts.load_flops = calibrated_flops(world, load, options.settings.target_cpu_seconds);
  }
  if (world.rank() == 0) {
    tee.add(std::make_unique<TextReporter>(stdout, settings_that_differ(options)));
    const LineFile lines{system::position_of, system::cut_file};
    if (files.records)
      tee.add(std::make_unique<RecordReporter>(files.records.get(), options.json_file, lines));
    if (files.dump) tee.add(std::make_unique<DumpReporter>(files.dump.get(), options.dump_file, lines));
    for (const std::string& warning : warnings_of(launch, environment)) {
      std::fprintf(stderr, "%s: warning: %s\n", launch_name().c_str(), warning.c_str());
    }
    tee.begin(facts, options);
  }
  const auto prepare_end = [&](const Ending& so_far) {
    system::prepare_end_record(files.records.get(), end_records(so_far));
  };
  if (world.rank() == 0) prepare_end({});
  // Only rank 0 has a record to write; another rank that left first would take the job down before that.
  system::catch_stop_signals(world.rank() == 0 ? stop_grace_seconds : 0);
  const auto turns_lost = [&] { return turns && turns->lost(); };
  const auto why_stopped = [&] {
    std::string mine = system::stop_signal();
    if (!mine.empty()) return mine;
    return std::string(turns_lost() ? connection_lost : "a signal to another rank");
  };
  const Surroundings surroundings{
      .stop_requested = [&] { return !system::stop_signal().empty() || turns_lost(); },
      .stop_reason = why_stopped,
      .pause = system::pause_for,
      .progress = prepare_end,
      .take_turn =
          [&](bool row) {
            if (turns) turns->take(row);
          },
      .free_bytes = [&] { return system::free_bytes(folder_of(base)); },
      .file = base};
  const Ending ending = run_session(world, component().entries, options, off_cache, load, tee, surroundings);
  system::disarm_stop();
  if (world.rank() == 0) tee.end(ending);
  if (world.rank() == 0 && turns_lost()) {
    std::fprintf(stderr, "%s: -turns: %s\n", launch_name().c_str(), connection_lost);
  }
  return static_cast<int>(world.largest(exit_status(ending, tee.ok())));
}

int run(int argc, char** argv) {
  static const std::string name = launch_name();
  abort_on_exceptions(name.c_str());
  system::occupy_standard_streams();
  const std::vector<std::string> own_words(argv + 1, argv + argc);
  std::optional<system::Guardian> guardian;
#ifndef OPENIMB_SMPI  // whose files are simulated, and whose ranks are one process
  if (component().entries.front().spec->access == Access::file) guardian.emplace();
#endif
  const ThreadLevel level = requested_thread_level(own_words);
  note_start_of_mpi();
  const Environment environment(argc, argv, level);
  const Communicator world = Communicator::duplicate(MPI_COMM_WORLD);
  // Only what all ranks throw alike is caught here: for an exception of one rank, see abort_on_exceptions().
  try {
    const Launch launch = understand(world, argc, argv);
    if (const std::optional<std::string> text = words_to_print(launch)) {
      return static_cast<int>(world.largest(world.rank() == 0 ? print(*text) : 0));
    }
    return measure(world, environment, launch, guardian);
  } catch (const UsageError& error) {
    if (world.rank() == 0) std::fprintf(stderr, "%s: %s\n", name.c_str(), error.what());
    return exit_usage;
  }
}

}  // namespace

}  // namespace openimb

int main(int argc, char** argv) { return openimb::run(argc, argv); }
