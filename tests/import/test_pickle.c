/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The pickle reader: Python's pickles are read as they were written, and no file can make it run code. */
#include "import/pytorch/pickle.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A handler that writes every container as text into a list of texts: {k: v}, [a, b], (a, b). */
enum { KIND_TEXT = PICKLE_USER, TEXTS_MAX = 20000 };

struct printer {
    struct pickle *pickle;
    char *texts[TEXTS_MAX];
    uint32_t n;
};

static void text_append(char **text, const char *more)
{
    const size_t n = strlen(*text), k = strlen(more);
    *text = realloc(*text, n + k + 1);
    memcpy(*text + n, more, k + 1);
}

static void value_append(const struct printer *pr, char **text, uint64_t value)
{
    char number[64];
    int64_t i;
    double d;
    size_t n;
    switch (pickle_kind(value)) {
    case PICKLE_NONE:
        text_append(text, "None");
        break;
    case PICKLE_STRING:
        text_append(text, pickle_string(pr->pickle, value, &n));
        break;
    case KIND_TEXT:
        text_append(text, pr->texts[pickle_index(value)]);
        break;
    case PICKLE_FLOAT:
        cr_assert(pickle_float(pr->pickle, value, &d));
        snprintf(number, sizeof number, "%g", d);
        text_append(text, number);
        break;
    case PICKLE_OPAQUE:
        text_append(text, "?");
        break;
    default:
        cr_assert(pickle_int(pr->pickle, value, &i));
        snprintf(number, sizeof number, "%" PRId64, i);
        text_append(text, number);
    }
}

static enum err print_items(struct printer *pr, const char *around, const uint64_t *items, size_t n, bool is_dict,
                            uint64_t *out)
{
    char *text = calloc(1, 1);
    const char open[2] = {around[0], '\0'}, close[2] = {around[1], '\0'};
    text_append(&text, open);
    for (size_t i = 0; i < n; i++) {
        text_append(&text, i == 0 ? "" : is_dict && i % 2 == 1 ? ": " : ", ");
        value_append(pr, &text, items[i]);
    }
    text_append(&text, close);
    cr_assert_lt(pr->n, TEXTS_MAX);
    pr->texts[pr->n] = text;
    *out = pickle_value(KIND_TEXT, pr->n++);
    return ERR_OK;
}

static enum err print_dict(void *arg, const uint64_t *items, size_t n, uint64_t *out, struct err_detail *err)
{
    (void)err;
    return print_items(arg, "{}", items, n, true, out);
}

static enum err print_list(void *arg, const uint64_t *items, size_t n, uint64_t *out, struct err_detail *err)
{
    (void)err;
    return print_items(arg, "[]", items, n, false, out);
}

static enum err print_tuple(void *arg, const uint64_t *items, size_t n, uint64_t *out, struct err_detail *err)
{
    (void)err;
    return print_items(arg, "()", items, n, false, out);
}

/* Reads one pickle; on ERR_OK *text is the value as text, which the caller frees. */
static enum err read_pickle(const void *bytes, size_t n, char **text, struct err_detail *err)
{
    static struct printer pr;
    struct input *in;
    uint64_t value;
    const struct pickle_handler handler = {.arg = &pr, .dict = print_dict, .list = print_list, .tuple = print_tuple};
    pr.n = 0;
    cr_assert_eq(input_open_bytes(bytes, n, &in, err), ERR_OK);
    cr_assert_eq(pickle_open(in, &handler, NULL, 0, &pr.pickle, err), ERR_OK);
    const enum err e = pickle_read(pr.pickle, &value, err);
    *text = calloc(1, 1);
    if (e == ERR_OK)
        value_append(&pr, text, value);
    while (pr.n > 0)
        free(pr.texts[--pr.n]);
    pickle_close(pr.pickle);
    input_close(in);
    return e;
}

static void expect_value(const char *bytes, size_t n, const char *expected)
{
    struct err_detail err = {.text = ""};
    char *text;
    cr_assert_eq(read_pickle(bytes, n, &text, &err), ERR_OK, "%s: %s", expected, err.text);
    cr_expect_str_eq(text, expected);
    free(text);
}

static void expect_error(const char *bytes, size_t n, enum err expected, const char *part)
{
    struct err_detail err = {.text = ""};
    char *text;
    cr_expect_eq(read_pickle(bytes, n, &text, &err), expected, "%s", part);
    cr_expect(strstr(err.text, part) != NULL, "\"%s\" lacks \"%s\"", err.text, part);
    free(text);
}

#define VALUE(bytes, expected) expect_value(bytes, sizeof(bytes) - 1, expected)
#define ERROR(bytes, e, part)  expect_error(bytes, sizeof(bytes) - 1, e, part)

