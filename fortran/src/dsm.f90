! Module `interweave_dsm`: page-based shared memory (dsm.h) for Fortran programs. dsm.h says what
! each call costs, and docs/dsm.md how the calls belong together. Functions return 0, or one of
! DSM_E... Numbers of locks and the like are of kind c_int64_t.
!
!   use interweave_dsm
!   real(c_double), pointer :: a(:, :)
!   call dsm_array(a, 1000, 1000)         ! shared, zeroes; null: see dsm_errno()
!   if (dsm_barrier(1_c_int64_t) /= 0) stop 1
!
! Text that a program prints between dsm_start and its first barrier appears once, rank 0's.
! Fortran 2003.
module interweave_dsm
  use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_double, c_f_pointer, c_int, &
    c_int32_t, c_int64_t, c_loc, c_null_ptr, c_ptr, c_size_t
  use, intrinsic :: iso_fortran_env, only: output_unit
  implicit none
  private
  public :: dsm_start, dsm_finish, dsm_rank, dsm_size, dsm_array, dsm_free, dsm_lock, &
    dsm_try_lock, dsm_unlock, dsm_barrier, dsm_cond_wait, dsm_cond_signal, dsm_cond_broadcast, &
    dsm_sem_wait, dsm_sem_post, dsm_fetch_add, dsm_reduce, dsm_home, dsm_dead_rank, dsm_errno, &
    dsm_strerror, dsm_stats, dsm_statistics

  ! As in dsm.h; fortran/tests/dsm_constants.c compares.
  integer(c_int), parameter, public :: DSM_EARGUMENT = -1, DSM_ENOTINIT = -2, DSM_EMEMORY = -3, &
    DSM_EDEAD = -4, DSM_EBUSY = -5, DSM_ENOTHELD = -6, DSM_EHELD = -7, &
    DSM_EREPLAY = -8, DSM_EMISMATCH = -9, DSM_EFOREIGN = -10, DSM_EFREED = -11, &
    DSM_EEARLY = -12, DSM_ELATE = -13, DSM_EFAILED = -14, DSM_EINHANDLER = -15, &
    DSM_ETIMEDOUT = -16
  integer(c_int), parameter, public :: DSM_SUM = 0, DSM_MIN = 1, DSM_MAX = 2
  integer(c_int), parameter, public :: DSM_FIRST_TOUCH = 0, DSM_BLOCKS = 1, DSM_ROUND_ROBIN = 2, &
    DSM_AT_RANK = 3
  integer(c_int), parameter :: type_int64 = 0, type_double = 1

  ! As in dsm.h, which says what each number means.
  type, bind(C) :: dsm_statistics
    integer(c_int64_t) :: faults, page_waits, direct_pages, twins, intervals, diffs, diff_bytes, &
      diff_messages, diff_stalls, locks, lock_waits, lock_wait_ns, barriers, barrier_wait_ns, &
      messages, message_bytes, diff_memory, diff_memory_most, twin_memory, pages_ahead, &
      copy_memory, copy_memory_most, copies_evicted, copies_freed, diff_pulls, writer_reads, &
      kept_memory, kept_memory_most, locks_known
  end type dsm_statistics

  logical, save :: has_passed_barrier = .false.

  abstract interface
    function of_nothing() bind(C) result(answer)
      import :: c_int
      integer(c_int) :: answer
    end function of_nothing

    function of_number(number) bind(C) result(answer)
      import :: c_int, c_int64_t
      integer(c_int64_t), value :: number
      integer(c_int) :: answer
    end function of_number

    function of_two_numbers(number, other) bind(C) result(answer)
      import :: c_int, c_int64_t
      integer(c_int64_t), value :: number
      integer(c_int64_t), value :: other
      integer(c_int) :: answer
    end function of_two_numbers
  end interface

  procedure(of_nothing), bind(C, name="dsm_finish") :: dsm_finish
  procedure(of_nothing), bind(C, name="dsm_rank") :: dsm_rank
  procedure(of_nothing), bind(C, name="dsm_size") :: dsm_size
  procedure(of_nothing), bind(C, name="dsm_dead_rank") :: dsm_dead_rank
  procedure(of_nothing), bind(C, name="dsm_errno") :: dsm_errno
  procedure(of_number), bind(C, name="dsm_lock") :: dsm_lock
  procedure(of_number), bind(C, name="dsm_try_lock") :: dsm_try_lock
  procedure(of_number), bind(C, name="dsm_unlock") :: dsm_unlock
  procedure(of_number), bind(C, name="dsm_barrier") :: c_barrier
  procedure(of_number), bind(C, name="dsm_cond_signal") :: dsm_cond_signal
  procedure(of_number), bind(C, name="dsm_cond_broadcast") :: dsm_cond_broadcast
  procedure(of_number), bind(C, name="dsm_sem_wait") :: dsm_sem_wait
  procedure(of_number), bind(C, name="dsm_sem_post") :: dsm_sem_post
  procedure(of_two_numbers), bind(C, name="dsm_cond_wait") :: dsm_cond_wait

  interface
    function c_init(options) bind(C, name="dsm_init") result(answer)
      import :: c_int, c_ptr
      type(c_ptr), value :: options
      integer(c_int) :: answer
    end function c_init

    function c_malloc(bytes) bind(C, name="dsm_malloc") result(block)
      import :: c_ptr, c_size_t
      integer(c_size_t), value :: bytes
      type(c_ptr) :: block
    end function c_malloc

    subroutine c_free(block) bind(C, name="dsm_free")
      import :: c_ptr
      type(c_ptr), value :: block
    end subroutine c_free

    function dsm_fetch_add(counter, add, before) bind(C) result(answer)
      import :: c_int, c_int64_t
      integer(c_int64_t), value :: counter
      integer(c_int64_t), value :: add
      integer(c_int64_t), intent(out) :: before
      integer(c_int) :: answer
    end function dsm_fetch_add

    function c_stats(statistics, size, reset) bind(C, name="dsm_stats_sized") result(answer)
      import :: c_int, c_size_t, dsm_statistics
      type(dsm_statistics), intent(out) :: statistics
      integer(c_size_t), value :: size
      integer(c_int), value :: reset
      integer(c_int) :: answer
    end function c_stats

    function c_reduce(reduction, type, values, results, count) bind(C, name="dsm_reduce") &
      result(answer)
      import :: c_int, c_ptr, c_size_t
      integer(c_int), value :: reduction
      integer(c_int), value :: type
      type(c_ptr), value :: values
      type(c_ptr), value :: results
      integer(c_size_t), value :: count
      integer(c_int) :: answer
    end function c_reduce

    function c_home(address, bytes, placement, rank) bind(C, name="dsm_home") result(answer)
      import :: c_int, c_ptr, c_size_t
      type(c_ptr), value :: address
      integer(c_size_t), value :: bytes
      integer(c_int), value :: placement
      integer(c_int), value :: rank
      integer(c_int) :: answer
    end function c_home

    function c_strerror(error) bind(C, name="dsm_strerror") result(text)
      import :: c_int, c_ptr
      integer(c_int), value :: error
      type(c_ptr) :: text
    end function c_strerror
  end interface

  ! call dsm_array(a, extents...): `a` points to shared memory, until dsm_free(a).
  interface dsm_array
    module procedure real64_1, real64_2, real64_3, int32_1, int32_2, int64_1, int64_2
  end interface dsm_array

  interface dsm_free
    module procedure free_real64_1, free_real64_2, free_real64_3, free_int32_1, free_int32_2, &
      free_int64_1, free_int64_2
  end interface dsm_free

  ! error = dsm_reduce(DSM_SUM, values): the values of all ranks, combined in place.
  interface dsm_reduce
    module procedure reduce_real64, reduce_int64
  end interface dsm_reduce

