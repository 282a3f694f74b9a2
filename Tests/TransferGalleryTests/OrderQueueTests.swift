import Testing

@testable import TransferGallery

/// Whose order is next.
@Suite struct OrderQueueTests {
    private static func all(_ queue: inout OrderQueue<String>) -> [String] {
        var orders: [String] = []
        while let order = queue.next() { orders.append(order) }
        return orders
    }

    @Test func theLastOrderOfAClientComesFirst() {
        var queue = OrderQueue<String>()
        for order in ["a", "b", "c"] { _ = queue.add(order, of: 1) }
        #expect(Self.all(&queue) == ["c", "b", "a"])
        #expect(queue.count == 0)
    }

    @Test func clientsTakeTurns() {
        var queue = OrderQueue<String>()
        for number in 1...5 { _ = queue.add("many \(number)", of: 1) }
        _ = queue.add("one", of: 2)
        _ = queue.add("another", of: 3)
        #expect(Self.all(&queue).prefix(3) == ["many 5", "one", "another"])
    }

    @Test func aClientCannotFillTheQueue() {
        var queue = OrderQueue<String>(.init(total: 6, ofClient: 4))
        let added = [1, 1, 1, 1, 1, 2, 2, 3].map { queue.add("an order", of: $0) }
        #expect(added == [true, true, true, true, false, true, true, false])
        _ = queue.next()
        let isAdded = queue.add("again", of: 3)
        #expect(isAdded)
    }
}
