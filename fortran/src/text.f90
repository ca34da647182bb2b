! Fortran's strings and C's: strings given to the library, strings it returns, and the fields
! `string s<N>`, which are arrays of characters with zeros behind the text. Fortran 2003.
module interweave_text
  use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_f_pointer, c_null_char, c_ptr, &
    c_size_t
  implicit none
  private
  public :: IW_text, IW_set_text, c_string

  ! The text of a field: IW_text(p%name) for string<N>, IW_text(p%notes) for string<>.
  interface IW_text
    module procedure text_of_characters, text_at_address
  end interface IW_text

  interface
    function c_strlen(s) bind(C, name="strlen") result(length)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: s
      integer(c_size_t) :: length
    end function c_strlen
  end interface

contains

  ! Without the blanks behind it, and with C's end.
  pure function c_string(text) result(characters)
    character(len=*), intent(in) :: text
    character(kind=c_char) :: characters(len_trim(text) + 1)
    integer :: i

    do i = 1, len_trim(text)
      characters(i) = text(i:i)
    end do
    characters(len_trim(text) + 1) = c_null_char
  end function c_string

  pure function length_of(characters) result(length)
    character(kind=c_char), intent(in) :: characters(:)
    integer :: length

    length = 0
    do while (length < size(characters))
      if (characters(length + 1) == c_null_char) return
      length = length + 1
    end do
  end function length_of

  pure function text_of_characters(characters) result(text)
    character(kind=c_char), intent(in) :: characters(:)
    character(len=:), allocatable :: text
    integer :: i

    text = repeat(' ', length_of(characters))
    do i = 1, len(text)
      text(i:i) = characters(i)
    end do
  end function text_of_characters

  ! A null address is the empty text.
  function text_at_address(address) result(text)
    type(c_ptr), intent(in) :: address
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: characters(:)

    if (c_associated(address)) then
      call c_f_pointer(address, characters, (/ c_strlen(address) /))
      text = text_of_characters(characters)
    else
      text = ''
    end if
  end function text_at_address

  ! Sets a field `string s<N>`. Text that is too long is cut; blanks at its end are left out.
  pure subroutine IW_set_text(characters, text)
    character(kind=c_char), intent(inout) :: characters(:)
    character(len=*), intent(in) :: text
    integer :: i

    characters = c_null_char
    do i = 1, min(len_trim(text), size(characters) - 1)
      characters(i) = text(i:i)
    end do
  end subroutine IW_set_text

end module interweave_text
