! Blocks as Fortran's arrays, without copying: call IW_array(block, a, (/ 256, 256 /)) makes `a` a
! pointer to the block's numbers. The index order is Fortran's: C's a[i][j] is a(j + 1, i + 1), and
! the shape is C's in reverse. Extents are of kind c_int or, for arrays beyond 2**31,
! c_int64_t. A null block makes a null pointer; so does an array that does not lie in the block, and
! IW_errno() then is IW_EBAD_ARGUMENT. Fortran 2003.
module interweave_arrays
  use, intrinsic :: iso_c_binding, only: c_associated, c_double, c_f_pointer, c_float, c_int, &
    c_int64_t, c_ptr, c_size_t
  implicit none
  private
  public :: IW_array

  interface IW_array
    module procedure real64_1, real64_2, real64_3
    module procedure real64_1_long, real64_2_long, real64_3_long
    module procedure real32_1, real32_2, real32_3
    module procedure real32_1_long, real32_2_long, real32_3_long
    module procedure int32_1, int32_2, int32_3
    module procedure int32_1_long, int32_2_long, int32_3_long
    module procedure int64_1, int64_2, int64_3
    module procedure int64_1_long, int64_2_long, int64_3_long
  end interface IW_array

  interface
    function c_check_extents(p, element_bytes, extents, rank) bind(C, name="IW_check_extents") &
      result(answer)
      import :: c_int, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: p
      integer(c_size_t), value :: element_bytes
      integer(c_int64_t), intent(in) :: extents(*)
      integer(c_int), value :: rank
      integer(c_int) :: answer
    end function c_check_extents
  end interface

