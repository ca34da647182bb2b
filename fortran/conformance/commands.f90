! The commands of conformance/README.md, obeyed through modules `interweave` and `interweave_types`
! only; the errors' names are generated with the former's numbers. Fortran 2003.
module agent_commands
  use, intrinsic :: iso_c_binding, only: c_associated, c_double, c_int, c_int32_t, c_int64_t, c_ptr
  use agent_declarations
  use agent_json
  use agent_listening
  use agent_units
  use interweave
  use interweave_interface, only: error_names
  use interweave_types
  implicit none
  private
  public :: obey

  type :: segment_t
    character(len=:), allocatable :: name, url
    type(IW_handle_t) :: handle
    logical :: is_listened_to = .false.
    type(hearing_t) :: hearing
  end type segment_t

  ! A place that is free has no name.
  type(segment_t), target, save :: segments(32)
  type(segment_t), target, save :: nobody

  character(len=8), parameter :: models(6) = (/ character(len=8) :: 'full', 'strict', 'null', &
    'delta', 'temporal', 'diff' /)

  ! What is left of the command.
  character(len=:), allocatable :: rest

contains

  ! One line of answer for one line of command.
  function obey(line) result(text)
    character(len=*), intent(in) :: line
    character(len=:), allocatable :: text
    integer(c_int) :: status

    call begin_answer()
    rest = line
    status = IW_OK
    call add('ok')
    call run(word(), status)
    if (status /= IW_OK) then
      text = 'error ' // trim(error_names(-status)) // ' ' // one_line(IW_strerror())
    else if (is_refused()) then
      text = 'error ' // one_line(refusal())
    else
      text = answer()
    end if
  end function obey

  subroutine run(command, status)
    character(len=*), intent(in) :: command
    integer(c_int), intent(inout) :: status

    select case (command)
    case ('hello')
      call hello()
    case ('types')
      call declare(parse(rest))
    case ('open', 'close', 'reset')
      call open_or_close(command, status)
    case ('rl', 'rl_release', 'wl', 'wl_release', 'wl_abort')
      call lock(command, status)
    case ('coherence', 'version', 'staleness', 'refresh', 'messages')
      call look_at_copy(command, status)
    case ('listen')
      call listen(status)
    case ('told')
      call told()
    case ('make')
      call make(status)
    case ('free')
      call free(status)
    case ('get', 'put', 'mip')
      call use_unit(command, status)
    case ('resolve')
      call add_mip(IW_mip_to_ptr(word()), status)
    case ('dump')
      call dump(status)
    case default
      call refuse('UNIMPLEMENTED no such command')
    end select
  end subroutine run

  function one_line(text) result(line)
    character(len=*), intent(in) :: text
    character(len=len(text)) :: line
    integer :: i

    line = text
    do i = 1, len(line)
      if (ichar(line(i:i)) < 32) line(i:i) = ' '
    end do
  end function one_line

  ! The next word of the command; empty at its end.
  function word() result(next_word)
    character(len=:), allocatable :: next_word
    integer :: blank

    blank = index(rest, ' ')
    if (blank == 0) blank = len(rest) + 1
    next_word = rest(1:blank - 1)
    rest = rest(min(blank + 1, len(rest) + 1):)
  end function word

  function real_of(text) result(value)
    character(len=*), intent(in) :: text
    real(c_double) :: value
    integer :: status

    value = 0
    read (text, *, iostat=status) value
    if (status /= 0) call refuse('BAD_ARGUMENT no number: ' // text)
  end function real_of

  function integer_of(text) result(value)
    character(len=*), intent(in) :: text
    integer(c_int64_t) :: value
    integer :: status

    value = 0
    read (text, *, iostat=status) value
    if (status /= 0) call refuse('BAD_ARGUMENT no number: ' // text)
  end function integer_of

  subroutine hello()
    integer(c_int32_t), parameter :: one = 1
    character(len=1) :: bytes(4)

    bytes = transfer(one, bytes)
    call add(' {"client":"fortran","machine":"native","byte_order":"')
    call add(trim(merge('little', 'big   ', ichar(bytes(1)) == 1)))
    call add('","pointer_bits":' // decimal(merge(64, 32, IW_on_64 == 1)))
    call add(',"abilities":["declare","write","owned","pointers","coherence","messages"]}')
  end subroutine hello

  ! ---- Segments and locks ----

  ! The segment of that name; a segment with a closed handle if the agent has none of that name.
  function segment_named(name) result(segment)
    character(len=*), intent(in) :: name
    type(segment_t), pointer :: segment
    integer :: i

    do i = 1, size(segments)
      segment => segments(i)
      if (.not. allocated(segment%name)) cycle
      if (segment%name == name) return
    end do
    call refuse('BAD_ARGUMENT no segment was opened as ' // name)
    segment => nobody
  end function segment_named

  subroutine open_or_close(command, status)
    character(len=*), intent(in) :: command
    integer(c_int), intent(inout) :: status
    type(segment_t), pointer :: segment
    integer :: i

    if (command == 'open') then
      call open_segment(status)
    else if (command == 'close') then
      segment => segment_named(word())
      if (is_refused()) return
      status = IW_close_segment(segment%handle)
      deallocate (segment%name)
    else
      do i = 1, size(segments)
        if (.not. allocated(segments(i)%name)) cycle
        status = IW_close_segment(segments(i)%handle)
        deallocate (segments(i)%name)
      end do
      status = IW_OK
    end if
  end subroutine open_or_close

  ! open S URL [create] [read_only] [memory|written] [timeout=SECONDS] [quota=BYTES]
  subroutine open_segment(status)
    integer(c_int), intent(inout) :: status
    character(len=:), allocatable :: name, url, option
    type(IW_handle_t) :: handle
    integer(c_int) :: flags, durability
    real(c_double) :: timeout
    integer(c_int64_t) :: quota

    name = word()
    url = word()
    flags = 0
    durability = 0
    timeout = 0
    quota = 0
    do while (len(rest) > 0)
      option = word()
      if (option == 'create') flags = flags + IW_CREATE
      if (option == 'read_only') flags = flags + IW_READ_ONLY
      if (option == 'memory') durability = IW_MEMORY
      if (option == 'written') durability = IW_WRITTEN
      if (index(option, 'timeout=') == 1) timeout = real_of(option(9:))
      if (index(option, 'quota=') == 1) quota = integer_of(option(7:))
    end do
    if (is_refused()) return
    handle = IW_open_segment_with(url, flags=flags, durability=durability, timeout=timeout, &
      quota_bytes=quota)
    if (IW_is_open(handle)) then
      call remember(name, url, handle)
    else
      status = IW_errno()
    end if
  end subroutine open_segment

  subroutine remember(name, url, handle)
    character(len=*), intent(in) :: name, url
    type(IW_handle_t), intent(in) :: handle
    integer :: i, place

    place = 0
    do i = size(segments), 1, -1
      if (.not. allocated(segments(i)%name)) place = i
    end do
    do i = 1, size(segments)
      if (.not. allocated(segments(i)%name)) cycle
      if (segments(i)%name == name) place = i
    end do
    if (place == 0) then
      call refuse('BAD_ARGUMENT too many segments are open')
      return
    end if
    segments(place)%name = name
    segments(place)%url = url
    segments(place)%handle = handle
    segments(place)%is_listened_to = .false.
  end subroutine remember

  subroutine lock(command, status)
    character(len=*), intent(in) :: command
    integer(c_int), intent(inout) :: status
    type(segment_t), pointer :: segment
    character(len=:), allocatable :: seconds

    segment => segment_named(word())
    seconds = word()
    if (is_refused()) return
    select case (command)
    case ('rl')
      if (len(seconds) == 0) then
        status = IW_rl_acquire(segment%handle)
      else
        status = IW_rl_acquire_for(segment%handle, real_of(seconds), &
          flags=merge(IW_FRESH, 0, rest == 'fresh'))
      end if
    case ('wl')
      if (len(seconds) == 0) then
        status = IW_wl_acquire(segment%handle)
      else
        status = IW_wl_acquire_for(segment%handle, real_of(seconds))
      end if
    case ('rl_release')
      status = IW_rl_release(segment%handle)
    case ('wl_release')
      status = IW_wl_release(segment%handle)
    case default
      status = IW_wl_abort(segment%handle)
    end select
  end subroutine lock

  ! ---- The copy ----

  subroutine look_at_copy(command, status)
    character(len=*), intent(in) :: command
    integer(c_int), intent(inout) :: status
    type(segment_t), pointer :: segment
    type(IW_stats_t) :: stats

    segment => segment_named(word())
    if (is_refused()) return
    select case (command)
    case ('coherence')
      call set_coherence(segment%handle, status)
    case ('version')
      call add_count(IW_version(segment%handle))
    case ('staleness')
      call add_staleness(segment%handle, status)
    case ('refresh')
      status = IW_refresh(segment%handle)
    case default
      status = IW_stats(segment%handle, stats)
      call add_count(stats%messages_sent)
    end select
  end subroutine look_at_copy

  subroutine set_coherence(handle, status)
    type(IW_handle_t), intent(in) :: handle
    integer(c_int), intent(inout) :: status
    character(len=:), allocatable :: model
    integer :: i

    model = word()
    do i = 1, size(models)
      if (trim(models(i)) == model) exit
    end do
    if (i > size(models)) then
      call refuse('BAD_ARGUMENT not a coherence model: ' // model)
    else if (len(rest) == 0) then
      status = IW_set_coherence(handle, int(i, c_int))
    else
      status = IW_set_coherence(handle, int(i, c_int), real_of(rest))
    end if
  end subroutine set_coherence

  subroutine add_count(number)
    integer(c_int64_t), intent(in) :: number
    character(len=24) :: digits

    write (digits, '(i0)') number
    call add(' ' // trim(digits))
  end subroutine add_count

  subroutine add_staleness(handle, status)
    type(IW_handle_t), intent(in) :: handle
    integer(c_int), intent(inout) :: status
    real(c_double) :: seconds
    character(len=24) :: digits

    status = IW_staleness(handle, seconds)
    digits = 'never'
    if (seconds >= 0) write (digits, '(f20.6)') seconds
    call add(' ' // trim(adjustl(digits)))
  end subroutine add_staleness

  ! ---- Listening ----

  subroutine listen(status)
    integer(c_int), intent(inout) :: status
    type(segment_t), pointer :: segment

    segment => segment_named(word())
    if (is_refused()) return
    segment%is_listened_to = .true.
    status = begin_listening(segment%handle, segment%hearing)
  end subroutine listen

  ! told S VERSION|connected|disconnected [SECONDS]
  subroutine told()
    type(segment_t), pointer :: segment
    character(len=:), allocatable :: what
    real(c_double) :: seconds
    logical :: is_told

    segment => segment_named(word())
    what = word()
    seconds = 30
    if (len(rest) > 0) seconds = real_of(rest)
    if (.not. is_refused() .and. .not. segment%is_listened_to) &
      call refuse('BAD_ARGUMENT the segment has no listener')
    if (is_refused()) return
    select case (what)
    case ('connected')
      is_told = wait_for_connection(segment%hearing, IW_CONNECTED, seconds)
    case ('disconnected')
      is_told = wait_for_connection(segment%hearing, IW_DISCONNECTED, seconds)
    case default
      is_told = wait_for_version(segment%hearing, integer_of(what), seconds)
      if (is_told) call add_count(segment%hearing%newest)
    end select
    if (is_told) return
    if (segment%hearing%state == IW_LOST) then
      call refuse('SEGMENT_LOST the library said so')
    else
      call refuse('TIMED_OUT not told')
    end if
  end subroutine told

  ! ---- Blocks ----

  ! make S NAME|- COUNT TYPE
  subroutine make(status)
    integer(c_int), intent(inout) :: status
    type(segment_t), pointer :: segment
    character(len=:), allocatable :: name
    type(IW_block_t) :: block
    type(c_ptr) :: t, made
    integer :: count

    segment => segment_named(word())
    name = word()
    count = int(integer_of(word()))
    t = find_type(parse(rest))
    if (is_refused()) return
    if (.not. c_associated(t)) then
      call refuse('UNKNOWN_TYPE not declared: ' // rest)
      return
    end if
    if (name == '-') then
      made = IW_malloc_array(segment%handle, t, count)
    else
      made = IW_malloc_array(segment%handle, t, count, name=name)
    end if
    if (c_associated(made)) then
      status = IW_describe_block(segment%handle, made, block)
      call add_count(block%serial)
    else
      status = IW_errno()
    end if
  end subroutine make

  subroutine free(status)
    integer(c_int), intent(inout) :: status
    type(segment_t), pointer :: segment
    type(c_ptr) :: block

    segment => segment_named(word())
    if (is_refused()) return
    block = IW_mip_to_ptr(segment%url // '#' // word())
    if (c_associated(block)) then
      status = IW_free(segment%handle, block)
    else
      status = IW_errno()
    end if
  end subroutine free

  subroutine use_unit(command, status)
    character(len=*), intent(in) :: command
    integer(c_int), intent(inout) :: status
    type(segment_t), pointer :: segment
    type(unit_t) :: unit

    segment => segment_named(word())
    if (is_refused()) return
    call find_place(segment, word(), unit, status)
    if (status /= IW_OK .or. is_refused()) return
    if (command == 'get') then
      call add(' ')
      call add_unit(unit)
    else if (command == 'put') then
      call put_unit(segment%handle, unit, parse(rest), status)
    else
      call add_mip(unit%at, status)
    end if
  end subroutine use_unit

  ! BLOCK["#"UNIT]("/"UNIT)*
  subroutine find_place(segment, place, unit, status)
    type(segment_t), intent(in) :: segment
    character(len=*), intent(in) :: place
    type(unit_t), intent(out) :: unit
    integer(c_int), intent(inout) :: status
    character(len=:), allocatable :: steps
    type(values_t) :: values
    integer :: slash, hash

    slash = index(place // '/', '/')
    hash = index(place(1:slash - 1) // '#', '#')
    call find_block(segment, place(1:hash - 1), values, status)
    if (status /= IW_OK .or. is_refused()) return
    unit = find_unit(values, unit_number(place(hash + 1:slash - 1)))
    steps = place(slash:)
    do while (len(steps) > 0 .and. .not. is_refused())
      slash = index(steps(2:) // '/', '/')
      unit = find_unit(held_by(unit), unit_number(steps(2:slash)))
      steps = steps(slash + 1:)
    end do
  end subroutine find_place

  function unit_number(digits) result(number)
    character(len=*), intent(in) :: digits
    integer :: number

    number = 0
    if (len(digits) > 0) number = int(integer_of(digits))
  end function unit_number

  ! One that is only reserved is not in the copy's version.
  subroutine find_block(segment, name, values, status)
    type(segment_t), intent(in) :: segment
    character(len=*), intent(in) :: name
    type(values_t), intent(out) :: values
    integer(c_int), intent(inout) :: status
    type(IW_block_t) :: block
    type(c_ptr) :: found

    found = IW_mip_to_ptr(segment%url // '#' // name)
    if (c_associated(found)) then
      status = IW_describe_block(segment%handle, found, block)
    else
      status = IW_errno()
    end if
    if (status /= IW_OK) return
    if (block%is_reserved /= 0) call refuse('NO_BLOCK the copy''s version has no such block')
    values = values_t(IW_type_table(block%type), int(block%count), block%address)
  end subroutine find_block

  subroutine add_mip(address, status)
    type(c_ptr), intent(in) :: address
    integer(c_int), intent(inout) :: status
    character(len=:), allocatable :: mip

    if (c_associated(address)) mip = IW_ptr_to_mip(address)
    if (.not. allocated(mip)) mip = ''
    if (len(mip) == 0) status = IW_errno()
    call add(' ' // mip)
  end subroutine add_mip

  subroutine dump(status)
    integer(c_int), intent(inout) :: status
    type(segment_t), pointer :: segment
    type(IW_block_t) :: block
    type(c_ptr) :: at
    logical :: is_first

    segment => segment_named(word())
    if (is_refused()) return
    call add(' [')
    is_first = .true.
    at = IW_next_block(segment%handle)
    do while (c_associated(at) .and. status == IW_OK)
      status = IW_describe_block(segment%handle, at, block)
      if (.not. is_first) call add(',')
      is_first = .false.
      call add_block(block)
      at = IW_next_block(segment%handle, at)
    end do
    call add(']')
  end subroutine dump

  subroutine add_block(block)
    type(IW_block_t), intent(in) :: block
    character(len=24) :: serial

    write (serial, '(i0)') block%serial
    call add('{"serial":' // trim(serial) // ',"name":')
    call add_quoted(IW_text(block%name))
    call add(',"type":')
    call add_type(block%type)
    call add(',"count":' // decimal(int(block%count)) // ',"units":')
    call add_units(values_t(IW_type_table(block%type), int(block%count), block%address))
    call add('}')
  end subroutine add_block

end module agent_commands
