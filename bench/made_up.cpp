// How often states and intervals are right, on series whose truth is known.
//
//   made_up intervals|all SERIES [FILE]    SERIES: how many of each kind; FILE: recorded ones, too
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../tests/unit/chance.h"
#include "result/interval.h"
#include "result/passes.h"
#include "result/quantile.h"
#include "result/states.h"

using namespace openimb;

namespace {

using Series = std::vector<double>;

/// Lognormal noise that follows itself.
class Noise {
 public:
  Noise(RandomNumbers& chance, double scale, double following)
      : chance_(chance), scale_(scale), following_(following) {}
  double next() {
    value_ = begun_ ? following_ * value_ + std::sqrt(1 - following_ * following_) * chance_.normal()
                    : chance_.normal();
    begun_ = true;
    return std::exp(scale_ * value_);
  }

 private:
  RandomNumbers& chance_;
  double scale_, following_, value_ = 0;
  bool begun_ = false;
};

/// Levels in visits of random length, `visit` probes in the mean.
Series switching(RandomNumbers& chance, std::size_t count, std::span<const double> levels, double visit,
                 double scale) {
  Series series;
  Noise noise(chance, scale, 0.2);
  std::size_t state = 0;
  double left = visit * chance.exponential() + 2;
  while (series.size() < count) {
    if (--left <= 0) {
      state =
          (state + 1 + static_cast<std::size_t>(chance.uniform() * static_cast<double>(levels.size() - 1))) %
          levels.size();
      left = visit * chance.exponential() + 2;
    }
    series.push_back(levels[state] * noise.next());
  }
  return series;
}

struct Kind {
  const char* name;
  std::size_t states;
  std::function<Series(RandomNumbers&, std::size_t)> make;
};

// A state that is there but was hardly visited need not be found.
bool visits_all(const Series& series, std::span<const double> levels) {
  for (const double level : levels) {
    std::size_t near = 0;
    for (const double value : series) near += std::abs(std::log(value / level)) < 0.15 ? 1 : 0;
    if (static_cast<double>(near) < 0.1 * static_cast<double>(series.size())) return false;
  }
  return true;
}

void print_states(int series) {
  static constexpr double two[] = {0.16, 0.41}, near[] = {1.0, 1.4}, three[] = {1.0, 1.7, 2.9};
  const auto visited = [](std::span<const double> levels, double visit) {
    return [=](RandomNumbers& chance, std::size_t count) {
      Series made = switching(chance, count, levels, visit * static_cast<double>(count) / 200, 0.05);
      while (!visits_all(made, levels)) {
        made = switching(chance, count, levels, visit * static_cast<double>(count) / 200, 0.05);
      }
      return made;
    };
  };
  const auto noisy = [](double scale, double following) {
    return [=](RandomNumbers& chance, std::size_t count) {
      Noise noise(chance, scale, following);
      Series made;
      for (std::size_t i = 0; i < count; ++i) made.push_back(noise.next());
      return made;
    };
  };
  const Kind kinds[] = {
      {"one state, noise of 5 %", 1, noisy(0.05, 0.2)},
      {"one state, noise of 30 %", 1, noisy(0.3, 0)},
      {"one state that follows itself (0.9)", 1, noisy(0.1, 0.9)},
      {"one state, skewed", 1,
       [](RandomNumbers& chance, std::size_t count) {
         Series made;
         for (std::size_t i = 0; i < count; ++i) made.push_back(1 + 0.2 * chance.exponential());
         return made;
       }},
      {"one state, spikes in 3 %", 1,
       [](RandomNumbers& chance, std::size_t count) {
         Noise noise(chance, 0.05, 0.2);
         Series made;
         for (std::size_t i = 0; i < count; ++i) {
           made.push_back(noise.next() * (chance.uniform() < 0.03 ? 2 + 8 * chance.uniform() : 1));
         }
         return made;
       }},
      {"a drift of 40 %", 1,
       [](RandomNumbers& chance, std::size_t count) {
         Noise noise(chance, 0.05, 0.2);
         Series made;
         for (std::size_t i = 0; i < count; ++i) {
           made.push_back(noise.next() * (1 + 0.4 * static_cast<double>(i) / static_cast<double>(count)));
         }
         return made;
       }},
      {"two states, 0.16 and 0.41", 2, visited(two, 30)},
      {"two states, 1.0 and 1.4", 2, visited(near, 30)},
      {"two states, short visits", 2, visited(two, 6)},
      {"three states, 1.0, 1.7 and 2.9", 3, visited(three, 20)},
  };
  std::printf("States found in made-up series, %d of each kind and length\n", series);
  std::printf("%-40s %8s %12s %12s %12s\n", "", "probes", "right", "too few", "too many");
  for (const Kind& kind : kinds) {
    for (const std::size_t count : {std::size_t{200}, std::size_t{4000}}) {
      const int of_this = count > 1000 ? series / 3 : series;
      int right = 0, few = 0;
      for (int i = 0; i < of_this; ++i) {
        RandomNumbers chance(static_cast<unsigned>(i + 1));
        const std::size_t found = find_states(kind.make(chance, count)).states.size();
        right += found == kind.states ? 1 : 0;
        few += found < kind.states ? 1 : 0;
      }
      const auto percent = [of_this](int number) { return 100.0 * number / of_this; };
      std::printf("%-40s %8zu %10.1f %% %10.1f %% %10.1f %%\n", kind.name, count, percent(right),
                  percent(few), percent(of_this - right - few));
    }
  }
}

/// The true median is 1.
struct Walk {
  const char* name;
  std::function<Series(RandomNumbers&, std::size_t)> make;
};

struct Coverage {
  int held = 0, with_interval = 0, reached = 0;
  double passes = 0;

