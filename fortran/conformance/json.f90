! JSON as far as the agent protocol needs it (conformance/README.md), and answers: ASCII on one
! line; a string's characters are bytes. The nodes of a text stay until the next text is parsed.
! They are named by numbers, from 1 on. Fortran 2003.
module agent_json
  implicit none
  private
  public :: parse, is_text, is_null, text_of, first, next, member, item, length
  public :: answer, begin_answer, add, add_quoted, decimal
  public :: refuse, is_refused, refusal

  integer, parameter :: NULL_KIND = 1, NUMBER_KIND = 2, TEXT_KIND = 3, LIST_KIND = 4, &
    OBJECT_KIND = 5
  integer, parameter :: most_nested = 200
  ! What the letters of escapes mean.
  character(len=*), parameter :: controls = 'nrbtf'
  integer, parameter :: control_codes(5) = (/ 10, 13, 8, 9, 12 /)
  character(len=*), parameter :: hexadecimal = '0123456789abcdef'

  ! Texts and keys lie in `bytes`.
  type :: node_t
    integer :: kind = NULL_KIND
    integer :: from = 1, to = 0
    integer :: key_from = 1, key_to = 0
    integer :: first = 0, next = 0
  end type node_t

  type(node_t), allocatable :: nodes(:)
  integer :: node_count = 0
  character(len=:), allocatable :: bytes
  integer :: byte_count = 0
  character(len=:), allocatable :: source
  integer :: at = 1

  character(len=:), allocatable :: written
  integer :: written_count = 0

  ! Why a command is refused: the name of an error and a text. The first one is kept.
  logical :: refused = .false.
  character(len=:), allocatable :: reason

