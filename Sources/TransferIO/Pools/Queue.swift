/// First in, first out. What was taken out is let go of at once, also while more waits behind it.
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
        // Moving the rest down only after as many were taken makes it constant time on average, and keeps a queue that
        // never runs empty from growing.
        if head * 2 >= slots.count {
            slots.removeFirst(head)
            head = 0
        }
        return element
    }
}
