/// Decides whose order is next, so that a client with many orders does not make the others wait: clients take turns, and the last order
/// of each comes first, because it is for what is on the screen now.
struct OrderQueue<Order> {
    /// Most orders that wait, of all clients and of one.
    struct Limits: Sendable {
        var total = 128
        var ofClient = 32
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

    /// - Returns: false if too many orders wait.
    mutating func add(_ order: Order, of client: Int) -> Bool {
        guard count < limits.total else { return false }
        if let place = lines.firstIndex(where: { $0.client == client }) {
            guard lines[place].orders.count < limits.ofClient else { return false }
            lines[place].orders.append(order)
        } else {
            lines.append(Line(client: client, orders: [order]))
        }
        count += 1
        return true
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
}
