/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A request to a server on this machine. */
#include "dryrun/served_ask.h"

#include "base/text_stream.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { ANSWER_TOKENS = 2, PROMPTS_MAX = 256, SEND_S = 5,
       IDS = 90, FIRST_ID = 3 };             /* numbers of tokens that every vocabulary has */

static struct sockaddr_in address_of(int port)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return a;
}

int served_ask_port(void)
{
    struct sockaddr_in a = address_of(0);
    socklen_t n = sizeof a;
    const int s = socket(AF_INET, SOCK_STREAM, 0);
    const bool is_found = s >= 0 && bind(s, (struct sockaddr *)&a, n) == 0 &&
                          getsockname(s, (struct sockaddr *)&a, &n) == 0;
    if (s >= 0)
        close(s);
    return is_found ? ntohs(a.sin_port) : 0;
}

/* "[[3,4,...],[4,5,...]]": no prompt begins as another, so none is found in a cache of prefixes. */
static void write_prompts(FILE *f, const struct served_ask *a)
{
    for (uint64_t i = 0; i < a->prompts; i++) {
        fprintf(f, "%s[%" PRIu64 ",%" PRIu64, i == 0 ? "[" : ",", FIRST_ID + i % IDS, FIRST_ID + i / IDS);
        for (uint64_t k = 2; k < a->prompt_tokens; k++)
            fprintf(f, ",%" PRIu64, FIRST_ID + (i + k) % IDS);
        fprintf(f, "]");
    }
    fprintf(f, "]");
}

/* What is asked as JSON, which the caller free()s; NULL without memory. */
static char *write_body(const struct served_ask *a)
{
    struct text_stream body;
    FILE *f = text_stream_open(&body);
    if (f == NULL)
        return NULL;
    if (a->is_sglang)
        fprintf(f, "{\"sampling_params\":{\"max_new_tokens\":%d,\"ignore_eos\":true},%s\"input_ids\":", ANSWER_TOKENS,
                a->wants_logprobs ? "\"return_logprob\":true,\"logprob_start_len\":0," : "");
    else
        fprintf(f, "{\"max_tokens\":%d,\"ignore_eos\":true,%s\"prompt\":", ANSWER_TOKENS,
                a->wants_logprobs ? "\"prompt_logprobs\":1," : "");
    write_prompts(f, a);
    fprintf(f, "}");
    return text_stream_take(&body);
}

/* The whole request, which the caller free()s; NULL without memory. */
static char *write_request(const struct served_ask *a)
{
    struct text_stream text;
    char *body = write_body(a), *made = NULL;
    if (body != NULL && text_stream_open(&text) != NULL) {
        fprintf(text.file, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                           "Connection: close\r\nContent-Length: %zu\r\n\r\n%s",
                a->is_sglang ? "/generate" : "/v1/completions", strlen(body), body);
        made = text_stream_take(&text);
    }
    free(body);
    return made;
}

static bool send_all(int s, const char *text, size_t n)
{
    const struct timeval most = { .tv_sec = SEND_S };
    size_t sent = 0;
    (void)setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
    for (ssize_t got = 1; sent < n && got > 0; sent += got > 0 ? (size_t)got : 0)
        got = send(s, text + sent, n - sent, MSG_NOSIGNAL);
    return sent == n;
}

static void ask(struct served_ask *a)
{
    const struct sockaddr_in address = address_of(a->port);
    a->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (a->socket < 0 || connect(a->socket, (const struct sockaddr *)&address, sizeof address) != 0) {
        if (a->socket >= 0)
            close(a->socket);
        return;                      /* it does not listen yet */
    }
    char *text = write_request(a);
    a->state = text != NULL && send_all(a->socket, text, strlen(text)) ? ASKING : ASKED;
    free(text);
    if (a->state == ASKED)
        close(a->socket);
}

/* "HTTP/1.1 200 OK", and to the end of what follows. */
static void read_answer(struct served_ask *a)
{
    char bytes[4096];
    ssize_t n;
    while ((n = recv(a->socket, bytes, sizeof bytes, MSG_DONTWAIT)) > 0) {
        const size_t room = sizeof a->head - 1 - a->n_head, more = (size_t)n < room ? (size_t)n : room;
        memcpy(a->head + a->n_head, bytes, more);
        a->n_head += more;
    }
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return;
    if (sscanf(a->head, "HTTP/1.%*d %d", &a->status) != 1)
        a->status = 0;
    close(a->socket);
    a->state = ASKED;
}

bool served_ask_look(struct served_ask *a, uint64_t step_tokens, uint64_t longest)
{
    if (a->state == ASKING_NOT_YET) {
        const uint64_t room = longest > ANSWER_TOKENS + 2 ? longest - ANSWER_TOKENS : 2;
        a->prompt_tokens = room < step_tokens ? room : step_tokens;
        a->prompts = (step_tokens + a->prompt_tokens - 1) / a->prompt_tokens;
        a->prompts = a->prompts < PROMPTS_MAX ? a->prompts : PROMPTS_MAX;
        ask(a);
    }
    if (a->state == ASKING)
        read_answer(a);
    return a->state == ASKED;
}

void served_ask_close(struct served_ask *a)
{
    if (a->state == ASKING)
        close(a->socket);
    a->state = a->state == ASKING ? ASKED : a->state;
}
