// Environment variables in which launchers pass each process its rank. This file is also C, for the launcher
// of the wheel.
#pragma once

static const char* const rank_variables[] = {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"};
