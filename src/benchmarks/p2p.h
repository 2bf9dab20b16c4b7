// The catalog of IMB-P2P, in the order of the reference outputs. Benchmarks that IMB-P2P 2021 does not have
// are off by default and come last.
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
