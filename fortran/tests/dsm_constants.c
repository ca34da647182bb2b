/* The constants of module interweave_dsm are those of dsm.h, and so are the statistics: the program
 * gives its own. */
#include <interweave/dsm.h>
#include <stddef.h>

int dsm_constants_are(const int* errors, const int* reductions, const int* placements);
int dsm_constants_are(const int* errors, const int* reductions, const int* placements) {
  const int wanted_errors[] = {DSM_EARGUMENT, DSM_ENOTINIT, DSM_EMEMORY,    DSM_EDEAD,
                               DSM_EBUSY,     DSM_ENOTHELD, DSM_EHELD,      DSM_EREPLAY,
                               DSM_EMISMATCH, DSM_EFOREIGN, DSM_EFREED,     DSM_EEARLY,
                               DSM_ELATE,     DSM_EFAILED,  DSM_EINHANDLER, DSM_ETIMEDOUT};
  const int wanted_reductions[] = {DSM_SUM, DSM_MIN, DSM_MAX};
  const int wanted_placements[] = {DSM_FIRST_TOUCH, DSM_BLOCKS, DSM_ROUND_ROBIN, DSM_RANK};
  for (int i = 0; i < 16; i++) {
    if (errors[i] != wanted_errors[i]) return 0;
  }
  for (int i = 0; i < 3; i++) {
    if (reductions[i] != wanted_reductions[i]) return 0;
  }
  for (int i = 0; i < 4; i++) {
    if (placements[i] != wanted_placements[i]) return 0;
  }
  return 1;
}

/* How many bytes of a dsm_statistics lie before its last member. */
int dsm_statistics_are(size_t before_last);
int dsm_statistics_are(size_t before_last) {
  return before_last == offsetof(dsm_statistics, locks_known) &&
         sizeof(dsm_statistics) == before_last + sizeof(uint64_t);
}
