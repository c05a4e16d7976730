/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Starts a program and waits for it.
 *
 * A keeper stands between us and the program: a process of ours that the orphans of the program come to, and that ends
 * all of them. If we are killed it is told (PR_SET_PDEATHSIG), and may end the program too.
 *
 * Signals. A program inherits what we inherited (base/inherited_signals.h). Those of `forwarded` are blocked from
 * before the fork until the child's number is known, so none is lost. While a watch is on, SIGCHLD is blocked as well:
 * sigtimedwait takes it and so ends the pause between two looks.
 */
#include "dryrun/run/run_child.h"

#include "base/inherited_signals.h"
#include "base/monotonic_ms.h"
#include "base/nearest.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_NOT_FOUND = 127, CHILDREN_MAX = 256 };
enum { PARENT_ENDED = SIGTERM };                      /* what the keeper is told; anybody may send it as well */

/* What schedulers and people send to end a program, or to tell it that its time is nearly over. */
static const int forwarded[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };
enum { N_FORWARDED = sizeof forwarded / sizeof forwarded[0] };

static volatile sig_atomic_t child_pid;              /* of the program that we wait for; 0: none */
static volatile sig_atomic_t asked_to_end;           /* it was, by a signal */

/* Those of `forwarded` that ask for no end are the program's own business. */
static bool asks_to_end(int number)
{
    return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
}

bool child_was_interrupted(int status)
{
    return asked_to_end != 0 || (status > 128 && asks_to_end(status - 128));
}

/* Passes a signal on if a process sent it. A signal of the terminal (si_code > 0) reaches the child without us, and a
 * second one would kill a program that cleans up after the first. */
static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (child_pid > 0 && asks_to_end(number))
        asked_to_end = 1;
    if (child_pid > 0 && info->si_code <= 0)
        kill((pid_t)child_pid, number);
}

enum err child_env_put(struct child_env *env, const char *name, const char *value, char separator,
                       struct err_detail *err)
{
    const char *old = separator == '\0' ? NULL : getenv(name);
    const size_t room = strlen(value) + 2 + (old == NULL ? 0 : strlen(old));
    char *text = malloc(room), *copy = strdup(name);
    if (env->n == CHILD_VARIABLES_MAX || text == NULL || copy == NULL) {
        free(text);
        free(copy);
        return err_no_memory(err);
    }
    if (old == NULL || old[0] == '\0')
        snprintf(text, room, "%s", value);
    else
        snprintf(text, room, "%s%c%s", value, separator, old);
    env->name[env->n] = copy;
    env->value[env->n++] = text;
    return ERR_OK;
}

void child_env_close(struct child_env *env)
{
    for (size_t i = 0; i < env->n; i++) {
        free(env->name[i]);
        free(env->value[i]);
    }
    env->n = 0;
}

/* In the child: its group and its files. It ends with its keeper. Returns errno, or 0. */
static int child_set_apart(const char *log)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int in = open("/dev/null", O_RDONLY), out = open(log, O_WRONLY | O_CREAT | O_APPEND, 0666);
    const bool is_done = in >= 0 && out >= 0 && setpgid(0, 0) == 0 && dup2(in, STDIN_FILENO) >= 0 &&
                         dup2(out, STDOUT_FILENO) >= 0 && dup2(out, STDERR_FILENO) >= 0;
    const int reason = is_done ? 0 : errno;
    close(in);
    close(out);
    return reason;
}

/* In the child: what the program inherits is what we inherited. */
static void child_take_signals(const sigset_t *mask)
{
    static const int others[] = { SIGPIPE, SIGCHLD, SIGXFSZ };
    for (size_t i = 0; i < N_FORWARDED; i++)
        signal(forwarded[i], inherited_signal_is_ignored(forwarded[i]) ? SIG_IGN : SIG_DFL);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        signal(others[i], inherited_signal_is_ignored(others[i]) ? SIG_IGN : SIG_DFL);
    sigprocmask(SIG_SETMASK, mask, NULL);
}

