import Testing
import TransferModel

@testable import TransferServer

@Suite struct ChatDeliveriesTests {
    private let start = MonotonicTime(nanoseconds: 1_000_000_000_000)
    private static let ids = (1...4).map { UploadID(high: 0, low: $0) }

    private func at(_ milliseconds: Int64) -> MonotonicTime { start + .milliseconds(milliseconds) }

    private func sent(_ ends: UInt64...) -> ChatDeliveries {
        var deliveries = ChatDeliveries()
        for (id, end) in zip(Self.ids, ends) { deliveries.sent(id, end: end) }
        return deliveries
    }

    /// - Returns: for each heartbeat the deliveries that it proves, by its time in milliseconds and the number of bytes
    ///   taken by then.
    private func heard(
        _ deliveries: inout ChatDeliveries, _ heartbeats: (Int64, UInt64)...
    ) -> [[UploadID]] {
        heartbeats.map { moment, count in deliveries.heard(at: at(moment), arrived: at(moment), acknowledged: count) }
    }

    /// A heartbeat reports all bytes as taken, and another one follows a second later.
    @Test func twoHeartbeats() {
        var deliveries = sent(100)
        let heard = heard(&deliveries, (0, 100), (1000, 100), (2000, 100))
        #expect(heard == [[], [Self.ids[0]], []])
        #expect(deliveries.isEmpty)
    }

    /// Heartbeats that the client sent earlier may be received together.
    @Test func heartbeatsAtOnceProveNothing() {
        var deliveries = sent(100)
        let heard = heard(&deliveries, (0, 100), (0, 100), (1, 100), (500, 100), (999, 100), (1000, 100))
        #expect(heard == [[], [], [], [], [], [Self.ids[0]]])
    }

    /// A server that stood still reads old heartbeats. The client may have ended meanwhile.
    @Test func aHeartbeatCountsFromWhenItCame() {
        var deliveries = sent(100)
        _ = deliveries.heard(at: at(0), arrived: at(0), acknowledged: 100)
        let late = deliveries.heard(at: at(60_000), arrived: at(999), acknowledged: 100)
        #expect(late == [])
        let alive = deliveries.heard(at: at(60_001), arrived: at(1000), acknowledged: 100)
        #expect(alive == [Self.ids[0]])
    }

    @Test func aByteThatIsMissingIsMissing() {
        var deliveries = sent(100)
        let heard = heard(
            &deliveries, (0, 99), (1000, 99), (100_000, 99), (100_001, 100), (101_000, 100), (101_001, 100))
        #expect(heard == [[], [], [], [], [], [Self.ids[0]]])
    }

    @Test func inOrder() {
        var deliveries = sent(100, 200, 300)
        let first = heard(&deliveries, (0, 150), (500, 250), (1100, 300))
        #expect(first == [[], [], [Self.ids[0]]])
        deliveries.sent(Self.ids[3], end: 400)
        #expect(deliveries.count == 3)
        let others = heard(&deliveries, (1500, 400), (9000, 400))
        #expect(others == [[Self.ids[1]], [Self.ids[2], Self.ids[3]]])
        #expect(deliveries.isEmpty)
    }

    @Test func manyWaitForAHeartbeat() {
        var deliveries = ChatDeliveries()
        for number in 0..<ChatDeliveries.most {
            let isFull = deliveries.isFull
            #expect(!isFull)
            deliveries.sent(UploadID(high: 0, low: UInt64(number)), end: UInt64(number))
        }
        #expect(deliveries.isFull)
        let heard = heard(&deliveries, (0, .max), (1000, .max))
        #expect(heard.map(\.count) == [0, ChatDeliveries.most])
        #expect(!deliveries.isFull)
    }
}
