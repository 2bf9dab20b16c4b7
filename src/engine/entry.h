// A row of a catalog: what a benchmark is, and what makes its batches. Without its loops.
#pragma once

#include <memory>

#include "plan/spec.h"

namespace openimb {

class Batch;
struct Setup;

struct Entry {
  const Spec* spec;
  std::unique_ptr<Batch> (*make)(std::unique_ptr<const Setup>);        ///< null where spec->unavailable
  std::unique_ptr<Batch> (*make_large)(std::unique_ptr<const Setup>);  ///< or without large counts
};

}  // namespace openimb
