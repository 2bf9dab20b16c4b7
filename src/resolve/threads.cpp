#include "resolve/threads.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/values.h"
#include "resolve/gathered_text.h"
#include "system/cpu_list.h"
#include "system/threads.h"

namespace openimb {

namespace {

// Returns OMP_NUM_THREADS of rank 0, because launchers may set the variable on only one host; 1 if it is not
// set. The first number of a list applies to the outermost level of parallelism.
int environment_threads(ProcessGroup& world) {
  const char* const mine = world.rank() == 0 ? std::getenv("OMP_NUM_THREADS") : nullptr;
  const std::string text = world.broadcast(mine != nullptr ? mine : "");
  if (text.empty()) return 1;
  try {
    return static_cast<int>(parse_integer(trimmed(text.substr(0, text.find(','))), 1, max_threads));
  } catch (const BadValue& problem) {
    throw UsageError("OMP_NUM_THREADS: " + std::string(problem.what()) + "; give -threads");
  }
}

void require_level(const GrantedLevel& granted, const Options& options) {
  const bool in_turns = options.thread_level == ThreadLevel::serialized;
  const ThreadLevel needed = in_turns ? ThreadLevel::serialized : ThreadLevel::multiple;
  if (granted.level >= needed) return;
  throw UsageError("-threads " + std::to_string(options.threads.count) + ": MPI provides " +
                   name_in_mpi(granted.level) + granted.place + ", not " + name_in_mpi(needed) +
                   "; use -threads 1, or another MPI");
}

void require_comms(const Component& component, const Options& options) {
  if (options.threads.comm != ThreadComm::shared) return;
  for (const SelectedBenchmark& selected : options.selection) {
    const Spec& spec = component.list.benchmarks[static_cast<std::size_t>(selected.index)];
    if (spec.kind == Kind::parallel_transfer) continue;
    throw UsageError(
        "-comm shared: " + std::string(spec.name) +
        " is a collective, which needs a communicator for each thread; select only transfers, for "
        "example: -comm shared PingPongMT");
  }
}

// Throws UsageError unless the threads of a team may all call MPI_Pready at the same time.
void require_concurrent_calls(const Options& options) {
  if (options.thread_level == ThreadLevel::multiple) return;
  throw UsageError("-threads " + std::to_string(options.threads.count) +
                   ": not possible with -thread_level " + name_of(options.thread_level) +
                   ", as all threads call MPI_Pready at once; leave that out, or use -threads 1");
}

}  // namespace

GrantedLevel lowest_granted_level(ProcessGroup& world, ThreadLevel mine) {
  const auto lowest = static_cast<ThreadLevel>(-world.allreduce_max(-static_cast<double>(mine)));
  if (!world.any(mine != lowest)) return {lowest};
  const double rank = mine == lowest ? world.rank() : world.ranks();
  return {lowest, " on rank " + std::to_string(static_cast<int>(-world.allreduce_max(-rank)))};
}

void resolve_threads(const Component& component, ProcessGroup& world, const GrantedLevel& granted,
                     Options& options) {
  Threads& threads = options.threads;
  if (options.action != Options::Action::run || (!options.defaults.threaded && !threads.asked)) return;
  const bool many =
      options.thread_level == ThreadLevel::multiple || options.thread_level == ThreadLevel::serialized;
  threads.count = threads.asked ? *threads.asked : many ? environment_threads(world) : 1;
  if (threads.count == 1) return;
#ifdef OPENIMB_SMPI
  throw UsageError("-threads " + std::to_string(threads.count) +
                   ": the simulator has one thread per process; use -threads 1");
#endif
  if (!options.defaults.threaded) require_concurrent_calls(options);
  if (!many) {
    throw UsageError("-threads " + std::to_string(threads.count) + ": not possible with -thread_level " +
                     name_of(options.thread_level) + "; leave that out, or use -threads 1");
  }
  if (options.thread_level == ThreadLevel::serialized && options.synchronize_each) {
    throw UsageError(
        "-sync on: not possible with -thread_level serialized; use -thread_level multiple or -sync off");
  }
  require_level(granted, options);
  if (options.defaults.threaded) require_comms(component, options);
  if (const auto cpus = static_cast<int>(system::usable_cpus().size()); cpus > 0 && cpus < threads.count) {
    options.warnings.push_back(std::to_string(threads.count) + " threads of rank 0 share " +
                               std::to_string(cpus) + (cpus == 1 ? " CPU" : " CPUs") +
                               ", so times include waiting; bind each process to as many CPUs as it has "
                               "threads (Open MPI: --map-by :PE=N, --bind-to none)");
  }
}

std::unique_ptr<ThreadTeam> make_team(MpiProcessGroup& world, const Options& options, Device* device) {
  const Threads& threads = options.threads;
  std::vector<int> cpus;
  std::function<void(int)> begin;
  std::atomic<bool> refused{false};
  int first = 0;
  if (threads.pinned) {
    cpus = system::usable_cpus();
    // Processes on one host that may use the same CPUs divide them among themselves.
    const Communicator host_comm = world.communicator().split_by_host();
    MpiProcessGroup host(host_comm);
    const std::string mine = system::format_cpu_list(cpus);
    const std::vector<std::string> all = split_words(host.broadcast(join_words(host.gather(mine))));
    first = threads.count * static_cast<int>(std::count(all.begin(), all.begin() + host.rank(), mine));
    begin = [&](int thread) {
      const auto index = static_cast<std::size_t>(first + thread) % std::max<std::size_t>(1, cpus.size());
      if (cpus.empty() || !system::pin_this_thread(cpus[index])) refused = true;
    };
  }
  std::unique_ptr<ThreadTeam> team;
  system::block_signals_during([&] { team = std::make_unique<ThreadTeam>(threads.count, begin); });
  if (world.any(refused)) {
    throw UsageError("-pin_threads: this system cannot bind threads to CPUs; leave it out");
  }
  if (device != nullptr) team->run([device](int) { device->attach_thread(); });
  return team;
}

}  // namespace openimb
