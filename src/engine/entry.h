// An entry of a catalog: the Spec of a benchmark and the functions that make its batches. This header does
// not instantiate the loops.
#pragma once

#include <memory>

#include "model/spec.h"

namespace openimb {

class Batch;
struct Setup;

struct Entry {
  const Spec* spec;
  /// Makes a batch with int counts; null if the benchmark is unavailable.
  std::unique_ptr<Batch> (*make)(std::unique_ptr<const Setup>);
  /// Makes a batch with MPI_Count; null if the benchmark is unavailable or the MPI has no large-count calls.
  std::unique_ptr<Batch> (*make_large)(std::unique_ptr<const Setup>);
};

}  // namespace openimb