contains

  ! Whether there is a block, and the array lies in it; if not, the library's last failure says why.
  function fits(block, element_bytes, extents)
    type(c_ptr), intent(in) :: block
    integer, intent(in) :: element_bytes
    integer(c_int64_t), intent(in) :: extents(:)
    logical :: fits

    fits = c_associated(block)
    if (fits) &
      fits = c_check_extents(block, int(element_bytes, c_size_t), extents, size(extents)) == 0
  end function fits

  subroutine real64_1(block, array, extents)
    type(c_ptr), intent(in) :: block
    real(c_double), pointer, intent(out) :: array(:)
    integer(c_int), intent(in) :: extents(1)

    call real64_1_long(block, array, int(extents, c_int64_t))
  end subroutine real64_1

  subroutine real64_1_long(block, array, extents)
    type(c_ptr), intent(in) :: block
    real(c_double), pointer, intent(out) :: array(:)
    integer(c_int64_t), intent(in) :: extents(1)

    nullify (array)
    if (fits(block, 8, extents)) call c_f_pointer(block, array, extents)
  end subroutine real64_1_long

  subroutine real64_2(block, array, extents)
    type(c_ptr), intent(in) :: block
    real(c_double), pointer, intent(out) :: array(:, :)
    integer(c_int), intent(in) :: extents(2)

    call real64_2_long(block, array, int(extents, c_int64_t))
  end subroutine real64_2

  subroutine real64_2_long(block, array, extents)
    type(c_ptr), intent(in) :: block
    real(c_double), pointer, intent(out) :: array(:, :)
    integer(c_int64_t), intent(in) :: extents(2)

    nullify (array)
    if (fits(block, 8, extents)) call c_f_pointer(block, array, extents)
  end subroutine real64_2_long

  subroutine real64_3(block, array, extents)
    type(c_ptr), intent(in) :: block
    real(c_double), pointer, intent(out) :: array(:, :, :)
    integer(c_int), intent(in) :: extents(3)

    call real64_3_long(block, array, int(extents, c_int64_t))
  end subroutine real64_3

  subroutine real64_3_long(block, array, extents)
    type(c_ptr), intent(in) :: block
    real(c_double), pointer, intent(out) :: array(:, :, :)
    integer(c_int64_t), intent(in) :: extents(3)

    nullify (array)
    if (fits(block, 8, extents)) call c_f_pointer(block, array, extents)
  end subroutine real64_3_long

  subroutine real32_1(block, array, extents)
    type(c_ptr), intent(in) :: block
    real(c_float), pointer, intent(out) :: array(:)
    integer(c_int), intent(in) :: extents(1)

    call real32_1_long(block, array, int(extents, c_int64_t))
  end subroutine real32_1

  subroutine real32_1_long(block, array, extents)
    type(c_ptr), intent(in) :: block
    real(c_float), pointer, intent(out) :: array(:)
    integer(c_int64_t), intent(in) :: extents(1)

    nullify (array)
    if (fits(block, 4, extents)) call c_f_pointer(block, array, extents)
  end subroutine real32_1_long

  subroutine real32_2(block, array, extents)
    type(c_ptr), intent(in) :: block
    real(c_float), pointer, intent(out) :: array(:, :)
    integer(c_int), intent(in) :: extents(2)

    call real32_2_long(block, array, int(extents, c_int64_t))
  end subroutine real32_2

  subroutine real32_2_long(block, array, extents)
    type(c_ptr), intent(in) :: block
    real(c_float), pointer, intent(out) :: array(:, :)
    integer(c_int64_t), intent(in) :: extents(2)

    nullify (array)
    if (fits(block, 4, extents)) call c_f_pointer(block, array, extents)
  end subroutine real32_2_long

  subroutine real32_3(block, array, extents)
    type(c_ptr), intent(in) :: block
    real(c_float), pointer, intent(out) :: array(:, :, :)
    integer(c_int), intent(in) :: extents(3)

    call real32_3_long(block, array, int(extents, c_int64_t))
  end subroutine real32_3

  subroutine real32_3_long(block, array, extents)
    type(c_ptr), intent(in) :: block
    real(c_float), pointer, intent(out) :: array(:, :, :)
    integer(c_int64_t), intent(in) :: extents(3)

    nullify (array)
    if (fits(block, 4, extents)) call c_f_pointer(block, array, extents)
  end subroutine real32_3_long

  subroutine int32_1(block, array, extents)
    type(c_ptr), intent(in) :: block
    integer(c_int), pointer, intent(out) :: array(:)
    integer(c_int), intent(in) :: extents(1)

    call int32_1_long(block, array, int(extents, c_int64_t))
  end subroutine int32_1

  subroutine int32_1_long(block, array, extents)
    type(c_ptr), intent(in) :: block
    integer(c_int), pointer, intent(out) :: array(:)
    integer(c_int64_t), intent(in) :: extents(1)

    nullify (array)
    if (fits(block, 4, extents)) call c_f_pointer(block, array, extents)
  end subroutine int32_1_long

  subroutine int32_2(block, array, extents)
    type(c_ptr), intent(in) :: block
    integer(c_int), pointer, intent(out) :: array(:, :)
    integer(c_int), intent(in) :: extents(2)

    call int32_2_long(block, array, int(extents, c_int64_t))
  end subroutine int32_2

  subroutine int32_2_long(block, array, extents)
    type(c_ptr), intent(in) :: block
    integer(c_int), pointer, intent(out) :: array(:, :)
    integer(c_int64_t), intent(in) :: extents(2)

    nullify (array)
    if (fits(block, 4, extents)) call c_f_pointer(block, array, extents)
  end subroutine int32_2_long

  subroutine int32_3(block, array, extents)
    type(c_ptr), intent(in) :: block
    integer(c_int), pointer, intent(out) :: array(:, :, :)
    integer(c_int), intent(in) :: extents(3)

    call int32_3_long(block, array, int(extents, c_int64_t))
  end subroutine int32_3

  subroutine int32_3_long(block, array, extents)
    type(c_ptr), intent(in) :: block
    integer(c_int), pointer, intent(out) :: array(:, :, :)
    integer(c_int64_t), intent(in) :: extents(3)

    nullify (array)
    if (fits(block, 4, extents)) call c_f_pointer(block, array, extents)
  end subroutine int32_3_long

  subroutine int64_1(block, array, extents)
    type(c_ptr), intent(in) :: block
    integer(c_int64_t), pointer, intent(out) :: array(:)
    integer(c_int), intent(in) :: extents(1)

    call int64_1_long(block, array, int(extents, c_int64_t))
  end subroutine int64_1

  subroutine int64_1_long(block, array, extents)
    type(c_ptr), intent(in) :: block
    integer(c_int64_t), pointer, intent(out) :: array(:)
    integer(c_int64_t), intent(in) :: extents(1)

    nullify (array)
    if (fits(block, 8, extents)) call c_f_pointer(block, array, extents)
  end subroutine int64_1_long

  subroutine int64_2(block, array, extents)
    type(c_ptr), intent(in) :: block
    integer(c_int64_t), pointer, intent(out) :: array(:, :)
    integer(c_int), intent(in) :: extents(2)

    call int64_2_long(block, array, int(extents, c_int64_t))
  end subroutine int64_2

  subroutine int64_2_long(block, array, extents)
    type(c_ptr), intent(in) :: block
    integer(c_int64_t), pointer, intent(out) :: array(:, :)
    integer(c_int64_t), intent(in) :: extents(2)

    nullify (array)
    if (fits(block, 8, extents)) call c_f_pointer(block, array, extents)
  end subroutine int64_2_long

  subroutine int64_3(block, array, extents)
    type(c_ptr), intent(in) :: block
    integer(c_int64_t), pointer, intent(out) :: array(:, :, :)
    integer(c_int), intent(in) :: extents(3)

    call int64_3_long(block, array, int(extents, c_int64_t))
  end subroutine int64_3

  subroutine int64_3_long(block, array, extents)
    type(c_ptr), intent(in) :: block
    integer(c_int64_t), pointer, intent(out) :: array(:, :, :)
    integer(c_int64_t), intent(in) :: extents(3)

    nullify (array)
    if (fits(block, 8, extents)) call c_f_pointer(block, array, extents)
  end subroutine int64_3_long

end module interweave_arrays
