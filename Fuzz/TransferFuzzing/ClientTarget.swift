import TransferModel
import TransferProtocol
import TransferTestSupport

/// Input: 1 byte (highest bit: the rest is a stream of frames instead of pairs of a function code and an argument; next
/// bit: the client wants receipts), then the rest. An unknown function code begins an upload, asks about one or
/// several, or makes a request.
enum ClientTarget {
    static func run(_ bytes: [UInt8]) throws(Finding) {
        var input = FuzzInput(bytes)
        let first = input.byte()
        var walk = ClientWalk(wantsReceipts: first & 0x40 != 0)
        guard first & 0x80 == 0 else { return try follow(input.rest(), &walk, seed: first) }
        while !input.isEmpty, !walk.hasEnded {
            let (code, argument) = (input.byte(), input.byte())
            if let function = FunctionCode(rawValue: UInt16(code & 0x3F)) {
                try walk.receive(FrameSource.event(function, argument))
            } else {
                try begin(code, argument, &walk)
            }
        }
    }

    private static func begin(_ code: UInt8, _ argument: UInt8, _ walk: inout ClientWalk) throws(Finding) {
        switch code & 3 {
        case 1: try walk.begin(FrameSource.id(argument), asks: true)
        case 2: try walk.lookUp(FrameSource.ids(argument))
        case 3: try walk.ask(request(argument))
        default: try walk.begin(FrameSource.id(argument), asks: false)
        }
    }

    private static func request(_ argument: UInt8) -> Request {
        let (id, path) = (FrameSource.request(argument), FrameSource.path(argument))
        switch argument >> 5 {
        case 0, 1: return .fetch(FetchRequest(id: id, path: path))
        case 2, 3: return .list(ListRequest(id: id, path: path))
        case 4: return .people(PeopleRequest(id: id, isAboutItself: argument & 8 != 0))
        case 5: return .settle(SettleRequest(id: id, .delivered, time: 0, [FrameSource.id(argument)]))
        default: return .mail(MailRequest(id: id, .inbox, watches: argument & 8 != 0))
        }
    }

    /// Most answers of the server are preceded by the upload or request that they answer.
    private static func follow(_ stream: [UInt8], _ walk: inout ClientWalk, seed: UInt8) throws(Finding) {
        var generator = SplitMix64(seed: UInt64(seed))
        for event in try FrameSource.events(in: stream) where !walk.hasEnded {
            if Int.random(in: 0..<8, using: &generator) > 0 { try walk.prepare(event) }
            try walk.receive(event)
        }
    }
}

extension ClientWalk {
    /// Begins the upload or makes the request that the frame answers.
    fileprivate mutating func prepare(_ event: FrameEvent) throws(Finding) {
        switch event {
        case .message(.result(let result)): try begin(result.id, asks: false)
        case .message(.accept(let id)): try begin(id, asks: false)
        case .message(.received(let received)): try begin(received.id, asks: false)
        case .message(.have(let have)): try begin(have.id, asks: true)
        case .message(.unknown(let ids)): try lookUp(ids)
        case .message(.entries(let entries)): try ask(.list(ListRequest(id: entries.id, path: "a")))
        case .message(.persons(let persons)): try ask(.people(PeopleRequest(id: persons.id)))
        case .message(.deliveries(let deliveries)): try ask(.mail(MailRequest(id: deliveries.id, .inbox)))
        case .message(.arrived): try ask(.mail(MailRequest(id: 0, .inbox, watches: true)))
        case .message(.file(let file)): try ask(.fetch(FetchRequest(id: file.id, path: "a")))
        case .message(.outcome(let outcome)): try ask(.list(ListRequest(id: outcome.id, path: "a")))
        default: break
        }
    }
}
