/*
 * Figure 1 of the InterWeave paper (Tang et al., "Efficient distributed shared state for
 * heterogeneous machine architectures", ICDCS 2003) as printed; only the host has got a name. Like
 * the figure it checks no errors: main.c looks at everything before and after.
 */
#include "figure_1.h"

/* clang-format off */
node_t *head;      IW_handle_t h;
void list_init(void) {
    h = IW_open_segment("127.0.0.1:7747/list");
    head = IW_mip_to_ptr("127.0.0.1:7747/list#head");
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
