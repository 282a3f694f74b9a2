import TransferModel
import TransferProtocol

/// A client's state machine, beside a simple record of the events so far that decides which events may follow.
struct ClientWalk {
    private enum Phase {
        case greeting, open, leaving, closed
    }

    private var machine: ClientConnection
    private let wantsReceipts: Bool
    private var phase = Phase.greeting
    private var begun: Set<UploadID> = []
    /// For each upload that the client asked about: the index of the first block that the next `have` may name.
    private var asked: [UploadID: UInt64] = [:]
    private var accepted: Set<UploadID> = []
    private var lookedUp: Set<UploadID> = []
    /// Requests without a complete answer, and whether the content of the first one is arriving.
    private var requests: [Request] = []
    private var isFetching = false
    /// Bytes of data that may still arrive for the content of the first request, and the numbers of deliveries that its
    /// answer has listed so far.
    private var dataLeft: UInt64 = 0
    private var numbers: [UInt64] = []
    /// Whether the client asked the server to report new mail.
    private var watches = false
    /// Number of acknowledgements whose receipts have not arrived.
    private var owed = 0
    private var limit = Limits.unacknowledgedUploads

    /// Whether the connection has ended with a fault.
    private(set) var hasEnded = false

    init(wantsReceipts: Bool) {
        machine = ClientConnection(features: wantsReceipts ? .receipts : [])
        self.wantsReceipts = wantsReceipts
    }

    /// Begins an upload or asks about one, if the protocol allows that now.
    mutating func begin(_ id: UploadID, asks: Bool) throws(Finding) {
        guard id != .none, machine.allowance > 0, begun.insert(id).inserted else { return }
        if asks {
            asked[id] = 0
            machine.asked(id)
        } else {
            machine.began(id)
        }
        try compare()
    }

    /// Asks about several uploads at once, if the protocol allows that now.
    mutating func lookUp(_ ids: [UploadID]) throws(Finding) {
        guard Set(ids).count == ids.count, begun.isDisjoint(with: ids), machine.allowance >= ids.count else { return }
        begun.formUnion(ids)
        lookedUp.formUnion(ids)
        machine.lookedUp(ids)
        try compare()
    }

    /// Makes a request, if the protocol allows that now.
    mutating func ask(_ request: Request) throws(Finding) {
        let bytes = (requests + [request]).reduce(0) { $0 + $1.cost }
        let isAllowed = phase == .open && requests.count < Limits.requests && bytes <= Limits.requestBytes
        try require(machine.allows(request) == isAllowed, "A request more: \(!isAllowed).")
        guard isAllowed else { return }
        requests.append(request)
        machine.requested(request)
        if case .mail(let mail) = request, mail.watches { watches = true }
        try compare()
    }

    /// Bytes in a piece of data: a few pieces have more bytes than a small file.
    private static let piece: UInt64 = 20_000

    private mutating func receiveData() throws(Finding) {
        for encoding in [BodyEncoding.zlib, .zstd, .hole] {
            let compressed = Result { () throws(ProtocolFault) in try machine.receiveData(encoding, 1) }
            guard case .failure(let fault) = compressed, fault.code == .unexpectedFrame else {
                throw Finding("Data was taken as \(encoding), which nobody asked for.")
            }
        }
        let isAllowed = isFetching && dataLeft >= Self.piece
        let result = Result { () throws(ProtocolFault) in try machine.receiveData(.stored, Int(Self.piece)) }
        if case .failure(let fault) = result {
            try require(!isAllowed && fault.code == .unexpectedFrame, "Data was refused: \(fault.message)")
            hasEnded = true
        } else {
            try require(isAllowed, "Data was taken.")
            dataLeft -= Self.piece
        }
    }

    mutating func receive(_ event: FrameEvent) throws(Finding) {
        guard case .message(let message) = event else { return try receiveData() }
        let isAllowed = isAllowed(message)
        switch Result(catching: { () throws(ProtocolFault) in try machine.receive(message) }) {
        case .success(let action): try took(message, action, isAllowed)
        case .failure(let fault):
            try require(!isAllowed, "\(message) was refused: \(fault.message)")
            try require([.unexpectedFrame, .malformedFrame].contains(fault.code), "\(message): \(fault.code).")
            hasEnded = true
        }
        try compare()
    }

    private func isAllowed(_ message: Message) -> Bool {
        switch (phase, message) {
        case (.closed, _): false
        case (_, .result(let result)) where result.id == .none: true
        case (.greeting, .welcome(let welcome)):
            welcome.dataBody > 0 && welcome.unacknowledgedUploads > 0 && welcome.heartbeat > 0 && welcome.silence > 0
        case (.greeting, .goodbye), (.open, .goodbye): true
        case (.greeting, _): false
        case (_, .ping), (_, .pong), (_, .received): true
        case (_, .result(let result)):
            begun.contains(result.id) && (!lookedUp.contains(result.id) || result.isAcknowledgement)
        case (_, .unknown(let ids)): lookedUp.isSuperset(of: ids) && Set(ids).count == ids.count
        case (_, .accept(let id)): begun.contains(id) && !lookedUp.contains(id) && !accepted.contains(id)
        case (_, .have(let have)):
            asked[have.id].map { have.first >= $0 } ?? false && !have.digests.isEmpty
                && have.first <= .max - UInt64(have.digests.count)
        case (_, .receipts(let receipts)): receipts.count <= owed
        case (_, .arrived): watches
        default: isAnswer(message)
        }
    }

