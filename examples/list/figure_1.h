/* What Figure 1 defines, for the program around it. */
#ifndef LIST_FIGURE_1_H
#define LIST_FIGURE_1_H

#include <interweave.h>

#include "list.h"

extern node_t* head; /* an unused header node; the first real item is in head->next */
extern IW_handle_t h;

void list_init(void);
node_t* list_search(int key);
void list_insert(int key);

#endif
