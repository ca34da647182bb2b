! The conformance agent of the Fortran client: one command a line on standard input, one line of
! answer on standard output (conformance/README.md). Fortran 2003.
program agent
  use, intrinsic :: iso_fortran_env, only: input_unit, iostat_end, output_unit
  use agent_commands, only: obey
  implicit none
  character(len=:), allocatable :: line
  integer :: status

  do
    call read_line(line, status)
    if (status == iostat_end) exit
    write (output_unit, '(a)') obey(line)
    flush (output_unit)
  end do

contains

  ! Of any length.
  subroutine read_line(line, status)
    character(len=:), allocatable, intent(out) :: line
    integer, intent(out) :: status
    character(len=65536) :: part
    integer :: length

    line = ''
    do
      read (input_unit, '(a)', advance='no', iostat=status, size=length) part
      if (status == iostat_end) return
      line = line // part(1:length)
      if (status /= 0) return
    end do
  end subroutine read_line

end program agent
