// An entry of a catalog: the spec of a benchmark and the functions that make its batches. This header does
// not compile the loops.
#pragma once

#include <memory>

#include "model/spec.h"

namespace openimb {

class Batch;
struct Setup;

struct Entry {
  const Spec* spec;
  std::unique_ptr<Batch> (*make)(std::unique_ptr<const Setup>);        ///< null where spec->unavailable
  std::unique_ptr<Batch> (*make_large)(std::unique_ptr<const Setup>);  ///< also null without large counts
};

}  // namespace openimb
