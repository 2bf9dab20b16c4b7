// IMB-P2P. The order follows the reference outputs; benchmarks that IMB does not have, off by default,
// follow.
#pragma once

#include "benchmarks/catalog.h"
#include "benchmarks/pairs.h"
#include "benchmarks/stencil.h"

namespace openimb {

inline constexpr ComponentFacts p2p_facts{
    .name = "P2P", .title = "IMB-P2P part", .defaults = pair_defaults, .style = OutputStyle::pairs};

using P2p = Catalog<PairsPingPong, PairsPingPing, Unirandom, Birandom, Corandom, Stencil2D, Stencil3D,
                    SendRecv_Replace, Halo, SimpleHalo, Multi_pair>;

}  // namespace openimb
