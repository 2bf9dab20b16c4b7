// The catalog of IMB-RMA, in the order of the reference outputs. A benchmark that is off by default comes
// after a related one.
#pragma once

#include "benchmarks/catalog.h"
#include "benchmarks/forms.h"
#include "benchmarks/passive_target.h"
#include "benchmarks/shared_memory.h"

namespace openimb {

inline constexpr ComponentFacts rma_facts{
    .name = "RMA", .title = "MPI-RMA part", .quirks = {.blank_after_command = true, .blank_comments = true}};

using Rma =
    Catalog<Unidir_put, Bidir_put, Unidir_get, Bidir_get, Put_local, Put_all_local, Get_local, Get_all_local,
            RequestBased<"Rput", Unidir_put>, RequestBased<"Rget", Unidir_get>,
            RequestBased<"Raccumulate", Accumulate>, RequestBased<"Rget_accumulate", Get_accumulate>,
            Shared_store, Shared_load, One_put_all, All_put_all, One_get_all, All_get_all, Exchange_put,
            Exchange_get, Accumulate, Get_accumulate, Fetch_and_op, Compare_and_swap, Truly_passive_put>;

}  // namespace openimb
