! Every call of module `interweave` against a real server: fortran_calls ADDRESS
module callbacks
  use, intrinsic :: iso_c_binding, only: c_f_pointer, c_int, c_int64_t, c_ptr
  use interweave, only: IW_copy_state
  implicit none

contains

  ! A model of the user's own: says yes, and counts how often it was asked.
  function always_recent(copy, asked) bind(C) result(recent)
    type(IW_copy_state), intent(in) :: copy
    type(c_ptr), value :: asked
    integer(c_int) :: recent
    integer(c_int), pointer :: count

    call c_f_pointer(asked, count)
    count = count + 1
    recent = merge(1_c_int, 0_c_int, copy%size_bytes > 0)
  end function always_recent

  ! Notes the version of which it was told.
  subroutine note_version(h, version, told) bind(C)
    type(c_ptr), value :: h
    integer(c_int64_t), value :: version
    type(c_ptr), value :: told
    integer(c_int64_t), pointer :: noted(:)

    call c_f_pointer(told, noted, (/ 2 /))
    noted(1) = version
    noted(2) = transfer(h, 0_c_int64_t)
  end subroutine note_version

end module callbacks

program calls
  use, intrinsic :: iso_c_binding
  use callbacks
  use checks, only: argument, check
  use exchange
  use interweave
  implicit none
  character(len=200) :: address
  type(IW_handle_t) :: segment

  address = argument(1)
  segment = IW_open_segment_with(trim(address) // '/calls', flags=IW_CREATE, durability=IW_MEMORY, &
    timeout=20d0, token='', quota_bytes=1000000_c_int64_t, ca='', cert='', key='')
  call check(IW_is_open(segment), 'open')
  call credentials_reach_the_library()
  call blocks_are_allocated_named_iterated_and_freed()
  call arrays_are_pointers_of_every_rank()
  call arrays_lie_in_their_blocks()
  call long_counts_are_counted()
  call pointers_have_mips()
  call an_abort_undoes()
  call coherence_is_chosen()
  call changes_are_told()
  call statistics_are_kept()
  call errors_say_why()
  call check(IW_close_segment(segment) == IW_OK, 'close')

