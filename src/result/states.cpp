#include "result/states.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>

#include "result/quantile.h"

namespace openimb {

namespace {

using Numbers = std::vector<double>;

constexpr int fewest_probes = 20;     // with fewer, one state is assumed
constexpr double degrees = 3;         // of freedom of Student's t: the weight of the tails
constexpr double least_scale = 1e-3;  // lower bound of a scale: closer levels are one state
constexpr double least_share = 0.05;  // share of the probes that a state must have
constexpr double least_dwell = 2;     // mean dwell time of a state, in probes; a shorter one is a disturbance
constexpr double least_distance = 2;  // between two levels, in sums of their scales
constexpr double penalty = 2;         // per parameter, times log(n); BIC has 1
constexpr int max_rounds = 12;

/// A fit to the logarithms of the probes.
struct Model {
  Numbers levels;
  Numbers scales;
  double autocorrelation = 0;  // at lag 1, within a state
  std::vector<Numbers> log_transition;
  std::vector<int> path;
  double log_likelihood = -std::numeric_limits<double>::infinity();

  std::size_t size() const { return levels.size(); }
};

std::size_t state_at(const Model& model, std::size_t i) { return static_cast<std::size_t>(model.path[i]); }

double log_density(double distance, double scale) {
  static const double constant =
      std::lgamma((degrees + 1) / 2) - std::lgamma(degrees / 2) - 0.5 * std::log(degrees * std::numbers::pi);
  const double z = distance / scale;
  return constant - std::log(scale) - (degrees + 1) / 2 * std::log1p(z * z / degrees);
}

void fit_levels(Model& model, const Numbers& values) {
  for (std::size_t k = 0; k < model.size(); ++k) {
    Numbers members;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (state_at(model, i) == k) members.push_back(values[i]);
    }
    if (members.empty()) continue;
    model.levels[k] = median_of(members);
    for (double& member : members) member = std::abs(member - model.levels[k]);
    constexpr double normal_factor = 1.4826;
    model.scales[k] = std::max(normal_factor * median_of(members), least_scale);
  }
}

void fit_autocorrelation(Model& model, const Numbers& values) {
  const auto residual = [&](std::size_t i) {
    const std::size_t k = state_at(model, i);
    return std::clamp((values[i] - model.levels[k]) / model.scales[k], -3.0, 3.0);
  };
  double products = 0, squares = 0;
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (model.path[i] != model.path[i - 1]) continue;
    const double before = residual(i - 1), current = residual(i);
    products += before * current;
    squares += (before * before + current * current) / 2;
  }
  constexpr double most = 0.999;
  model.autocorrelation = squares > 0 ? std::clamp(products / squares, 0.0, most) : 0;
}

void fit_transitions(Model& model) {
  constexpr double pseudo_count = 0.5;  // initial count of each transition
  model.log_transition.assign(model.size(), Numbers(model.size(), pseudo_count));
  for (std::size_t i = 1; i < model.path.size(); ++i) {
    model.log_transition[state_at(model, i - 1)][state_at(model, i)] += 1;
  }
  for (Numbers& from : model.log_transition) {
    const double all = std::accumulate(from.begin(), from.end(), 0.0);
    for (double& count : from) count = std::log(count / all);
  }
}

/// Finds the most likely path (Viterbi). A value is correlated with the one before in the same state, and
/// independent of it after a transition.
void decode(Model& model, const Numbers& values) {
  const std::size_t states = model.size();
  const double innovation = std::sqrt(1 - model.autocorrelation * model.autocorrelation);
  Numbers best(states);
  for (std::size_t k = 0; k < states; ++k) {
    best[k] = log_density(values[0] - model.levels[k], model.scales[k]) - std::log(states);
  }
  std::vector<std::vector<int>> from(values.size(), std::vector<int>(states));
  for (std::size_t i = 1; i < values.size(); ++i) {
    Numbers next(states, -std::numeric_limits<double>::infinity());
    for (std::size_t k = 0; k < states; ++k) {
      const double distance = values[i] - model.levels[k];
      const double entering = log_density(distance, model.scales[k]);
      const double staying = log_density(distance - model.autocorrelation * (values[i - 1] - model.levels[k]),
                                         model.scales[k] * innovation);
      for (std::size_t j = 0; j < states; ++j) {
        const double likelihood = best[j] + model.log_transition[j][k] + (j == k ? staying : entering);
        if (likelihood <= next[k]) continue;
        next[k] = likelihood;
        from[i][k] = static_cast<int>(j);
      }
    }
    best = next;
  }
  const auto last = std::ranges::max_element(best);
  model.log_likelihood = *last;
  auto state = static_cast<int>(last - best.begin());
  for (std::size_t i = values.size(); i-- > 0;) {
    model.path[i] = state;
    state = from[i][static_cast<std::size_t>(state)];
  }
}

