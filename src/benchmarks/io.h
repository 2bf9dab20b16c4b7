// The catalog of IMB-IO, in the order of the reference outputs.
#pragma once

#include "benchmarks/catalog.h"
#include "benchmarks/file_transfer.h"

namespace openimb {

inline constexpr ComponentFacts io_facts{
    .name = "IO", .title = "MPI-IO part", .defaults = file_defaults, .uses_files = true};

using Io = Catalog<
    BlockingFile<"S_Write_Indv", Single, Write, Indv>, NonblockingFile<"S_IWrite_Indv", Single, Write, Indv>,
    BlockingFile<"S_Write_Expl", Single, Write, Expl>, NonblockingFile<"S_IWrite_Expl", Single, Write, Expl>,
    BlockingFile<"P_Write_Indv", Parallel, Write, Indv>,
    NonblockingFile<"P_IWrite_Indv", Parallel, Write, Indv>,
    BlockingFile<"P_Write_Shared", Parallel, Write, Shared>,
    NonblockingFile<"P_IWrite_Shared", Parallel, Write, Shared>,
    BlockingFile<"P_Write_Priv", Parallel, Write, Priv>,
    NonblockingFile<"P_IWrite_Priv", Parallel, Write, Priv>,
    BlockingFile<"P_Write_Expl", Parallel, Write, Expl>,
    NonblockingFile<"P_IWrite_Expl", Parallel, Write, Expl>,
    BlockingFile<"C_Write_Indv", Collective, Write, Indv>,
    NonblockingFile<"C_IWrite_Indv", Collective, Write, Indv>,
    BlockingFile<"C_Write_Shared", Collective, Write, Shared>,
    NonblockingFile<"C_IWrite_Shared", Collective, Write, Shared>,
    BlockingFile<"C_Write_Expl", Collective, Write, Expl>,
    NonblockingFile<"C_IWrite_Expl", Collective, Write, Expl>,
    BlockingFile<"S_Read_Indv", Single, Read, Indv>, NonblockingFile<"S_IRead_Indv", Single, Read, Indv>,
    BlockingFile<"S_Read_Expl", Single, Read, Expl>, NonblockingFile<"S_IRead_Expl", Single, Read, Expl>,
    BlockingFile<"P_Read_Indv", Parallel, Read, Indv>, NonblockingFile<"P_IRead_Indv", Parallel, Read, Indv>,
    BlockingFile<"P_Read_Shared", Parallel, Read, Shared>,
    NonblockingFile<"P_IRead_Shared", Parallel, Read, Shared>,
    BlockingFile<"P_Read_Priv", Parallel, Read, Priv>, NonblockingFile<"P_IRead_Priv", Parallel, Read, Priv>,
    BlockingFile<"P_Read_Expl", Parallel, Read, Expl>, NonblockingFile<"P_IRead_Expl", Parallel, Read, Expl>,
    BlockingFile<"C_Read_Indv", Collective, Read, Indv>,
    NonblockingFile<"C_IRead_Indv", Collective, Read, Indv>,
    BlockingFile<"C_Read_Shared", Collective, Read, Shared>,
    NonblockingFile<"C_IRead_Shared", Collective, Read, Shared>,
    BlockingFile<"C_Read_Expl", Collective, Read, Expl>,
    NonblockingFile<"C_IRead_Expl", Collective, Read, Expl>, Open_Close>;

}  // namespace openimb
