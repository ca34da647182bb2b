! Units of blocks as the agent protocol names and writes them, walked by the table that a segment
! gives of its types. Fortran 2003.
module agent_units
  use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_f_pointer, c_int, c_int8_t, &
    c_loc, c_null_ptr, c_ptr
  use agent_json
  use agent_numbers
  use interweave
  use interweave_types
  implicit none
  private
  public :: values_t, unit_t, find_unit, held_by, add_unit, add_units, put_unit

  ! So many values of a type in a row.
  type :: values_t
    type(IW_type_def), pointer :: table => null()
    integer :: count = 0
    type(c_ptr) :: at = c_null_ptr
  end type values_t

  type :: unit_t
    type(IW_type_def), pointer :: table => null()
    type(c_ptr) :: at = c_null_ptr
  end type unit_t

contains

  function is_bytes(table) result(answer)
    type(IW_type_def), intent(in) :: table
    logical :: answer

    answer = table%kind == IW_KIND_PRIMITIVE .and. table%primitive == IW_PRIMITIVE_UCHAR
  end function is_bytes

  recursive function units_of(t) result(units)
    type(c_ptr), intent(in) :: t
    integer :: units, i
    type(IW_type_def), pointer :: table
    type(IW_field_def), pointer :: fields(:)

    table => IW_type_table(t)
    units = 1
    if (table%kind == IW_KIND_ARRAY) units = int(table%count) * units_of(table%element)
    if (table%kind /= IW_KIND_RECORD) return
    fields => IW_fields(table)
    units = 0
    do i = 1, size(fields)
      units = units + units_of(fields(i)%type)
    end do
  end function units_of

  ! Items of a list of units: an array of uchar is one text.
  recursive function items_of(table) result(items)
    type(IW_type_def), intent(in) :: table
    integer :: items, i
    type(IW_type_def), pointer :: element
    type(IW_field_def), pointer :: fields(:)

    items = 1
    if (table%kind == IW_KIND_ARRAY) then
      element => IW_type_table(table%element)
      if (.not. is_bytes(element)) items = int(table%count) * items_of(element)
    else if (table%kind == IW_KIND_RECORD) then
      fields => IW_fields(table)
      items = 0
      do i = 1, size(fields)
        items = items + items_of(IW_type_table(fields(i)%type))
      end do
    end if
  end function items_of

  ! Null for a void arm; false if the discriminant selects none.
  function has_active_arm(unit, arm) result(known)
    type(unit_t), intent(in) :: unit
    type(IW_arm_def), pointer, intent(out) :: arm
    logical :: known
    type(IW_arm_def), pointer :: arms(:)
    integer :: i

    arms => IW_arms(unit%table)
    known = .true.
    do i = 1, size(arms)
      arm => arms(i)
      if (any(IW_arm_values(arm) == load_int(discriminant_of(unit)))) return
    end do
    arm => IW_default_arm(unit%table)
    known = associated(arm)
  end function has_active_arm

  function discriminant_of(unit) result(address)
    type(unit_t), intent(in) :: unit
    type(c_ptr) :: address
    type(IW_field_def), pointer :: fields(:)

    fields => IW_fields(unit%table)
    address = behind(unit%at, fields(1)%offset)
  end function discriminant_of

  function discriminant_unit(unit) result(discriminant)
    type(unit_t), intent(in) :: unit
    type(unit_t) :: discriminant
    type(IW_field_def), pointer :: fields(:)

    fields => IW_fields(unit%table)
    discriminant = unit_t(IW_type_table(fields(1)%type), discriminant_of(unit))
  end function discriminant_unit

  ! Takes a step into `table` by whole values of so many units: the rest stays in `number`.
  subroutine step_over(t, number, at, table)
    type(c_ptr), value :: t
    integer, intent(inout) :: number
    type(c_ptr), intent(inout) :: at
    type(IW_type_def), pointer, intent(out) :: table
    integer :: units

    table => IW_type_table(t)
    units = units_of(t)
    at = behind(at, (number / units) * table%size_bytes)
    number = mod(number, units)
  end subroutine step_over

  function find_unit(values, wanted) result(unit)
    type(values_t), intent(in) :: values
    integer, intent(in) :: wanted
    type(unit_t) :: unit
    type(IW_field_def), pointer :: fields(:)
    integer :: number, units, i

    unit = unit_t(values%table, values%at)
    if (is_refused()) return
    units = values%count * units_of(c_loc(values%table))
    if (wanted < 0 .or. wanted >= units) then
      call refuse('BAD_ARGUMENT the value has no such unit')
      return
    end if
    number = wanted
    call step_over(c_loc(values%table), number, unit%at, unit%table)
    do while (unit%table%kind == IW_KIND_ARRAY .or. unit%table%kind == IW_KIND_RECORD)
      if (unit%table%kind == IW_KIND_ARRAY) then
        call step_over(unit%table%element, number, unit%at, unit%table)
        cycle
      end if
      fields => IW_fields(unit%table)
      i = 1
      do while (number >= units_of(fields(i)%type))
        number = number - units_of(fields(i)%type)
        i = i + 1
      end do
      unit = unit_t(IW_type_table(fields(i)%type), behind(unit%at, fields(i)%offset))
    end do
  end function find_unit

  ! What a unit holds: a sequence's elements, a text's characters, a union's active arm.
  function held_by(unit) result(values)
    type(unit_t), intent(in) :: unit
    type(values_t) :: values
    type(IW_sequence_t), pointer :: sequence
    type(c_ptr), pointer :: text
    type(IW_arm_def), pointer :: arm
    logical :: known

    select case (unit%table%kind)
    case (IW_KIND_SEQUENCE)
      call c_f_pointer(unit%at, sequence)
      values = values_t(IW_type_table(unit%table%element), sequence%len, sequence%val)
    case (IW_KIND_TEXT)
      call c_f_pointer(unit%at, text)
      values = values_t(IW_type_table(IW_char), len(IW_text(text)), text)
    case (IW_KIND_UNION)
      known = has_active_arm(unit, arm)
      if (known) known = c_associated(arm%type)
      if (known) values = values_t(IW_type_table(arm%type), 1, behind(unit%at, arm%offset))
      if (.not. known) call refuse('BAD_ARGUMENT the union''s arm has no units')
    case default
      call refuse('BAD_ARGUMENT the unit holds no others')
    end select
  end function held_by

  ! ---- To text ----

  recursive subroutine add_unit(unit)
    type(unit_t), intent(in) :: unit
    character(kind=c_char), pointer :: characters(:)
    type(c_ptr), pointer :: text

    select case (unit%table%kind)
    case (IW_KIND_PRIMITIVE)
      call add_primitive(unit%table%primitive, unit%at)
    case (IW_KIND_ENUM)
      call add_primitive(IW_PRIMITIVE_INT, unit%at)
    case (IW_KIND_STRING)
      call c_f_pointer(unit%at, characters, (/ unit%table%size_bytes /))
      call add_quoted(IW_text(characters))
    case (IW_KIND_TEXT)
      call c_f_pointer(unit%at, text)
      call add_quoted(IW_text(text))
    case (IW_KIND_POINTER)
      call add_pointer(unit%at)
    case (IW_KIND_UNION)
      call add_union(unit)
    case default
      call add_sequence(held_by(unit))
    end select
  end subroutine add_unit

  subroutine add_pointer(at)
    type(c_ptr), intent(in) :: at
    type(c_ptr), pointer :: target_of
    character(len=:), allocatable :: mip

    call c_f_pointer(at, target_of)
    if (.not. c_associated(target_of)) then
      call add('null')
      return
    end if
    mip = IW_ptr_to_mip(target_of)
    if (len(mip) == 0) mip = 'dangling'
    call add_quoted(mip)
  end subroutine add_pointer

  recursive subroutine add_union(unit)
    type(unit_t), intent(in) :: unit
    type(IW_arm_def), pointer :: arm

    call add('{"case":')
    call add_unit(discriminant_unit(unit))
    call add(',"units":')
    if (.not. has_active_arm(unit, arm)) then
      call add('[]')
    else if (c_associated(arm%type)) then
      call add_units(held_by(unit))
    else
      call add('[]')
    end if
    call add('}')
  end subroutine add_union

  recursive subroutine add_sequence(values)
    type(values_t), intent(in) :: values

    if (is_bytes(values%table)) then
      call add_bytes(values%at, values%count)
    else
      call add_units(values)
    end if
  end subroutine add_sequence

  ! All units as a list.
  recursive subroutine add_units(values)
    type(values_t), intent(in) :: values
    logical :: is_first
    integer :: i

    is_first = .true.
    call add('[')
    do i = 1, values%count
      call add_items(values%table, behind(values%at, (i - 1) * values%table%size_bytes), is_first)
    end do
    call add(']')
  end subroutine add_units

  recursive subroutine add_items(table, at, is_first)
    type(IW_type_def), pointer, intent(in) :: table
    type(c_ptr), intent(in) :: at
    logical, intent(inout) :: is_first
    type(IW_type_def), pointer :: element
    type(IW_field_def), pointer :: fields(:)
    integer :: i

    if (table%kind == IW_KIND_RECORD) then
      fields => IW_fields(table)
      do i = 1, size(fields)
        call add_items(IW_type_table(fields(i)%type), behind(at, fields(i)%offset), is_first)
      end do
      return
    end if
    if (table%kind == IW_KIND_ARRAY) then
      element => IW_type_table(table%element)
      if (.not. is_bytes(element)) then
        do i = 1, int(table%count)
          call add_items(element, behind(at, (i - 1) * element%size_bytes), is_first)
        end do
        return
      end if
    end if
    if (.not. is_first) call add(',')
    is_first = .false.
    if (table%kind == IW_KIND_ARRAY) then
      call add_bytes(at, int(table%count))
    else
      call add_unit(unit_t(table, at))
    end if
  end subroutine add_items

  ! ---- From JSON: a failure of the library is in `status` ----

  recursive subroutine put_unit(h, unit, value, status)
    type(IW_handle_t), intent(in) :: h
    type(unit_t), intent(in) :: unit
    integer, intent(in) :: value
    integer(c_int), intent(inout) :: status

    select case (unit%table%kind)
    case (IW_KIND_PRIMITIVE)
      call put_primitive(unit%table%primitive, unit%at, text_of(value))
    case (IW_KIND_ENUM)
      call put_primitive(IW_PRIMITIVE_INT, unit%at, text_of(value))
    case (IW_KIND_STRING)
      call put_string(unit, text_of(value))
    case (IW_KIND_TEXT)
      status = IW_assign(h, unit%at, text_of(value))
    case (IW_KIND_POINTER)
      call put_pointer(unit%at, value, status)
    case (IW_KIND_UNION)
      call put_union(h, unit, value, status)
    case default
      call put_sequence(h, unit, value, status)
    end select
  end subroutine put_unit

  ! By hand: IW_set_text would leave blanks at the end out.
  subroutine put_string(unit, text)
    type(unit_t), intent(in) :: unit
    character(len=*), intent(in) :: text
    character(kind=c_char), pointer :: characters(:)
    integer :: i

    if (len(text) > unit%table%count) then
      call refuse('BAD_ARGUMENT the string is longer than its bound')
      return
    end if
    call c_f_pointer(unit%at, characters, (/ unit%table%size_bytes /))
    do i = 1, len(text)
      characters(i) = text(i:i)
    end do
    characters(len(text) + 1) = char(0)
  end subroutine put_string

  subroutine put_pointer(at, value, status)
    type(c_ptr), intent(in) :: at
    integer, intent(in) :: value
    integer(c_int), intent(inout) :: status
    type(c_ptr), pointer :: there
    type(c_ptr) :: found

    found = c_null_ptr
    if (.not. is_null(value)) then
      found = IW_mip_to_ptr(text_of(value))
      if (.not. c_associated(found)) status = IW_errno()
    end if
    call c_f_pointer(at, there)
    if (status == IW_OK) there = found
  end subroutine put_pointer

  recursive subroutine put_union(h, unit, value, status)
    type(IW_handle_t), intent(in) :: h
    type(unit_t), intent(in) :: unit
    integer, intent(in) :: value
    integer(c_int), intent(inout) :: status
    integer(c_int8_t), pointer :: bytes(:)
    type(IW_arm_def), pointer :: arm
    integer :: units

    units = member(value, 'units')
    if (units == 0 .or. member(value, 'case') == 0) then
      call refuse('BAD_ARGUMENT no union''s value')
      return
    end if
    call c_f_pointer(unit%at, bytes, (/ unit%table%size_bytes /))
    bytes = 0
    call put_unit(h, discriminant_unit(unit), member(value, 'case'), status)
    if (.not. has_active_arm(unit, arm)) return
    if (.not. c_associated(arm%type)) return
    units = first(units)
    call put_items(h, IW_type_table(arm%type), behind(unit%at, arm%offset), units, status)
  end subroutine put_union

  recursive subroutine put_sequence(h, unit, value, status)
    type(IW_handle_t), intent(in) :: h
    type(unit_t), intent(in) :: unit
    integer, intent(in) :: value
    integer(c_int), intent(inout) :: status
    type(values_t) :: made
    type(IW_type_def), pointer :: element
    integer :: count, i, items

    element => IW_type_table(unit%table%element)
    if (is_bytes(element)) then
      count = len(text_of(value)) / 2
    else
      count = length(value) / items_of(element)
    end if
    status = IW_assign(h, unit%at, c_null_ptr, count)
    if (status /= IW_OK) return
    made = held_by(unit)
    if (is_bytes(element)) then
      call put_bytes(made%at, made%count, text_of(value))
      return
    end if
    items = first(value)
    do i = 1, made%count
      call put_items(h, element, behind(made%at, (i - 1) * element%size_bytes), items, status)
    end do
  end subroutine put_sequence

  ! One value, from `items` on.
  recursive subroutine put_items(h, table, at, items, status)
    type(IW_handle_t), intent(in) :: h
    type(IW_type_def), pointer, intent(in) :: table
    type(c_ptr), intent(in) :: at
    integer, intent(inout) :: items
    integer(c_int), intent(inout) :: status
    type(IW_type_def), pointer :: element
    type(IW_field_def), pointer :: fields(:)
    integer :: i

    if (table%kind == IW_KIND_RECORD) then
      fields => IW_fields(table)
      do i = 1, size(fields)
        call put_items(h, IW_type_table(fields(i)%type), behind(at, fields(i)%offset), items, &
          status)
      end do
      return
    end if
    if (table%kind == IW_KIND_ARRAY) then
      element => IW_type_table(table%element)
      if (.not. is_bytes(element)) then
        do i = 1, int(table%count)
          call put_items(h, element, behind(at, (i - 1) * element%size_bytes), items, status)
        end do
        return
      end if
    end if
    if (items == 0) call refuse('BAD_ARGUMENT the list of units is too short')
    if (is_refused() .or. status /= IW_OK) return
    if (table%kind == IW_KIND_ARRAY) then
      call put_bytes(at, int(table%count), text_of(items))
    else
      call put_unit(h, unit_t(table, at), items, status)
    end if
    items = next(items)
  end subroutine put_items

end module agent_units