    private func isAnswer(_ message: Message) -> Bool {
        switch (message, requests.first) {
        case (.entries(let entries), .list(let list)?): entries.id == list.id
        case (.persons(let persons), .people(let people)?): persons.id == people.id
        case (.deliveries(let deliveries), .mail(let mail)?):
            deliveries.id == mail.id && isOrdered(numbers + deliveries.deliveries.map(\.number))
        case (.file(let file), .fetch(let fetch)?): !isFetching && file.id == fetch.id && file.offset == 0
        case (.block, .fetch), (.end, .fetch): isFetching
        case (.outcome(let outcome), let request?): outcome.id == request.id
        default: false
        }
    }

    private func isOrdered(_ numbers: [UInt64]) -> Bool {
        zip([0] + numbers, numbers).allSatisfy { $0 < $1 }
    }

    private mutating func took(
        _ message: Message, _ action: ClientConnection.Action, _ isAllowed: Bool
    ) throws(Finding) {
        try require(isAllowed, "\(message) was taken.")
        try require(action == expected(message), "\(message): \(action).")
        switch message {
        case .welcome(let welcome):
            phase = .open
            limit = min(limit, Int(welcome.unacknowledgedUploads))
        case .goodbye: phase = .leaving
        case .result(let result):
            if result.id == .none { phase = .closed }
            if isOwed(result) { owed += 1 }
            begun.remove(result.id)
            asked[result.id] = nil
            accepted.remove(result.id)
            lookedUp.remove(result.id)
        case .receipts(let receipts): owed -= receipts.count
        case .unknown(let ids):
            begun.subtract(ids)
            lookedUp.subtract(ids)
        case .accept(let id):
            if asked.removeValue(forKey: id) != nil { begun.remove(id) } else { accepted.insert(id) }
        case .have(let have): asked[have.id] = have.first + UInt64(have.digests.count)
        case .deliveries(let deliveries): numbers += deliveries.deliveries.map(\.number)
        case .file(let file):
            isFetching = true
            // The client accepts at most twice the size of the file, and 64 KiB.
            let most = file.size > (.max >> 1) ? .max : 2 * file.size
            dataLeft = most > .max - 65_536 ? .max : most + 65_536
        case .end, .outcome:
            requests.removeFirst()
            numbers = []
            isFetching = false
        default: break
        }
    }

    private func expected(_ message: Message) -> ClientConnection.Action {
        switch message {
        case .welcome(let welcome): .welcomed(welcome)
        case .goodbye(let goodbye): .leaving(goodbye)
        case .ping(let token): .reply(.pong(token))
        case .result(let result):
            if result.id == .none {
                .refused(result)
            } else if lookedUp.contains(result.id) {
                .known(result)
            } else {
                isOwed(result) ? .acknowledged(result) : .finished(result)
            }
        case .receipts(let receipts): .receipts(receipts)
        case .unknown(let ids): .unknown(ids)
        case .accept(let id): .accepted(id)
        case .have(let have): .found(have)
        case .received(let received):
            begun.contains(received.id) ? .progress(received.id, bytes: received.bytes) : .nothing
        case .entries(let entries): .entries(entries)
        case .persons(let persons): .persons(persons)
        case .deliveries(let deliveries): .deliveries(deliveries)
        case .arrived(let number): .arrived(number)
        case .file(let file): .file(file)
        case .block(let block): .block(block)
        case .end(let end): .fetched(end)
        case .outcome(let outcome): .outcome(outcome)
        default: .nothing
        }
    }

    /// Whether a receipt has to follow.
    private func isOwed(_ result: UploadResult) -> Bool {
        wantsReceipts && result.id != .none && result.isAcknowledgement && result.receipt == nil
            && !lookedUp.contains(result.id)
    }

    private func compare() throws(Finding) {
        guard !hasEnded else { return }
        let isTaking = phase == .greeting || phase == .open
        try require(
            machine.allowance == (isTaking ? max(0, limit - begun.count - owed) : 0),
            "The allowance is \(machine.allowance).")
        let isSettled = begun.isEmpty && owed == 0 && requests.isEmpty
        try require(machine.isSettled == isSettled, "isSettled is \(machine.isSettled).")
        try require(machine.lookups == lookedUp.count, "\(machine.lookups) lookups are open.")
        try require(machine.unacknowledgedLimit == limit, "The limit is \(machine.unacknowledgedLimit).")
    }
}

extension UploadResult {
    fileprivate var isAcknowledgement: Bool { code == .committed || code == .alreadyStored }
}
