! Types that the runner declares: tables made at run time, without sizes and offsets, which the
! library fills in, and back to JSON. Tables live as long as the program. Fortran 2003.
module agent_declarations
  use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_int32_t, c_loc, c_null_char, &
    c_null_ptr, c_ptr, c_size_t
  use agent_json
  use interweave
  use interweave_types
  implicit none
  private
  public :: declare, find_type, add_type

  type :: named_t
    character(len=:), allocatable :: name
    type(c_ptr) :: table = c_null_ptr
  end type named_t

  type(named_t), allocatable :: declared(:)
  integer :: declared_count = 0

contains

  ! A list of {"name": N, KIND: ...}, which may refer to each other and to earlier ones.
  subroutine declare(list)
    integer, intent(in) :: list
    type(IW_type_def), pointer :: table
    integer :: description

    description = first(list)
    do while (description /= 0 .and. .not. is_refused())
      allocate (table)
      table%name = kept(text_of(part(description, 'name')))
      call remember(text_of(part(description, 'name')), c_loc(table))
      description = next(description)
    end do
    description = first(list)
    do while (description /= 0 .and. .not. is_refused())
      table => IW_type_table(named(text_of(part(description, 'name'))))
      call fill(table, description)
      call register(named(text_of(part(description, 'name'))))
      description = next(description)
    end do
  end subroutine declare

  ! By name, or an anonymous type by its description. Null for a name that nobody declared.
  function find_type(description) result(t)
    integer, intent(in) :: description
    type(c_ptr) :: t

    if (is_text(description)) then
      t = named(text_of(description))
    else
      t = reference(description)
      call register(t)
    end if
  end function find_type

  subroutine register(t)
    type(c_ptr), intent(in) :: t

    if (is_refused()) return
    if (IW_register_types((/ t /)) == IW_OK) return
    call refuse('BAD_ARGUMENT the type cannot be registered: ' // IW_strerror())
  end subroutine register

  subroutine remember(name, t)
    character(len=*), intent(in) :: name
    type(c_ptr), intent(in) :: t
    type(named_t), allocatable :: more(:)
    integer :: i

    if (.not. allocated(declared)) allocate (declared(64))
    do i = 1, declared_count
      if (declared(i)%name == name) exit
    end do
    if (i > size(declared)) then
      allocate (more(2 * size(declared)))
      more(1:declared_count) = declared
      call move_alloc(more, declared)
    end if
    declared_count = max(declared_count, i)
    declared(i)%name = name
    declared(i)%table = t
  end subroutine remember

  function named(name) result(t)
    character(len=*), intent(in) :: name
    type(c_ptr) :: t
    integer :: i
    character(len=6), parameter :: names(11) = (/ 'char  ', 'uchar ', 'short ', 'ushort', &
      'int   ', 'uint  ', 'hyper ', 'uhyper', 'float ', 'double', 'bool  ' /)
    type(c_ptr) :: primitives(11)

    primitives = (/ IW_char, IW_uchar, IW_short, IW_ushort, IW_int, IW_uint, IW_hyper, &
      IW_uhyper, IW_float, IW_double, IW_bool /)
    t = c_null_ptr
    do i = 1, size(names)
      if (name == trim(names(i))) t = primitives(i)
    end do
    do i = 1, declared_count
      if (declared(i)%name == name) t = declared(i)%table
    end do
  end function named

  ! A type that is a part of another.
  recursive function reference(description) result(t)
    integer, intent(in) :: description
    type(c_ptr) :: t
    type(IW_type_def), pointer :: table

    if (is_text(description)) then
      t = named(text_of(description))
      if (.not. c_associated(t)) call refuse('BAD_ARGUMENT not declared: ' // text_of(description))
      return
    end if
    allocate (table)
    table%name = kept('')
    t = c_loc(table)
    call fill(table, description)
  end function reference

  recursive subroutine fill(table, description)
    type(IW_type_def), intent(inout) :: table
    integer, intent(in) :: description

    if (member(description, 'string') /= 0) then
      table%kind = IW_KIND_STRING
      table%count = number(member(description, 'string'))
    else if (member(description, 'text') /= 0) then
      table%kind = IW_KIND_TEXT
      table%count = number(member(description, 'text'))
    else if (member(description, 'pointer') /= 0) then
      table%kind = IW_KIND_POINTER
      if (.not. is_null(member(description, 'pointer'))) &
        table%element = reference(member(description, 'pointer'))
    else if (member(description, 'array') /= 0) then
      table%kind = IW_KIND_ARRAY
      table%element = reference(item(member(description, 'array'), 1))
      table%count = number(item(member(description, 'array'), 2))
    else if (member(description, 'sequence') /= 0) then
      table%kind = IW_KIND_SEQUENCE
      table%element = reference(item(member(description, 'sequence'), 1))
      table%count = number(item(member(description, 'sequence'), 2))
    else if (member(description, 'enum') /= 0) then
      call fill_enum(table, member(description, 'enum'))
    else if (member(description, 'record') /= 0) then
      call fill_record(table, member(description, 'record'))
    else if (member(description, 'union') /= 0) then
      call fill_union(table, member(description, 'union'))
    else
      call refuse('BAD_ARGUMENT a type''s description names no kind')
    end if
  end subroutine fill

  subroutine fill_enum(table, list)
    type(IW_type_def), intent(inout) :: table
    integer, intent(in) :: list
    type(IW_enum_member), pointer :: members(:)
    integer :: i

    allocate (members(length(list)))
    do i = 1, size(members)
      members(i)%name = kept(text_of(item(item(list, i), 1)))
      members(i)%value = int(number(item(item(list, i), 2)), c_int32_t)
    end do
    table%kind = IW_KIND_ENUM
    table%member_count = size(members)
    if (size(members) > 0) table%members = c_loc(members(1))
  end subroutine fill_enum

  recursive subroutine fill_record(table, list)
    type(IW_type_def), intent(inout) :: table
    integer, intent(in) :: list
    type(IW_field_def), pointer :: fields(:)
    integer :: i

    allocate (fields(length(list)))
    do i = 1, size(fields)
      fields(i)%name = kept(text_of(item(item(list, i), 1)))
      fields(i)%type = reference(item(item(list, i), 2))
    end do
    table%kind = IW_KIND_RECORD
    table%field_count = size(fields)
    if (size(fields) > 0) table%fields = c_loc(fields(1))
  end subroutine fill_record

  recursive subroutine fill_union(table, body)
    type(IW_type_def), intent(inout) :: table
    integer, intent(in) :: body
    type(IW_field_def), pointer :: discriminant
    type(IW_arm_def), pointer :: arms(:), otherwise
    integer :: i, list

    allocate (discriminant)
    discriminant%name = kept(text_of(item(part(body, 'on'), 1)))
    discriminant%type = reference(item(part(body, 'on'), 2))
    list = part(body, 'arms')
    allocate (arms(length(list)))
    do i = 1, size(arms)
      call fill_arm(arms(i), item(list, i))
      call fill_values(arms(i), item(item(list, i), 3))
    end do
    table%kind = IW_KIND_UNION
    table%fields = c_loc(discriminant)
    table%field_count = 1
    table%arm_count = size(arms)
    if (size(arms) > 0) table%arms = c_loc(arms(1))
    if (member(body, 'default') == 0) return
    allocate (otherwise)
    call fill_arm(otherwise, member(body, 'default'))
    table%otherwise = c_loc(otherwise)
  end subroutine fill_union

  recursive subroutine fill_arm(arm, list)
    type(IW_arm_def), intent(inout) :: arm
    integer, intent(in) :: list

    arm%name = kept(text_of(item(list, 1)))
    if (.not. is_null(item(list, 2))) arm%type = reference(item(list, 2))
  end subroutine fill_arm

  subroutine fill_values(arm, list)
    type(IW_arm_def), intent(inout) :: arm
    integer, intent(in) :: list
    integer(c_int32_t), pointer :: values(:)
    integer :: i

    allocate (values(length(list)))
    do i = 1, size(values)
      values(i) = int(number(item(list, i)), c_int32_t)
    end do
    arm%value_count = size(values)
    if (size(values) > 0) arm%values = c_loc(values(1))
  end subroutine fill_values

  ! A member that must be there.
  function part(node, key) result(inner)
    integer, intent(in) :: node
    character(len=*), intent(in) :: key
    integer :: inner

    inner = member(node, key)
    if (inner /= 0) return
    call refuse('BAD_ARGUMENT a description has no ' // key)
    inner = node
  end function part

  function number(node) result(value)
    integer, intent(in) :: node
    integer(c_size_t) :: value
    character(len=:), allocatable :: digits
    integer :: status

    digits = text_of(node)
    read (digits, *, iostat=status) value
    if (status /= 0) call refuse('BAD_ARGUMENT no number')
    if (status /= 0) value = 0
  end function number

  ! For the library, which keeps the address.
  function kept(text) result(address)
    character(len=*), intent(in) :: text
    type(c_ptr) :: address
    character(kind=c_char), pointer :: characters(:)
    integer :: i

    allocate (characters(len(text) + 1))
    do i = 1, len(text)
      characters(i) = text(i:i)
    end do
    characters(len(text) + 1) = c_null_char
    address = c_loc(characters(1))
  end function kept

  ! ---- To JSON: a type's name, or its description if it has none ----

  recursive subroutine add_type(t)
    type(c_ptr), intent(in) :: t
    type(IW_type_def), pointer :: table

    if (.not. c_associated(t)) then
      call add('null')
      return
    end if
    table => IW_type_table(t)
    if (len(IW_text(table%name)) > 0) then
      call add_quoted(IW_text(table%name))
      return
    end if
    select case (table%kind)
    case (IW_KIND_STRING)
      call add('{"string":' // decimal(int(table%count)) // '}')
    case (IW_KIND_TEXT)
      call add('{"text":' // decimal(int(table%count)) // '}')
    case (IW_KIND_POINTER)
      call add('{"pointer":')
      call add_type(table%element)
      call add('}')
    case (IW_KIND_ARRAY)
      call add_counted('{"array":[', table)
    case (IW_KIND_SEQUENCE)
      call add_counted('{"sequence":[', table)
    case (IW_KIND_ENUM)
      call add_enum(table)
    case (IW_KIND_RECORD)
      call add_record(table)
    case default
      call add_union(table)
    end select
  end subroutine add_type

  recursive subroutine add_counted(opening, table)
    character(len=*), intent(in) :: opening
    type(IW_type_def), intent(in) :: table

    call add(opening)
    call add_type(table%element)
    call add(',' // decimal(int(table%count)) // ']}')
  end subroutine add_counted

  subroutine add_enum(table)
    type(IW_type_def), intent(in) :: table
    type(IW_enum_member), pointer :: members(:)
    integer :: i

    members => IW_enum_members(table)
    call add('{"enum":[')
    do i = 1, size(members)
      call add(separator(i) // '[')
      call add_quoted(IW_text(members(i)%name))
      call add(',' // decimal(int(members(i)%value)) // ']')
    end do
    call add(']}')
  end subroutine add_enum

  recursive subroutine add_record(table)
    type(IW_type_def), intent(in) :: table
    type(IW_field_def), pointer :: fields(:)
    integer :: i

    fields => IW_fields(table)
    call add('{"record":[')
    do i = 1, size(fields)
      call add(separator(i) // '[')
      call add_quoted(IW_text(fields(i)%name))
      call add(',')
      call add_type(fields(i)%type)
      call add(']')
    end do
    call add(']}')
  end subroutine add_record

  recursive subroutine add_union(table)
    type(IW_type_def), intent(in) :: table
    type(IW_field_def), pointer :: on(:)
    type(IW_arm_def), pointer :: arms(:), otherwise
    integer(c_int32_t), pointer :: values(:)
    integer :: i, j

    on => IW_fields(table)
    arms => IW_arms(table)
    call add('{"union":{"on":[')
    call add_quoted(IW_text(on(1)%name))
    call add(',')
    call add_type(on(1)%type)
    call add('],"arms":[')
    do i = 1, size(arms)
      call add(separator(i))
      call add_arm(arms(i))
      call add(',[')
      values => IW_arm_values(arms(i))
      do j = 1, size(values)
        call add(separator(j) // decimal(int(values(j))))
      end do
      call add(']]')
    end do
    call add(']')
    otherwise => IW_default_arm(table)
    if (associated(otherwise)) then
      call add(',"default":')
      call add_arm(otherwise)
      call add(']')
    end if
    call add('}}')
  end subroutine add_union

  ! Without the bracket that ends it.
  recursive subroutine add_arm(arm)
    type(IW_arm_def), intent(in) :: arm

    call add('[')
    call add_quoted(IW_text(arm%name))
    call add(',')
    call add_type(arm%type)
  end subroutine add_arm

  function separator(number_in_list) result(text)
    integer, intent(in) :: number_in_list
    character(len=merge(1, 0, number_in_list > 1)) :: text

    text = ','
  end function separator

end module agent_declarations