  int wrong() const { return with_interval - held; }
};

void tally(Coverage& coverage, const Interval& interval) {
  ++coverage.with_interval;
  coverage.held += interval.low <= 1 && 1 <= interval.high ? 1 : 0;
}

constexpr double goals[] = {0.02, 0.05};
constexpr std::size_t most_samples = 600;

// As the session does: looks at the 20th sample, then whenever there are a fifth more; twice in a row it must
// hold.
void stop_early(std::span<Coverage> of_goals, const Series& samples) {
  std::vector<int> in_a_row(std::size(goals));
  for (std::size_t n = 20; n <= samples.size(); n = n * 6 / 5) {
    const std::span<const double> seen = std::span(samples).first(n);
    const MedianEstimate estimate = estimate_median(seen);
    if (!estimate.interval) continue;
    const double wider =
        std::max(estimate.interval->high - estimate.median, estimate.median - estimate.interval->low);
    for (std::size_t i = 0; i < std::size(goals); ++i) {
      if (in_a_row[i] == 2) continue;
      in_a_row[i] = wider <= goals[i] * estimate.median ? in_a_row[i] + 1 : 0;
      if (in_a_row[i] < 2) continue;
      ++of_goals[i].reached;
      of_goals[i].passes += static_cast<double>(n);
      tally(of_goals[i], *estimate.interval);
    }
    if (std::ranges::all_of(in_a_row, [](int looks) { return looks == 2; })) return;
  }
}

// Samples of a launch, in the order of time, a line per row.
std::vector<Series> read_series(const char* path) {
  std::vector<Series> found;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    found.emplace_back(std::istream_iterator<double>(words), std::istream_iterator<double>());
  }
  return found;
}

