// IMB-<component> of a wheel, on Linux. PREFIX/bin/IMB-MPI1 finds the MPI that starts it and becomes
// PREFIX/libexec/openimb/<interface>/openimb-suite with that MPI's library, under its own name, by which that
// program knows its component; PREFIX/libexec/openimb/NAME becomes <interface>/NAME. No MPI, no C++: it takes
// 0.1 ms.
//
// The MPI is the one whose launcher is among the parents of this process; without a launcher, the one whose
// launcher's variables are set, else the first library in LD_LIBRARY_PATH, beside the launcher on the PATH,
// or in the system's folders. OPENIMB_INTERFACE=mpich|openmpi|mpi-abi chooses. A wrong pair would run as many
// single ranks, or hang: it is refused here with status 2.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../model/exit_status.h"
#include "../system/rank_variables.h"

enum { mpich, openmpi, mpi_abi, interfaces, unknown = interfaces };
enum { most_parents = 64 };

static const struct {
  const char* name;
  const char* title;
  const char* soname;
  const char* other_soname;  // the same under another name, through compat/
} interface_of[interfaces] = {
    [mpich] = {"mpich", "MPICH or Intel MPI", "libmpi.so.12", "libmpich.so.12"},
    [openmpi] = {"openmpi", "Open MPI", "libmpi.so.40", NULL},
    [mpi_abi] = {"mpi-abi", "the standard ABI", "libmpi_abi.so.1", NULL},
};
#ifndef OPENIMB_SYSTEM_FOLDERS  // for tests
#define OPENIMB_SYSTEM_FOLDERS                                                                            \
  "/lib64", "/usr/lib64", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", \
      "/usr/lib/aarch64-linux-gnu", "/usr/lib", "/usr/local/lib"
#endif
static const char* const system_folders[] = {OPENIMB_SYSTEM_FOLDERS};

struct launcher {
  int family;  // mpich or openmpi; unknown: none found
  char path[PATH_MAX];
};

struct library {
  int interface;
  bool compat;     // only under its other name
  bool reachable;  // the loader looks there by itself
  char folder[PATH_MAX];
};

static const char* program = "IMB";

