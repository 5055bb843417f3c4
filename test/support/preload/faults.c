/*
 * Fault injection for file system calls, loaded into a server with LD_PRELOAD. Linux with glibc.
 *
 * FAULT_INJECTION names a folder with three files, made by test/support/faults.ts:
 *   rules  one rule a line: id action calls errno skip count paths
 *   state  64-bit counters, shared by all processes: [0] generation of the rules, [id] calls that matched the rule
 *   log    one line for each call that a rule acted on: id action call result path
 *
 * A rule acts on its matching calls number skip+1 to skip+count. Counters are shared, so a rule that killed one process
 * does not kill the next.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define RULES_MAX 32
#define COUNTERS 65536
#define TEXT_MAX 16384
#define PATH_BYTES 4096

enum action { FAIL, LOSE, KILL, KILL_AFTER, LOG, ACTIONS };
static const char *const ACTION_NAMES[ACTIONS] = {"fail", "lose", "kill", "kill-after", "log"};

struct rule {
  uint64_t id, skip, count;
  enum action action;
  int error;
  /** Comma-separated, with a comma at both ends. */
  char calls[160];
  /** Alternatives separated by '|'; a '$' at the end of one anchors it to the end of the path. */
  char paths[1024];
};

static struct rule rules[RULES_MAX];
static int rule_count;
static uint64_t generation;
static _Atomic uint64_t *counters;
static int log_file = -1;
static char folder[PATH_BYTES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name) ((__typeof__(&name))real_symbol(#name))

static void *real_symbol(const char *name) { return dlsym(RTLD_NEXT, name); }

__attribute__((constructor)) static void start(void) {
  const char *given = getenv("FAULT_INJECTION");
  if (!given || strlen(given) > PATH_BYTES - 16) return;
  strcpy(folder, given);
  char path[PATH_BYTES + 16];
  snprintf(path, sizeof path, "%s/state", folder);
  int state = REAL(open)(path, O_RDWR | O_CLOEXEC);
  if (state < 0) return;
  void *mapped = mmap(NULL, COUNTERS * sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, state, 0);
  close(state);
  snprintf(path, sizeof path, "%s/log", folder);
  log_file = REAL(open)(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (mapped != MAP_FAILED) counters = mapped;
}

static void read_rule(char *line) {
  struct rule *rule = &rules[rule_count];
  char action[16], calls[150];
  int taken = sscanf(line, "%lu %15s %149s %d %lu %lu %1023s", &rule->id, action, calls, &rule->error, &rule->skip,
                     &rule->count, rule->paths);
  if (taken != 7 || rule->id == 0 || rule->id >= COUNTERS) return;
  snprintf(rule->calls, sizeof rule->calls, ",%s,", calls);
  for (rule->action = FAIL; rule->action < ACTIONS; rule->action++) {
    if (strcmp(action, ACTION_NAMES[rule->action]) == 0) break;
  }
  if (rule->action < ACTIONS) rule_count++;
}

static void reload(void) {
  uint64_t now = counters[0];
  if (now == generation) return;
  char path[PATH_BYTES + 16], text[TEXT_MAX];
  snprintf(path, sizeof path, "%s/rules", folder);
  int file = REAL(open)(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  if (length < 0) return;
  text[length] = 0;
  generation = now;
  rule_count = 0;
  char *rest = text;
  for (char *line = strsep(&rest, "\n"); line && rule_count < RULES_MAX; line = strsep(&rest, "\n")) read_rule(line);
}

static int matches_path(const struct rule *rule, const char *path) {
  char patterns[sizeof rule->paths];
  strcpy(patterns, rule->paths);
  char *rest = patterns;
  size_t path_length = strlen(path);
  for (char *pattern = strsep(&rest, "|"); pattern; pattern = strsep(&rest, "|")) {
    size_t length = strlen(pattern);
    if (length > 0 && pattern[length - 1] == '$') {
      length -= 1;
      if (path_length >= length && strncmp(path + path_length - length, pattern, length) == 0) return 1;
    } else if (strcmp(pattern, "*") == 0 || strstr(path, pattern)) {
      return 1;
    }
  }
  return 0;
}

/** What is done to one call. */
struct fault {
  enum action action;
  uint64_t id;
  int error;
};

static void write_log(const struct fault *fault, const char *call, long result, const char *path) {
  char line[PATH_BYTES + 128];
  int length = snprintf(line, sizeof line, "%lu %s %s %ld %s\n", fault->id, ACTION_NAMES[fault->action], call, result, path);
  if (length > (int)sizeof line - 1) length = sizeof line - 1;
  if (log_file >= 0) REAL(write)(log_file, line, length);
}

static void die(void) {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

/** Whether a rule acts on this call; kills the process for a kill before it. Keeps errno. */
static int find_fault(const char *call, const char *path, struct fault *fault) {
  int saved = errno, found = 0;
  char wanted[32];
  snprintf(wanted, sizeof wanted, ",%s,", call);
  pthread_mutex_lock(&lock);
  reload();
  for (int index = 0; index < rule_count; index++) {
    const struct rule *rule = &rules[index];
    if (!strstr(rule->calls, wanted) || !matches_path(rule, path)) continue;
    uint64_t number = counters[rule->id]++;
    if (found || number < rule->skip || number - rule->skip >= rule->count) continue;
    *fault = (struct fault){rule->action, rule->id, rule->error};
    found = 1;
  }
  pthread_mutex_unlock(&lock);
  if (found && fault->action == KILL) {
    write_log(fault, call, 0, path);
    die();
  }
  errno = saved;
  return found;
}

static int may_concern(const char *call) {
  if (!counters) return 0;
  char wanted[32];
  snprintf(wanted, sizeof wanted, ",%s,", call);
  int concerns = 0;
  pthread_mutex_lock(&lock);
  reload();
  for (int index = 0; index < rule_count; index++) concerns |= strstr(rules[index].calls, wanted) != NULL;
  pthread_mutex_unlock(&lock);
  return concerns;
}

static int find_path_fault(const char *call, const char *path, struct fault *fault) {
  int saved = errno;
  int found = path && may_concern(call) && find_fault(call, path, fault);
  errno = saved;
  return found;
}

static int find_file_fault(const char *call, int file, struct fault *fault) {
  int saved = errno, found = 0;
  if (may_concern(call)) {
    char link[64], path[PATH_BYTES];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length > 0 && path[0] == '/') {
      path[length] = 0;
      found = find_fault(call, path, fault);
    }
  }
  errno = saved;
  return found;
}

/** After the call, with its result; gives the result that the caller sees. */
static long apply(const struct fault *fault, const char *call, long result, const char *path) {
  int saved = errno;
  write_log(fault, call, result, path);
  if (fault->action == KILL_AFTER) die();
  int is_lost = fault->action == LOSE && result >= 0;
  errno = is_lost ? fault->error : saved;
  return is_lost ? -1 : result;
}

static long refuse(const struct fault *fault, const char *call, const char *path) {
  write_log(fault, call, -1, path);
  errno = fault->error;
  return -1;
}

static void path_of(int file, char *path) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, PATH_BYTES - 1);
  path[length < 0 ? 0 : length] = 0;
}

#define ON_PATH(call, path, invoke)                                                    \
  struct fault fault;                                                                  \
  if (!find_path_fault(call, path, &fault)) return invoke;                             \
  if (fault.action == FAIL) return refuse(&fault, call, path);                         \
  return apply(&fault, call, invoke, path)

#define ON_FILE(call, file, invoke)                                                    \
  struct fault fault;                                                                  \
  if (!find_file_fault(call, file, &fault)) return invoke;                             \
  char path[PATH_BYTES];                                                               \
  path_of(file, path);                                                                 \
  if (fault.action == FAIL) return refuse(&fault, call, path);                         \
  return apply(&fault, call, invoke, path)

ssize_t write(int file, const void *bytes, size_t length) { ON_FILE("write", file, REAL(write)(file, bytes, length)); }
ssize_t pwrite(int file, const void *bytes, size_t length, off_t at) { ON_FILE("write", file, REAL(pwrite)(file, bytes, length, at)); }
ssize_t pwrite64(int file, const void *bytes, size_t length, off64_t at) { ON_FILE("write", file, REAL(pwrite64)(file, bytes, length, at)); }
ssize_t writev(int file, const struct iovec *parts, int count) { ON_FILE("write", file, REAL(writev)(file, parts, count)); }
ssize_t pwritev(int file, const struct iovec *parts, int count, off_t at) { ON_FILE("write", file, REAL(pwritev)(file, parts, count, at)); }
ssize_t pwritev64(int file, const struct iovec *parts, int count, off64_t at) { ON_FILE("write", file, REAL(pwritev64)(file, parts, count, at)); }
int fsync(int file) { ON_FILE("sync", file, REAL(fsync)(file)); }
int fdatasync(int file) { ON_FILE("sync", file, REAL(fdatasync)(file)); }
int ftruncate(int file, off_t length) { ON_FILE("truncate", file, REAL(ftruncate)(file, length)); }
int ftruncate64(int file, off64_t length) { ON_FILE("truncate", file, REAL(ftruncate64)(file, length)); }
int fallocate(int file, int mode, off_t at, off_t length) { ON_FILE("allocate", file, REAL(fallocate)(file, mode, at, length)); }
int fallocate64(int file, int mode, off64_t at, off64_t length) { ON_FILE("allocate", file, REAL(fallocate64)(file, mode, at, length)); }

int rename(const char *from, const char *to) { ON_PATH("rename", to, REAL(rename)(from, to)); }
int renameat(int from_folder, const char *from, int to_folder, const char *to) { ON_PATH("rename", to, REAL(renameat)(from_folder, from, to_folder, to)); }
int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) { ON_PATH("rename", to, REAL(renameat2)(from_folder, from, to_folder, to, flags)); }
int link(const char *from, const char *to) { ON_PATH("link", to, REAL(link)(from, to)); }
int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) { ON_PATH("link", to, REAL(linkat)(from_folder, from, to_folder, to, flags)); }
int unlink(const char *path) { ON_PATH("unlink", path, REAL(unlink)(path)); }
int unlinkat(int at, const char *path, int flags) { ON_PATH("unlink", path, REAL(unlinkat)(at, path, flags)); }
int rmdir(const char *path) { ON_PATH("unlink", path, REAL(rmdir)(path)); }
int mkdir(const char *path, mode_t mode) { ON_PATH("mkdir", path, REAL(mkdir)(path, mode)); }

static mode_t mode_of(int flags, va_list rest) {
  int has_mode = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return has_mode ? va_arg(rest, mode_t) : 0;
}

#define WITH_MODE            \
  va_list rest;              \
  va_start(rest, flags);     \
  mode_t mode = mode_of(flags, rest); \
  va_end(rest)

int open(const char *path, int flags, ...) { WITH_MODE; ON_PATH("open", path, REAL(open)(path, flags, mode)); }
int open64(const char *path, int flags, ...) { WITH_MODE; ON_PATH("open", path, REAL(open64)(path, flags, mode)); }
int openat(int at, const char *path, int flags, ...) { WITH_MODE; ON_PATH("open", path, REAL(openat)(at, path, flags, mode)); }
int openat64(int at, const char *path, int flags, ...) { WITH_MODE; ON_PATH("open", path, REAL(openat64)(at, path, flags, mode)); }