/* In the child. If the program cannot be started the reason goes through the pipe; if it can, exec closes the pipe. */
static void child_start(const char *const *argv, const struct child_setting *setting, const sigset_t *mask,
                        int report_fd)
{
    const struct child_env *env = setting->env;
    child_take_signals(mask);
    int reason = 0;
    for (size_t i = 0; env != NULL && i < env->n && reason == 0; i++)
        reason = setenv(env->name[i], env->value[i], 1) == 0 ? 0 : errno;
    if (reason == 0 && setting->log != NULL)
        reason = child_set_apart(setting->log);
    if (reason == 0 && setting->prepare != NULL)
        reason = setting->prepare(setting->prepare_arg);
    if (reason == 0) {
        char **copy = NULL;
        memcpy(&copy, &argv, sizeof copy);           /* execvp lacks the const, but changes nothing */
        execvp(argv[0], copy);
        reason = errno;
    }
    const ssize_t n = write(report_fd, &reason, sizeof reason);
    _exit(n == sizeof reason ? EXIT_NOT_FOUND : EXIT_NOT_FOUND - 1);
}

/* ---- all that a program started ---- */

enum { STAT_TEXT = 512 };

/* What the kernel says of a process after its name, which may hold any character: ") S 1 ..." (proc(5), stat). NULL:
 * there is no such process. */
static const char *stat_after_name(pid_t pid, char text[STAT_TEXT])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    const size_t n = f == NULL ? 0 : fread(text, 1, STAT_TEXT - 1, f);
    if (f != NULL)
        fclose(f);
    text[n] = '\0';
    return strrchr(text, ')');
}

/* The parent of a process; 0 if there is no such process. */
static pid_t parent_of(pid_t pid)
{
    char text[STAT_TEXT];
    int parent = 0;
    const char *end = stat_after_name(pid, text);
    return end != NULL && sscanf(end, ") %*c %d", &parent) == 1 ? (pid_t)parent : 0;
}

/* Our children, of any kind. */
struct children {
    pid_t  at[CHILDREN_MAX];
    size_t n;
};

static struct children children_now(void)
{
    struct children c = { .n = 0 };
    DIR *d = opendir("/proc");
    for (const struct dirent *f; d != NULL && c.n < CHILDREN_MAX && (f = readdir(d)) != NULL;) {
        const pid_t pid = (pid_t)strtol(f->d_name, NULL, 10);
        if (pid > 0 && parent_of(pid) == getpid())
            c.at[c.n++] = pid;
    }
    if (d != NULL)
        closedir(d);
    return c;
}

/* Ends all that the program started, in whatever session: each process whose own parent ends becomes our child. */
static void end_orphans(void)
{
    for (bool is_any = true; is_any;) {
        const struct children now = children_now();
        is_any = false;
        for (size_t i = 0; i < now.n; i++)
            if (kill(now.at[i], SIGKILL) == 0)
                is_any = waitpid(now.at[i], NULL, 0) == now.at[i] || is_any;
    }
}

/* ---- the keeper ---- */

static int status_of(int raw)
{
    return WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
}

/* Asks for the status of all that has ended. Whether the program is among them, and its *status. */
static bool has_ended(pid_t program, int *status)
{
    bool is_it = false;
    int raw;
    for (pid_t pid; (pid = waitpid(-1, &raw, WNOHANG)) > 0;)
        if (pid == program) {
            *status = status_of(raw);
            is_it = true;
        }
    return is_it;
}

/* In the keeper. Waits until the program has ended; false: `parent` has, first. 0: it does not matter. The caller has
 * blocked the signals. */
static bool keep_until_end(pid_t program, pid_t parent, int *status)
{
    sigset_t told;
    sigemptyset(&told);
    sigaddset(&told, SIGCHLD);
    sigaddset(&told, PARENT_ENDED);
    while (parent == 0 || getppid() == parent) {
        if (has_ended(program, status))
            return true;
        sigwaitinfo(&told, NULL);
    }
    return false;
}

static void tell(int report_fd, int said)
{
    if (write(report_fd, &said, sizeof said) != sizeof said)
        _exit(EXIT_NOT_FOUND);
}

