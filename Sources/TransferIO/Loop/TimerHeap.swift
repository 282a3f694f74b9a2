/// Timers ordered by deadline. A cancelled timer stays in the heap until it is due, or until there are more cancelled
/// timers than others.
struct TimerHeap {
    private struct Entry {
        let deadline: Int64
        let id: UInt64
    }

    private var heap: [Entry] = []
    private var actions: [UInt64: () -> Void] = [:]
    private var nextID: UInt64 = 0

    /// Deadline of the first timer that is not cancelled, in nanoseconds of the monotonic clock.
    mutating func nextDeadline() -> Int64? {
        while let first = heap.first, actions[first.id] == nil { removeFirst() }
        return heap.first?.deadline
    }

    mutating func add(deadline: Int64, action: @escaping () -> Void) -> UInt64 {
        nextID += 1
        actions[nextID] = action
        heap.append(Entry(deadline: deadline, id: nextID))
        siftUp(heap.count - 1)
        return nextID
    }

    mutating func cancel(_ id: UInt64) {
        actions[id] = nil
        guard heap.count > 64, heap.count > actions.count * 2 else { return }
        heap = heap.filter { actions[$0.id] != nil }.sorted { $0.deadline < $1.deadline }
    }

    /// Removes one action that is due and returns it.
    mutating func popDue(now: Int64) -> (() -> Void)? {
        guard let deadline = nextDeadline(), deadline <= now, let first = heap.first else { return nil }
        removeFirst()
        return actions.removeValue(forKey: first.id)
    }

    private mutating func removeFirst() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        siftDown(0)
    }

    private mutating func siftUp(_ start: Int) {
        var child = start
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child].deadline < heap[parent].deadline else { return }
            heap.swapAt(child, parent)
            child = parent
        }
    }

    private mutating func siftDown(_ start: Int) {
        var parent = start
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count {
                if heap[child].deadline < heap[least].deadline { least = child }
            }
            guard least != parent else { return }
            heap.swapAt(parent, least)
            parent = least
        }
    }
}
