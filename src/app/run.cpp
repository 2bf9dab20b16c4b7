// The one main: every IMB executable is this file and one catalogue.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "app/launch.h"
#include "app/run.h"
#include "benchmarks/catalogue.h"
#include "cli/command_line.h"
#include "engine/calibrated_load.h"
#include "engine/mpi_resources.h"
#include "mpi/world.h"
#include "report/records.h"
#include "report/tee.h"
#include "report/text.h"
#include "session/session.h"
#include "system/system.h"

namespace openimb {

namespace {

constexpr int exit_usage = 2;       // nothing was measured
constexpr int exit_incomplete = 3;  // at least one failure row, or output that could not be written
constexpr int exit_defects = 4;     // -check found wrong bytes
constexpr int exit_aborted = 5;     // a rank could not go on

// Open MPI's launcher kills a quarter of a second after it asked a job to stop; others wait longer.
constexpr double stop_grace_seconds = 0.15;

constexpr const char* no_more_turns = "nobody says any more whose turn it is";

std::string folder_of(const std::string& path) { return std::filesystem::path(path).parent_path().string(); }

int exit_status(const Ending& ending, bool written) {
  if (ending.defects > 0) return exit_defects;
  if (ending.failed > 0 || !written || ending.state != Ending::State::complete) return exit_incomplete;
  return 0;
}

// What the files of a launch need: who deletes them if it cannot, and on the way out that they are gone.
class ScratchFiles {
 public:
  /// `guardian`: empty for components without files.
  ScratchFiles(const Communicator& world, const std::string& base, std::optional<system::Guardian>& guardian)
      : world_(world), base_(base), guardian_(guardian) {
    if (base.empty()) return;
    responsible_ = first_on_host(world);
    if (responsible_ && guardian) guardian->watch(base);
    if (!responsible_) guardian.reset();
    sweep();  // what a run that was killed left behind
  }
  ScratchFiles(const ScratchFiles&) = delete;
  ScratchFiles& operator=(const ScratchFiles&) = delete;
  ~ScratchFiles() {
    if (base_.empty()) return;
    sweep();
    guardian_.reset();
  }

 private:
  void sweep() const {
    MPI_Barrier(world_.handle());
    if (responsible_) system::delete_scratch_files(base_);
    MPI_Barrier(world_.handle());
  }

  const Communicator& world_;
  const std::string& base_;
  std::optional<system::Guardian>& guardian_;
  bool responsible_ = false;
};

// Whether a selected benchmark computes for TARGET_CPU_SECS: the load must then be calibrated first.
bool needs_fixed_load(std::span<const Spec> catalogue, const Options& options) {
  return std::ranges::any_of(options.selection, [&](const Selected& selected) {
    return catalogue[static_cast<std::size_t>(selected.index)].overlap == Overlap::fixed;
  });
}

// On all ranks at once, as it will run; the slowest one's rate.
double calibrated_flops(const Communicator& world, CalibratedLoad& load, double seconds) {
  MPI_Barrier(world.handle());
  load.calibrate(seconds);
  return -world.largest(-load.cpu().flops_per_second());
}

int measure(const Component& component, const Communicator& world, const Environment& environment,
            const Launch& launch, std::optional<system::Guardian>& guardian) {
  const Options& options = launch.options;
  // Files last of all that can be a mistake: opening them empties them.
  const std::optional<OffCache> off_cache = known_off_cache(world, options);
  const std::unique_ptr<system::Turns> turns = line_for_turns(world, options);
  const std::string base = scratch_base(component, world, options);
  OutputFiles files(world, options);
  const ScratchFiles scratch(world, base, guardian);
  Tee tee;
  RunFacts facts = gather_facts(component, world, environment, launch, off_cache, base);
  CalibratedLoad load;
  if (needs_fixed_load(component.list.benchmarks, options)) {
    facts.load_flops = calibrated_flops(world, load, options.settings.target_cpu_seconds);
  }
  if (world.rank() == 0) {
    tee.add(std::make_unique<TextReporter>(stdout, settings_that_differ(options)));
    if (files.records) tee.add(std::make_unique<RecordReporter>(files.records.get(), options.json_file));
    if (files.dump) tee.add(std::make_unique<DumpReporter>(files.dump.get(), options.dump_file));
    for (const std::string& warning : options.warnings) std::fprintf(stderr, "%s\n", warning.c_str());
    tee.begin(facts, options);
  }
  const auto leave_last_words = [&](const Ending& so_far) {
    system::set_last_words(files.records.get(), [&](const char* signal) {
      Ending cut_short = so_far;
      cut_short.state = Ending::State::interrupted;
      cut_short.reason = signal;
      return end_record(cut_short);
    });
  };
  if (world.rank() == 0) leave_last_words({});
  // Only rank 0 has something to leave behind; another that left first would take the job down before that.
  system::catch_stop_signals(world.rank() == 0 ? stop_grace_seconds : 0);
  const auto turns_lost = [&] { return turns && turns->lost(); };
  const auto why_stopped = [&] {
    const std::string mine = system::stop_signal();
    if (!mine.empty()) return mine;
    return std::string(turns_lost() ? no_more_turns : "a signal to another rank");
  };
  const Surroundings surroundings{
      .stop_requested = [&] { return !system::stop_signal().empty() || turns_lost(); },
      .stop_reason = why_stopped,
      .pause = system::pause_for,
      .progress = leave_last_words,
      .take_turn =
          [&](bool row) {
            if (turns) turns->take(row);
          },
      .free_bytes = [&] { return system::free_bytes(folder_of(base)); }};
  const Schedule schedule(component.list.benchmarks, options, world.size(), off_cache, call::has_large_count);
  MpiAgreement agreement(world, barrier_of(options));
  MpiResources resources(world, component.entries, options, load, base);
  const Ending ending = run_session({options, schedule, agreement, resources, load, tee, surroundings});
  system::set_last_words(nullptr, {});
  if (world.rank() == 0) tee.end(ending);
  if (world.rank() == 0 && turns_lost()) {
    std::fprintf(stderr, "%s: -turns: %s; what was measured before is good\n", launch_name(component).c_str(),
                 no_more_turns);
  }
  return static_cast<int>(world.largest(exit_status(ending, tee.ok())));
}

}  // namespace

int run(const Component& component, int argc, char** argv) {
  const std::vector<std::string> own_words(argv + 1, argv + argc);
  std::optional<system::Guardian> guardian;
#ifndef OPENIMB_SMPI  // whose files are simulated, and whose ranks are one process
  if (component.list.facts.uses_files) guardian.emplace();
#endif
  const Environment environment(argc, argv, requested_thread_level(own_words));
  const Communicator world = Communicator::duplicate(MPI_COMM_WORLD);
  try {
    const Launch launch = understand(component, world, argc, argv);
    if (const std::optional<std::string> words = words_to_print(component, launch)) {
      if (world.rank() == 0) std::fputs(words->c_str(), stdout);
      return 0;
    }
    return measure(component, world, environment, launch, guardian);
  } catch (const UsageError& error) {
    // Every rank understood the same words and found the same mistake.
    if (world.rank() == 0) std::fprintf(stderr, "%s: %s\n", launch_name(component).c_str(), error.what());
    return exit_usage;
  } catch (const std::exception& error) {
    // On this rank alone: the others wait for it, so the job ends here, with words.
    std::fprintf(stderr, "%s: rank %d: %s; the run is aborted\n", launch_name(component).c_str(),
                 world.rank(), error.what());
    MPI_Abort(MPI_COMM_WORLD, exit_aborted);
    return exit_aborted;
  }
}

}  // namespace openimb
