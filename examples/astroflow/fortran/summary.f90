! The simulator's summary: times of the last frames, and everything as one line
! of JSON. Fortran 2003.
module flow_summary
  use, intrinsic :: iso_c_binding, only: c_int64_t, dp => c_double
  implicit none
  private
  public :: samples_t, add_sample, quantile, text_entry, whole_entry, real_entry

  integer, parameter :: SAMPLES_MAX = 4096

  type :: samples_t
    private
    real(dp) :: values(SAMPLES_MAX)
    integer :: count = 0
  end type samples_t

contains

  subroutine add_sample(samples, value)
    type(samples_t), intent(inout) :: samples
    real(dp), intent(in) :: value

    samples%values(1 + mod(samples%count, SAMPLES_MAX)) = value
    samples%count = merge(samples%count + 1, SAMPLES_MAX, samples%count < 2 * SAMPLES_MAX - 1)
  end subroutine add_sample

  ! Of the samples kept, the least that is not below a share q of them; 0 of none.
  function quantile(samples, q) result(value)
    type(samples_t), intent(in) :: samples
    real(dp), intent(in) :: q
    real(dp) :: value
    integer :: i, n

    n = min(samples%count, SAMPLES_MAX)
    value = 0
    do i = 1, n
      if (count(samples%values(:n) <= samples%values(i)) < ceiling(q * n)) cycle
      if (value > 0 .and. samples%values(i) >= value) cycle
      value = samples%values(i)
    end do
  end function quantile

  function text_entry(name, text) result(entry)
    character(len=*), intent(in) :: name, text
    character(len=:), allocatable :: entry

    entry = '"' // name // '": "' // trim(text) // '"'
  end function text_entry

  function whole_entry(name, value) result(entry)
    character(len=*), intent(in) :: name
    integer(c_int64_t), intent(in) :: value
    character(len=:), allocatable :: entry
    character(len=24) :: digits

    write (digits, '(i0)') value
    entry = '"' // name // '": ' // trim(digits)
  end function whole_entry

  function real_entry(name, value) result(entry)
    character(len=*), intent(in) :: name
    real(dp), intent(in) :: value
    character(len=:), allocatable :: entry
    character(len=40) :: digits

    write (digits, '(f30.10)') value
    entry = '"' // name // '": ' // trim(adjustl(digits))
  end function real_entry

end module flow_summary
