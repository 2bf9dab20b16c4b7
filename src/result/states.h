// Finds the states of a machine: levels of speed at which it runs for a while. Probes show them: short fixed
// exchanges that are timed repeatedly during a launch. Method: a Markov-switching autoregression (Hamilton,
// Econometrica 57, 1989) on the logarithms of the probes, with heavy tails (Student's t), fitted with one,
// two and three states. Among fits whose states are distinct, last and occur often enough, the one with the
// best integrated classification likelihood is chosen (Biernacki et al., IEEE PAMI 22, 2000). A drift counts
// as one state, as its successive values are highly correlated.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace openimb {

struct MachineState {
  double level = 0;  ///< median of its probes, in their unit
  double share = 1;  ///< of the probes
  double dwell = 0;  ///< mean dwell time, in probes
};

struct MachineStates {
  std::vector<MachineState> states;  ///< the fastest first; none without probes
  std::vector<int> state_by_probe;   ///< index into `states`
};

/// `probes`: positive, in the order of time. The levels are fitted to at most `fitted` of them, evenly
/// spread: the search takes some 60 us per probe.
MachineStates find_states(std::span<const double> probes, std::size_t fitted = 1000);

}  // namespace openimb