contains

  ! dsm_init with the options of the environment.
  function dsm_start() result(answer)
    integer(c_int) :: answer

    answer = c_init(c_null_ptr)
  end function dsm_start

  function dsm_barrier(number) result(answer)
    integer(c_int64_t), intent(in) :: number
    integer(c_int) :: answer

    if (.not. has_passed_barrier) flush (output_unit)
    answer = c_barrier(number)
    has_passed_barrier = has_passed_barrier .or. answer == 0
  end function dsm_barrier

  ! The homes of the pages of a block, which begins at c_loc of its first element.
  function dsm_home(first, bytes, placement, rank) result(answer)
    type(c_ptr), intent(in) :: first
    integer(c_size_t), intent(in) :: bytes
    integer(c_int), intent(in) :: placement
    integer(c_int), intent(in), optional :: rank
    integer(c_int) :: answer
    integer(c_int) :: home

    home = 0
    if (present(rank)) home = rank
    answer = c_home(first, bytes, placement, home)
  end function dsm_home

  ! reset not 0: the counts start at 0 again.
  function dsm_stats(statistics, reset) result(answer)
    type(dsm_statistics), intent(out) :: statistics
    integer(c_int), intent(in) :: reset
    integer(c_int) :: answer
    character(kind=c_char) :: bytes(1)

    answer = c_stats(statistics, size(transfer(statistics, bytes), kind=c_size_t), reset)
  end function dsm_stats

  function dsm_strerror(error) result(text)
    integer(c_int), intent(in) :: error
    character(len=:), allocatable :: text
    integer, parameter :: longest = 1024
    character(kind=c_char), pointer :: letters(:)
    integer :: i

    call c_f_pointer(c_strerror(error), letters, (/ longest /))
    text = ''
    do i = 1, longest
      if (letters(i) == char(0)) exit
      text = text // letters(i)
    end do
  end function dsm_strerror

  function block_of(count, element_bytes) result(block)
    integer(c_int64_t), intent(in) :: count
    integer, intent(in) :: element_bytes
    type(c_ptr) :: block

    block = c_malloc(int(count * element_bytes, c_size_t))
  end function block_of

  subroutine real64_1(array, extent)
    real(c_double), pointer, intent(out) :: array(:)
    integer, intent(in) :: extent
    type(c_ptr) :: block

    nullify (array)
    block = block_of(int(extent, c_int64_t), 8)
    if (c_associated(block)) call c_f_pointer(block, array, (/ extent /))
  end subroutine real64_1

  subroutine real64_2(array, first, second)
    real(c_double), pointer, intent(out) :: array(:, :)
    integer, intent(in) :: first, second
    type(c_ptr) :: block

    nullify (array)
    block = block_of(int(first, c_int64_t) * second, 8)
    if (c_associated(block)) call c_f_pointer(block, array, (/ first, second /))
  end subroutine real64_2

  subroutine real64_3(array, first, second, third)
    real(c_double), pointer, intent(out) :: array(:, :, :)
    integer, intent(in) :: first, second, third
    type(c_ptr) :: block

    nullify (array)
    block = block_of(int(first, c_int64_t) * second * third, 8)
    if (c_associated(block)) call c_f_pointer(block, array, (/ first, second, third /))
  end subroutine real64_3

  subroutine int32_1(array, extent)
    integer(c_int32_t), pointer, intent(out) :: array(:)
    integer, intent(in) :: extent
    type(c_ptr) :: block

    nullify (array)
    block = block_of(int(extent, c_int64_t), 4)
    if (c_associated(block)) call c_f_pointer(block, array, (/ extent /))
  end subroutine int32_1

  subroutine int32_2(array, first, second)
    integer(c_int32_t), pointer, intent(out) :: array(:, :)
    integer, intent(in) :: first, second
    type(c_ptr) :: block

    nullify (array)
    block = block_of(int(first, c_int64_t) * second, 4)
    if (c_associated(block)) call c_f_pointer(block, array, (/ first, second /))
  end subroutine int32_2

  subroutine int64_1(array, extent)
    integer(c_int64_t), pointer, intent(out) :: array(:)
    integer, intent(in) :: extent
    type(c_ptr) :: block

    nullify (array)
    block = block_of(int(extent, c_int64_t), 8)
    if (c_associated(block)) call c_f_pointer(block, array, (/ extent /))
  end subroutine int64_1

  subroutine int64_2(array, first, second)
    integer(c_int64_t), pointer, intent(out) :: array(:, :)
    integer, intent(in) :: first, second
    type(c_ptr) :: block

    nullify (array)
    block = block_of(int(first, c_int64_t) * second, 8)
    if (c_associated(block)) call c_f_pointer(block, array, (/ first, second /))
  end subroutine int64_2

  subroutine free_real64_1(array)
    real(c_double), pointer, intent(inout) :: array(:)

    if (associated(array)) call c_free(c_loc(array(1)))
    nullify (array)
  end subroutine free_real64_1

  subroutine free_real64_2(array)
    real(c_double), pointer, intent(inout) :: array(:, :)

    if (associated(array)) call c_free(c_loc(array(1, 1)))
    nullify (array)
  end subroutine free_real64_2

  subroutine free_real64_3(array)
    real(c_double), pointer, intent(inout) :: array(:, :, :)

    if (associated(array)) call c_free(c_loc(array(1, 1, 1)))
    nullify (array)
  end subroutine free_real64_3

  subroutine free_int32_1(array)
    integer(c_int32_t), pointer, intent(inout) :: array(:)

    if (associated(array)) call c_free(c_loc(array(1)))
    nullify (array)
  end subroutine free_int32_1

  subroutine free_int32_2(array)
    integer(c_int32_t), pointer, intent(inout) :: array(:, :)

    if (associated(array)) call c_free(c_loc(array(1, 1)))
    nullify (array)
  end subroutine free_int32_2

  subroutine free_int64_1(array)
    integer(c_int64_t), pointer, intent(inout) :: array(:)

    if (associated(array)) call c_free(c_loc(array(1)))
    nullify (array)
  end subroutine free_int64_1

  subroutine free_int64_2(array)
    integer(c_int64_t), pointer, intent(inout) :: array(:, :)

    if (associated(array)) call c_free(c_loc(array(1, 1)))
    nullify (array)
  end subroutine free_int64_2

  function reduce_real64(reduction, values) result(answer)
    integer(c_int), intent(in) :: reduction
    real(c_double), intent(inout), target :: values(:)
    integer(c_int) :: answer
    real(c_double), allocatable, target :: whole(:)
    integer :: status

    allocate (whole(size(values)), stat=status)
    answer = DSM_EMEMORY
    if (status /= 0) return
    whole(:) = values
    answer = c_reduce(reduction, type_double, c_loc(whole), c_loc(whole), &
                      int(size(values), c_size_t))
    if (answer == 0) values = whole
  end function reduce_real64

  function reduce_int64(reduction, values) result(answer)
    integer(c_int), intent(in) :: reduction
    integer(c_int64_t), intent(inout), target :: values(:)
    integer(c_int) :: answer
    integer(c_int64_t), allocatable, target :: whole(:)
    integer :: status

    allocate (whole(size(values)), stat=status)
    answer = DSM_EMEMORY
    if (status /= 0) return
    whole(:) = values
    answer = c_reduce(reduction, type_int64, c_loc(whole), c_loc(whole), &
                      int(size(values), c_size_t))
    if (answer == 0) values = whole
  end function reduce_int64
end module interweave_dsm
