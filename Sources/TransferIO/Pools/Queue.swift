/// A first-in, first-out queue. A removed element is released at once, even while other elements wait.
struct Queue<Element> {
    private var slots: [Element?] = []
    private var head = 0

    var count: Int { slots.count - head }

    var isEmpty: Bool { count == 0 }

    mutating func append(_ element: Element) {
        slots.append(element)
    }

    mutating func popFirst() -> Element? {
        guard head < slots.count else { return nil }
        let element = slots[head].take()
        head += 1
        // The remaining elements are moved only after as many were removed. This takes constant time on average, and
        // limits the memory of a queue that is never empty.
        if head * 2 >= slots.count {
            slots.removeFirst(head)
            head = 0
        }
        return element
    }
}