Model fit(const Numbers& values, Numbers levels, int rounds = max_rounds) {
  Model model;
  model.levels = std::move(levels);
  model.scales.assign(model.size(), least_scale);
  for (const double value : values) {
    const auto nearest =
        std::ranges::min_element(model.levels, {}, [value](double level) { return std::abs(value - level); });
    model.path.push_back(static_cast<int>(nearest - model.levels.begin()));
  }
  Model best;
  for (int round = 0; round < rounds; ++round) {
    fit_levels(model, values);
    fit_autocorrelation(model, values);
    fit_transitions(model);
    const std::vector<int> before = model.path;
    decode(model, values);
    if (model.log_likelihood > best.log_likelihood) best = model;
    if (model.path == before) break;
  }
  return best;
}

// Information criterion of a fit; smaller is better.
double criterion(const Model& model) {
  const auto states = static_cast<double>(model.size());
  const double parameters = 2 * states + 1 + states * (states - 1);
  return -2 * model.log_likelihood + penalty * parameters * std::log(static_cast<double>(model.path.size()));
}

/// Returns the states of a fit, sorted by level.
MachineStates states_of(const Model& model) {
  std::vector<int> order(model.size()), rank(model.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](int k) { return model.levels[static_cast<std::size_t>(k)]; });
  MachineStates machine;
  for (std::size_t place = 0; place < order.size(); ++place) {
    const auto k = static_cast<std::size_t>(order[place]);
    rank[k] = static_cast<int>(place);
    machine.states.push_back({.level = std::exp(model.levels[k]), .share = 0});
  }
  Numbers dwells(model.size()), members(model.size());
  for (std::size_t i = 0; i < model.path.size(); ++i) {
    const int state = rank[state_at(model, i)];
    machine.state_by_probe.push_back(state);
    members[static_cast<std::size_t>(state)] += 1;
    if (i == 0 || model.path[i] != model.path[i - 1]) dwells[static_cast<std::size_t>(state)] += 1;
  }
  for (std::size_t k = 0; k < machine.states.size(); ++k) {
    machine.states[k].share = members[k] / static_cast<double>(model.path.size());
    machine.states[k].dwell = dwells[k] > 0 ? members[k] / dwells[k] : 0;
  }
  return machine;
}

bool is_acceptable(const Model& model) {
  const bool lasting = std::ranges::all_of(states_of(model).states, [](const MachineState& state) {
    return state.share >= least_share && state.dwell >= least_dwell;
  });
  for (std::size_t a = 0; a < model.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      const double apart = std::abs(model.levels[a] - model.levels[b]);
      if (apart < least_distance * (model.scales[a] + model.scales[b])) return false;
    }
  }
  return lasting;
}

/// Levels from which fits start: each fit finds a local optimum.
std::vector<Numbers> initial_levels(const Numbers& values) {
  Numbers sorted = values;
  std::ranges::sort(sorted);
  const auto at = [&](double p) { return quantile_of_sorted(sorted, p); };
  std::vector<Numbers> starts;
  for (const double low : {0.05, 0.2, 0.4}) {
    for (const double high : {0.6, 0.8, 0.95}) starts.push_back({at(low), at(high)});
  }
  for (const double low : {0.05, 0.2}) {
    for (const double middle : {0.35, 0.5, 0.65}) {
      for (const double high : {0.8, 0.95}) starts.push_back({at(low), at(middle), at(high)});
    }
  }
  return starts;
}

Model search(const Numbers& values) {
  Model best = fit(values, {median_of(values)});
  if (values.size() < fewest_probes) return best;
  for (Numbers& levels : initial_levels(values)) {
    Model model = fit(values, std::move(levels));
    if (is_acceptable(model) && criterion(model) < criterion(best)) best = std::move(model);
  }
  return best;
}

}  // namespace

MachineStates find_states(std::span<const double> probes, std::size_t fitted) {
  if (probes.empty()) return {};
  Numbers values(probes.begin(), probes.end());
  for (double& value : values) value = std::log(value);
  const std::size_t step = (values.size() + fitted - 1) / fitted;
  if (step <= 1) return states_of(search(values));
  Numbers thinned;
  for (std::size_t i = 0; i < values.size(); i += step) thinned.push_back(values[i]);
  constexpr int few_rounds = 2;  // the levels are fitted already; only the path is missing
  return states_of(fit(values, search(thinned).levels, few_rounds));
}

}  // namespace openimb
