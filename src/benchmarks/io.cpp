// IMB-IO. The order is that of the reference outputs.
#include "benchmarks/catalogue.h"
#include "benchmarks/file_transfer.h"

namespace openimb {

const Component& component() {
  static constexpr Entry entries[] = {
      file_entry<Blocking<"S_Write_Indv", Single, Write, Indv>>(),
      file_entry<Nonblocking<"S_IWrite_Indv", Single, Write, Indv>>(),
      file_entry<Blocking<"S_Write_Expl", Single, Write, Expl>>(),
      file_entry<Nonblocking<"S_IWrite_Expl", Single, Write, Expl>>(),
      file_entry<Blocking<"P_Write_Indv", Parallel, Write, Indv>>(),
      file_entry<Nonblocking<"P_IWrite_Indv", Parallel, Write, Indv>>(),
      file_entry<Blocking<"P_Write_Shared", Parallel, Write, Shared>>(),
      file_entry<Nonblocking<"P_IWrite_Shared", Parallel, Write, Shared>>(),
      file_entry<Blocking<"P_Write_Priv", Parallel, Write, Priv>>(),
      file_entry<Nonblocking<"P_IWrite_Priv", Parallel, Write, Priv>>(),
      file_entry<Blocking<"P_Write_Expl", Parallel, Write, Expl>>(),
      file_entry<Nonblocking<"P_IWrite_Expl", Parallel, Write, Expl>>(),
      file_entry<Blocking<"C_Write_Indv", Collective, Write, Indv>>(),
      file_entry<Nonblocking<"C_IWrite_Indv", Collective, Write, Indv>>(),
      file_entry<Blocking<"C_Write_Shared", Collective, Write, Shared>>(),
      file_entry<Nonblocking<"C_IWrite_Shared", Collective, Write, Shared>>(),
      file_entry<Blocking<"C_Write_Expl", Collective, Write, Expl>>(),
      file_entry<Nonblocking<"C_IWrite_Expl", Collective, Write, Expl>>(),
      file_entry<Blocking<"S_Read_Indv", Single, Read, Indv>>(),
      file_entry<Nonblocking<"S_IRead_Indv", Single, Read, Indv>>(),
      file_entry<Blocking<"S_Read_Expl", Single, Read, Expl>>(),
      file_entry<Nonblocking<"S_IRead_Expl", Single, Read, Expl>>(),
      file_entry<Blocking<"P_Read_Indv", Parallel, Read, Indv>>(),
      file_entry<Nonblocking<"P_IRead_Indv", Parallel, Read, Indv>>(),
      file_entry<Blocking<"P_Read_Shared", Parallel, Read, Shared>>(),
      file_entry<Nonblocking<"P_IRead_Shared", Parallel, Read, Shared>>(),
      file_entry<Blocking<"P_Read_Priv", Parallel, Read, Priv>>(),
      file_entry<Nonblocking<"P_IRead_Priv", Parallel, Read, Priv>>(),
      file_entry<Blocking<"P_Read_Expl", Parallel, Read, Expl>>(),
      file_entry<Nonblocking<"P_IRead_Expl", Parallel, Read, Expl>>(),
      file_entry<Blocking<"C_Read_Indv", Collective, Read, Indv>>(),
      file_entry<Nonblocking<"C_IRead_Indv", Collective, Read, Indv>>(),
      file_entry<Blocking<"C_Read_Shared", Collective, Read, Shared>>(),
      file_entry<Nonblocking<"C_IRead_Shared", Collective, Read, Shared>>(),
      file_entry<Blocking<"C_Read_Expl", Collective, Read, Expl>>(),
      file_entry<Nonblocking<"C_IRead_Expl", Collective, Read, Expl>>(),
      file_entry<Open_Close>(),
  };
  static constexpr Component io{"IO", "MPI-IO part", entries, standard_of_files};
  return io;
}

}  // namespace openimb
