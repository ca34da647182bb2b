! Blocks as Fortran's arrays, without copying: call IW_array(block, a, (/ 256, 256 /)) makes `a` a
! pointer to the block's numbers. The index order is Fortran's: what C calls a[i][j] is a(j + 1, i + 1),
! and the shape is C's in reverse. A null block makes a null pointer. Fortran 2003.
module interweave_arrays
  use, intrinsic :: iso_c_binding, only: c_associated, c_double, c_f_pointer, c_float, c_int, c_int64_t, c_ptr
  implicit none
  private
  public :: IW_array

  interface IW_array
    module procedure real64_1, real64_2, real64_3
    module procedure real32_1, real32_2, real32_3
    module procedure int32_1, int32_2, int32_3
    module procedure int64_1, int64_2, int64_3
  end interface IW_array

contains

  subroutine real64_1(block, array, extents)
    type(c_ptr), intent(in) :: block
    real(c_double), pointer, intent(out) :: array(:)
    integer, intent(in) :: extents(1)

    nullify (array)
    if (c_associated(block)) call c_f_pointer(block, array, extents)
  end subroutine real64_1

  subroutine real64_2(block, array, extents)
    type(c_ptr), intent(in) :: block
    real(c_double), pointer, intent(out) :: array(:, :)
    integer, intent(in) :: extents(2)

    nullify (array)
    if (c_associated(block)) call c_f_pointer(block, array, extents)
  end subroutine real64_2

  subroutine real64_3(block, array, extents)
    type(c_ptr), intent(in) :: block
    real(c_double), pointer, intent(out) :: array(:, :, :)
    integer, intent(in) :: extents(3)

    nullify (array)
    if (c_associated(block)) call c_f_pointer(block, array, extents)
  end subroutine real64_3

  subroutine real32_1(block, array, extents)
    type(c_ptr), intent(in) :: block
    real(c_float), pointer, intent(out) :: array(:)
    integer, intent(in) :: extents(1)

    nullify (array)
    if (c_associated(block)) call c_f_pointer(block, array, extents)
  end subroutine real32_1

  subroutine real32_2(block, array, extents)
    type(c_ptr), intent(in) :: block
    real(c_float), pointer, intent(out) :: array(:, :)
    integer, intent(in) :: extents(2)

    nullify (array)
    if (c_associated(block)) call c_f_pointer(block, array, extents)
  end subroutine real32_2

  subroutine real32_3(block, array, extents)
    type(c_ptr), intent(in) :: block
    real(c_float), pointer, intent(out) :: array(:, :, :)
    integer, intent(in) :: extents(3)

    nullify (array)
    if (c_associated(block)) call c_f_pointer(block, array, extents)
  end subroutine real32_3

  subroutine int32_1(block, array, extents)
    type(c_ptr), intent(in) :: block
    integer(c_int), pointer, intent(out) :: array(:)
    integer, intent(in) :: extents(1)

    nullify (array)
    if (c_associated(block)) call c_f_pointer(block, array, extents)
  end subroutine int32_1

  subroutine int32_2(block, array, extents)
    type(c_ptr), intent(in) :: block
    integer(c_int), pointer, intent(out) :: array(:, :)
    integer, intent(in) :: extents(2)

    nullify (array)
    if (c_associated(block)) call c_f_pointer(block, array, extents)
  end subroutine int32_2

  subroutine int32_3(block, array, extents)
    type(c_ptr), intent(in) :: block
    integer(c_int), pointer, intent(out) :: array(:, :, :)
    integer, intent(in) :: extents(3)

    nullify (array)
    if (c_associated(block)) call c_f_pointer(block, array, extents)
  end subroutine int32_3

  subroutine int64_1(block, array, extents)
    type(c_ptr), intent(in) :: block
    integer(c_int64_t), pointer, intent(out) :: array(:)
    integer, intent(in) :: extents(1)

    nullify (array)
    if (c_associated(block)) call c_f_pointer(block, array, extents)
  end subroutine int64_1

  subroutine int64_2(block, array, extents)
    type(c_ptr), intent(in) :: block
    integer(c_int64_t), pointer, intent(out) :: array(:, :)
    integer, intent(in) :: extents(2)

    nullify (array)
    if (c_associated(block)) call c_f_pointer(block, array, extents)
  end subroutine int64_2

  subroutine int64_3(block, array, extents)
    type(c_ptr), intent(in) :: block
    integer(c_int64_t), pointer, intent(out) :: array(:, :, :)
    integer, intent(in) :: extents(3)

    nullify (array)
    if (c_associated(block)) call c_f_pointer(block, array, extents)
  end subroutine int64_3

end module interweave_arrays