/* In the keeper: starts the program, and exits with its status. The program tells its number through the pipe itself,
 * so that this comes before the reason why it could not be started, if there is one. */
static void keep(const char *const *argv, const struct child_setting *setting, const sigset_t *mask, pid_t parent,
                 int report_fd)
{
    int status = EXIT_NOT_FOUND;
    prctl(PR_SET_PDEATHSIG, PARENT_ENDED);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    const pid_t program = fork();
    if (program == 0) {
        tell(report_fd, (int)getpid());
        child_start(argv, setting, mask, report_fd);
    }
    if (program < 0) {
        tell(report_fd, -errno);
        _exit(EXIT_NOT_FOUND);
    }
    close(report_fd);
    const bool is_left = !keep_until_end(program, setting->ends_with_us ? parent : 0, &status);
    if (setting->log != NULL)
        kill(-program, SIGKILL);                     /* what it started and left behind */
    if (setting->log != NULL || is_left)
        end_orphans();
    _exit(status);
}

/* A pipe that a started program does not inherit. */
static enum err open_pipe(int fds[2], struct err_detail *err)
{
    if (pipe(fds) != 0)
        return err_set(err, ERR_IO, 0, "a pipe cannot be made: %s", strerror(errno));
    fcntl(fds[0], F_SETFD, FD_CLOEXEC);
    fcntl(fds[1], F_SETFD, FD_CLOEXEC);
    return ERR_OK;
}

static enum err wait_for(pid_t pid, int *status, struct err_detail *err)
{
    int raw;
    while (waitpid(pid, &raw, 0) < 0)
        if (errno != EINTR)
            return err_set(err, ERR_IO, 0, "waiting for the program: %s", strerror(errno));
    *status = status_of(raw);
    return ERR_OK;
}

/* To the group, and to a leader that went into another one. */
static void group_signal(pid_t pid, int signal)
{
    kill(-pid, signal);
    if (getpgid(pid) != pid)
        kill(pid, signal);
}

/* Stops the group: politely first. */
static void group_stop(pid_t pid, int64_t *asked_ms)
{
    if (*asked_ms == 0) {
        group_signal(pid, SIGTERM);
        *asked_ms = monotonic_ms();
    } else if (monotonic_ms() - *asked_ms >= CHILD_GRACE_MS) {
        group_signal(pid, SIGKILL);
    }
}

/* Looks while the keeper runs. The caller has blocked SIGCHLD, so that its end interrupts the pause. */
static void look_until_end(pid_t keeper, pid_t program, const struct child_watch *watch)
{
    const struct timespec pause = { .tv_sec = watch->every_ms / 1000,
                                    .tv_nsec = (long)(watch->every_ms % 1000) * 1000000 };
    siginfo_t info = { .si_pid = 0 };
    int64_t asked_ms = 0;
    sigset_t ended;
    sigemptyset(&ended);
    sigaddset(&ended, SIGCHLD);
    while (waitid(P_PID, (id_t)keeper, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0) {
        if (asked_ms != 0 || !watch->look(watch->arg))
            group_stop(program, &asked_ms);
        sigtimedwait(&ended, NULL, &pause);
    }
}

/* The signals that are passed on while a child runs, and what they did before. */
struct passing_on {
    bool is_on;
    struct sigaction before[N_FORWARDED];
};

static void passing_on_start(struct passing_on *p, bool is_on)
{
    const struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_RESTART | SA_SIGINFO };
    p->is_on = is_on;
    asked_to_end = 0;
    for (size_t i = 0; is_on && i < N_FORWARDED; i++) {
        sigaction(forwarded[i], NULL, &p->before[i]);
        if (p->before[i].sa_handler != SIG_IGN)
            sigaction(forwarded[i], &action, NULL);
    }
}

static void passing_on_end(const struct passing_on *p)
{
    for (size_t i = 0; p->is_on && i < N_FORWARDED; i++)
        sigaction(forwarded[i], &p->before[i], NULL);
}

