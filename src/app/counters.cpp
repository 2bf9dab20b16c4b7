#include "app/counters.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <string_view>

#include "app/gathered_text.h"
#include "system/machine.h"

namespace openimb {

namespace {

std::vector<std::string_view> pieces(std::string_view text, char end) {
  std::vector<std::string_view> found;
  while (!text.empty()) {
    const std::size_t at = std::min(text.find(end), text.size());
    found.push_back(text.substr(0, at));
    text.remove_prefix(std::min(at + 1, text.size()));
  }
  return found;
}

// Of a Linux CPU list, "0-3,8".
void add_cpus(std::vector<int>& cpus, std::string_view list) {
  for (const std::string_view piece : pieces(list, ',')) {
    int first = 0;
    const char* const end = piece.data() + piece.size();
    const auto [next, error] = std::from_chars(piece.data(), end, first);
    if (error != std::errc()) continue;
    int last = first;
    if (next != end) std::from_chars(next + 1, end, last);
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  }
}

// At its first rank: the CPUs on which any rank of the host may run.
std::vector<int> cpus_of_host(const Communicator& host) {
  std::vector<int> cpus;
  for (const std::string& list : host.gather(system::allowed_cpus())) add_cpus(cpus, list);
  return cpus;
}

}  // namespace

Counters::Counters(const Communicator& host) : evidence_(host.rank() == 0, {.cpus = cpus_of_host(host)}) {}

Reading Counters::read() {
  const system::ThreadCounters thread = evidence_.thread();
  const std::array own = {thread.voluntary_switches,
                          thread.involuntary_switches,
                          thread.minor_faults,
                          thread.major_faults,
                          thread.run_delay_seconds,
                          evidence_.steal_seconds(),
                          static_cast<double>(thread.cpu)};
  const std::size_t first_interface = own.size();
  Reading reading(first_interface + 2 * evidence_.interfaces().size());
  std::ranges::copy(own, reading.begin());
  evidence_.traffic(std::span(reading).subspan(first_interface));
  return reading;
}

std::vector<std::vector<std::string>> Counters::interfaces(const Communicator& world) const {
  std::string mine;
  for (const std::string& name : evidence_.interfaces()) (mine += name) += separator;
  std::vector<std::vector<std::string>> all;
  for (const std::string& names : world.gather(mine)) {
    std::vector<std::string>& of_rank = all.emplace_back();
    for (const std::string_view name : pieces(names, separator)) of_rank.emplace_back(name);
  }
  return all;
}

}  // namespace openimb
