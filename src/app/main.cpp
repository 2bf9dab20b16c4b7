// The main of every executable: OPENIMB_COMPONENT names its catalog (mpi1, ext, ...).
#include "app/run.h"

namespace openimb {
const Component& OPENIMB_COMPONENT();  // benchmarks/components.h, without what else it includes
}

int main(int argc, char** argv) { return openimb::run(openimb::OPENIMB_COMPONENT(), argc, argv); }