static bool ends_in(const char *name, const char *ending)
{
    const size_t n = strlen(name), n_ending = strlen(ending);
    return n > n_ending && strcmp(name + n - n_ending, ending) == 0;
}

/* What a file is that lies there and does not start, and how it is run; the system's own words would be "No such file",
 * because it was looked for in PATH. "" if that is not why. */
static const char *file_says(const char *program)
{
    if (access(program, F_OK) != 0)
        return "";
    if (ends_in(program, ".py"))
        return "it is a script: python3 ";
    if (ends_in(program, ".ipynb"))
        return "it is a notebook: jupyter nbconvert --to notebook --execute ";
    if (access(program, X_OK) != 0)
        return "it is not executable: bash ";
    return strchr(program, '/') == NULL ? "it lies in this folder, and not in PATH: ./" : "";
}

/* The usual program whose name is nearest; NULL if none is near. */
static const char *nearest_program(const char *program)
{
    enum { SLIPS_MAX = 2 };
    static const char *const usual[] = { "python", "python3", "torchrun", "accelerate", "jupyter", "bash" };
    struct nearest nearest = { .typed = program, .n_typed = strlen(program) };
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++)
        nearest_offer(&nearest, usual[i], strlen(usual[i]));
    return nearest.distance > 0 && nearest.distance <= SLIPS_MAX ? nearest.name : NULL;
}

/* The program stands in quotes: "serve" alone reads like the subcommand. */
static enum err start_error(const char *program, int reason, struct err_detail *err)
{
    const char *says = reason == ENOMEM ? "" : file_says(program), *meant = nearest_program(program);
    if (says[0] != '\0')
        return err_set(err, ERR_USAGE, 0, "'%s' cannot be started: %s%s", program, says, program);
    if (reason == ENOENT && meant != NULL)
        return err_set(err, ERR_USAGE, 0, "'%s' cannot be started: %s; did you mean '%s'?", program, strerror(reason),
                       meant);
    return err_set(err, reason == ENOMEM ? ERR_HOST_NOMEM : ERR_USAGE, 0, "'%s' cannot be started: %s%s", program,
                   strerror(reason), reason == ENOENT && strchr(program, '/') == NULL
                                         ? "; is the environment active that it is installed in?" : "");
}

/* An ignored SIGCHLD lets the kernel forget children: nobody could be waited for. */
static void keep_children(void)
{
    if (inherited_signal_is_ignored(SIGCHLD))
        signal(SIGCHLD, SIG_DFL);
}

/* What is told of the program: its number, and then why it could not be started, if so. Both are 0 or below where there
 * is nothing to tell; the number is -errno if there is no program. */
struct started {
    int pid, reason;
};

static void started_read_pid(struct started *s, int report_fd)
{
    if (read(report_fd, &s->pid, sizeof s->pid) != sizeof s->pid)
        s->pid = -ECHILD;                            /* both were ended */
}

static void started_read_reason(struct started *s, int report_fd)
{
    if (read(report_fd, &s->reason, sizeof s->reason) != sizeof s->reason)
        s->reason = 0;
}

/* Waits for the keeper, and for the program with it. */
static enum err keeper_wait(pid_t keeper, pid_t program, const struct child_setting *setting, int *status,
                            struct err_detail *err)
{
    if (setting->watch != NULL && program > 0)
        look_until_end(keeper, program, setting->watch);
    return wait_for(keeper, status, err);
}

/* Forks the keeper. The signals of the caller are blocked, as the keeper wants them. */
static pid_t keeper_fork(const char *const *argv, const struct child_setting *setting, const sigset_t *mask,
                         const int report[2])
{
    const pid_t parent = getpid(), keeper = fork();
    if (keeper == 0) {
        close(report[0]);
        keep(argv, setting, mask, parent, report[1]);
    }
    close(report[1]);
    return keeper;
}

/* Starts the keeper, and waits until it has ended. The caller has blocked `forwarded` and SIGCHLD, and waits with
 * `waiting`. *s: how the program was started. */
