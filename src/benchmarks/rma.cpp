// IMB-RMA. The order is that of the reference outputs; names off by default stand beside their relatives.
#include "benchmarks/catalogue.h"
#include "benchmarks/passive_target.h"

namespace openimb {

const Component& component() {
  static constexpr Entry entries[] = {
      entry<Unidir_put>(),   entry<Bidir_put>(),        entry<Unidir_get>(),        entry<Bidir_get>(),
      entry<Put_local>(),    entry<Put_all_local>(),    entry<Get_local>(),         entry<Get_all_local>(),
      entry<One_put_all>(),  entry<All_put_all>(),      entry<One_get_all>(),       entry<All_get_all>(),
      entry<Exchange_put>(), entry<Exchange_get>(),     entry<Accumulate>(),        entry<Get_accumulate>(),
      entry<Fetch_and_op>(), entry<Compare_and_swap>(), entry<Truly_passive_put>(),
  };
  static constexpr Component rma{"RMA", "MPI-RMA part", entries};
  return rma;
}

}  // namespace openimb
