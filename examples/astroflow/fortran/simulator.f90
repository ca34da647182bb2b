! astroflow-simulator-fortran: computes frames and publishes each in the shared segment, whoever may
! look; obeys whoever steers. The same program as ../simulator in C++, on the same segment,
! with the same bits.
!
! The gas is computed in private memory and copied into the segment under the writer lock, so that
! the lock is held for the time of a copy, and a lost connection costs nothing but the frame that
! was on its way; a server that comes back without the segment is given the next frame in a new one
! (shared.f90 is shorter, and computes in the segment). Fortran 2003.
program simulator
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: output_unit
  use astroflow
  use flow_options
  use flow_problems
  use flow_process
  use flow_run
  use flow_segment
  use flow_solver, only: flow_gas
  use flow_summary
  use interweave
  implicit none
  real(c_double), parameter :: LOCK_SECONDS = 2
  integer(c_int), parameter :: RETRY_MS = 500, PAUSED_LOOK_MS = 500
  type(options_t) :: options
  type(segment_t) :: segment
  type(run_t) :: run
  logical :: begun = .false., paused = .false., foreign = .false.
  integer(c_int64_t) :: first_frame = 0, frames = 0, releases = 0
  real(c_double) :: last_frame_ms = 0, last_progress = 0
  integer(c_int64_t), target, save :: announced = 0
  type(samples_t), save :: compute_ms, publish_ms, frame_ms

  options = read_options()
  call end_on_signals()
  if (.not. is_opened()) call fail()
  run = new_run(options%problem, options%cfl, options%frames, private_gas())
  do while (frames_are_left() .and. .not. stop_requested)
    if (paused) then
      call wait_while_paused()
    else
      call compute_and_publish()
    end if
  end do
  ! The last of a given number of frames says so itself; otherwise one more version does, if the
  ! server is there to take it.
  if (frames_are_left() .and. begun) begun = try_publish(FLOW_FINISHED)
  call summarise()