static const char* base_of(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

// PATH without its last `parts`.
static void cut(char* path, int parts) {
  for (; parts > 0; --parts) {
    char* slash = strrchr(path, '/');
    if (!slash) return;
    *slash = '\0';
  }
}

static bool begins(const char* text, const char* with) { return strncmp(text, with, strlen(with)) == 0; }

static int family_of(const char* name) {
  static const char* const of_mpich[] = {"hydra_", "mpiexec.hydra", "mpiexec.mpich", "mpirun.mpich",
                                         "mpiexec.gforker"};
  static const char* const of_openmpi[] = {"prted",   "prterun",         "orted",
                                           "orterun", "mpiexec.openmpi", "mpirun.openmpi"};
  for (size_t i = 0; i < sizeof of_mpich / sizeof *of_mpich; ++i) {
    if (begins(name, of_mpich[i])) return mpich;
  }
  for (size_t i = 0; i < sizeof of_openmpi / sizeof *of_openmpi; ++i) {
    if (begins(name, of_openmpi[i])) return openmpi;
  }
  return unknown;
}

static size_t content_of(const char* path, char* text, size_t size) {
  text[0] = '\0';
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t got = read(file, text, size - 1);
  close(file);
  const size_t length = got > 0 ? (size_t)got : 0;
  text[length] = '\0';
  return length;
}

// Of a process, 0 where it is unknown. "PID (name, with blanks and brackets) S PPID ...".
static int parent_of(int process) {
  char path[64], text[512];
  snprintf(path, sizeof path, "/proc/%d/stat", process);
  if (!content_of(path, text, sizeof text)) return 0;
  const char* end = strrchr(text, ')');
  int parent = 0;
  return end && sscanf(end, ") %*c %d", &parent) == 1 ? parent : 0;
}

static struct launcher launcher_above(void) {
  struct launcher found = {.family = unknown};
  int process = getppid();
  for (int i = 0; process > 1 && i < most_parents; ++i, process = parent_of(process)) {
    char link[64], name[64];
    snprintf(link, sizeof link, "/proc/%d/exe", process);
    const ssize_t length = readlink(link, found.path, sizeof found.path - 1);
    found.path[length > 0 ? length : 0] = '\0';
    found.family = family_of(base_of(found.path));
    if (found.family == unknown && length <= 0) {  // another user's
      snprintf(link, sizeof link, "/proc/%d/comm", process);
      content_of(link, name, sizeof name);
      found.family = family_of(name);
    }
    if (found.family != unknown) return found;
  }
  found.path[0] = '\0';
  // A launcher that is not above, as where each rank is in a container of its own.
  if (getenv("OMPI_COMM_WORLD_SIZE"))
    found.family = openmpi;
  else if (getenv("HYDI_CONTROL_FD") || getenv("I_MPI_HYDRA_TOPOLIB") || getenv("MPI_LOCALNRANKS"))
    found.family = mpich;
  return found;
}

// The launcher of $OPENIMB_MPI_PREFIX, by which `imb` says what srun cannot; else the one on the PATH. Links
// followed.
static struct launcher launcher_named(void) {
  static const char* const names[] = {"mpiexec", "mpirun"};
  struct launcher found = {.family = unknown};
  const char* const prefix = getenv("OPENIMB_MPI_PREFIX");
  const bool given = prefix && *prefix;
  const char* next = given ? prefix : getenv("PATH");
  while (next && *next) {
    const size_t length = given ? strlen(next) : strcspn(next, ":");
    for (size_t i = 0; i < sizeof names / sizeof *names && length > 0; ++i) {
      char path[PATH_MAX];
      snprintf(path, sizeof path, "%.*s%s/%s", (int)length, next, given ? "/bin" : "", names[i]);
      if (access(path, X_OK) != 0 || !realpath(path, found.path)) continue;
      found.family = family_of(base_of(found.path));
      return found;
    }
    next += length + (next[length] == ':');
  }
  found.path[0] = '\0';
  return found;
}

static bool has(const char* folder, const char* name) {
  char path[PATH_MAX];
  return name && (size_t)snprintf(path, sizeof path, "%s/%s", folder, name) < sizeof path &&
         access(path, R_OK) == 0;
}

static bool has_library(const char* folder, int interface) {
  return has(folder, interface_of[interface].soname) || has(folder, interface_of[interface].other_soname);
}

// A library of the standard ABI belongs to the MPI whose own library is next to it; alone it may belong to
// any.
static bool fits(const char* folder, int interface, int family) {
  if (interface != mpi_abi || family == unknown) return true;
  return has_library(folder, family) || !has_library(folder, family == mpich ? openmpi : mpich);
}

// For the ranks of a launcher of `family`.
static bool find_in_folder(const char* folder, int interface, int family, struct library* found) {
  if (!has_library(folder, interface) || !fits(folder, interface, family)) return false;
  const bool usual = has(folder, interface_of[interface].soname);
  *found = (struct library){.interface = interface, .compat = !usual};
  snprintf(found->folder, sizeof found->folder, "%s", folder);
  return true;
}

static bool find_in_list(const char* list, int interface, int family, struct library* found) {
  while (list && *list) {
    char folder[PATH_MAX];
    const size_t length = strcspn(list, ":");
    snprintf(folder, sizeof folder, "%.*s", (int)length, list);
    if (length > 0 && find_in_folder(folder, interface, family, found)) {
      found->reachable = interface != mpi_abi;  // one that does not fit may come before it
      return true;
    }
    list += length + (list[length] == ':');
  }
  return false;
}

// Looks in the installation whose bin folder has the launcher.
static bool find_beside(const struct launcher* launcher, int interface, struct library* found) {
  static const char* const places[] = {"lib", "lib64", "lib/release"};
  char prefix[PATH_MAX];
  snprintf(prefix, sizeof prefix, "%s", launcher->path);
  cut(prefix, 2);
  if (!*prefix) return false;
  for (size_t i = 0; i < sizeof places / sizeof *places; ++i) {
    char folder[PATH_MAX + 16];
    snprintf(folder, sizeof folder, "%s/%s", prefix, places[i]);
    if (find_in_folder(folder, interface, launcher->family, found)) return true;
  }
  return false;
}

static bool find_in_system(int interface, int family, struct library* found) {
  for (size_t i = 0; i < sizeof system_folders / sizeof *system_folders; ++i) {
    if (find_in_folder(system_folders[i], interface, family, found)) {
      found->reachable = interface != mpi_abi;
      return true;
    }
  }
  return false;
}

// Finds the first of these interfaces in the nearest place that has one of them.
static bool find(const int* wanted, int count, const struct launcher* launcher, struct library* found) {
  const char* const own = getenv("LD_LIBRARY_PATH");
  for (int i = 0; i < count; ++i) {
    if (find_in_list(own, wanted[i], launcher->family, found)) return true;
  }
  for (int i = 0; i < count; ++i) {
    if (find_beside(launcher, wanted[i], found)) return true;
  }
  for (int i = 0; i < count; ++i) {
    if (find_in_system(wanted[i], launcher->family, found)) return true;
  }
  return false;
}

static int chosen_interface(void) {
  const char* name = getenv("OPENIMB_INTERFACE");
  if (!name || !*name) return unknown;
  for (int i = 0; i < interfaces; ++i) {
    if (strcmp(name, interface_of[i].name) == 0) return i;
  }
  return -1;
}

static bool speaks(void) {
  for (size_t i = 0; i < sizeof rank_variables / sizeof *rank_variables; ++i) {
    const char* rank = getenv(rank_variables[i]);
    if (rank) return strcmp(rank, "0") == 0;
  }
  return true;
}

// Ends every rank. A launcher ends the others as soon as one has failed, so those without a message let rank
// 0 speak first.
static _Noreturn __attribute__((format(printf, 1, 2))) void refuse(const char* format, ...) {
  enum { start_ms = 500, delivery_ms = 20 };
  const bool speaking = speaks();
  if (speaking) {
    va_list words;
    va_start(words, format);
    fprintf(stderr, "%s: ", program);
    vfprintf(stderr, format, words);
    fputc('\n', stderr);
    va_end(words);
  }
  const struct timespec pause = {.tv_nsec = (speaking ? delivery_ms : start_ms) * 1000000L};
  nanosleep(&pause, NULL);
  exit(exit_usage);
}

static const char* words_for(const struct launcher* launcher) {
  static char words[PATH_MAX + 64];
  const char* title = interface_of[launcher->family].title;
  snprintf(words, sizeof words, *launcher->path ? "%s (%s)" : "%s", title, launcher->path);
  return words;
}

static struct library library_for(struct launcher* launcher) {
  struct library found = {.interface = unknown};
  const int chosen = chosen_interface();
  if (chosen < 0)
    refuse("OPENIMB_INTERFACE=%s is not one of mpich, openmpi, mpi-abi", getenv("OPENIMB_INTERFACE"));
  const bool launched = launcher->family != unknown;
  if (!launched) *launcher = launcher_named();
  const int other = launcher->family == mpich ? openmpi : mpich;
  if (launched && chosen == other) {
    refuse("OPENIMB_INTERFACE=%s does not fit the launcher of %s; start it with the other MPI's launcher",
           interface_of[chosen].name, words_for(launcher));
  }
  if (chosen != unknown) {
    if (find(&chosen, 1, launcher, &found)) return found;
    refuse("OPENIMB_INTERFACE=%s: no %s%s in LD_LIBRARY_PATH, beside the launcher or in the system's folders",
           interface_of[chosen].name, interface_of[chosen].soname, launched ? " of the launcher's MPI" : "");
  }
  const int fitting[] = {launcher->family, mpi_abi}, all[] = {mpich, openmpi, mpi_abi};
  if (launched) {
    if (find(fitting, 2, launcher, &found)) return found;
    if (find(&other, 1, launcher, &found)) {
      refuse(
          "started by %s, but the only MPI library found is %s's in %s; use its own mpirun, or put the "
          "library of %s in LD_LIBRARY_PATH",
          words_for(launcher), interface_of[other].title, found.folder, interface_of[launcher->family].title);
    }
  } else {
    const bool given = getenv("OPENIMB_MPI_PREFIX") && *launcher->path;
    for (int i = 0; given && i < interfaces; ++i) {
      if (find_beside(launcher, i, &found)) return found;
    }
    for (int i = 0; i < interfaces; ++i) {
      if (find_in_list(getenv("LD_LIBRARY_PATH"), i, unknown, &found)) return found;
    }
    if (launcher->family != unknown && find(fitting, 2, launcher, &found)) return found;
    if (find(all, interfaces, launcher, &found)) return found;
  }
  refuse(
      "no MPI library found (libmpi.so.12, libmpi.so.40 or libmpi_abi.so.1); load an MPI's module,"
      " put its library folder in LD_LIBRARY_PATH, or pip install 'openimb[mpich]'");
}

// `folder` before those where the loader looks, so that it takes the library there.
static void lead_to(const char* folder) {
  const char* old = getenv("LD_LIBRARY_PATH");
  char* all = malloc(strlen(folder) + (old ? strlen(old) : 0) + 2);
  if (!all) refuse("no memory");
  sprintf(all, old && *old ? "%s:%s" : "%s", folder, old);
  if (setenv("LD_LIBRARY_PATH", all, 1) != 0) refuse("no memory");
}

int main(int argc, char** argv) {
  static char self[PATH_MAX], home[PATH_MAX + 32], target[2 * PATH_MAX];
  (void)argc;
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length <= 0) refuse("cannot read /proc/self/exe: %s", strerror(errno));
  program = base_of(self);
  struct launcher launcher = launcher_above();
  const struct library found = library_for(&launcher);
  char prefix[PATH_MAX];
  snprintf(prefix, sizeof prefix, "%s", self);
  cut(prefix, 1);
  snprintf(home, sizeof home, "%s", prefix);
  if (!has(home, interface_of[found.interface].name)) {
    cut(prefix, 1);
    snprintf(home, sizeof home, "%s/libexec/openimb", prefix);
  }
  const char* const file = strncmp(program, "IMB-", 4) == 0 ? "openimb-suite" : program;
  snprintf(target, sizeof target, "%s/%s/%s", home, interface_of[found.interface].name, file);
  if (strcmp(base_of(argv[0]), program) != 0) argv[0] = self;  // started by another name: a link
  if (!found.reachable) lead_to(found.folder);
  if (found.compat) {
    char compat[PATH_MAX + 48];
    snprintf(compat, sizeof compat, "%s/mpich/compat", home);
    lead_to(compat);
  }
  execv(target, argv);
  refuse("cannot start %s: %s; install openimb again", target, strerror(errno));
}
