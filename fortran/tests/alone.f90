! The stub: a program that shares runs alone, in memory of its own.
program alone
  use, intrinsic :: iso_c_binding, only: c_associated, c_double, c_f_pointer, c_ptr
  use checks, only: check
  use exchange
  use interweave
  implicit none
  type(IW_handle_t) :: segment
  type(IW_stats_t) :: stats
  type(item), pointer :: first
  real(c_double), pointer :: values(:, :)
  type(c_ptr) :: block

  segment = IW_open_segment('nowhere/at/all')
  call check(IW_is_open(segment), 'open')
  call check(.not. c_associated(IW_mip_to_ptr('nowhere/at/all#first')), 'no block yet')
  call check(IW_errno() == IW_ENO_BLOCK, 'as in a new segment')
  call check(IW_wl_acquire(segment) == IW_OK, 'writer lock')
  block = IW_malloc_named(segment, IW_item, 'first')
  call c_f_pointer(block, first)
  call check(first%key == 0, 'memory is zero')
  first%key = 7
  call IW_array(IW_malloc_array(segment, IW_double, COLUMNS * ROWS), values, (/ COLUMNS, ROWS /))
  values = 2
  call check(IW_wl_release(segment) == IW_OK, 'release')
  call check(IW_rl_acquire(segment) == IW_OK, 'reader lock')
  call check(c_associated(IW_next_block(segment), block) .and. first%key == 7, 'first block')
  call check(IW_rl_release(segment) == IW_OK, 'release')
  call check(IW_free(segment, block) == IW_OK, 'free')
  block = IW_next_block(segment)
  call check(c_associated(block) .and. sum(values) > 23, 'the other block')
  call check(.not. c_associated(IW_next_block(segment, block)), 'which is the last')
  call check(IW_stats(segment, stats) == IW_OK, 'statistics')
  call check(stats%version == 0, 'no versions')
  call check(len(IW_ptr_to_mip(block)) == 0, 'no MIPs')
  call check(IW_errno() == IW_EUNIMPLEMENTED, 'their error')
  call check(index(IW_strerror(), 'stub') > 0, 'which the text explains')
  call check(IW_close_segment(segment) == IW_OK, 'close')
end program alone