contains

  ! [CRED-1]: each one differs from that of the open segment's connection.
  subroutine credentials_reach_the_library()
    character(len=*), parameter :: name = '/nowhere.pem'
    type(IW_handle_t) :: none

    none = IW_open_segment_with(trim(address) // '/other', token=name)
    call check(refused(none, 'option token'), 'token')
    none = IW_open_segment_with(trim(address) // '/other', ca=name)
    call check(refused(none, 'option ca'), 'ca')
    none = IW_open_segment_with(trim(address) // '/other', cert=name)
    call check(refused(none, 'option cert'), 'cert')
    none = IW_open_segment_with(trim(address) // '/other', key=name)
    call check(refused(none, 'option key'), 'key')
  end subroutine credentials_reach_the_library

  function refused(h, word)
    type(IW_handle_t), intent(in) :: h
    character(len=*), intent(in) :: word
    logical :: refused
    integer(c_int) :: code

    code = IW_errno()
    refused = index(IW_strerror(), word) > 0
    refused = refused .and. code == IW_EBAD_ARGUMENT .and. .not. IW_is_open(h)
  end function refused

  subroutine blocks_are_allocated_named_iterated_and_freed()
    type(c_ptr) :: one, two, three
    type(IW_block_t) :: told

    call check(IW_version(segment) == 0, 'an empty segment has version 0')
    call check(IW_wl_acquire(segment) == IW_OK, 'writer lock')
    one = IW_malloc(segment, IW_int)
    two = IW_find_or_malloc(segment, IW_item, 'two')
    call check(c_associated(IW_find(segment, 'two'), two), 'find')
    call check(c_associated(IW_find_or_malloc_array(segment, IW_item, 1, 'two'), two), 'found')
    call check(.not. c_associated(IW_find_or_malloc_array(segment, IW_item, 2, 'two')), 'count')
    call check(IW_errno() == IW_ETYPE_CONFLICT, 'another number of values')
    three = IW_malloc_array(segment, IW_double, 24, name='three')
    call check(c_associated(IW_malloc_array(segment, IW_hyper, 24)), 'an array without a name')
    call check(IW_wl_release(segment) == IW_OK, 'release')
    call check(IW_version(segment) == 1, 'one version')
    call check(IW_wl_acquire_for(segment, 5d0) == IW_OK, 'writer lock with a deadline')
    call check(c_associated(IW_next_block(segment), one), 'the first block')
    call check(c_associated(IW_next_block(segment, one), two), 'the second block')
    call check(c_associated(IW_next_block(segment, two), three), 'the third block')
    call check(IW_describe_block(segment, three, told) == IW_OK, 'describe')
    call check(IW_text(told%name) == 'three' .and. told%count == 24, 'name and count')
    call check(c_associated(told%type, IW_double) .and. told%serial == 3, 'type and serial')
    call check(IW_free(segment, one) == IW_OK, 'free')
    call check(c_associated(IW_next_block(segment), two), 'the first block is gone')
    call check(IW_wl_release(segment) == IW_OK, 'release')
  end subroutine blocks_are_allocated_named_iterated_and_freed

  subroutine arrays_are_pointers_of_every_rank()
    real(c_double), pointer :: row(:), plane(:, :), cube(:, :, :)
    real(c_float), pointer :: row32(:), plane32(:, :), cube32(:, :, :)
    integer(c_int), pointer :: numbers(:), table(:, :), box(:, :, :)
    integer(c_int64_t), pointer :: wide(:), wide_table(:, :), wide_box(:, :, :)
    type(c_ptr) :: block

    call check(IW_wl_acquire(segment) == IW_OK, 'writer lock')
    block = IW_mip_to_ptr(trim(address) // '/calls#three')
    call IW_array(block, row, (/ 24 /))
    call IW_array(block, plane, (/ 4, 6 /))
    call IW_array(block, cube, (/ 4, 3, 2 /))
    cube(2, 3, 2) = 1.5d0
    call check(maxval(plane) > 1.4 .and. all(maxloc(plane) == (/ 2, 6 /)), 'two dimensions')
    call check(maxloc(row, dim=1) == 22, 'the first index runs fastest')
    block = IW_malloc_array(segment, IW_float, 6)
    call IW_array(block, row32, (/ 6 /))
    call IW_array(block, plane32, (/ 2, 3 /))
    call IW_array(block, cube32, (/ 1, 2, 3 /))
    row32(6) = 2
    call check(plane32(2, 3) > 1 .and. cube32(1, 2, 3) > 1, 'short reals')
    block = IW_malloc_array(segment, IW_int, 6)
    call IW_array(block, numbers, (/ 6 /))
    call IW_array(block, table, (/ 2, 3 /))
    call IW_array(block, box, (/ 1, 2, 3 /))
    numbers(6) = 2
    call check(table(2, 3) == 2 .and. box(1, 2, 3) == 2, 'integers')
    block = IW_malloc_array(segment, IW_hyper, 6)
    call IW_array(block, wide, (/ 6 /))
    call IW_array(block, wide_table, (/ 2, 3 /))
    call IW_array(block, wide_box, (/ 1, 2, 3 /))
    wide(6) = 2
    call check(wide_table(2, 3) == 2 .and. wide_box(1, 2, 3) == 2, 'long integers')
    call IW_array(c_null_ptr, row, (/ 24 /))
    call check(.not. associated(row), 'a null block is a null pointer')
    call check(IW_wl_release(segment) == IW_OK, 'release')
  end subroutine arrays_are_pointers_of_every_rank

  subroutine arrays_lie_in_their_blocks()
    real(c_double), pointer :: row(:), plane(:, :), cube(:, :, :)
    integer(c_int), pointer :: numbers(:)
    integer(c_int64_t), parameter :: many = 2_c_int64_t**40
    integer, parameter :: fifth = 5
    real(c_double), target :: own(24)
    type(c_ptr) :: block

    call check(IW_rl_acquire(segment) == IW_OK, 'reader lock')
    block = IW_mip_to_ptr(trim(address) // '/calls#three')
    call IW_array(block, plane, (/ 4, 7 /))
    call check(.not. associated(plane), 'more than the block has')
    call check(IW_errno() == IW_EBAD_ARGUMENT, 'its error')
    call check(index(IW_strerror(), '4 x 7') > 0, 'the text names the shape')
    call IW_array(block, cube, (/ 4, -3, -2 /))
    call check(.not. associated(cube), 'extents below zero')
    call IW_array(block, cube, (/ many, many, many /))
    call check(.not. associated(cube), 'more than can be counted')
    call IW_array(block, plane, (/ 4_c_int64_t, 6_c_int64_t /))
    call check(associated(plane) .and. size(plane) == 24, 'long extents')
    call IW_array(c_loc(plane(fifth - 4, 2)), row, (/ 20 /))
    call check(associated(row), 'the rest of a block')
    call IW_array(c_loc(plane(fifth - 4, 2)), row, (/ 21 /))
    call check(.not. associated(row), 'more than the rest')
    call IW_array(block, numbers, (/ 48 /))
    call check(associated(numbers), 'as many bytes')
    call IW_array(block, numbers, (/ 49 /))
    call check(.not. associated(numbers), 'one more')
    call IW_array(block, row, (/ 0 /))
    call check(associated(row) .and. size(row) == 0, 'nothing')
    call IW_array(c_loc(own(1)), row, (/ 24 /))
    call check(.not. associated(row), 'in no block')
    call check(IW_errno() == IW_EBAD_POINTER, 'its error')
    call check(IW_rl_release(segment) == IW_OK, 'release')
  end subroutine arrays_lie_in_their_blocks

  ! Beyond 2**31 a count is not wrapped: such a block is refused for the segment's
  ! quota, not made small.
  subroutine long_counts_are_counted()
    integer(c_int64_t), parameter :: too_many = 2_c_int64_t**32 + 1
    type(c_ptr) :: three
    integer(c_int) :: why

    call check(IW_wl_acquire(segment) == IW_OK, 'writer lock')
    three = IW_malloc_array(segment, IW_int, 3_c_int64_t)
    call check(c_associated(three), 'a long count')
    call check(.not. c_associated(IW_malloc_array(segment, IW_double, too_many)), 'too many')
    why = IW_errno()
    call check(why == IW_EQUOTA .or. why == IW_ENO_MEMORY .or. why == IW_ETOO_LARGE, 'their error')
    call check(.not. c_associated(IW_malloc_array(segment, IW_int, -1_c_int64_t)), 'less than none')
    call check(IW_free(segment, three) == IW_OK, 'free')
    call check(IW_wl_release(segment) == IW_OK, 'release')
  end subroutine long_counts_are_counted

  subroutine pointers_have_mips()
    type(item), pointer :: two
    real(c_double), pointer :: row(:)
    integer, parameter :: fifth = 5

    call check(IW_rl_acquire(segment) == IW_OK, 'reader lock')
    call c_f_pointer(IW_mip_to_ptr(trim(address) // '/calls#two'), two)
    call IW_array(IW_mip_to_ptr(trim(address) // '/calls#three'), row, (/ 24 /))
    call check(IW_ptr_to_mip(c_loc(row(fifth))) == IW_ptr_to_mip(c_loc(row(1))) // '#4', 'offset')
    call check(c_associated(IW_mip_to_ptr(IW_ptr_to_mip(c_loc(two%key))), c_loc(two%key)), 'back')
    call check(IW_rl_release(segment) == IW_OK, 'release')
  end subroutine pointers_have_mips

  subroutine an_abort_undoes()
    type(item), pointer :: two

    call check(IW_wl_acquire(segment) == IW_OK, 'writer lock')
    call c_f_pointer(IW_mip_to_ptr(trim(address) // '/calls#two'), two)
    two%key = 99
    call check(IW_wl_abort(segment) == IW_OK, 'abort')
    call check(IW_rl_acquire_for(segment, 5d0, flags=IW_FRESH) == IW_OK, 'reader lock')
    call check(two%key == 0, 'the store is undone')
    call check(IW_rl_release(segment) == IW_OK, 'release')
  end subroutine an_abort_undoes

  subroutine coherence_is_chosen()
    integer(c_int), target :: asked
    real(c_double) :: seconds

    asked = 0
    call check(IW_set_coherence(segment, IW_DELTA, 2d0) == IW_OK, 'delta')
    call check(IW_set_coherence(segment, IW_STRICT) == IW_OK, 'strict')
    call check(IW_set_coherence(segment, IW_TEMPORAL, -1d0) == IW_EBAD_ARGUMENT, 'a bound below 0')
    call check(IW_set_coherence_fn(segment, c_funloc(always_recent), c_loc(asked)) == IW_OK, 'own')
    call check(IW_rl_acquire(segment) == IW_OK, 'reader lock')
    call check(IW_rl_release(segment) == IW_OK, 'release')
    call check(asked == 1, 'the own model was asked')
    call check(IW_set_coherence_fn(segment, c_null_funptr) == IW_OK, 'full again')
    call check(IW_refresh(segment) == IW_OK, 'refresh')
    call check(IW_staleness(segment, seconds) == IW_OK, 'staleness')
    call check(seconds >= 0, 'the copy was confirmed')
  end subroutine coherence_is_chosen

  ! That another process's release is told of is seen by changes.f90; here the calls are
  ! made and taken back.
  subroutine changes_are_told()
    integer(c_int64_t), target :: told(2)

    told = 0
    call check(IW_on_change(segment, c_funloc(note_version), c_loc(told)) == IW_OK, 'on_change')
    call check(IW_event_fd() >= 0, 'event descriptor')
    call check(IW_dispatch() == IW_OK, 'dispatch')
    call check(IW_on_change(segment, c_null_funptr) == IW_OK, 'no more')
    call IW_set_log(c_null_funptr)
  end subroutine changes_are_told

  subroutine statistics_are_kept()
    type(IW_stats_t) :: stats

    call check(IW_stats(segment, stats) == IW_OK, 'statistics')
    call check(stats%version == IW_version(segment), 'the version is the last but one member')
    call check(stats%newest_known == stats%version, 'the last member')
    call check(stats%aborts == 1 .and. stats%blocks == 6, 'aborts and blocks')
  end subroutine statistics_are_kept

  subroutine errors_say_why()
    type(IW_handle_t) :: wrong

    wrong = IW_open_segment('no server#at all')
    call check(.not. IW_is_open(wrong), 'a wrong URL')
    call check(IW_errno() == IW_EBAD_URL, 'its error')
    call check(len(IW_strerror()) > 0, 'its text')
    wrong = IW_open_segment_with(trim(address) // '/nothing', timeout=5d0)
    call check(.not. IW_is_open(wrong), 'no such segment')
    call check(IW_errno() == IW_ENO_SEGMENT, 'its error')
    call check(index(IW_strerror(), '/nothing') > 0, 'the text names it')
    call check(.not. c_associated(IW_malloc(segment, IW_item)), 'malloc without the lock')
    call check(IW_errno() == IW_ENO_LOCK, 'no lock')
    call check(IW_rl_acquire(segment) == IW_OK, 'reader lock')
    call check(IW_wl_acquire(segment) == IW_EWOULD_DEADLOCK, 'would deadlock')
    call check(IW_rl_release(segment) == IW_OK, 'release')
    call check(.not. c_associated(IW_mip_to_ptr(trim(address) // '/calls#four')), 'no block')
    call check(IW_errno() == IW_ENO_BLOCK, 'its error')
    call check(len(IW_ptr_to_mip(c_null_ptr)) == 0, 'no MIP of a null pointer')
    call check(IW_wl_acquire(segment) == IW_OK, 'writer lock')
    call check(.not. c_associated(IW_malloc_named(segment, IW_int, 'two')), 'a name that is taken')
    call check(IW_errno() == IW_EBAD_NAME, 'bad name')
    call check(.not. c_associated(IW_malloc_array(segment, IW_int, -1)), 'a negative count')
    call check(IW_wl_release(segment) == IW_OK, 'release')
  end subroutine errors_say_why

end program calls
