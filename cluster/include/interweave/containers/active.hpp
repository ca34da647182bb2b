// Writer and reader containers, and the factory that makes them.
//
//   Factory factory("file:/run/amns");                  // the name server, as for AMNS_Init
//   auto writer = factory.make_writer<Grid>("grid");    // in one process
//   writer->call<&Grid::paint>(3, 4, red);
//   auto reader = factory.make_reader<Grid>("grid");    // in others
//   use(reader->read()->colour(3, 4));
//
// A call of the writer's is made there and shipped: its number and arguments travel, not the
// container. A reader queues what comes and evaluates it, in order, when it is read. A reader whose
// queue is full is sent nothing more until it is read: then it asks for the whole object. So does
// one that finds its queue damaged, or a function in it that it does not know.
//
// Death: a writer pings readers that it has sent nothing for `ping_ms`. It drops a reader that
// leaves a message unanswered for `life_ms`; a reader that hears nothing for so long is broken,
// keeps the last state it can evaluate, and answers nothing more: so both sides agree, whoever was
// wrong first.
//
// Threads: all of it may be called from any thread. Functions run with the container's mutex held
// and must not call the same container. Neither they nor views keep anybody from being pinged.
#pragma once

#include <optional>

#include "interweave/containers/functions.hpp"

namespace iw::containers {

struct ContainerError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Options {
  // The writer's; its readers are told.
  int ping_ms = 200;
  int life_ms = 2000;
  // The writer lets a reader take its role that asks for it.
  bool gives_role = false;
  // Updates that a reader keeps, and that a writer keeps for a reader that does not take them.
  std::size_t queue_length = 256;
  // A reader's: a thread evaluates, so that the queue fills less often.
  bool evaluates_in_background = false;
  // A reader's: each read takes what has arrived itself and does not leave it to the library's
  // thread. For programs that read again and again and have a core for it: an update is seen
  // without anybody's being woken. One that reads less often than 1000 times a second answers later
  // by it.
  bool polls_when_read = false;
  // A reader's: how long it looks for its writer.
  int join_ms = 10000;
};

enum class Tie {
  joining,
  joined,
  moving,  // the writer's role goes to another process; the reader follows
  ended,   // the writer was deleted
  broken   // the other side is taken for dead
};

struct WriterStatistics {
  std::size_t readers = 0;
  std::size_t readers_behind = 0;      // with full queues: sent nothing until they are read
  std::size_t readers_waited_for = 0;  // have not answered all: 0 and none behind: all is queued
  std::uint64_t updates = 0;           // calls that were shipped, whatever they changed
  std::uint64_t objects_sent = 0;      // each to one reader
  std::uint64_t bytes_sent = 0;
};
struct ReaderStatistics {
  std::uint64_t updates_evaluated = 0;
  std::uint64_t objects_evaluated = 0;
  std::uint64_t recoveries = 0;  // of a damaged queue, or one with what the reader does not know
  std::uint64_t pings = 0;
  std::size_t queued = 0;
};

// What a writer container does, whatever its class.
class ActiveWriter {
 public:
  using Marshal = std::function<bool(MarshalStream&)>;
  virtual ~ActiveWriter() = default;
  // Makes the call and ships it; `function` nullptr: ships the whole object instead. Throws
  // ContainerError: this is the writer no more.
  virtual void ship(const FunctionTable::Number* function, const Marshal& arguments,
                    const std::function<void()>& call) = 0;
  virtual std::mutex& mutex() = 0;  // of the object
  virtual bool is_writer() const = 0;
  virtual WriterStatistics statistics() = 0;
};

class ActiveReader {
 public:
  virtual ~ActiveReader() = default;
  // Runs what is queued; the mutex is held. Throws ContainerError: there is no whole copy.
  virtual void evaluate() = 0;
  virtual std::mutex& mutex() = 0;  // of the copy
  virtual Tie tie() const = 0;
  virtual ReaderStatistics statistics() const = 0;
  // The writer's role; see Factory::take_role. nullptr: not given.
  virtual std::unique_ptr<ActiveWriter> take_role(const Options& options) = 0;
};

// Of the three functions of StandardContainer.
inline constexpr FunctionTable::Number insert_number{-1, 0}, delete_number{-2, 0},
    clear_number{-3, 0};

std::unique_ptr<ActiveWriter> start_writer(const std::string& name,
                                           std::shared_ptr<StandardContainer> object,
                                           const Options& options);
std::unique_ptr<ActiveReader> start_reader(const std::string& name,
                                           std::shared_ptr<StandardContainer> copy,
                                           const FunctionTable& functions, const Options& options);

// A const view of an object for as long as it lives; its mutex is held.
template <typename C>
class View {
 public:
  View(const C& object, std::mutex& mutex) : held_(mutex), object_(&object) {}
  const C* operator->() const { return object_; }
  const C& operator*() const { return *object_; }

 private:
  std::unique_lock<std::mutex> held_;
  const C* object_;
};

template <typename C>
class WriterContainer : public StandardContainer {
 public:
  WriterContainer(std::unique_ptr<ActiveWriter> active, std::shared_ptr<C> object)
      : active_(std::move(active)), object_(std::move(object)) {}

