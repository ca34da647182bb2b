"""Several threads that take what is to be tried from one queue."""

import queue
import threading


def work_off(waiting, jobs, attempt, is_enough=lambda: False):
    """Calls attempt(item) for each item of the queue, `jobs` at a time, until it is empty or
    `is_enough()`. An exception ends the work and is raised here, since it must not
    pass for a success."""
    broken = []

    def work():
        try:
            while not broken and not is_enough():
                attempt(waiting.get_nowait())
        except queue.Empty:
            pass
        except Exception as error:
            broken.append(error)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if broken:
        raise broken[0]
