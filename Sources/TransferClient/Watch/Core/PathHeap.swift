import TransferModel

/// Paths by rank, the lowest first, and those of the same rank by mark. Outdated elements stay until they are taken:
/// the caller has to compare an element's mark with that of the candidate.
struct PathHeap: Sendable {
    struct Element: Equatable, Sendable {
        let rank: Int64
        let path: PathKey
        /// The candidate's mark when the element was inserted.
        let mark: UInt64

        static func < (a: Element, b: Element) -> Bool { (a.rank, a.mark) < (b.rank, b.mark) }
    }

    private var elements: [Element] = []

    var first: Element? { elements.first }

    mutating func insert(_ element: Element) {
        elements.append(element)
        var child = elements.count - 1
        while child > 0, elements[child] < elements[(child - 1) / 2] {
            elements.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    mutating func popFirst() -> Element? {
        guard let first = elements.first, let last = elements.popLast() else { return nil }
        guard !elements.isEmpty else { return first }
        elements[0] = last
        sink()
        return first
    }

    private mutating func sink() {
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < elements.count {
                if elements[child] < elements[least] { least = child }
            }
            guard least != parent else { return }
            elements.swapAt(parent, least)
            parent = least
        }
    }
}
