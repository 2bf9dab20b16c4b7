#include "app/run.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "app/abort.h"
#include "app/counters.h"
#include "app/launch.h"
#include "benchmarks/components.h"
#include "cli/command_line.h"
#include "engine/calibrated_load.h"
#include "engine/mpi_resources.h"
#include "engine/thread_team.h"
#include "engine/timeout_process_group.h"
#include "engine/wall_clock.h"
#include "model/exit_status.h"
#include "mpi/calls.h"
#include "mpi/errors.h"
#include "mpi/world.h"
#include "report/output.h"
#include "report/records.h"
#include "report/summary.h"
#include "report/tee.h"
#include "report/text.h"
#include "resolve/endpoints.h"
#include "resolve/gpu.h"
#include "resolve/off_cache.h"
#include "resolve/scratch.h"
#include "resolve/threads.h"
#include "resolve/variants.h"
#include "session/session.h"
#include "system/guardian.h"
#include "system/output_file.h"
#include "system/rank_variables.h"
#include "system/signals.h"
#include "system/sleep.h"
#include "system/storage.h"
#include "system/threads.h"
#include "system/watchdog.h"

namespace openimb {

namespace {

// Open MPI's launcher kills a quarter of a second after it asked a job to stop; others wait longer.
constexpr double stop_grace_seconds = 0.15;

constexpr const char* connection_lost =
    "lost connection to the interleaving server; run stopped after the last complete row";

// Without -strict, rows over a limit (memory, time) do not change the status, as with IMB: job scripts with
// `set -e` continue.
int exit_status(const Ending& ending, bool strict, bool written) {
  if (ending.defects > 0) return exit_defects;
  const std::int64_t failed = strict ? ending.failed : ending.failed - ending.limited;
  if (failed > 0 || !written || ending.state != Ending::State::complete) return exit_incomplete;
  return 0;
}

// Returns whether a selected benchmark computes for TARGET_CPU_SECS: the load must then be calibrated first.
bool needs_fixed_load(std::span<const Spec> catalog, const Options& options) {
  return std::ranges::any_of(options.selection, [&](const SelectedBenchmark& selected) {
    return catalog[static_cast<std::size_t>(selected.index)].overlap == Overlap::fixed;
  });
}

// Calibrates the load on all ranks at the same time, as it will run. Returns flop/s of the slowest rank.
double calibrated_flops(ProcessGroup& world, CalibratedLoad<CpuLoad>& load, double seconds) {
  world.barrier();
  load.calibrate(seconds);
  return -world.allreduce_max(-load.computation().flops_per_second());
}

// Returns the records that handlers of signals and exceptions write if the session cannot end in order.
system::EndRecords end_records(Ending ending) {
  system::EndRecords records;
  ending.state = Ending::State::interrupted;
  for (const std::string& name : system::stop_signal_names()) {
    ending.reason = name;
    records.by_signal.push_back(end_record(ending));
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

#ifndef OPENIMB_SMPI
// Reads the launcher's environment variables, as MPI may not be initialized. Without them, every rank is
// taken for rank 0.
bool is_rank(const char* which) {
  for (const char* const name : rank_variables) {
    if (const char* const rank = std::getenv(name)) return std::strcmp(rank, which) == 0;
  }
  return std::strcmp(which, "0") == 0;
}
#endif

/// Aborts the run when IMB-FABRIC takes too long to start. Watches until stop() is called; from then on the
/// TimeoutProcessGroup detects ranks that do not respond. Rank 0 aborts after ten times -pair_timeout, and
/// rank 1 after fifteen times, in case rank 0 does not respond. It does nothing in other components, with
/// -pair_timeout 0, or on simulated ranks.
class StartWatchdog {
 public:
  StartWatchdog(const Component& component, std::span<const std::string> arguments) {
#ifndef OPENIMB_SMPI
    if (!component.list.facts.defaults.fabric) return;
    const bool first = is_rank("0");
    const double seconds = requested_pair_timeout(arguments) * start_timeout_factor * (first ? 1 : 1.5);
    if (seconds <= 0 || (!first && !is_rank("1"))) return;
    watchdog_.emplace(seconds, [seconds] {
      std::array<char, 120> text;
      std::snprintf(text.data(), text.size(),
                    "a rank does not answer: the start has taken %.3g s (-pair_timeout)", seconds);
      abort_run(text.data());
    });
    watchdog_->set(true);
#else
    static_cast<void>(component);
    static_cast<void>(arguments);
#endif
  }
  void stop() { watchdog_.reset(); }

 private:
  std::optional<system::Watchdog> watchdog_;
};

// The threads of StartWatchdog and of system::Watchdog never call MPI, but MPI_THREAD_SINGLE allows no second
// thread at all.
ThreadLevel watchdog_thread_level(const Component& component, std::span<const std::string> arguments) {
  const bool watches = component.list.facts.defaults.fabric && requested_pair_timeout(arguments) > 0;
  return watches ? ThreadLevel::funneled : ThreadLevel::single;
}

// One launch that measures, with options that are equal on all ranks.
class Run final : public HostServices {
 public:
  Run(const Component& component, MpiProcessGroup& world, const Launch& launch, const Gpu& gpu,
      std::unique_ptr<ControlVariables> variables, std::optional<system::Guardian>& guardian)
      : component_(component),
        world_(world),
        launch_(launch),
        gpu_(gpu),
        variables_(std::move(variables)),
        // Opens files last: opening empties them, and all that comes before may still throw a UsageError.
        off_cache_(resolve_off_cache(world, launch.options, gpu.cache_bytes())),
        interleave_(connect_interleave(world, launch.options)),
        team_(make_team(world, launch.options, gpu.device.get())),
        scratch_(component, world, launch.options, guardian),
        files_(world, launch.options),
        loads_(launch.options.memory.load == LoadPlace::device ? gpu.device.get() : nullptr) {}

  int run(const Environment& environment, StartWatchdog& start) {
    // Simulated ranks share one process, so its counters belong to no rank.
#ifndef OPENIMB_SMPI
    const Communicator host_comm = world_.communicator().split_by_host();
    MpiProcessGroup host(host_comm);
    counters_.emplace(host);
#endif
    const RunFacts facts = gather(environment);
    const Options& options = launch_.options;
    const Schedule schedule(component_.list.benchmarks, options, world_.ranks(), off_cache_,
                            call::has_large_counts());
#ifndef OPENIMB_SMPI  // simulated ranks end together
    if (!options.json_file.empty()) share_aborts(world_);
#endif
    const std::unique_ptr<ProcessGroup> all_ranks = make_process_group();
    start.stop();
    begin(facts);
    catch_stops();
    std::unique_ptr<MpiClock> clock;
    if (options.starts_by_clock()) clock = std::make_unique<MpiClock>(world_.communicator(), *all_ranks);
    MpiResources resources(world_.communicator(), *all_ranks, component_.entries, options, loads_, *team_,
                           scratch_.base(), gpu_.device.get(), variables_.get(), clock.get());
    Ending ending = run_session(
        {options, schedule, *all_ranks, resources, loads_.chosen(), reporters_, *this, clock.get()});
    ending.all_respond = timeout_group_ == nullptr || timeout_group_->is_whole();
    system::disarm_stop();
    end(ending);
    if (!ending.all_respond) leave_without_others(exit_incomplete);
    try {
      return static_cast<int>(all_ranks->allreduce_max(exit_status(ending, options.strict, reporters_.ok())));
    } catch (const UnresponsiveRanks&) {
      abort_run("a rank does not answer (-pair_timeout)");
    }
  }

 private:
  // Simulated ranks always respond, and polling would take simulated time.
  std::unique_ptr<ProcessGroup> make_process_group() {
#ifndef OPENIMB_SMPI
    const Options& options = launch_.options;
    if (options.fabric && options.fabric->timeout_seconds > 0) {
      const double seconds = options.fabric->timeout_seconds + 2 * options.settings.seconds_per_sample;
      watchdog_.emplace(seconds,
                        [this, seconds, rank = world_.rank()] { report_unresponsive(seconds, rank); });
      auto all_ranks = std::make_unique<TimeoutProcessGroup>(world_.communicator(), seconds,
                                                             [this](bool on) { watchdog_->set(on); });
      timeout_group_ = all_ranks.get();
      if (world_.rank() == 0) {
        system::block_signals_during([this] { writer_ = std::make_unique<ThreadTeam>(2); });
        reporters_.set_wrapper([this](const std::function<void()>& write) { write_on_second_thread(write); });
      }
      return all_ranks;
    }
#endif
    return std::make_unique<MpiProcessGroup>(world_.communicator(), barrier_of(launch_.options));
  }

  // Runs on the watchdog thread while the main thread is in a call that does not return. Must not call MPI.
  // Rank 0 reports the remaining rows and aborts the run; other ranks print a line.
  void report_unresponsive(double seconds, int rank) {
    std::array<char, 80> text;
    std::snprintf(text.data(), text.size(), "no answer for %.3g s (-pair_timeout)", seconds);
    if (rank == 0) {
      reporters_.set_wrapper({});
      if (report_rest_) report_rest_();
      abort_run(text.data());
    }
    warn_of_blocked_call(text.data());
  }

  // Writes on a second thread, as the reader of the output may be slow. Meanwhile the main thread, the only
  // one that may call MPI, tells the other ranks that this rank responds.
  void write_on_second_thread(const std::function<void()>& write) {
    std::promise<void> written;
    const std::future<void> over = written.get_future();
    writer_->run([&](int thread) {
      if (thread == 0) {
        timeout_group_->wait_for([&](double seconds) {
          return over.wait_for(std::chrono::duration<double>(seconds)) == std::future_status::ready;
        });
      } else {
        write();
        written.set_value();
      }
    });
  }

  RunFacts gather(const Environment& environment) {
    const Options& options = launch_.options;
    RunFacts facts =
        gather_facts(component_, world_, environment, launch_, off_cache_, scratch_.requested_path());
    if (needs_fixed_load(component_.list.benchmarks, options)) {
      facts.load_flops =
          calibrated_flops(world_, loads_.calibrated_cpu(), options.settings.target_cpu_seconds);
    }
    if (counters_) facts.interfaces = counters_->interfaces(world_);
    if (variables_) facts.variables_at_start = variables_->initial_values();
    facts.gpus = gpu_.all;
    facts.gpu_support = gpu_.support;
    return facts;
  }

  void begin(const RunFacts& facts) {
    if (world_.rank() != 0) return;
    const Options& options = launch_.options;
    reporters_.add(std::make_unique<TextReporter>(stdout, stated_options(options)));
    const LineFile lines{system::file_position, system::truncate_file};
    if (files_.records) {
      reporters_.add(std::make_unique<RecordReporter>(files_.records.get(), options.json_file,
                                                      options_in_force(component_.list.benchmarks, options),
                                                      lines));
    }
    if (files_.dump) {
      reporters_.add(std::make_unique<DumpReporter>(files_.dump.get(), options.dump_file, lines));
    }
    reporters_.add(std::make_unique<SummaryReporter>(stderr));
    const auto warn = [this] {
      for (const std::string& warning : warnings_of(launch_)) {
        std::fprintf(stderr, "%s: warning: %s\n", launch_name(component_).c_str(), warning.c_str());
      }
    };
    writer_ ? write_on_second_thread(warn) : warn();
    reporters_.begin(facts, options);
  }

  void catch_stops() {
    if (world_.rank() == 0) prepare_end({});
    // Only rank 0 has a time limit: it writes a record. If another rank exited first, the launcher would end
    // the job before that.
    system::catch_stop_signals(world_.rank() == 0 ? stop_grace_seconds : 0);
  }

  void prepare_end(const Ending& so_far) const {
    system::prepare_end_record(files_.records.get(), end_records(so_far));
  }

  bool interleaving_lost() const { return interleave_ && interleave_->lost(); }

  bool stop_requested() override { return !system::stop_signal().empty() || interleaving_lost(); }
  std::string stop_reason() override {
    std::string mine = system::stop_signal();
    if (!mine.empty()) return mine;
    return interleaving_lost() ? connection_lost : "a signal to another rank";
  }

  void pause(double seconds) override { system::pause_for(seconds); }
  void progress(const Ending& so_far) override { prepare_end(so_far); }
  void wait_for_row() override {
    if (interleave_) interleave_->wait_for_row();
  }
  void wait_for_segment() override {
    if (interleave_) interleave_->wait_for_segment();
  }
  std::int64_t free_bytes() override { return system::free_bytes(system::folder_of(scratch_.base())); }
  std::optional<Reading> evidence() override {
    return counters_ ? std::optional(counters_->read()) : std::nullopt;
  }
  double now() override { return MPI_Wtime(); }
  double clock_resolution() override { return WallClock::resolution(); }
  void activity(const Activity& what) override { note_activity(what); }
  void set_abort_report(std::function<void()> report) override {
    if (watchdog_) watchdog_->change([&] { report_rest_ = std::move(report); });
  }
  // Overwrites one line of the terminal; prints nothing if stderr is not a terminal.
  void pass_progress(const PassProgress& progress) override {
    if (!system::stderr_is_terminal()) return;
    std::fprintf(stderr, "\rpass %d, %zu of %zu rows done", progress.pass, progress.done, progress.points);
    if (progress.seconds_left) std::fprintf(stderr, ", %.0f s left", *progress.seconds_left);
    std::fputs("\x1b[K", stderr);
  }

  void end(Ending ending) {
    if (world_.rank() != 0) return;
#ifndef OPENIMB_SMPI  // the time of simulated ranks is simulated
    ending.at = time_of_day();
#endif
    if (ending.passes > 0 && system::stderr_is_terminal()) std::fputs("\r\x1b[K", stderr);
    reporters_.end(ending);
  }

  const Component& component_;
  MpiProcessGroup& world_;
  const Launch& launch_;
  const Gpu& gpu_;
  const std::unique_ptr<ControlVariables> variables_;
  const std::optional<OffCache> off_cache_;
  const std::unique_ptr<system::Interleave> interleave_;
  const std::unique_ptr<ThreadTeam> team_;
  std::optional<system::Watchdog> watchdog_;
  std::function<void()> report_rest_;  ///< called by the watchdog thread
  TimeoutProcessGroup* timeout_group_ =
      nullptr;  ///< the session's group of all ranks if calls have a time-out, else null
  std::unique_ptr<ThreadTeam> writer_;  ///< at rank 0 if calls have a time-out
  const ScratchFiles scratch_;
  OutputFiles files_;
  Tee reporters_;
  std::optional<Counters> counters_;
  Loads loads_;
};

// Parses the command line, and fills in the options that depend on the machine: threads, endpoints, GPUs,
// variants. Only functions called here change Options.
Launch resolve_launch(const Component& component, MpiProcessGroup& world, const Environment& environment,
                      int argc, char** argv, Gpu& gpu, std::unique_ptr<ControlVariables>& variables) {
  Launch launch = parse_on_all_ranks(component, world, argc, argv);
  launch.granted = lowest_granted_level(world, environment.thread_level());
  resolve_threads(component, world, launch.granted, launch.options);
  if (launch.options.action != Options::Action::run) return launch;
  require_timeout_calls(launch.options);
  launch.endpoints = choose_endpoints(world, launch.options);
  gpu = open_gpu(world, launch.options);
  variables = try_variants(world, launch.options);
  return launch;
}

int print(const std::string& program, const std::string& text) {
  bool ok = true;
  write_and_flush(stdout, text, {.program = program, .name = "standard output"}, ok);
  return ok ? 0 : exit_incomplete;
}

}  // namespace

int run(const Component& component, int argc, char** argv) {
  if (argc < 1) return exit_usage;
  system::run_guardian_if_asked(argc, argv);
  static const std::string name = launch_name(component);
  abort_on_exceptions(name.c_str());
  set_abort_job(abort_run);
  system::occupy_standard_streams();
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  std::optional<system::Guardian> guardian;
#ifndef OPENIMB_SMPI  // files are simulated, and ranks share one process
  if (component.list.facts.uses_files) guardian.emplace();
#endif
  const ThreadLevel level =
      std::max(requested_thread_level(arguments), watchdog_thread_level(component, arguments));
  note_start_of_mpi(true);
  StartWatchdog start(component, arguments);
  Gpu gpu;  // outlives MPI, which may use its memory until MPI_Finalize
  const Environment environment(argc, argv, level);
  note_start_of_mpi(false);
  if (!environment.started()) abort_run("MPI_Init_thread returned an error");
  const Communicator all = Communicator::duplicate(MPI_COMM_WORLD);
  MpiProcessGroup world(all);
  // Only errors that all ranks throw are caught here. For an exception of one rank, see
  // abort_on_exceptions().
  try {
    std::unique_ptr<ControlVariables> variables;
    const Launch launch = resolve_launch(component, world, environment, argc, argv, gpu, variables);
    if (const std::optional<std::string> text = text_to_print(component, launch)) {
      return static_cast<int>(world.allreduce_max(world.rank() == 0 ? print(name, *text) : 0));
    }
    return Run(component, world, launch, gpu, std::move(variables), guardian).run(environment, start);
  } catch (const UsageError& error) {
    if (world.rank() == 0) std::fprintf(stderr, "%s: %s\n", name.c_str(), error.what());
    return exit_usage;
  }
}

}  // namespace openimb
