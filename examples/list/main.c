/*
 * list: the paper's shared list on the command line. Any number of processes, on any machines, may
 * insert, search and show at the same time; the list lives as long as its segment.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "figure_1.h"

static const char kDefaultUrl[] = "127.0.0.1:7747/list";

static const char kHelp[] =
    "Usage: list [--url URL] COMMAND\n"
    "A list of numbers that several processes share (segment 127.0.0.1:7747/list).\n"
    "\n"
    "  insert KEY...   puts the keys in front, one by one\n"
    "  search KEY      says whether the key is there, and where (exit status 1 if not)\n"
    "  show            prints all keys, the newest first\n"
    "\n"
    "Examples:\n"
    "  list insert 3 1 4\n"
    "  list search 4\n"
    "  list --url host:7747/numbers show\n";

static int fail(const char* what) {
  fprintf(stderr, "list: %s: %s\n", what, IW_strerror());
  return 2;
}

static int parse_key(const char* text, int* key) {
  char* end;
  errno = 0;
  const long value = strtol(text, &end, 10);
  if (end == text || *end != '\0' || errno != 0 || value < INT_MIN || value > INT_MAX) {
    fprintf(stderr, "list: '%s' is not a whole number of 32 bits; try --help\n", text);
    return 0;
  }
  *key = (int)value;
  return 1;
}

/* The MIP of the list's header node; the caller frees it. */
static char* head_mip(const char* url) {
  const size_t size = strlen(url) + sizeof "#head";
  char* mip = malloc(size);
  if (mip != NULL) snprintf(mip, size, "%s#head", url);
  return mip;
}

/* Whoever comes first makes the header node. The writer lock decides who that is. */
static int make_head_if_missing(IW_handle_t segment, const char* mip) {
  if (IW_wl_acquire(segment) != 0) return 0;
  node_t* found = IW_mip_to_ptr(mip);
  if (found != NULL) return IW_wl_abort(segment) == 0; /* nothing was changed */
  found = IW_malloc_named(segment, IW_node_t, "head");
  if (found == NULL) {
    IW_wl_abort(segment);
    return 0;
  }
  found->key = 0;
  found->next = NULL;
  return IW_wl_release(segment) == 0;
}

/* Like list_init, for any URL. */
static void list_init_at(const char* url, const char* mip) {
  h = IW_open_segment(url);
  head = IW_mip_to_ptr(mip);
}

static int open_list(const char* url) {
  char* mip = head_mip(url);
  if (mip == NULL) return 0;
  IW_handle_t segment = IW_open_segment(url);
  int opened = segment != NULL && make_head_if_missing(segment, mip);
  if (opened) {
    if (strcmp(url, kDefaultUrl) == 0) {
      list_init();
    } else {
      list_init_at(url, mip);
    }
    opened = h != NULL && head != NULL;
  }
  free(mip);
  return opened;
}

static int insert(int count, char** texts) {
  for (int i = 0; i < count; ++i) {
    int key;
    if (!parse_key(texts[i], &key)) return 2;
    list_insert(key);
    if (list_search(key) == NULL) return fail("the key was not inserted");
  }
  return 0;
}

static int search(const char* text) {
  int key;
  if (!parse_key(text, &key)) return 2;
  const node_t* found = list_search(key);
  if (found == NULL) {
    printf("%d is not in the list\n", key);
    return 1;
  }
  IW_mip_t mip = IW_ptr_to_mip(found);
  printf("%d is at %s\n", key, mip != NULL ? mip : "?");
  IW_mip_free(mip);
  return 0;
}

static int show(void) {
  if (IW_rl_acquire(h) != 0) return fail("no reader lock");
  for (const node_t* p = head->next; p != NULL; p = p->next) printf("%d\n", p->key);
  return IW_rl_release(h) == 0 ? 0 : fail("the reader lock was not released");
}

static int usage(void) {
  fputs("list: a command is missing or has the wrong number of keys; try --help\n", stderr);
  return 2;
}

int main(int argc, char** argv) {
  const char* url = kDefaultUrl;
  int at = 1;
  if (at < argc && strcmp(argv[at], "--help") == 0) {
    fputs(kHelp, stdout);
    return 0;
  }
  if (at + 1 < argc && strcmp(argv[at], "--url") == 0) {
    url = argv[at + 1];
    at += 2;
  }
  const char* command = at < argc ? argv[at] : "";
  const int keys = argc - at - 1;
  const int is_insert = strcmp(command, "insert") == 0 && keys >= 1;
  const int is_search = strcmp(command, "search") == 0 && keys == 1;
  const int is_show = strcmp(command, "show") == 0 && keys == 0;
  if (!is_insert && !is_search && !is_show) return usage();
  if (!open_list(url)) return fail(url);
  if (is_insert) return insert(keys, argv + at + 1);
  return is_search ? search(argv[at + 1]) : show();
}