  // Any member function that is not const. One without a number ships the whole object.
  template <auto Function, typename... Given>
  auto call(Given&&... given) {
    using Member = MemberFunction<decltype(Function)>;
    typename Member::Arguments arguments(std::forward<Given>(given)...);
    const auto marshal_all = [&](MarshalStream& stream) {
      return std::apply([&](const auto&... each) { return (marshal(stream, each) && ...); },
                        arguments);
    };
    const auto make = [&] {
      return std::apply(
          [&](auto&... each) { return (static_cast<C&>(*object_).*Function)(std::move(each)...); },
          arguments);
    };
    const auto* number = Functions<C>::all().table().find(&identity_of<Function>);
    if constexpr (std::is_void_v<decltype(make())>) {
      active_->ship(number, marshal_all, make);
    } else {
      std::optional<decltype(make())> result;
      active_->ship(number, marshal_all, [&] { result.emplace(make()); });
      return std::move(*result);
    }
  }
  OBJ_RETURN Insert(Ref first, Ref second = nullptr) override {
    return standard(insert_number, first, second, [&] { return object_->Insert(first, second); });
  }
  OBJ_RETURN Delete(Ref first, Ref second = nullptr) override {
    return standard(delete_number, first, second, [&] { return object_->Delete(first, second); });
  }
  OBJ_RETURN Clear() override {
    return standard(clear_number, nullptr, nullptr, [&] { return object_->Clear(); });
  }
  View<C> read() const { return View<C>(*object_, active_->mutex()); }
  OBJ_RETURN Marshal(MarshalStream* stream) override {
    const std::lock_guard held(active_->mutex());
    return object_->Marshal(stream);
  }
  // As an update: the whole object is shipped.
  OBJ_RETURN DeMarshal(DeMarshalStream* stream) override {
    OBJ_RETURN result = OBJ_RETURN_FAIL;
    active_->ship(nullptr, {}, [&] { result = object_->DeMarshal(stream); });
    return result;
  }
  // False: another process has taken the role; calls throw ContainerError.
  bool is_writer() const { return active_->is_writer(); }
  WriterStatistics statistics() const { return active_->statistics(); }

 private:
  template <typename Call>
  OBJ_RETURN standard(const FunctionTable::Number& number, const Ref& first, const Ref& second,
                      Call call) {
    OBJ_RETURN result = OBJ_RETURN_FAIL;
    const auto marshal_both = [&](MarshalStream& stream) {
      return marshal(stream, first) && marshal(stream, second);
    };
    active_->ship(&number, marshal_both, [&] { result = call(); });
    return result;
  }
  std::unique_ptr<ActiveWriter> active_;
  std::shared_ptr<C> object_;
};

template <typename C>
class ReaderContainer : public StandardContainer {
 public:
  ReaderContainer(std::unique_ptr<ActiveReader> active, std::shared_ptr<C> copy)
      : active_(std::move(active)), copy_(std::move(copy)) {}
  // Evaluates the updates that have come, then shows the copy; other calls on this container wait
  // meanwhile. A broken or ended container shows its last state. Throws ContainerError if
  // no state has come.
  View<C> read() {
    View<C> view(*copy_, active_->mutex());
    active_->evaluate();
    return view;
  }
  // Insert, Delete and Clear are for the writer: they fail here, as they do in StandardContainer.
  OBJ_RETURN Marshal(MarshalStream* stream) override {
    const std::lock_guard held(active_->mutex());
    active_->evaluate();
    return copy_->Marshal(stream);
  }
  OBJ_RETURN DeMarshal(DeMarshalStream*) override { return OBJ_RETURN_FAIL; }
  Tie tie() const { return active_->tie(); }
  ReaderStatistics statistics() const { return active_->statistics(); }

 private:
  friend class Factory;
  std::unique_ptr<ActiveReader> active_;
  std::shared_ptr<C> copy_;
};

// Active Messages and the name server for as long as it lives; containers go before it.
class Factory {
 public:
  // Throws ContainerError: no transport, or no name server there (nullptr: IW_AMNS).
  explicit Factory(const char* name_server = nullptr);
  ~Factory();
  Factory(const Factory&) = delete;
  Factory& operator=(const Factory&) = delete;

  // Throws ContainerError: the name is taken, or none. All access to the object goes through the
  // container.
  template <typename C>
  auto make_writer(const std::string& name, std::shared_ptr<C> object = std::make_shared<C>(),
                   const Options& options = {}) {
    check(name, object.get());
    auto active = start_writer(name, object, options);
    return std::make_unique<WriterContainer<C>>(std::move(active), std::move(object));
  }
  // Has the writer's state when it returns. Throws ContainerError: no such writer, or no answer.
  template <typename C>
  auto make_reader(const std::string& name, std::shared_ptr<C> copy = std::make_shared<C>(),
                   const Options& options = {}) {
    check(name, copy.get());
    auto active = start_reader(name, copy, Functions<C>::all().table(), options);
    return std::make_unique<ReaderContainer<C>>(std::move(active), std::move(copy));
  }
  // The reader's process becomes the writer, if the writer lets it (gives_role); other readers
  // follow, and `reader` is gone. nullptr: not given, and the reader stays.
  template <typename C>
  std::unique_ptr<WriterContainer<C>> take_role(std::unique_ptr<ReaderContainer<C>>& reader,
                                                const Options& options = {}) {
    auto active = reader->active_->take_role(options);
    if (active == nullptr) return nullptr;
    auto copy = reader->copy_;
    reader.reset();
    return std::make_unique<WriterContainer<C>>(std::move(active), std::move(copy));
  }

 private:
  // Throws ContainerError: there is no object, or the name is not the text that it would be taken
  // for.
  static void check(const std::string& name, const StandardContainer* object);
};

}  // namespace iw::containers
