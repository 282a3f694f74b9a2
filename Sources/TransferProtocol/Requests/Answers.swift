import TransferModel

/// Requests that a client has sent, in their order, and what of the first one's answer has come. Sans-IO.
///
/// ```
///   waiting ──entries──► waiting ──outcome──► the next one
///   waiting ──file──► receiving ──data, block──► receiving ──end, outcome──► the next one
/// ```
struct Answers: Sendable {
    private var open: [Request] = []
    /// Of `open`, those that are answered; removed many at a time.
    private var first = 0
    private var bytes = 0
    private var isReceiving = false

    var isEmpty: Bool { first == open.count }

    /// Whether one more may be sent now.
    func allows(_ request: Request) -> Bool {
        open.count - first < Limits.requests && bytes + request.cost <= Limits.requestBytes
    }

    mutating func add(_ request: Request) {
        // Trap: the session has asked `allows` about this very request; what the server sends has no part in it.
        precondition(allows(request), "more requests than the protocol allows")
        open.append(request)
        bytes += request.cost
    }

    mutating func receive(_ message: Message) throws(ProtocolFault) {
        switch (message, current, isReceiving) {
        case (.entries(let entries), .list(let list), _) where entries.id == list.id: break
        case (.persons(let persons), .people(let people), _) where persons.id == people.id: break
        case (.deliveries(let deliveries), .mail(let mail), _) where deliveries.id == mail.id: break
        case (.file(let file), .fetch(let fetch), false) where file.id == fetch.id:
            guard file.offset == 0 || (file.offset == fetch.offset && file.version == fetch.version) else {
                throw ProtocolFault(.unexpectedFrame, "The server sends a file from where nobody asked for it.")
            }
            isReceiving = true
        case (.block, .fetch, true): break
        case (.end, .fetch, true): endFirst()
        case (.outcome(let outcome), let request?, _) where outcome.id == request.id: endFirst()
        default:
            throw ProtocolFault(.unexpectedFrame, "The server sent \(message.function) as an answer to nothing.")
        }
    }

    func receiveData() throws(ProtocolFault) {
        guard isReceiving else { throw ProtocolFault(.unexpectedFrame, "The server sent data that nobody asked for.") }
    }

    private var current: Request? { first < open.count ? open[first] : nil }

    private mutating func endFirst() {
        bytes -= open[first].cost
        isReceiving = false
        first += 1
        guard first >= Limits.requests else { return }
        open.removeFirst(first)
        first = 0
    }
}
