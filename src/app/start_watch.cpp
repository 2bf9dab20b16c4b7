#include "app/start_watch.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "app/abort.h"
#include "cli/command_line.h"

namespace openimb {

namespace {

constexpr double share_of_start = 10;  // of -pair_timeout: large launches start in minutes

// By the launcher, as MPI may not be up. Without a launcher that numbers them, every rank is rank 0.
bool is_rank(const char* which) {
  for (const char* const name : {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"}) {
    if (const char* const rank = std::getenv(name)) return std::strcmp(rank, which) == 0;
  }
  return std::strcmp(which, "0") == 0;
}

}  // namespace

StartWatch::StartWatch(const Component& component, std::span<const std::string> arguments) {
#ifndef OPENIMB_SMPI
  if (component.list.facts.heads != Heads::rounds) return;
  const bool first = is_rank("0");
  const double seconds = requested_pair_timeout(arguments) * share_of_start * (first ? 1 : 1.5);
  if (seconds <= 0 || (!first && !is_rank("1"))) return;
  watch_.emplace(seconds, [seconds] {
    std::array<char, 120> text;
    std::snprintf(text.data(), text.size(),
                  "a rank does not answer: the start has taken %.3g s (-pair_timeout)", seconds);
    abort_run(text.data());
  });
  watch_->set(true);
#else
  static_cast<void>(component);
  static_cast<void>(arguments);
#endif
}

}  // namespace openimb