Test(pickle, constants_and_integers_of_every_width)
{
    VALUE("\x80\x02N.", "None");
    VALUE("\x80\x02\x88.", "1");
    VALUE("K\xff.", "255");
    VALUE("M\xff\xff.", "65535");
    VALUE("J\xff\xff\xff\xff.", "-1");
    VALUE("\x8a\x00.", "0");
    VALUE("\x8a\x01\x80.", "-128");
    VALUE("\x8a\x06\x00\x00\x00\x00\x00\x7f.", "139637976727552");
    VALUE("\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f.", "9223372036854775807");
    VALUE("\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80.", "-9223372036854775808");
    VALUE("\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00.", "-1");            /* the 64-bit pattern of 2^64 - 1 */
    VALUE("\x8b\x02\x00\x00\x00\x34\x12.", "4660");
    VALUE("\x8a\x0a" "0123456789.", "?");
    VALUE("G\x3f\xe8\x00\x00\x00\x00\x00\x00.", "0.75");
}

Test(pickle, text_opcodes_of_protocol_0)
{
    VALUE("I42\n.", "42");
    VALUE("I-7\n.", "-7");
    VALUE("I01\n.", "1");
    VALUE("L18446744073709551615L\n.", "-1");
    VALUE("F0.5\n.", "0.5");
    VALUE("S'it\\'s \\x41'\n.", "it's A");
    VALUE("Vgr\xfc\\u00dfe\n.", "grüße");
    VALUE("(lp0\nI1\naI2\nag0\n0.", "[1, 2]");
    VALUE("(dp0\nVa\np1\nI1\nsVb\np2\n(I3\nI4\ntp3\ns.", "{a: 1, b: (3, 4)}");
    ERROR("Ifour\n.", ERR_FORMAT, "not an integer");
    ERROR("S'open\n.", ERR_FORMAT, "quotes");
}

Test(pickle, containers_grow_in_batches_and_one_by_one)
{
    VALUE("\x80\x04]\x94(K\x01K\x02" "e.", "[1, 2]");
    VALUE("\x80\x04]\x94(K\x01" "e(K\x02" "eK\x03" "a.", "[1, 2, 3]");
    VALUE("\x80\x04}\x94\x8c\x01" "aK\x01s\x8c\x01" "bK\x02s.", "{a: 1, b: 2}");
    VALUE("\x80\x02(K\x01K\x02l.", "[1, 2]");
    VALUE("\x80\x02(K\x01K\x02K\x03t.", "(1, 2, 3)");
    VALUE("\x80\x02)\x85.", "(())");
    VALUE("\x80\x02K\x01K\x02\x86.", "(1, 2)");
    VALUE("\x80\x04\x8f(K\x01\x90.", "?");
}

/* Python's pickler writes 1000 items at a time. */
Test(pickle, thousands_of_items_stay_in_order)
{
    enum { N = 2345 };
    struct blob { char *bytes; size_t n; } b = {.bytes = malloc(8 * N + 64)};
    char *expected = malloc(8 * N + 64), number[16];
    size_t k = 0;
    b.n = (size_t)sprintf(b.bytes, "\x80\x04]\x94");
    for (int i = 0; i < N; i++) {
        if (i % 1000 == 0)
            b.bytes[b.n++] = '(';
        b.bytes[b.n++] = 'M';
        b.bytes[b.n++] = (char)(i & 255);
        b.bytes[b.n++] = (char)(i >> 8);
        if (i % 1000 == 999 || i == N - 1)
            b.bytes[b.n++] = 'e';
        sprintf(number, "%s%d", i == 0 ? "[" : ", ", i);
        k += (size_t)sprintf(expected + k, "%s", number);
    }
    sprintf(expected + k, "]");
    b.bytes[b.n++] = '.';
    expect_value(b.bytes, b.n, expected);
    free(b.bytes);
    free(expected);
}

Test(pickle, shared_objects_are_the_same_value_everywhere)
{
    VALUE("\x80\x04]\x94(\x8c\x02hi\x94h\x01h\x01" "e.", "[hi, hi, hi]");
    VALUE("\x80\x04]\x94(]\x94(K\x07" "eh\x01" "e.", "[[7], [7]]");
    /* an empty list is referred to while its dictionary is still open */
    VALUE("\x80\x04}\x94(\x8c\x01" "f]\x94\x8c\x01g}\x94(\x8c\x01hh\x01uu.", "{f: [], g: {h: []}}");
    VALUE("\x80\x02]q\x00(]q\x01K\x05" "ah\x01" "e.", "[[5], [5]]");
    /* the C++ writer memoises a container once it is complete */
    VALUE("\x80\x02](](K\x01" "eq\x00h\x00" "e.", "[[1], [1]]");
    VALUE("\x80\x02]((K\x01tr\x00\x01\x00\x00j\x00\x01\x00\x00" "e.", "[(1), (1)]");
    VALUE("K\x01" "2\x86.", "(1, 1)");
    VALUE("(K\x01K\x02" "0t.", "(1)");
    VALUE("K\x05(K\x01K\x02" "1.", "5");
}

