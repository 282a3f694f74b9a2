import Testing

@testable import TransferGallery

/// Whose order is next.
@Suite struct OrderQueueTests {
    private static func add(_ order: String, of client: Int, to queue: inout OrderQueue<String>) -> Bool {
        if case .added = queue.add(order, of: client, isWanted: { $0 != "unwanted" }) { true } else { false }
    }

    private static func all(_ queue: inout OrderQueue<String>) -> [String] {
        var orders: [String] = []
        while let order = queue.next() { orders.append(order) }
        return orders
    }

    @Test func theLastOrderOfAClientComesFirst() {
        var queue = OrderQueue<String>()
        for order in ["a", "b", "c"] { _ = Self.add(order, of: 1, to: &queue) }
        #expect(Self.all(&queue) == ["c", "b", "a"])
        #expect(queue.count == 0)
    }

    @Test func clientsTakeTurns() {
        var queue = OrderQueue<String>()
        for number in 1...5 { _ = Self.add("many \(number)", of: 1, to: &queue) }
        _ = Self.add("one", of: 2, to: &queue)
        _ = Self.add("another", of: 3, to: &queue)
        #expect(Self.all(&queue).prefix(3) == ["many 5", "one", "another"])
    }

    @Test func aClientCannotFillTheQueue() {
        var queue = OrderQueue<String>(.init(total: 6, ofClient: 4))
        let added = [1, 1, 1, 1, 1, 2, 2].map { Self.add("an order", of: $0, to: &queue) }
        #expect(added == [true, true, true, true, false, true, true])
    }

    /// When the queue is full, a newcomer takes a place from the client with most orders, but not one that has as few.
    @Test func aNewcomerTakesAPlace() {
        var queue = OrderQueue<String>(.init(total: 4, ofClient: 4))
        for number in 1...4 { _ = Self.add("many \(number)", of: 1, to: &queue) }
        guard case .added(let dropped) = queue.add("one", of: 2, isWanted: { _ in true }) else {
            Issue.record("it was refused")
            return
        }
        #expect(dropped == "many 1")
        let isRefused = !Self.add("many 5", of: 1, to: &queue)
        #expect(isRefused)
        #expect(queue.count == 4)
        #expect(Self.all(&queue) == ["many 4", "one", "many 3", "many 2"])
    }

    @Test func ordersThatAreNotWantedTakeNoPlace() {
        var queue = OrderQueue<String>(.init(total: 4, ofClient: 2))
        for _ in 1...2 { _ = Self.add("unwanted", of: 1, to: &queue) }
        let isAdded = Self.add("wanted", of: 1, to: &queue)
        #expect(isAdded)
        #expect(queue.count == 1)
    }
}
