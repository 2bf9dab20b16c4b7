// IMB-EXT. The order is that of the reference outputs.
#include "benchmarks/active_target.h"
#include "benchmarks/catalogue.h"

namespace openimb {

const Component& component() {
  static constexpr Entry entries[] = {
      entry<MakeWindow>(), entry<Unidir_Get>(), entry<Unidir_Put>(),
      entry<Bidir_Get>(),  entry<Bidir_Put>(),  entry<FencedAccumulate>(),
  };
  static constexpr Component ext{"EXT", "MPI-2 part", entries};
  return ext;
}

}  // namespace openimb
