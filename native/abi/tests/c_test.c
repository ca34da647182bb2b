/*
 * The C interface from plain C99, with the paper's Figure 1 as it is printed (ICDCS 2003): a list
 * that processes share. With a URL alone it makes the list and inserts; with a URL and `search` it
 * looks, as another process. Exit status 0: all is as it should be.
 */
#include <interweave.h>
#include <stdio.h>
#include <string.h>

typedef struct node_t node_t;
struct node_t {
  int key;
  node_t* next;
};

/* What `struct node_t { int key; node_t *next; };` is compiled to. */
extern const IW_type_def IW_def_node_t;
static const IW_type_def pointer_to_node = IW_POINTER_DEF("", &IW_def_node_t);
IW_ALIGN_PROBE(node_t, node_t);
static const IW_field_def fields_of_node[] = {
    {"key", &IW_def_int, offsetof(node_t, key)},
    {"next", &pointer_to_node, offsetof(node_t, next)},
};
const IW_type_def IW_def_node_t =
    IW_RECORD_DEF("node_t", sizeof(node_t), IW_ALIGN_OF(node_t), fields_of_node, 2);
const IW_type_t IW_node_t = &IW_def_node_t;

static char url[256];
static char mip_of_head[300];

/* clang-format off */
node_t *head;      IW_handle_t h;
void list_init(void) {
    h = IW_open_segment(url);
    head = IW_mip_to_ptr(mip_of_head);
}

node_t *list_search(int key) {
    IW_rl_acquire(h);    // read lock
    for (node_t *p=head->next; p; p=p->next)
        if (p->key==key) {
            IW_rl_release(h);    // read unlock
            return p;
        }
    IW_rl_release(h);    // read unlock
    return NULL;
}

void list_insert(int key) {
    node_t *p;
    IW_wl_acquire(h);    // write lock
    p = (node_t*)IW_malloc(h, IW_node_t);
    p->key = key;
    p->next = head->next;
    head->next = p;
    IW_wl_release(h);    // write unlock
}
/* clang-format on */

static int failed(const char* what) {
  printf("%s: %s\n", what, IW_strerror());
  return 1;
}

static int make_head(void) {
  IW_handle_t segment = IW_open_segment(url);
  if (segment == NULL) return failed("open");
  if (IW_wl_acquire(segment) != 0) return failed("writer lock");
  if (IW_malloc_named(segment, IW_node_t, "head") == NULL) return failed("malloc");
  if (IW_wl_release(segment) != 0) return failed("release");
  return IW_close_segment(segment) == 0 ? 0 : failed("close");
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  snprintf(url, sizeof url, "%s", argv[1]);
  snprintf(mip_of_head, sizeof mip_of_head, "%s#head", url);
  if (IW_register_types(&IW_node_t, 1) != 0) return failed("register");
  const int searches = argc > 2 && strcmp(argv[2], "search") == 0;
  if (!searches && make_head() != 0) return 1;
  list_init();
  if (h == NULL || head == NULL) return failed("list_init");
  if (!searches) {
    for (int key = 1; key <= 5; ++key) list_insert(key);
  }
  for (int key = 1; key <= 5; ++key) {
    const node_t* found = list_search(key);
    if (found == NULL || found->key != key) return failed("a key is missing");
  }
  if (list_search(6) != NULL) return failed("a key is too many");
  puts("ok");
  return 0;
}
