! Ranks of a job share arrays of Fortran: heat in a rod, sums, locks, conditions.
program dsm_test
  use, intrinsic :: iso_c_binding
  use interweave_dsm
  implicit none
  interface
    function constants_are(errors, reductions, placements) bind(C, name="dsm_constants_are") &
      result(answer)
      import :: c_int
      integer(c_int), intent(in) :: errors(*), reductions(*), placements(*)
      integer(c_int) :: answer
    end function constants_are

    function statistics_are(before_last) bind(C, name="dsm_statistics_are") result(answer)
      import :: c_int, c_size_t
      integer(c_size_t), value :: before_last
      integer(c_int) :: answer
    end function statistics_are
  end interface
  integer, parameter :: length = 3000, steps = 20
  real(c_double), pointer :: rod(:, :), spare(:)
  integer(c_int64_t), pointer :: counts(:)
  integer(c_int32_t), pointer :: flags(:, :)
  real(c_double), allocatable :: alone(:, :)
  real(c_double) :: sums(2)
  integer(c_int64_t) :: before, numbers(1)
  type(dsm_statistics), target :: counted
  integer :: me, ranks, step, from, to, old, new, i

  if (constants_are((/ DSM_EARGUMENT, DSM_ENOTINIT, DSM_EMEMORY, DSM_EDEAD, &
                       DSM_EBUSY, DSM_ENOTHELD, DSM_EHELD, DSM_EREPLAY, DSM_EMISMATCH, &
                       DSM_EFOREIGN, DSM_EFREED, DSM_EEARLY, DSM_ELATE, DSM_EFAILED, &
                       DSM_EINHANDLER, DSM_ETIMEDOUT /), (/ DSM_SUM, DSM_MIN, DSM_MAX /), &
                    (/ DSM_FIRST_TOUCH, DSM_BLOCKS, DSM_ROUND_ROBIN, DSM_AT_RANK /)) /= 1) &
    call fail('the constants are those of dsm.h')
  call must(dsm_start())
  print '(a)', 'before the first barrier'
  me = dsm_rank()
  ranks = dsm_size()
  call dsm_array(rod, length, 2)
  call dsm_array(counts, 4)
  call dsm_array(flags, 3, 3)
  if (.not. (associated(rod) .and. associated(counts) .and. associated(flags))) &
    call fail('there is room')
  rod(1, :) = 100
  call must(dsm_home(c_loc(rod(1, 1)), int(length * 16, c_size_t), DSM_BLOCKS))
  call must(dsm_barrier(1_c_int64_t))

  from = 2 + (length - 2) * me / ranks
  to = 1 + (length - 2) * (me + 1) / ranks
  do step = 1, steps
    old = 2 - mod(step, 2)
    new = 3 - old
    do i = from, to
      rod(i, new) = 0.5d0 * (rod(i - 1, old) + rod(i + 1, old))
    end do
    call must(dsm_barrier(2_c_int64_t))
  end do
  allocate (alone(length, 2))
  alone = 0
  alone(1, :) = 100
  do step = 1, steps
    old = 2 - mod(step, 2)
    new = 3 - old
    do i = 2, length - 1
      alone(i, new) = 0.5d0 * (alone(i - 1, old) + alone(i + 1, old))
    end do
  end do
  if (maxval(abs(rod - alone)) > 0) &
    call fail('the rod is what one process computes alone')

  call must(dsm_lock(1_c_int64_t))
  counts(1) = counts(1) + 1
  flags(1, me + 1) = 1
  call must(dsm_cond_signal(1_c_int64_t))
  do while (counts(1) < ranks)
    call must(dsm_cond_wait(1_c_int64_t, 1_c_int64_t))
  end do
  call must(dsm_cond_broadcast(1_c_int64_t))
  call must(dsm_unlock(1_c_int64_t))
  if (sum(flags) /= ranks) call fail('all ranks have set their flags')

  sums = (/ 1.5d0, real(me, c_double) /)
  call must(dsm_reduce(DSM_SUM, sums))
  if (abs(sums(1) - 1.5d0 * ranks) > 0) call fail('the sum is right')
  numbers = me
  call must(dsm_reduce(DSM_MAX, numbers))
  if (numbers(1) /= ranks - 1) call fail('the maximum is right')
  call must(dsm_fetch_add(9_c_int64_t, 1_c_int64_t, before))
  if (before >= ranks) call fail('the counter counts')
  if (dsm_unlock(77_c_int64_t) /= DSM_ENOTHELD) call fail('a wrong call is told')
  if (index(dsm_strerror(DSM_ENOTHELD), 'lock') == 0) call fail('the error has words')
  call dsm_array(spare, 100)
  spare = me
  call dsm_free(spare)
  if (associated(spare)) call fail('a freed array is null')
  if (statistics_are(address_of(c_loc(counted%locks_known)) - address_of(c_loc(counted))) /= 1) &
    call fail('the statistics are those of dsm.h')
  call must(dsm_stats(counted, 0))
  if (counted%barriers /= 1 + steps) call fail('the barriers are counted')
  if (counted%locks_known < 1) call fail('a lock is remembered')
  call must(dsm_barrier(3_c_int64_t))
  if (me == 0) print '(a)', 'right'
  call must(dsm_finish())

contains

  function address_of(place) result(address)
    type(c_ptr), intent(in) :: place
    integer(c_size_t) :: address

    address = transfer(place, address)
  end function address_of

  subroutine must(answer)
    integer(c_int), intent(in) :: answer

    if (answer < 0) call fail(dsm_strerror(answer))
  end subroutine must

  subroutine fail(text)
    character(len=*), intent(in) :: text

    print '(2a)', 'not so: ', text
    stop 1
  end subroutine fail
end program dsm_test
