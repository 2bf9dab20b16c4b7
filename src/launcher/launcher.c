// The commands IMB-<component> of a wheel, on Linux. PREFIX/bin/IMB-MPI1 finds the MPI that starts it. It
// then executes PREFIX/libexec/openimb/<interface>/openimb-suite with that MPI's library. It keeps its own
// name, which tells the suite the component. PREFIX/libexec/openimb/NAME likewise executes <interface>/NAME.
// The program uses neither MPI nor C++, so it takes only 0.1 ms.
//
// The launcher among the parents of this process decides which MPI is used. If there is none, environment
// variables that launchers set decide. Otherwise the MPI is the first library in LD_LIBRARY_PATH, beside the
// launcher on the PATH, or in the system's folders. OPENIMB_INTERFACE=mpich|openmpi|mpi-abi overrides this
// choice. With a library of another MPI than the launcher's, each process would be a job of one rank, or the
// job would hang, so this program refuses such a library with status 2.
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
enum { max_parents = 64 };

static const struct {
  const char* name;
  const char* title;
  const char* soname;
  const char* other_soname;  // Debian's name of this library; compat/ has a libmpi.so.12 that loads it
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
  int family;  // mpich or openmpi; unknown: no launcher found
  char path[PATH_MAX];
};

struct library {
  int interface;
  bool compat;     // found only under other_soname
  bool reachable;  // the loader finds it without help
  char folder[PATH_MAX];
};

static const char* program = "IMB";

