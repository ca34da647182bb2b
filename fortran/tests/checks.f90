! What the tests say when something does not hold.
module checks
  use interweave, only: IW_strerror
  implicit none
  private
  public :: check, argument

contains

  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(len=*), intent(in) :: what

    if (holds) return
    print '(4a)', 'FAILED: ', what, '; last error: ', IW_strerror()
    stop 1
  end subroutine check

  function argument(number) result(text)
    integer, intent(in) :: number
    character(len=200) :: text

    call get_command_argument(number, text)
  end function argument

end module checks