static enum err child_run_kept(const char *const *argv, const struct child_setting *setting, const sigset_t *mask,
                               const sigset_t *waiting, struct started *s, int *status, struct err_detail *err)
{
    int report[2];
    if (open_pipe(report, err) != ERR_OK)
        return ERR_IO;
    const pid_t keeper = keeper_fork(argv, setting, mask, report);
    if (keeper > 0)
        started_read_pid(s, report[0]);
    else
        s->pid = -errno;
    assert(child_pid == 0);
    child_pid = s->pid > 0 ? s->pid : 0;
    sigprocmask(SIG_SETMASK, waiting, NULL);
    if (s->pid > 0)
        started_read_reason(s, report[0]);
    close(report[0]);
    const enum err e = keeper > 0 ? keeper_wait(keeper, s->pid, setting, status, err) : ERR_OK;
    child_pid = 0;
    return e;
}

enum err child_run(const char *const *argv, const struct child_setting *setting, int *status, struct err_detail *err)
{
    struct started s = { .pid = 0 };
    struct passing_on passing_on;
    sigset_t starting, waiting, mask;
    keep_children();
    sigprocmask(SIG_SETMASK, NULL, &mask);
    waiting = mask;
    sigaddset(&waiting, SIGCHLD);
    starting = waiting;                    /* the program may run for a while before its number is known here */
    for (size_t i = 0; i < N_FORWARDED; i++)
        sigaddset(&starting, forwarded[i]);
    sigprocmask(SIG_SETMASK, &starting, NULL);
    passing_on_start(&passing_on, setting->log == NULL);
    const enum err e = child_run_kept(argv, setting, &mask, &waiting, &s, status, err);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    passing_on_end(&passing_on);
    if (e != ERR_OK)
        return e;
    if (s.pid <= 0)
        return err_at(err, ERR_IO, 0, argv[0], "no process can be made for it: %s", strerror(-s.pid));
    return s.reason == 0 ? ERR_OK : start_error(argv[0], s.reason, err);
}

bool process_is_running(unsigned pid)
{
    char text[STAT_TEXT];
    if (kill((pid_t)pid, 0) != 0 && errno != EPERM)
        return false;
    const char *end = stat_after_name((pid_t)pid, text);
    return end == NULL || strncmp(end, ") Z", 3) != 0;
}

/* Reads a line from a child that runs; "" if there is none. */
static char *read_line(int fd)
{
    FILE *f = fdopen(fd, "r");
    char *line = NULL;
    size_t cap = 0;
    const ssize_t n = f == NULL ? -1 : getline(&line, &cap, f);
    if (f != NULL)
        fclose(f);
    if (n <= 0) {
        free(line);
        return strdup("");
    }
    line[strcspn(line, "\r\n")] = '\0';
    return line;
}

enum err child_first_line(const char *const *argv, char **out, struct err_detail *err)
{
    const struct child_setting as_parent = { .env = NULL };
    int fds[2], status = 0;
    if (open_pipe(fds, err) != ERR_OK)
        return ERR_IO;
    sigset_t mask;
    keep_children();
    sigprocmask(SIG_SETMASK, NULL, &mask);
    const pid_t pid = fork();
    if (pid == 0) {
        const int nowhere = open("/dev/null", O_WRONLY);
        dup2(fds[1], STDOUT_FILENO);
        if (nowhere >= 0)
            dup2(nowhere, STDERR_FILENO);
        child_start(argv, &as_parent, &mask, nowhere);
    }
    close(fds[1]);
    char *line = pid < 0 ? NULL : read_line(fds[0]);
    if (pid < 0)
        close(fds[0]);
    enum err e = pid < 0 ? err_at(err, ERR_IO, 0, argv[0], "no process can be made for it: %s", strerror(errno))
                         : wait_for(pid, &status, err);
    if (e == ERR_OK && line == NULL)
        e = err_no_memory(err);
    if (e == ERR_OK && status != 0)
        line[0] = '\0';
    if (e != ERR_OK)
        free(line);
    else
        *out = line;
    return e;
}