Test(pickle, an_object_that_holds_itself_is_refused)
{
    ERROR("\x80\x04]\x94(h\x00" "e.", ERR_FORMAT, "contains itself");
    ERROR("\x80\x04]\x94h\x00" "a.", ERR_FORMAT, "contains itself");
    ERROR("\x80\x04}\x94(K\x01h\x00u.", ERR_FORMAT, "contains itself");
}

struct refusal { char bytes[24]; size_t n; char name[20]; uint64_t offset; };

ParameterizedTestParameters(pickle, what_would_run_code_is_refused_by_name_and_offset)
{
#define REFUSAL(code, opcode, at) {.bytes = code, .n = sizeof(code) - 1, .name = opcode, .offset = at}
    static struct refusal all[] = {
        REFUSAL("\x80\x02" "cos\nsystem\n.", "GLOBAL", 2),
        REFUSAL("\x80\x04\x8c\x02os\x8c\x06system\x93.", "STACK_GLOBAL", 14),
        REFUSAL("N)R.", "REDUCE", 2),
        REFUSAL("N}b.", "BUILD", 2),
        REFUSAL("(ios\nsystem\n.", "INST", 1),
        REFUSAL("(No.", "OBJ", 2),
        REFUSAL("N)\x81.", "NEWOBJ", 2),
        REFUSAL("N)}\x92.", "NEWOBJ_EX", 3),
        REFUSAL("Pid\n.", "PERSID", 0),
        REFUSAL("NQ.", "BINPERSID", 1),
        REFUSAL("\x82\x01.", "EXT1", 0),
        REFUSAL("\x83\x01\x00.", "EXT2", 0),
        REFUSAL("\x84\x01\x00\x00\x00.", "EXT4", 0),
        REFUSAL("\x97.", "NEXT_BUFFER", 0),
        REFUSAL("N\x98.", "READONLY_BUFFER", 1),
    };
#undef REFUSAL
    return cr_make_param_array(struct refusal, all, sizeof all / sizeof all[0]);
}
ParameterizedTest(struct refusal *r, pickle, what_would_run_code_is_refused_by_name_and_offset)
{
    struct err_detail err = {.text = ""};
    char *text;
    cr_expect_eq(read_pickle(r->bytes, r->n, &text, &err), ERR_UNSUPPORTED, "%s", r->name);
    cr_expect_eq(err.offset, r->offset, "%s at %" PRIu64, r->name, err.offset);
    cr_expect(strstr(err.text, r->name) != NULL, "%s", err.text);
    free(text);
}

Test(pickle, what_is_no_pickle_is_refused)
{
    ERROR("", ERR_FORMAT, "ends before");
    ERROR("\x80", ERR_FORMAT, "cut off");
    ERROR("\x80\x06.", ERR_UNSUPPORTED, "protocol 6");
    ERROR("\xff.", ERR_FORMAT, "0xff");
    ERROR(".", ERR_FORMAT, "middle of an object");
    ERROR("K\x01K\x02.", ERR_FORMAT, "middle of an object");
    ERROR("(K\x01.", ERR_FORMAT, "middle of an object");
    ERROR("e.", ERR_FORMAT, "without a mark");
    ERROR("(K\x01" "e.", ERR_FORMAT, "items without a container");
    ERROR("K\x01(K\x01" "e.", ERR_FORMAT, "not a container");
    ERROR("](K\x01" "a.", ERR_FORMAT, "without a container");
    ERROR("}(K\x01u.", ERR_FORMAT, "without a value");
    ERROR("K\x01\x86.", ERR_FORMAT, "more items than the stack holds");
    ERROR("0.", ERR_FORMAT, "POP of an empty stack");
    ERROR("2.", ERR_FORMAT, "DUP of an empty stack");
    ERROR("\x94.", ERR_FORMAT, "for an empty stack");
    ERROR("h\x00.", ERR_FORMAT, "unset memo entry");
    ERROR("j\xff\xff\xff\xff.", ERR_FORMAT, "unset memo entry");
    ERROR("Nr\xff\xff\xff\xff.", ERR_FORMAT, "far beyond the number of objects");
    ERROR("X\xff\xff\xff\xff" "abc", ERR_FORMAT, "cut off");
    ERROR("\x8d\xff\xff\xff\xff\xff\xff\xff\xff" "abc", ERR_FORMAT, "cut off");
}