// Drawn from recorded series of many samples, whose median is the true one. Stretches of random length at
// random places (stationary bootstrap: Politis and Romano, JASA 89, 1994) keep the distribution and how
// samples follow each other, and do not drift: their coverage is that of the method. Two more draws show what
// drift does: spread evenly over the whole of a series, as passes with more rows are, and one behind the
// other.
std::vector<Walk> recorded_walks(const std::vector<Series>& recorded) {
  const auto draw = [&recorded](bool spread) {
    return [&recorded, spread](RandomNumbers& chance, std::size_t count) {
      const auto below = [&chance](std::size_t end) {
        return std::min(end - 1, static_cast<std::size_t>(chance.uniform() * static_cast<double>(end)));
      };
      const Series& of = recorded[below(recorded.size())];
      const double middle = median_of(of);
      const std::size_t step = spread ? of.size() / count : 1;
      const std::size_t first = below(spread ? step : of.size() - count + 1);
      Series drawn;
      for (std::size_t i = 0; i < count; ++i) drawn.push_back(of[first + i * step] / middle);
      return drawn;
    };
  };
  const auto stretches = [&recorded](double mean) {
    return [&recorded, mean](RandomNumbers& chance, std::size_t count) {
      const auto below = [&chance](std::size_t end) {
        return std::min(end - 1, static_cast<std::size_t>(chance.uniform() * static_cast<double>(end)));
      };
      const Series& of = recorded[below(recorded.size())];
      const double middle = median_of(of);
      Series drawn;
      for (std::size_t at = 0; drawn.size() < count; at = (at + 1) % of.size()) {
        if (drawn.empty() || chance.uniform() * mean < 1) at = below(of.size());
        drawn.push_back(of[at] / middle);
      }
      return drawn;
    };
  };
  if (recorded.empty()) return {};
  return {{"recorded, at random", stretches(1)},
          {"recorded, stretches of 4 samples", stretches(4)},
          {"recorded, stretches of 16 samples", stretches(16)},
          {"recorded, spread over a launch", draw(true)},
          {"recorded, one behind the other", draw(false)}};
}

// 45 % and 55 % of samples: the median is the 1/11 quantile of the upper ones. `leave`: how often the level
// of the next sample is drawn anew, which gives visits of 2 / leave samples in the mean.
std::function<Series(RandomNumbers&, std::size_t)> at_two_levels(double leave) {
  return [leave](RandomNumbers& chance, std::size_t count) {
    Series made;
    bool low = chance.uniform() < 0.45;
    for (std::size_t i = 0; i < count; ++i) {
      constexpr double normal_quantile = -1.3352;  // of 1 / 11
      made.push_back(low ? 0.5 * std::exp(0.05 * chance.normal())
                         : std::exp(0.05 * (chance.normal() - normal_quantile)));
      if (chance.uniform() < leave) low = chance.uniform() < 0.45;
    }
    return made;
  };
}

void print_stops(const char* name, double goal, const Coverage& coverage, int many) {
  std::printf("%-40s %6.0f %% %12.1f %% %14.1f %14.1f %% %20.1f %%\n", name, 100 * goal,
              100.0 * coverage.reached / many, coverage.passes / std::max(1, coverage.reached),
              100.0 * coverage.held / std::max(1, coverage.with_interval), 100.0 * coverage.wrong() / many);
}

void stop_switching(Coverage& coverage, unsigned seed, double visit) {
  static constexpr double levels[] = {1.0, 1.5};
  constexpr std::size_t most = 200;
  RandomNumbers chance(seed);
  const Series speed = switching(chance, most, levels, visit, 0);
  Table table;
  table.spec = {
      .name = "PingPong", .kind = openimb::Kind::single_transfer, .table = &tables::time_and_bandwidth};
  RowSeries row;
  row.first[Figure::time_max] = 1;
  int in_a_row = 0;
  for (std::size_t n = 0, look = 20; n < most; ++n) {
    RowSample sample{.at = static_cast<double>(n), .repetitions = 1};
    sample.figures[Figure::time_max] = speed[n] * std::exp(0.05 * chance.normal());
    const double probe = speed[n] * 1e-6;
    sample.probes = {probe * std::exp(0.03 * chance.normal()), probe * std::exp(0.03 * chance.normal())};
    row.samples.push_back(sample);
    if (n + 1 < look) continue;
    look = look * 6 / 5;
    RowSeries* const rows[] = {&row};
    const MachineStates states = assign_states(rows, 1000);
    const Summary summary = summarize(table, 8, 1, row, states);
    const SampleStatistics& statistics = *summary.row.passes;
    in_a_row = statistics.reference && is_within(statistics, 0.05) ? in_a_row + 1 : 0;
    if (in_a_row < 2) continue;
    ++coverage.reached;
    coverage.passes += static_cast<double>(n + 1);
    return tally(coverage, *statistics.interval);
  }
}