static const char* base_of(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

// Removes the last `parts` parts of a path.
static void remove_last_parts(char* path, int parts) {
  for (; parts > 0; --parts) {
    char* slash = strrchr(path, '/');
    if (!slash) return;
    *slash = '\0';
  }
}

static bool begins_with(const char* text, const char* prefix) {
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

static int family_of(const char* name) {
  static const char* const mpich_names[] = {"hydra_", "mpiexec.hydra", "mpiexec.mpich", "mpirun.mpich",
                                            "mpiexec.gforker"};
  static const char* const openmpi_names[] = {"prted",   "prterun",         "orted",
                                              "orterun", "mpiexec.openmpi", "mpirun.openmpi"};
  for (size_t i = 0; i < sizeof mpich_names / sizeof *mpich_names; ++i) {
    if (begins_with(name, mpich_names[i])) return mpich;
  }
  for (size_t i = 0; i < sizeof openmpi_names / sizeof *openmpi_names; ++i) {
    if (begins_with(name, openmpi_names[i])) return openmpi;
  }
  return unknown;
}

static size_t read_text(const char* path, char* text, size_t size) {
  text[0] = '\0';
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t got = read(file, text, size - 1);
  close(file);
  const size_t length = got > 0 ? (size_t)got : 0;
  text[length] = '\0';
  return length;
}

// Returns the parent of a process; 0 if it is unknown. The file contains "PID (NAME) STATE PPID ...", and
// NAME may contain blanks and brackets.
static int parent_of(int process) {
  char path[64], text[512];
  snprintf(path, sizeof path, "/proc/%d/stat", process);
  if (!read_text(path, text, sizeof text)) return 0;
  const char* end = strrchr(text, ')');
  int parent = 0;
  return end && sscanf(end, ") %*c %d", &parent) == 1 ? parent : 0;
}

static struct launcher find_launcher_among_parents(void) {
  struct launcher found = {.family = unknown};
  int process = getppid();
  for (int i = 0; process > 1 && i < max_parents; ++i, process = parent_of(process)) {
    char link[64], name[64];
    snprintf(link, sizeof link, "/proc/%d/exe", process);
    const ssize_t length = readlink(link, found.path, sizeof found.path - 1);
    found.path[length > 0 ? length : 0] = '\0';
    found.family = family_of(base_of(found.path));
    if (found.family == unknown && length <= 0) {  // a process of another user
      snprintf(link, sizeof link, "/proc/%d/comm", process);
      read_text(link, name, sizeof name);
      found.family = family_of(name);
    }
    if (found.family != unknown) return found;
  }
  found.path[0] = '\0';
  // The launcher may not be among the parents, for example if each rank is in its own container.
  if (getenv("OMPI_COMM_WORLD_SIZE"))
    found.family = openmpi;
  else if (getenv("HYDI_CONTROL_FD") || getenv("I_MPI_HYDRA_TOPOLIB") || getenv("MPI_LOCALNRANKS"))
    found.family = mpich;
  return found;
}

// Finds the launcher in $OPENIMB_MPI_PREFIX or, if that is not set, on the PATH, and follows links. `imb`
// sets the variable because srun, unlike an MPI's own launcher, does not show which MPI is used.
static struct launcher find_installed_launcher(void) {
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

static bool has_file(const char* folder, const char* name) {
  char path[PATH_MAX];
  return name && (size_t)snprintf(path, sizeof path, "%s/%s", folder, name) < sizeof path &&
         access(path, R_OK) == 0;
}

static bool has_library(const char* folder, int interface) {
  return has_file(folder, interface_of[interface].soname) ||
         has_file(folder, interface_of[interface].other_soname);
}

// A library of the standard ABI belongs to the MPI whose own library is in the same folder. If there is none,
// it may belong to any MPI.
static bool fits_launcher(const char* folder, int interface, int family) {
  if (interface != mpi_abi || family == unknown) return true;
  return has_library(folder, family) || !has_library(folder, family == mpich ? openmpi : mpich);
}

// Finds a library that works with a launcher of `family`.
static bool find_in_folder(const char* folder, int interface, int family, struct library* found) {
  if (!has_library(folder, interface) || !fits_launcher(folder, interface, family)) return false;
  const bool usual = has_file(folder, interface_of[interface].soname);
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
      found->reachable = interface != mpi_abi;  // an earlier folder may have the library of another MPI
      return true;
    }
    list += length + (list[length] == ':');
  }
  return false;
}

// Looks in the launcher's installation.
static bool find_beside(const struct launcher* launcher, int interface, struct library* found) {
  static const char* const places[] = {"lib", "lib64", "lib/release"};
  char prefix[PATH_MAX];
  snprintf(prefix, sizeof prefix, "%s", launcher->path);
  remove_last_parts(prefix, 2);
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

// Finds a library of one of the `wanted` interfaces. Nearer places come first, then earlier interfaces.
static bool find_library(const int* wanted, int count, const struct launcher* launcher,
                         struct library* found) {
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

static bool prints_errors(void) {
  for (size_t i = 0; i < sizeof rank_variables / sizeof *rank_variables; ++i) {
    const char* rank = getenv(rank_variables[i]);
    if (rank) return strcmp(rank, "0") == 0;
  }
  return true;
}

// Prints a message and exits. A launcher kills the other ranks as soon as one has failed, so ranks that print
// nothing wait for rank 0 to print.
static _Noreturn __attribute__((format(printf, 1, 2))) void refuse(const char* format, ...) {
  enum { start_ms = 500, delivery_ms = 20 };
  const bool printing = prints_errors();
  if (printing) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", program);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
  }
  const struct timespec pause = {.tv_nsec = (printing ? delivery_ms : start_ms) * 1000000L};
  nanosleep(&pause, NULL);
  exit(exit_usage);
}

static const char* describe_launcher(const struct launcher* launcher) {
  static char text[PATH_MAX + 64];
  const char* title = interface_of[launcher->family].title;
  snprintf(text, sizeof text, *launcher->path ? "%s (%s)" : "%s", title, launcher->path);
  return text;
}

static struct library choose_library(struct launcher* launcher) {
  struct library found = {.interface = unknown};
  const int chosen = chosen_interface();
  if (chosen < 0)
    refuse("OPENIMB_INTERFACE=%s is not one of mpich, openmpi, mpi-abi", getenv("OPENIMB_INTERFACE"));
  const bool launched = launcher->family != unknown;
  if (!launched) *launcher = find_installed_launcher();
  const int other = launcher->family == mpich ? openmpi : mpich;
  if (launched && chosen == other) {
    refuse(
        "OPENIMB_INTERFACE=%s does not fit the launcher, which belongs to %s; unset it, or use the launcher "
        "of %s",
        interface_of[chosen].name, describe_launcher(launcher), interface_of[chosen].title);
  }
  if (chosen != unknown) {
    if (find_library(&chosen, 1, launcher, &found)) return found;
    refuse(
        "OPENIMB_INTERFACE=%s: found no %s%s in LD_LIBRARY_PATH, beside the launcher or in the system's "
        "folders",
        interface_of[chosen].name, interface_of[chosen].soname, launched ? " of the launcher's MPI" : "");
  }
  const int fitting[] = {launcher->family, mpi_abi}, all[] = {mpich, openmpi, mpi_abi};
  if (launched) {
    if (find_library(fitting, 2, launcher, &found)) return found;
    if (find_library(&other, 1, launcher, &found)) {
      refuse(
          "started by %s, but the only MPI library found belongs to %s (in %s); use the mpirun of %s, or put "
          "the library of %s in LD_LIBRARY_PATH",
          describe_launcher(launcher), interface_of[other].title, found.folder, interface_of[other].title,
          interface_of[launcher->family].title);
    }
  } else {
    const bool given = getenv("OPENIMB_MPI_PREFIX") && *launcher->path;
    for (int i = 0; given && i < interfaces; ++i) {
      if (find_beside(launcher, i, &found)) return found;
    }
    for (int i = 0; i < interfaces; ++i) {
      if (find_in_list(getenv("LD_LIBRARY_PATH"), i, unknown, &found)) return found;
    }
    if (launcher->family != unknown && find_library(fitting, 2, launcher, &found)) return found;
    if (find_library(all, interfaces, launcher, &found)) return found;
  }
  refuse(
      "no MPI library found (libmpi.so.12, libmpi.so.40 or libmpi_abi.so.1); load an MPI's module,"
      " put its library folder in LD_LIBRARY_PATH, or pip install 'openimb[mpich]'");
}

// Puts `folder` first in LD_LIBRARY_PATH, so that the loader takes the library in it.
static void prepend_to_library_path(const char* folder) {
  const char* old = getenv("LD_LIBRARY_PATH");
  char* all = malloc(strlen(folder) + (old ? strlen(old) : 0) + 2);
  if (!all) refuse("out of memory");
  sprintf(all, old && *old ? "%s:%s" : "%s", folder, old);
  if (setenv("LD_LIBRARY_PATH", all, 1) != 0) refuse("out of memory");
}

int main(int argc, char** argv) {
  static char self[PATH_MAX], home[PATH_MAX + 32], target[2 * PATH_MAX];
  (void)argc;
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length <= 0) refuse("cannot read /proc/self/exe: %s", strerror(errno));
  program = base_of(self);
  struct launcher launcher = find_launcher_among_parents();
  const struct library found = choose_library(&launcher);
  char prefix[PATH_MAX];
  snprintf(prefix, sizeof prefix, "%s", self);
  remove_last_parts(prefix, 1);
  snprintf(home, sizeof home, "%s", prefix);
  if (!has_file(home, interface_of[found.interface].name)) {
    remove_last_parts(prefix, 1);
    snprintf(home, sizeof home, "%s/libexec/openimb", prefix);
  }
  const char* const file = strncmp(program, "IMB-", 4) == 0 ? "openimb-suite" : program;
  snprintf(target, sizeof target, "%s/%s/%s", home, interface_of[found.interface].name, file);
  if (strcmp(base_of(argv[0]), program) != 0) argv[0] = self;  // started by a link with another name
  if (!found.reachable) prepend_to_library_path(found.folder);
  if (found.compat) {
    char compat[PATH_MAX + 48];
    snprintf(compat, sizeof compat, "%s/mpich/compat", home);
    prepend_to_library_path(compat);
  }
  execv(target, argv);
  refuse("cannot start %s: %s; reinstall openimb", target, strerror(errno));
}