contains

  function is_opened() result(opened)
    logical :: opened

    opened = .false.
    segment%url = options%url
    segment%handle = IW_open_segment(options%url)
    if (.not. IW_is_open(segment%handle)) return
    ! Changes wake the wait for an end of the pause.
    if (IW_event_fd() < 0) return
    opened = IW_on_change(segment%handle, c_funloc(note_version), c_loc(announced)) == IW_OK
  end function is_opened

  ! What the server lost is made anew with the next frame.
  function is_reopened() result(reopened)
    logical :: reopened

    begun = .false.
    nullify (segment%header)
    if (IW_is_open(segment%handle)) then
      if (IW_close_segment(segment%handle) /= IW_OK) call fail()
    end if
    reopened = is_opened()
  end function is_reopened

  function private_gas() result(gas)
    type(flow_gas) :: gas

    allocate (gas%density(CELLS, CELLS), gas%momentum_x(CELLS, CELLS), gas%momentum_y(CELLS, CELLS))
    allocate (gas%energy(CELLS, CELLS), gas%pressure(CELLS, CELLS), gas%tracer(CELLS, CELLS))
  end function private_gas

  function frames_are_left() result(left)
    logical :: left

    left = options%frames == 0 .or. frames < options%frames
  end function frames_are_left

  subroutine compute_and_publish()
    real(c_double) :: began, computed, published
    logical :: is_published

    began = seconds_now()
    call advance_frame(run)
    computed = seconds_now()
    frames = frames + 1
    is_published = publish(merge(FLOW_RUNNING, FLOW_FINISHED, frames_are_left()))
    published = seconds_now()
    call add_sample(compute_ms, (computed - began) * 1d3)
    call add_sample(publish_ms, (published - computed) * 1d3)
    last_frame_ms = (published - began) * 1d3
    call add_sample(frame_ms, last_frame_ms)
    if (.not. is_published) return
    call show_progress()
    if (frames_are_left()) call keep_pace(began)
  end subroutine compute_and_publish

  ! Waits for a server that is away. False if the program was told to stop meanwhile.
  function publish(status) result(is_published)
    integer(c_int), intent(in) :: status
    logical :: is_published, said

    said = .false.
    do
      is_published = try_publish(status)
      if (is_published .or. stop_requested) exit
      if (foreign) call fail()
      if (.not. said) call complain(IW_strerror() // '; trying again')
      said = .true.
      if (is_lost(segment)) then
        if (is_reopened()) cycle
      end if
      if (.not. may_pass()) call fail()
      call wait_readable(-1, RETRY_MS)
    end do
    if (said .and. is_published) call complain('continues')
  end function publish

  ! The state into the segment, as one version.
  function try_publish(status) result(is_published)
    integer(c_int), intent(in) :: status
    logical :: is_published

    is_published = .false.
    if (IW_wl_acquire_for(segment%handle, LOCK_SECONDS) /= IW_OK) return
    if (.not. bind_blocks(segment)) then
      foreign = is_foreign(segment)
      if (IW_wl_abort(segment%handle) /= IW_OK) call fail()
      return
    end if
    if (begun) then
      call obey(segment%header)
    else
      call begin(segment%header)
    end if
    call copy_gas(run%gas, segment%gas)
    call describe(segment%header, status)
    is_published = release(segment)
    ! What was allocated is gone with the lock.
    if (.not. (is_published .or. begun)) nullify (segment%header)
    if (.not. is_published) return
    begun = .true.
    releases = releases + 1
  end function try_publish

  ! The segment may be new, or left by an earlier simulator: then the frame numbers continue. It may
  ! also replace a segment that the server lost.
  subroutine begin(header)
    type(flow_header), intent(inout) :: header

    if (releases == 0) first_frame = header%frame
    header%obeyed = header%request
    header%want_pause = merge(1_c_int, 0_c_int, paused)
    header%want_restart = 0
    header%want_problem = run%problem
    header%want_cfl = run%cfl
  end subroutine begin

  subroutine obey(header)
    type(flow_header), intent(inout) :: header
    logical :: is_known

    if (run%breakdowns /= header%breakdowns) header%want_cfl = run%cfl
    if (.not. is_steered(header)) return
    header%obeyed = header%request
    paused = header%want_pause /= 0
    run%cfl = min(max(header%want_cfl, 0.05d0), 0.8d0)
    is_known = header%want_problem >= 1 .and. header%want_problem <= size(problems)
    if (is_known .and. (header%want_restart /= 0 .or. header%want_problem /= run%problem)) &
      call start(run, header%want_problem)
    header%want_restart = 0
    header%want_problem = run%problem
    header%want_cfl = run%cfl
  end subroutine obey

  function is_steered(header) result(steered)
    type(flow_header), intent(in) :: header
    logical :: steered

    steered = header%request /= header%obeyed .or. (header%want_pause /= 0 .neqv. paused) .or. &
      header%want_restart /= 0 .or. abs(header%want_cfl - run%cfl) > 0 .or. &
      header%want_problem /= run%problem
  end function is_steered

  subroutine describe(header, status)
    type(flow_header), intent(inout) :: header
    integer(c_int), intent(in) :: status

    header%nx = CELLS
    header%ny = CELLS
    header%problem = run%problem
    header%status = merge(FLOW_PAUSED, status, status == FLOW_RUNNING .and. paused)
    header%gamma = GAMMA
    header%cfl = run%cfl
    header%time = run%time
    header%end_time = problems(run%problem)%end_time
    header%time_step = run%last_step
    header%total_mass = total(run%gas%density)
    header%total_energy = total(run%gas%energy)
    header%frame_ms = last_frame_ms
    header%step = run%steps
    header%frame = first_frame + frames
    header%last_frame = merge(first_frame + options%frames, 0_c_int64_t, options%frames > 0)
    header%breakdowns = run%breakdowns
  end subroutine describe

  ! Asleep until the segment changes; a look now and then costs no message while it does not.
  subroutine wait_while_paused()
    logical :: is_asked

    do while (.not. stop_requested)
      call wait_readable(IW_event_fd(), PAUSED_LOOK_MS)
      if (IW_dispatch() /= IW_OK) call fail()
      if (IW_rl_acquire_for(segment%handle, LOCK_SECONDS) == IW_OK) then
        is_asked = is_steered(segment%header)
        if (IW_rl_release(segment%handle) /= IW_OK) call fail()
      else
        is_asked = is_lost(segment)  ! publishing brings it back
      end if
      if (.not. is_asked) cycle
      if (.not. publish(FLOW_RUNNING)) call complain('stopped')
      return
    end do
  end subroutine wait_while_paused

  subroutine keep_pace(frame_began)
    real(c_double), intent(in) :: frame_began
    real(c_double) :: left_ms

    if (.not. options%frames_per_second > 0) return
    left_ms = (frame_began + 1 / options%frames_per_second - seconds_now()) * 1d3
    if (left_ms >= 1) call wait_readable(-1, int(left_ms, c_int))
  end subroutine keep_pace

  subroutine show_progress()
    real(c_double) :: now

    now = seconds_now()
    if (options%quiet .or. now - last_progress < 1) return
    last_progress = now
    print '(2a, i0, a, i0, a, f0.4, a, f0.1, a)', trim(problems(run%problem)%name), &
      ' frame ', frames, ' version ', IW_version(segment%handle), ' t ', run%time, &
      ' frame ', last_frame_ms, ' ms'
    flush (output_unit)
  end subroutine show_progress

  subroutine fail()
    if (foreign) then
      call complain(trim(options%url) &
        // ': it holds other data than a simulation''s; choose another path')
    else
      call complain(trim(options%url) // ': ' // IW_strerror())
    end if
    call exit_with(1)
  end subroutine fail

  subroutine summarise()
    integer, parameter :: unit = 10
    character(len=:), allocatable :: line
    integer :: status

    if (options%summary == '') return
    line = summary_line()
    if (options%summary == '-') then
      print '(a)', line
      return
    end if
    open (unit=unit, file=options%summary, status='replace', iostat=status)
    if (status == 0) write (unit, '(a)', iostat=status) line
    if (status == 0) close (unit, iostat=status)
    if (status /= 0) call complain(trim(options%summary) // ': cannot be written')
  end subroutine summarise

  function summary_line() result(line)
    character(len=:), allocatable :: line
    type(IW_stats_t) :: stats
    integer(c_int64_t) :: frame_bytes

    if (IW_stats(segment%handle, stats) /= IW_OK) call fail()
    frame_bytes = size(transfer(segment%header, (/ ' ' /))) + 6 * 8 * CELLS * CELLS
    line = '{' // text_entry('program', 'astroflow-simulator-fortran') // ', ' // &
      text_entry('problem', problems(run%problem)%name) // ', ' // &
      whole_entry('frames', frames) // ', ' // &
      whole_entry('versions_written', releases) // ', ' // &
      whole_entry('last_version', IW_version(segment%handle)) // ', ' // &
      real_entry('time', run%time) // ', ' // &
      whole_entry('bytes_sent', stats%bytes_sent) // ', ' // &
      whole_entry('bytes_received', stats%bytes_received) // ', ' // &
      whole_entry('frame_bytes', frame_bytes) // ', ' // &
      whole_entry('bytes_in_memory', releases * frame_bytes) // ', ' // &
      real_entry('compute_ms_median', quantile(compute_ms, 0.5d0)) // ', ' // &
      real_entry('publish_ms_median', quantile(publish_ms, 0.5d0)) // ', ' // &
      real_entry('frame_ms_median', quantile(frame_ms, 0.5d0)) // ', ' // &
      real_entry('frame_ms_p90', quantile(frame_ms, 0.9d0)) // ', ' // &
      text_entry('checksum', checksum(run%gas)) // '}'
  end function summary_line

end program simulator
