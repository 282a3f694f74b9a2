import Testing

@testable import TransferServer

@Suite struct WorkerOrdersTests {
    @Test func whatIsWrittenIsRead() throws {
        var orders = WorkerOrders(supervisor: 17, report: 5)
        #expect(WorkerOrders(orders.text) == orders)
        orders.notifications = 7
        orders.listeners = [.init(3), .init(4, mark: 0), .init(5, mark: .max)]
        (orders.restarts, orders.lastSignal, orders.lock) = (2, 11, 9)
        #expect(WorkerOrders(orders.text) == orders)
    }

    @Test(arguments: [
        "", " ", "17", "17 5 -1 0", "17 5 -1 0 0", "17 5 -1 0 0 x", "17 -1 -1 0 0 -1", "17 5 -1 -1 0 -1",
        "17 5 -1 0 0 -1 -3 -1",
        "17 5 -1 0 0 -1  3 -1", "99999999999 5 -1 0 0 -1", "17 5 -1 0 0 -1 3", "17 5 -1 0 0 -1 3 -2",
    ])
    func othersAreNone(_ text: String) {
        #expect(WorkerOrders(text) == nil)
    }
}
