#include "app/counters.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <utility>

#include "resolve/gathered_text.h"
#include "system/cpu_list.h"
#include "system/threads.h"

namespace openimb {

namespace {

// Returns the CPUs on which any rank of the host may run, at the host's first rank; empty elsewhere.
std::vector<int> cpus_of_host(ProcessGroup& host) {
  std::vector<int> cpus;
  for (const std::string& list : host.gather(system::format_cpu_list(system::usable_cpus()))) {
    std::ranges::copy(system::parse_cpu_list(list), std::back_inserter(cpus));
  }
  return cpus;
}

}  // namespace

Counters::Counters(ProcessGroup& host) : reader_(host.rank() == 0, {.cpus = cpus_of_host(host)}) {}

Reading Counters::read() {
  const system::ThreadCounters thread = reader_.thread();
  const std::array values = {std::pair(Counter::voluntary_switches, thread.voluntary_switches),
                             std::pair(Counter::involuntary_switches, thread.involuntary_switches),
                             std::pair(Counter::minor_faults, thread.minor_faults),
                             std::pair(Counter::major_faults, thread.major_faults),
                             std::pair(Counter::run_delay, thread.run_delay_seconds),
                             std::pair(Counter::steal, reader_.steal_seconds()),
                             std::pair(Counter::cpu, static_cast<double>(thread.cpu))};
  static_assert(values.size() == rank_counters);
  Reading reading(rank_counters + 2 * reader_.interfaces().size());
  for (const auto& [counter, value] : values) reading[index_of(counter)] = value;
  reader_.traffic(std::span(reading).subspan(rank_counters));
  return reading;
}

std::vector<std::vector<std::string>> Counters::interfaces(ProcessGroup& world) const {
  std::vector<std::vector<std::string>> all;
  for (const std::string& names : world.gather(join_words(reader_.interfaces()))) {
    all.push_back(split_words(names));
  }
  return all;
}

}  // namespace openimb