void print_intervals(int series, const std::vector<Series>& recorded) {
  const auto following = [](double scale, double by) {
    return [=](RandomNumbers& chance, std::size_t count) {
      Noise noise(chance, scale, by);
      Series made;
      for (std::size_t i = 0; i < count; ++i) made.push_back(noise.next());
      return made;
    };
  };
  std::vector<Walk> walks = {{"independent", following(0.05, 0)},
                             {"following (0.3)", following(0.05, 0.3)},
                             {"following (0.6)", following(0.05, 0.6)},
                             {"following (0.9)", following(0.05, 0.9)},
                             {"skewed",
                              [](RandomNumbers& chance, std::size_t count) {
                                Series made;
                                for (std::size_t i = 0; i < count; ++i) {
                                  made.push_back(1 + 0.05 * (chance.exponential() - std::log(2)));
                                }
                                return made;
                              }},
                             {"two levels, 45 % and 55 % of samples", at_two_levels(1)},
                             {"two levels, visits of 5 samples", at_two_levels(0.4)},
                             {"two levels, visits of 17 samples", at_two_levels(0.12)}};
  for (Walk& walk : recorded_walks(recorded)) walks.push_back(std::move(walk));
  const int many = series * 10;
  std::printf("\n95 %% intervals that hold the median, of %d series each; without an interval in brackets\n",
              many);
  std::printf("%-40s", "samples");
  constexpr std::size_t counts[] = {10, 20, 40, 80, 160, 320};
  for (const std::size_t count : counts) std::printf(" %14zu", count);
  std::printf("\n");
  for (const Walk& walk : walks) {
    std::printf("%-40s", walk.name);
    for (const std::size_t count : counts) {
      Coverage coverage;
      for (int i = 0; i < many; ++i) {
        RandomNumbers chance(static_cast<unsigned>(i + 1));
        const MedianEstimate estimate = estimate_median(walk.make(chance, count));
        if (estimate.interval) tally(coverage, *estimate.interval);
      }
      std::printf(" %5.1f %% (%3.0f %%)", 100.0 * coverage.held / std::max(1, coverage.with_interval),
                  100.0 * (many - coverage.with_interval) / many);
    }
    std::printf("\n");
  }
  std::printf(
      "\nThe same where sampling stops as soon as the interval is within the goal, of at most %zu samples\n",
      most_samples);
  std::printf("%-40s %8s %14s %14s %16s %22s\n", "", "goal", "reached", "mean samples", "hold the median",
              "miss it, of all series");
  for (const Walk& walk : walks) {
    std::vector<Coverage> of_goals(std::size(goals));
    for (int i = 0; i < many; ++i) {
      RandomNumbers chance(static_cast<unsigned>(i + 1));
      stop_early(of_goals, walk.make(chance, most_samples));
    }
    for (std::size_t i = 0; i < std::size(goals); ++i) {
      const Coverage& coverage = of_goals[i];
      print_stops(walk.name, goals[i], coverage, many);
    }
  }
}

// A machine that switches between two states which its probes show, and rows that stop within 5 %: a session
// judges them by the samples of the fastest state, whose true median is 1.
void print_switching(int series) {
  std::printf(
      "\nSampling stops; a machine that switches between two states (1 and 1.5), as its probes show\n");
  for (const double visit : {5.0, 17.0, 60.0}) {
    Coverage coverage;
    for (int i = 0; i < series; ++i) stop_switching(coverage, static_cast<unsigned>(i + 1), visit);
    const std::string name = "visits of " + std::to_string(static_cast<int>(visit)) + " samples";
    print_stops(name.c_str(), 0.05, coverage, series);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const int series = std::atoi(argv[2]);
  if (std::string_view(argv[1]) == "all") print_states(series);
  print_intervals(series, argc > 3 ? read_series(argv[3]) : std::vector<Series>());
  print_switching(5 * series);
}
