! Numbers in memory and as the agent protocol writes them, by their bits: Fortran has no unsigned
! integers, and a real would not keep every NaN. Fortran 2003.
module agent_numbers
  use, intrinsic :: iso_c_binding, only: c_f_pointer, c_int32_t, c_int64_t, c_int8_t, c_int16_t, &
    c_intptr_t, c_null_ptr, c_ptr, c_size_t
  use agent_json
  use interweave_types
  implicit none
  private
  public :: behind, load_int, store_int, add_primitive, put_primitive, add_bytes, put_bytes

  character(len=*), parameter :: digits = '0123456789abcdef'
  ! 2**53: larger ones are written as texts.
  integer(c_int64_t), parameter :: exact_end = 9007199254740992_c_int64_t
  integer(c_int64_t), parameter :: low_half = 4294967295_c_int64_t

contains

  ! The address so many bytes behind another.
  function behind(at, bytes) result(address)
    type(c_ptr), intent(in) :: at
    integer(c_size_t), intent(in) :: bytes
    type(c_ptr) :: address

    address = transfer(transfer(at, 0_c_intptr_t) + int(bytes, c_intptr_t), c_null_ptr)
  end function behind

  function load_int(at) result(value)
    type(c_ptr), intent(in) :: at
    integer(c_int32_t) :: value
    integer(c_int32_t), pointer :: there

    call c_f_pointer(at, there)
    value = there
  end function load_int

  subroutine store_int(at, value)
    type(c_ptr), intent(in) :: at
    integer(c_int32_t), intent(in) :: value
    integer(c_int32_t), pointer :: there

    call c_f_pointer(at, there)
    there = value
  end subroutine store_int

  function size_of(primitive) result(bytes)
    integer(c_int32_t), intent(in) :: primitive
    integer :: bytes

    select case (primitive)
    case (IW_PRIMITIVE_CHAR, IW_PRIMITIVE_UCHAR)
      bytes = 1
    case (IW_PRIMITIVE_SHORT, IW_PRIMITIVE_USHORT)
      bytes = 2
    case (IW_PRIMITIVE_HYPER, IW_PRIMITIVE_UHYPER, IW_PRIMITIVE_DOUBLE)
      bytes = 8
    case default
      bytes = 4
    end select
  end function size_of

  ! Its bits, as a signed number.
  function load_bits(at, bytes) result(bits)
    type(c_ptr), intent(in) :: at
    integer, intent(in) :: bytes
    integer(c_int64_t) :: bits
    integer(c_int8_t), pointer :: one
    integer(c_int16_t), pointer :: two
    integer(c_int64_t), pointer :: eight

    select case (bytes)
    case (1)
      call c_f_pointer(at, one)
      bits = one
    case (2)
      call c_f_pointer(at, two)
      bits = two
    case (8)
      call c_f_pointer(at, eight)
      bits = eight
    case default
      bits = load_int(at)
    end select
  end function load_bits

  subroutine store_bits(at, bytes, bits)
    type(c_ptr), intent(in) :: at
    integer, intent(in) :: bytes
    integer(c_int64_t), intent(in) :: bits
    integer(c_int8_t), pointer :: one
    integer(c_int16_t), pointer :: two
    integer(c_int64_t), pointer :: eight

    select case (bytes)
    case (1)
      call c_f_pointer(at, one)
      one = int(signed(bits, 8), c_int8_t)
    case (2)
      call c_f_pointer(at, two)
      two = int(signed(bits, 16), c_int16_t)
    case (8)
      call c_f_pointer(at, eight)
      eight = bits
    case default
      call store_int(at, int(signed(bits, 32), c_int32_t))
    end select
  end subroutine store_bits

  ! The lowest bits as a signed number of that width.
  function signed(bits, width) result(value)
    integer(c_int64_t), intent(in) :: bits
    integer, intent(in) :: width
    integer(c_int64_t) :: value

    value = ibits(bits, 0, width)
    if (btest(value, width - 1)) value = value - 2_c_int64_t**width
  end function signed

  ! ---- To text ----

  subroutine add_primitive(primitive, at)
    integer(c_int32_t), intent(in) :: primitive
    type(c_ptr), intent(in) :: at
    integer(c_int64_t) :: bits

    bits = load_bits(at, size_of(primitive))
    select case (primitive)
    case (IW_PRIMITIVE_CHAR, IW_PRIMITIVE_UCHAR)
      call add(signed_text(ibits(bits, 0, 8)))
    case (IW_PRIMITIVE_USHORT)
      call add(signed_text(ibits(bits, 0, 16)))
    case (IW_PRIMITIVE_UINT)
      call add(signed_text(ibits(bits, 0, 32)))
    case (IW_PRIMITIVE_FLOAT)
      call add('"0x' // hexadecimal(bits, 8) // '"')
    case (IW_PRIMITIVE_DOUBLE)
      call add('"0x' // hexadecimal(bits, 16) // '"')
    case (IW_PRIMITIVE_HYPER)
      call add_exact(bits, signed_text(bits))
    case (IW_PRIMITIVE_UHYPER)
      call add_exact(bits, unsigned_text(bits))
    case default
      call add(signed_text(bits))
    end select
  end subroutine add_primitive

  ! A number that others would round is a text. One that is negative as a signed number is as large
  ! unsigned as it is written long.
  subroutine add_exact(bits, text)
    integer(c_int64_t), intent(in) :: bits
    character(len=*), intent(in) :: text

    if (bits > -exact_end .and. bits < exact_end .and. (bits >= 0 .or. text(1:1) == '-')) then
      call add(text)
    else
      call add('"' // text // '"')
    end if
  end subroutine add_exact

  function signed_text(value) result(text)
    integer(c_int64_t), intent(in) :: value
    character(len=:), allocatable :: text
    character(len=24) :: written

    write (written, '(i0)') value
    text = trim(written)
  end function signed_text

  function unsigned_text(bits) result(text)
    integer(c_int64_t), intent(in) :: bits
    character(len=:), allocatable :: text
    integer(c_int64_t) :: tenth

    if (bits >= 0) then
      text = signed_text(bits)
    else
      tenth = ishft(bits, -1) / 5
      text = signed_text(tenth) // signed_text((ishft(bits, -1) - tenth * 5) * 2 &
        + iand(bits, 1_c_int64_t))
    end if
  end function unsigned_text

  function hexadecimal(bits, count) result(text)
    integer(c_int64_t), intent(in) :: bits
    integer, intent(in) :: count
    character(len=count) :: text
    integer :: i, digit

    do i = 1, count
      digit = int(ibits(bits, 4 * (count - i), 4)) + 1
      text(i:i) = digits(digit:digit)
    end do
  end function hexadecimal

  subroutine add_bytes(at, count)
    type(c_ptr), intent(in) :: at
    integer, intent(in) :: count
    integer(c_int8_t), pointer :: there(:)
    integer :: i

    call add('"')
    if (count > 0) call c_f_pointer(at, there, (/ count /))
    do i = 1, count
      call add(hexadecimal(int(there(i), c_int64_t), 2))
    end do
    call add('"')
  end subroutine add_bytes

  ! ---- From text ----

  subroutine put_primitive(primitive, at, text)
    integer(c_int32_t), intent(in) :: primitive
    type(c_ptr), intent(in) :: at
    character(len=*), intent(in) :: text
    integer(c_int64_t) :: bits

    if (primitive == IW_PRIMITIVE_FLOAT .or. primitive == IW_PRIMITIVE_DOUBLE) then
      bits = bits_of(text)
    else
      bits = integer_of(text)
    end if
    if (.not. is_refused()) call store_bits(at, size_of(primitive), bits)
  end subroutine put_primitive

  ! Of 0x and digits.
  function bits_of(text) result(bits)
    character(len=*), intent(in) :: text
    integer(c_int64_t) :: bits
    integer :: i

    bits = 0
    if (len(text) < 3 .or. len(text) > 18 .or. index(text, '0x') /= 1) then
      call refuse('BAD_ARGUMENT no bit pattern 0x...')
    else if (verify(text(3:), digits) /= 0) then
      call refuse('BAD_ARGUMENT no hexadecimal digits')
    else
      do i = 3, len(text)
        bits = ior(ishft(bits, 4), int(index(digits, text(i:i)) - 1, c_int64_t))
      end do
    end if
  end function bits_of

  ! A negative number, or one that only an unsigned one holds, by its bits; in two halves,
  ! so that nothing overflows.
  function integer_of(text) result(bits)
    character(len=*), intent(in) :: text
    integer(c_int64_t) :: bits, high, low
    integer :: i, begin

    begin = 1
    if (index(text, '-') == 1) begin = 2
    high = 0
    low = 0
    bits = 0
    if (len(text) < begin .or. len(text) > 20 .or. verify(text(begin:), digits(1:10)) /= 0) then
      call refuse('BAD_ARGUMENT no integer')
      return
    end if
    do i = begin, len(text)
      low = low * 10 + index(digits, text(i:i)) - 1
      high = high * 10 + ishft(low, -32)
      low = iand(low, low_half)
    end do
    bits = ior(ishft(high, 32), low)
    if (begin == 2 .and. bits /= ibset(0_c_int64_t, 63)) bits = -bits
  end function integer_of

  subroutine put_bytes(at, count, text)
    type(c_ptr), intent(in) :: at
    integer, intent(in) :: count
    character(len=*), intent(in) :: text
    integer(c_int8_t), pointer :: there(:)
    integer :: i

    if (len(text) /= 2 * count .or. verify(text, digits) /= 0) then
      call refuse('BAD_ARGUMENT not so many bytes in hexadecimal')
      return
    end if
    if (count > 0) call c_f_pointer(at, there, (/ count /))
    do i = 1, count
      there(i) = int(signed(bits_of('0x' // text(2 * i - 1:2 * i)), 8), c_int8_t)
    end do
  end subroutine put_bytes

end module agent_numbers