Test(pickle, deep_nesting_is_refused_not_followed)
{
    enum { DEPTH = 100000 };
    char *bytes = malloc(2 * DEPTH + 1);
    for (size_t i = 0; i < DEPTH; i++) {
        bytes[2 * i] = ']';
        bytes[2 * i + 1] = '(';
    }
    expect_error(bytes, 2 * DEPTH, ERR_FORMAT, "1000 deep");
    memset(bytes, ']', DEPTH);                           /* nesting takes memory, but no recursion */
    memset(bytes + DEPTH, 'a', DEPTH);
    struct err_detail err = {.text = ""};
    char *text;
    bytes[DEPTH + 1000] = '.';
    cr_expect_eq(read_pickle(bytes + DEPTH - 1001, 2002, &text, &err), ERR_OK, "%s", err.text);
    free(text);
    free(bytes);
}

/* A line longer than the window is skipped, and the next value is read right. */
Test(pickle, a_string_longer_than_the_window_is_passed_over)
{
    enum { LONG = 300000 };
    char *bytes = malloc(LONG + 64);
    size_t n = 0;
    memcpy(bytes, "\x80\x02](X", 5);
    n = 5;
    for (unsigned k = 0; k < 4; k++)
        bytes[n++] = (char)(LONG >> (8 * k) & 255);
    memset(bytes + n, 'x', LONG);
    n += LONG;
    memcpy(bytes + n, "K\x07" "e.", 4);
    expect_value(bytes, n + 4, "[?, 7]");
    memset(bytes, 'V', 1);
    memset(bytes + 1, 'x', LONG);
    memcpy(bytes + 1 + LONG, "\nK\x07\x86.", 5);
    expect_value(bytes, LONG + 6, "(?, 7)");
    free(bytes);
}

/* More memo entries than the unpacked pages hold; each object is read again at the end. */
Test(pickle, old_memo_entries_keep_their_values)
{
    enum { N = 60000 };
    char *bytes = malloc(16 * N);
    size_t n = 0;
    bytes[n++] = '(';
    for (unsigned i = 0; i < N; i++) {                   /* many distinct strings, then a few repeated */
        n += (size_t)sprintf(bytes + n, "U%c%06u", 6, i < N / 2 ? i : i % 10);
        bytes[n++] = (char)0x94;
    }
    bytes[n++] = '1';
    bytes[n++] = '(';
    const uint32_t asked[] = {0, 4095, 4096, 20000, N / 2, N - 1};
    for (size_t k = 0; k < sizeof asked / sizeof asked[0]; k++) {
        bytes[n++] = 'j';
        for (unsigned b = 0; b < 4; b++)
            bytes[n++] = (char)(asked[k] >> (8 * b) & 255);
    }
    bytes[n++] = 't';
    bytes[n++] = '.';
    expect_value(bytes, n, "(000000, 004095, 004096, 020000, 000000, 000009)");
    free(bytes);
}

Test(pickle, every_cut_of_every_protocol_is_refused)
{
    for (int protocol = 0; protocol <= 5; protocol++) {
        char path[256];
        snprintf(path, sizeof path, "%s/pickle/c-protocol%d.pickle", TEST_DATA, protocol);
        FILE *f = fopen(path, "rb");
        cr_assert_not_null(f, "%s", path);
        static char bytes[16384];
        const size_t n = fread(bytes, 1, sizeof bytes, f);
        fclose(f);
        cr_assert_gt(n, 1000);
        for (size_t cut = 0; cut < n; cut += cut < 300 ? 1 : 7) {
            struct err_detail err = {.text = ""};
            char *text;
            cr_assert_neq(read_pickle(bytes, cut, &text, &err), ERR_OK, "protocol %d cut at %zu", protocol, cut);
            cr_assert_neq(err.text[0], '\0');
            free(text);
        }
    }
}

Test(pickle, every_protocol_gives_the_same_value)
{
    char *first = NULL;
    for (int i = 0; i < 12; i++) {
        char path[256], *text;
        struct err_detail err = {.text = ""};
        static char bytes[16384];
        snprintf(path, sizeof path, "%s/pickle/%s-protocol%d.pickle", TEST_DATA, i < 6 ? "c" : "python", i % 6);
        FILE *f = fopen(path, "rb");
        cr_assert_not_null(f, "%s", path);
        const size_t n = fread(bytes, 1, sizeof bytes, f);
        fclose(f);
        cr_assert_eq(read_pickle(bytes, n, &text, &err), ERR_OK, "%s: %s", path, err.text);
        if (first == NULL)
            first = text;
        else {
            cr_expect_str_eq(text, first, "%s", path);
            free(text);
        }
    }
    free(first);
}
