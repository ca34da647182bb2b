! Writes a segment that exchange.cc checks, and checks the one that it wrote:
!   fortran_exchange write|check URL
! Number and text are those of exchange.cc. C's grid[i][j] is grid(j + 1, i + 1).
program exchange_program
  use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_f_pointer, c_int64_t, c_loc, &
    c_null_char, c_ptr, c_signed_char
  use checks, only: argument, check
  use exchange
  use interweave
  implicit none
  type(IW_handle_t) :: segment

  segment = IW_open_segment(argument(2))
  call check(IW_is_open(segment), 'open')
  if (argument(1) == 'write') then
    call write_segment()
  else
    call check_segment()
  end if
  call check(IW_close_segment(segment) == IW_OK, 'close')
  call check(.not. IW_is_open(segment), 'a closed handle is not open')

contains

  subroutine write_segment()
    type(item), pointer :: first, second
    type(c_ptr) :: block
    character(kind=c_char), pointer :: label(:)
    integer(c_int64_t), target :: series(3)

    series = (/ -1_c_int64_t, 2_c_int64_t, 4294967296_c_int64_t /)
    call check(IW_wl_acquire(segment) == IW_OK, 'writer lock')
    block = IW_malloc_named(segment, IW_item, 'first')
    call check(c_associated(block), 'malloc_named')
    call c_f_pointer(block, first)
    call c_f_pointer(IW_malloc(segment, IW_item), second)
    call fill(first)
    first%next = c_loc(second)
    second%key = 8
    second%outline%kind = GREEN
    label => shape_u_label(second%outline)
    call IW_set_text(label, 'green')
    call check(IW_assign(segment, c_loc(first%notes), 'from far away') == IW_OK, 'assign text')
    call check(IW_assign(segment, c_loc(first%series), c_loc(series), 3) == IW_OK, 'assign numbers')
    call write_plane()
    call check(IW_wl_release(segment) == IW_OK, 'release')
  end subroutine write_segment

  subroutine fill(first)
    type(item), pointer, intent(in) :: first
    type(point), pointer :: at
    integer :: i, j

    first%key = 7
    call IW_set_text(first%name, 'the first')
    do i = 1, ROWS
      do j = 1, COLUMNS
        first%grid(j, i) = 10 * (i - 1) + (j - 1)
      end do
    end do
    first%outline%kind = RED
    at => shape_u_at(first%outline)
    at%x = 5
    at%y = 0.25
    first%flag = 1
    first%letter = 'F'
    first%little = -3
    first%ratio = 0.5
    first%raw = (/ 1_c_signed_char, 2_c_signed_char, -1_c_signed_char /)
  end subroutine fill

  subroutine write_plane()
    double precision, pointer :: values(:, :)
    integer :: i, j

    call IW_array(IW_malloc_named(segment, IW_plane, 'plane'), values, (/ COLUMNS, ROWS /))
    call check(associated(values), 'the plane')
    do i = 1, ROWS
      do j = 1, COLUMNS
        values(j, i) = 100 * (i - 1) + (j - 1)
      end do
    end do
  end subroutine write_plane

  subroutine check_segment()
    type(item), pointer :: first, second
    integer(c_int64_t), pointer :: series(:)

    call c_f_pointer(IW_mip_to_ptr(trim(argument(2)) // '#first'), first)
    call check(associated(first), 'the block named first')
    call check(IW_rl_acquire(segment) == IW_OK, 'reader lock')
    call check_first(first)
    call check(IW_text(first%notes) == 'from far away', 'owned text')
    call check(first%series%len == 3, 'length of the owned numbers')
    call IW_array(first%series%val, series, (/ 3 /))
    call check(all(series == (/ -1_c_int64_t, 2_c_int64_t, 4294967296_c_int64_t /)), &
      'owned numbers')
    call c_f_pointer(first%next, second)
    call check(second%key == 8 .and. .not. c_associated(second%next), 'the second')
    call check(second%outline%kind == GREEN, 'the second arm')
    call check(IW_text(shape_u_label(second%outline)) == 'green', 'its text')
    call check_plane()
    call check(IW_rl_release(segment) == IW_OK, 'release')
  end subroutine check_segment

  subroutine check_first(first)
    type(item), pointer, intent(in) :: first
    type(point), pointer :: at
    integer :: i, j

    call check(first%key == 7 .and. IW_text(first%name) == 'the first', 'key and name')
    do i = 1, ROWS
      do j = 1, COLUMNS
        call check(nint(first%grid(j, i)) == 10 * (i - 1) + (j - 1), 'grid')
      end do
    end do
    call check(first%outline%kind == RED, 'discriminant')
    at => shape_u_at(first%outline)
    call check(at%x == 5 .and. abs(at%y - 0.25) < 1d-9, 'the arm')
    call check(first%flag == 1 .and. first%letter == 'F' .and. first%little == -3, 'small ones')
    call check(abs(first%ratio - 0.5) < 1e-9 .and. all(first%raw == (/ 1, 2, -1 /)), 'ratio, bytes')
    call check(first%name(32) == c_null_char, 'the name ends')
  end subroutine check_first

  subroutine check_plane()
    double precision, pointer :: values(:, :)
    integer :: i, j

    call IW_array(IW_mip_to_ptr(trim(argument(2)) // '#plane'), values, (/ COLUMNS, ROWS /))
    call check(associated(values), 'the plane')
    do i = 1, ROWS
      do j = 1, COLUMNS
        call check(nint(values(j, i)) == 100 * (i - 1) + (j - 1), 'plane')
      end do
    end do
  end subroutine check_plane

end program exchange_program
