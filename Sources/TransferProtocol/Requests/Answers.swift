import TransferModel

/// The client's open requests in order, and how much of the first one's answer has arrived. No I/O.
///
/// ```
///   waiting ──entries──► waiting ──outcome──► the next one
///   waiting ──file──► receiving ──data, block──► receiving ──end, outcome──► the next one
/// ```
struct Answers: Sendable {
    private var open: [Request] = []
    /// Number of answered requests at the front of `open`. They are removed when there are many of them.
    private var first = 0
    private var bytes = 0
    private var isReceiving = false
    /// Most bytes that the `data` frames of the file may still have.
    private var dataLeft: UInt64 = 0
    /// Number of the last delivery in the current answer.
    private var lastDelivery: UInt64?

    var isEmpty: Bool { first == open.count }

    /// Whether one more request may be sent now.
    func allows(_ request: Request) -> Bool {
        open.count - first < Limits.requests && bytes + request.cost <= Limits.requestBytes
    }

    mutating func add(_ request: Request) {
        // Trap: the session has asked `allows` about this request, and the server's bytes have no influence on the
        // answer.
        precondition(allows(request), "more requests than the protocol allows")
        open.append(request)
        bytes += request.cost
    }

    mutating func receive(_ message: Message) throws(ProtocolFault) {
        switch (message, current, isReceiving) {
        case (.entries(let entries), .list(let list), _) where entries.id == list.id: break
        case (.persons(let persons), .people(let people), _) where persons.id == people.id: break
        case (.deliveries(let deliveries), .mail(let mail), _) where deliveries.id == mail.id:
            for delivery in deliveries.deliveries {
                guard delivery.number > lastDelivery ?? 0 else {
                    throw ProtocolFault(.unexpectedFrame, "The server lists deliveries twice, or in another order.")
                }
                lastDelivery = delivery.number
            }
        case (.file(let file), .fetch(let fetch), false) where file.id == fetch.id:
            guard file.offset == 0 || (file.offset == fetch.offset && file.version == fetch.version) else {
                throw ProtocolFault(.unexpectedFrame, "The server sends a file from another offset than requested.")
            }
            isReceiving = true
            // Compressed content may take at most as many bytes as the content, and those that each frame adds.
            dataLeft = (file.size - file.offset).addingClamped(file.size - file.offset).addingClamped(Self.spareData)
        case (.block, .fetch, true): break
        case (.end, .fetch, true): endFirst()
        case (.outcome(let outcome), let request?, _) where outcome.id == request.id: endFirst()
        default:
            throw ProtocolFault(.unexpectedFrame, "The server sent \(message.function) as an answer without a request.")
        }
    }

    /// - Parameter count: bytes on the wire.
    mutating func receiveData(_ count: Int) throws(ProtocolFault) {
        guard isReceiving else {
            throw ProtocolFault(.unexpectedFrame, "The server sent data that the client did not request.")
        }
        let (left, isOver) = dataLeft.subtractingReportingOverflow(UInt64(max(0, count)))
        guard !isOver else {
            throw ProtocolFault(.unexpectedFrame, "The server sends more of a file than it announced.")
        }
        dataLeft = left
    }

    /// Bytes of `data` that even an empty file may take on the wire.
    private static let spareData: UInt64 = 64 << 10

    private var current: Request? { first < open.count ? open[first] : nil }

    private mutating func endFirst() {
        bytes -= open[first].cost
        isReceiving = false
        lastDelivery = nil
        first += 1
        guard first >= Limits.requests else { return }
        open.removeFirst(first)
        first = 0
    }
}
