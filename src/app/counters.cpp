#include "app/counters.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>

#include "app/gathered_text.h"
#include "system/cpu_list.h"
#include "system/threads.h"

namespace openimb {

namespace {

// At the host's first rank: the CPUs on which any rank of the host may run.
std::vector<int> cpus_of_host(Agreement& host) {
  std::vector<int> cpus;
  for (const std::string& list : host.gather(system::cpu_list(system::usable_cpus()))) {
    std::ranges::copy(system::cpus_in(list), std::back_inserter(cpus));
  }
  return cpus;
}

}  // namespace

Counters::Counters(Agreement& host) : evidence_(host.rank() == 0, {.cpus = cpus_of_host(host)}) {}

Reading Counters::read() {
  const system::ThreadCounters thread = evidence_.thread();
  const std::array values = {thread.voluntary_switches,
                             thread.involuntary_switches,
                             thread.minor_faults,
                             thread.major_faults,
                             thread.run_delay_seconds,
                             evidence_.steal_seconds(),
                             static_cast<double>(thread.cpu)};
  const std::size_t first_interface = values.size();
  Reading reading(first_interface + 2 * evidence_.interfaces().size());
  std::ranges::copy(values, reading.begin());
  evidence_.traffic(std::span(reading).subspan(first_interface));
  return reading;
}

std::vector<std::vector<std::string>> Counters::interfaces(Agreement& world) const {
  std::vector<std::vector<std::string>> all;
  for (const std::string& names : world.gather(joined(evidence_.interfaces()))) {
    all.push_back(words_in(names));
  }
  return all;
}

}  // namespace openimb
