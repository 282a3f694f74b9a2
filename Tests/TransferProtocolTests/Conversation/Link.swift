import TransferModel

@testable import TransferProtocol

/// One direction of a connection: bytes are sent, arrive when the test delivers them, and are then parsed.
struct Link {
    enum Arrival {
        case message(Message)
        case data([UInt8])
    }

    private var inFlight: [UInt8] = []
    private var arrived: [UInt8] = []
    private var parser = FrameParser()

    var isEmpty: Bool { inFlight.isEmpty && arrived.isEmpty }

    mutating func send(_ message: Message) {
        message.encode(into: &inFlight)
    }

    mutating func send(data: [UInt8]) {
        inFlight += FrameHeader.data(data)
    }

    /// Delivers the next `count` bytes.
    mutating func deliver(_ count: Int) throws(ProtocolFault) -> [Arrival] {
        arrived += inFlight.prefix(count)
        inFlight.removeFirst(min(count, inFlight.count))
        var arrivals: [Arrival] = []
        while true {
            let step = try parser.next(arrived)
            switch step {
            case .needsMore: return arrivals
            case .message(let message, _): arrivals.append(.message(message))
            case .data(let piece, _): arrivals.append(.data(Array(arrived[piece.range])))
            }
            arrived.removeFirst(step.consumed)
        }
    }
}
