! astroflow-shared: plain.f90 with its frames in a shared segment instead of files:
!   astroflow-shared PROBLEM FRAMES URL
! The gas is computed where it is shared, under the writer lock, which is given up and taken again
! after each frame. astroflow-viewer shows it. A server that goes away is waited for; one that comes
! back without the segment is given it anew. Fortran 2003.
program shared
  use astroflow
  use flow_arguments
  use flow_problems
  use flow_process, only: wait_readable
  use flow_run
  use flow_segment
  use flow_solver, only: flow_gas
  use interweave
  implicit none
  integer, parameter :: RETRY_MS = 500
  type(segment_t) :: segment
  type(run_t) :: run
  integer :: frame = 0

  call read_arguments()
  call open_segment()
  run = new_run(problem, 0d0, frames, segment%gas)
  call begin_timing()
  do frame = 1, frames
    call compute_and_publish()
  end do
  call report(checksum(segment%gas))
  call finish()

contains

  ! Until its writer lock is held.
  subroutine open_segment()
    segment%url = place
    nullify (segment%header)
    do
      segment%handle = IW_open_segment(place)
      if (IW_is_open(segment%handle)) then
        if (IW_wl_acquire(segment%handle) == IW_OK) exit
        if (IW_close_segment(segment%handle) /= IW_OK) call fail()
      end if
      call retry()
    end do
    if (.not. bind_blocks(segment)) call fail()
  end subroutine open_segment

  ! A frame that was not committed was undone with its lock: it is computed again
  ! from the one before.
  subroutine compute_and_publish()
    type(run_t) :: before

    before = run
    do
      call advance_frame(run)
      if (is_published()) return
      run = before
      run%gas = segment%gas
    end do
  end subroutine compute_and_publish

  function is_published() result(is_there)
    logical :: is_there

    segment%header%nx = FLOW_CELLS
    segment%header%ny = FLOW_CELLS
    segment%header%problem = problem
    segment%header%want_problem = problem
    segment%header%status = merge(FLOW_RUNNING, FLOW_FINISHED, frame < frames)
    segment%header%frame = frame
    segment%header%time = run%time
    do while (IW_wl_release(segment%handle) /= IW_OK)
      if (.not. keeps_lock()) exit
      call retry()  ! the lock is still held
    end do
    call take_lock()
    ! Also when it was committed and the answer was lost.
    is_there = segment%header%frame == frame
  end function is_published

  subroutine take_lock()
    do while (IW_wl_acquire(segment%handle) /= IW_OK)
      if (is_lost(segment)) then
        call move()
        return
      end if
      call retry()
    end do
  end subroutine take_lock

  ! The server came back without the segment, or with an older one. What was there can still be
  ! read: the frame before goes into what is there now.
  subroutine move()
    type(segment_t) :: lost

    lost = segment
    call open_segment()
    call copy_gas(lost%gas, segment%gas)
    segment%header%frame = frame - 1
    if (IW_close_segment(lost%handle) /= IW_OK) call fail()
  end subroutine move

  subroutine finish()
    if (IW_wl_release(segment%handle) /= IW_OK) call fail()
    if (IW_close_segment(segment%handle) /= IW_OK) call fail()
  end subroutine finish

  ! A server that is away is waited for, if it was there before.
  subroutine retry()
    logical :: may_come_back

    may_come_back = may_pass()
    if (IW_errno() == IW_ESEGMENT_LOST) may_come_back = .true.
    if (frame == 0 .or. .not. may_come_back) call fail()
    call wait_readable(-1, RETRY_MS)
  end subroutine retry

  subroutine fail()
    print '(2a)', 'astroflow-shared: ', IW_strerror()
    stop 1
  end subroutine fail

end program shared
