/// Decides whose order is next, so that a client with many orders does not make the others wait: clients take turns, and the last order
/// of each comes first, because it is for what is on the screen now.
struct OrderQueue<Order> {
    /// Most orders that wait, of all clients and of one.
    struct Limits: Sendable {
        var total = 128
        var ofClient = 32
    }

    /// Whether an order was added.
    enum Addition {
        /// The order waits. In exchange, the oldest order of the client with most orders was dropped, if any.
        case added(dropped: Order?)
        /// The client has too many orders.
        case refused
    }

    private struct Line {
        let client: Int
        /// The last one is the next.
        var orders: [Order]
    }

    private let limits: Limits
    /// None of them empty; the first one is next.
    private var lines: [Line] = []
    private(set) var count = 0

    init(_ limits: Limits = Limits()) { self.limits = limits }

    /// - Parameter isWanted: whether an order still has to wait; others are removed if there is no room.
    mutating func add(_ order: Order, of client: Int, isWanted: (Order) -> Bool) -> Addition {
        if count >= limits.total || length(client) >= limits.ofClient { removeAll { !isWanted($0) } }
        guard length(client) < limits.ofClient else { return .refused }
        var dropped: Order?
        if count >= limits.total {
            // A newcomer takes the place from the client that has most.
            guard let longest = lines.indices.max(by: { lines[$0].orders.count < lines[$1].orders.count }),
                lines[longest].orders.count > length(client) + 1
            else { return .refused }
            dropped = lines[longest].orders.removeFirst()
            count -= 1
        }
        if let place = lines.firstIndex(where: { $0.client == client }) {
            lines[place].orders.append(order)
        } else {
            lines.append(Line(client: client, orders: [order]))
        }
        count += 1
        return .added(dropped: dropped)
    }

    /// Takes the next order out of the queue.
    mutating func next() -> Order? {
        guard !lines.isEmpty else { return nil }
        var line = lines.removeFirst()
        let order = line.orders.popLast()
        if order != nil { count -= 1 }
        if !line.orders.isEmpty { lines.append(line) }
        return order
    }

    func contains(where isMatch: (Order) -> Bool) -> Bool {
        lines.contains { $0.orders.contains(where: isMatch) }
    }

    private func length(_ client: Int) -> Int { lines.first { $0.client == client }?.orders.count ?? 0 }

    private mutating func removeAll(where isUseless: (Order) -> Bool) {
        for place in lines.indices { lines[place].orders.removeAll(where: isUseless) }
        lines.removeAll { $0.orders.isEmpty }
        count = lines.reduce(0) { $0 + $1.orders.count }
    }
}