contains

  subroutine refuse(why)
    character(len=*), intent(in) :: why

    if (.not. refused) reason = why
    refused = .true.
  end subroutine refuse

  function is_refused() result(answer)
    logical :: answer

    answer = refused
  end function is_refused

  function refusal() result(why)
    character(len=:), allocatable :: why

    why = reason
  end function refusal

  ! ---- Answers ----

  subroutine begin_answer()
    if (.not. allocated(written)) allocate (character(len=4096) :: written)
    written_count = 0
    refused = .false.
  end subroutine begin_answer

  function answer() result(text)
    character(len=:), allocatable :: text

    text = written(1:written_count)
  end function answer

  subroutine add(text)
    character(len=*), intent(in) :: text
    character(len=:), allocatable :: larger

    if (written_count + len(text) > len(written)) then
      allocate (character(len=2 * (written_count + len(text))) :: larger)
      larger(1:written_count) = written(1:written_count)
      call move_alloc(larger, written)
    end if
    written(written_count + 1:written_count + len(text)) = text
    written_count = written_count + len(text)
  end subroutine add

  ! Printable ASCII as it is, all else as \u00xx.
  subroutine add_quoted(text)
    character(len=*), intent(in) :: text
    integer :: i, code

    call add('"')
    do i = 1, len(text)
      code = ichar(text(i:i))
      if (code == ichar('"') .or. code == ichar('\')) then
        call add('\' // text(i:i))
      else if (code < 32 .or. code > 126) then
        call add('\u00' // hexadecimal(code / 16 + 1:code / 16 + 1) // &
          hexadecimal(mod(code, 16) + 1:mod(code, 16) + 1))
      else
        call add(text(i:i))
      end if
    end do
    call add('"')
  end subroutine add_quoted

  function decimal(value) result(text)
    integer, intent(in) :: value
    character(len=:), allocatable :: text
    character(len=12) :: digits

    write (digits, '(i0)') value
    text = trim(digits)
  end function decimal

  ! ---- What was parsed ----

  function is_text(node) result(answer)
    integer, intent(in) :: node
    logical :: answer

    answer = nodes(node)%kind == TEXT_KIND
  end function is_text

  function is_null(node) result(answer)
    integer, intent(in) :: node
    logical :: answer

    answer = nodes(node)%kind == NULL_KIND
  end function is_null

  ! Of a text or a number.
  function text_of(node) result(text)
    integer, intent(in) :: node
    character(len=:), allocatable :: text

    text = bytes(nodes(node)%from:nodes(node)%to)
  end function text_of

  function key_of(node) result(text)
    integer, intent(in) :: node
    character(len=:), allocatable :: text

    text = bytes(nodes(node)%key_from:nodes(node)%key_to)
  end function key_of

  function first(node) result(inner)
    integer, intent(in) :: node
    integer :: inner

    inner = nodes(node)%first
  end function first

  function next(node) result(after)
    integer, intent(in) :: node
    integer :: after

    after = nodes(node)%next
  end function next

  function length(node) result(count)
    integer, intent(in) :: node
    integer :: count, inner

    count = 0
    inner = first(node)
    do while (inner /= 0)
      count = count + 1
      inner = next(inner)
    end do
  end function length

  ! The node of the object's member `key`; 0 if the object has no such member.
  function member(node, key) result(inner)
    integer, intent(in) :: node
    character(len=*), intent(in) :: key
    integer :: inner

    inner = 0
    if (nodes(node)%kind == OBJECT_KIND) inner = first(node)
    do while (inner /= 0)
      if (key_of(inner) == key) return
      inner = next(inner)
    end do
  end function member

  ! The first is 1. One that is missing refuses the command; the list itself is given then.
  function item(node, number) result(inner)
    integer, intent(in) :: node, number
    integer :: inner, i

    inner = first(node)
    do i = 2, number
      if (inner == 0) exit
      inner = next(inner)
    end do
    if (inner /= 0) return
    call refuse('BAD_ARGUMENT a list is too short')
    inner = node
  end function item

  ! ---- Parsing ----

  ! The number of the outermost node.
  function parse(text) result(node)
    character(len=*), intent(in) :: text
    integer :: node

    source = text
    at = 1
    node_count = 0
    byte_count = 0
    if (.not. allocated(nodes)) allocate (nodes(256))
    if (allocated(bytes)) then
      if (len(bytes) < len(text)) deallocate (bytes)
    end if
    if (.not. allocated(bytes)) allocate (character(len=2 * len(text) + 16) :: bytes)
    call any_value(node, 0)
    call skip_blanks()
    if (at <= len(source)) call refuse('BAD_ARGUMENT JSON: more after the end')
  end function parse

  function peek() result(c)
    character(len=1) :: c

    c = char(0)
    if (at <= len(source)) c = source(at:at)
  end function peek

  subroutine skip_blanks()
    do while (peek() == ' ')
      at = at + 1
    end do
  end subroutine skip_blanks

  function took(wanted) result(answer)
    character(len=1), intent(in) :: wanted
    logical :: answer

    call skip_blanks()
    answer = peek() == wanted
    if (answer) at = at + 1
  end function took

  function new_node(kind) result(node)
    integer, intent(in) :: kind
    integer :: node
    type(node_t), allocatable :: more(:)

    if (node_count == size(nodes)) then
      allocate (more(2 * size(nodes)))
      more(1:node_count) = nodes
      call move_alloc(more, nodes)
    end if
    node_count = node_count + 1
    node = node_count
    nodes(node) = node_t(kind=kind)
  end function new_node

  recursive subroutine any_value(node, depth)
    integer, intent(out) :: node
    integer, intent(in) :: depth

    if (depth > most_nested) call refuse('BAD_ARGUMENT JSON: nested too deeply')
    call skip_blanks()
    if (is_refused()) then
      node = new_node(NULL_KIND)
    else if (peek() == '{') then
      call members('}', OBJECT_KIND, depth, node)
    else if (peek() == '[') then
      call members(']', LIST_KIND, depth, node)
    else if (peek() == '"') then
      node = new_node(TEXT_KIND)
      call string(nodes(node)%from, nodes(node)%to)
    else
      call word(node)
    end if
  end subroutine any_value

  recursive subroutine members(closing, kind, depth, node)
    character(len=1), intent(in) :: closing
    integer, intent(in) :: kind, depth
    integer, intent(out) :: node
    integer :: last, inner, key_from, key_to

    node = new_node(kind)
    at = at + 1
    if (took(closing)) return
    last = 0
    do
      key_from = 1
      key_to = 0
      if (kind == OBJECT_KIND) then
        call skip_blanks()
        call string(key_from, key_to)
        if (.not. took(':')) call refuse('BAD_ARGUMENT JSON: missing :')
      end if
      call any_value(inner, depth + 1)
      nodes(inner)%key_from = key_from
      nodes(inner)%key_to = key_to
      if (last == 0) then
        nodes(node)%first = inner
      else
        nodes(last)%next = inner
      end if
      last = inner
      if (is_refused()) return
      if (.not. took(',')) exit
    end do
    if (.not. took(closing)) call refuse('BAD_ARGUMENT JSON: missing ' // closing)
  end subroutine members

  subroutine keep(c)
    character(len=1), intent(in) :: c

    byte_count = byte_count + 1
    bytes(byte_count:byte_count) = c
  end subroutine keep

  ! A number, true, false or null.
  subroutine word(node)
    integer, intent(out) :: node

    node = new_node(NUMBER_KIND)
    nodes(node)%from = byte_count + 1
    do while (at <= len(source) .and. index(',]} ', peek()) == 0)
      call keep(peek())
      at = at + 1
    end do
    nodes(node)%to = byte_count
    if (text_of(node) == 'null') nodes(node)%kind = NULL_KIND
    if (nodes(node)%kind == NULL_KIND) return
    if (len(text_of(node)) == 0 .or. verify(text_of(node), '-0123456789.eE+') /= 0) then
      call refuse('BAD_ARGUMENT JSON: no value')
    end if
  end subroutine word

  subroutine string(from, to)
    integer, intent(out) :: from, to

    from = byte_count + 1
    if (peek() /= '"') call refuse('BAD_ARGUMENT JSON: a string was expected')
    at = at + 1
    do while (peek() /= '"' .and. .not. is_refused())
      if (at > len(source)) call refuse('BAD_ARGUMENT JSON: a string without end')
      if (peek() == '\') then
        at = at + 1
        call keep(escaped())
      else
        call keep(peek())
      end if
      at = at + 1
    end do
    at = at + 1
    to = byte_count
  end subroutine string

  ! The character that stands behind a backslash; `at` is then at its last one.
  function escaped() result(c)
    character(len=1) :: c
    integer :: code, status

    c = peek()
    if (index('"\/', c) /= 0) return
    if (index(controls, c) /= 0) then
      c = char(control_codes(index(controls, c)))
      return
    end if
    if (c /= 'u' .or. at + 4 > len(source)) then
      call refuse('BAD_ARGUMENT JSON: an escape that is none')
      return
    end if
    read (source(at + 1:at + 4), '(z4)', iostat=status) code
    if (status /= 0 .or. code > 255) &
      call refuse('BAD_ARGUMENT JSON: only \u0000 to \u00ff are bytes')
    at = at + 4
    if (.not. is_refused()) c = char(code)
  end function escaped

end module agent_json
