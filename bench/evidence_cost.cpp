// What one reading of the counters costs: of a rank alone, and of the rank that also reads its host.
//
//     evidence_cost [SERIES]
//
// A line for each, in nanoseconds: name, least and median over the series, each of 200 readings. Then the
// readings of a rank that leaves its CPU before each of them, without the time for which it is away.

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "system/counter_reader.h"

namespace {

using openimb::system::CounterReader;
using Clock = std::chrono::steady_clock;

double nanoseconds(Clock::duration time) { return std::chrono::duration<double, std::nano>(time).count(); }

void print(const char* name, std::vector<double> each) {
  std::ranges::sort(each);
  std::printf("%s %.0f %.0f\n", name, each.front(), each[each.size() / 2]);
}

void read(CounterReader& evidence, std::vector<double>& bytes) {
  volatile double seen = evidence.thread().run_delay_seconds + evidence.steal_seconds();
  evidence.traffic(bytes);
  static_cast<void>(seen);
}

void measure(const char* name, bool host, int series) {
  constexpr int readings = 200;
  CounterReader evidence(host);
  std::vector<double> bytes(2 * evidence.interfaces().size()), each;
  for (int i = 0; i < series; ++i) {
    const auto begun = Clock::now();
    for (int k = 0; k < readings; ++k) read(evidence, bytes);
    each.push_back(nanoseconds(Clock::now() - begun) / readings);
  }
  print(name, each);
}

void measure_after_switches(int series) {
  CounterReader evidence(false);
  std::vector<double> bytes, each;
  for (int i = 0; i < series; ++i) {
    usleep(1);
    const auto begun = Clock::now();
    read(evidence, bytes);
    each.push_back(nanoseconds(Clock::now() - begun));
  }
  print("switched", each);
}

}  // namespace

int main(int count, char** words) {
  const int series = count > 1 ? std::max(1, std::atoi(words[1])) : 1000;
  measure("rank", false, series);
  measure("host", true, series);
  measure_after_switches(series);
}
