import TransferModel
import TransferProtocol

/// A server's state machine, beside a simple record of the events so far that decides which events may follow.
struct ServerWalk {
    private enum Phase {
        case new, open, closed
    }

    private var machine: ServerConnection
    private let limit: Int
    private var phase = Phase.new
    /// Uploads and questions without a result, in the order of their arrival.
    private var unsettled: [UploadID] = []
    private var requests: [Request] = []
    /// The upload whose frames are arriving.
    private var open: UploadID?

    /// Whether the connection has ended with a fault.
    private(set) var hasEnded = false

    init(limit: Int) {
        machine = ServerConnection(unacknowledgedLimit: limit)
        self.limit = limit
    }

    mutating func receive(_ event: FrameEvent) throws(Finding) {
        switch event {
        case .data:
            try judge(event, Result { () throws(ProtocolFault) in try machine.receiveData() }) {
                (walk, action) throws(Finding) in
                try walk.took(action)
            }
        case .message(let message):
            let action = Result { () throws(ProtocolFault) in try machine.receive(message) }
            try judge(event, action) { (walk, action) throws(Finding) in try walk.took(message, action) }
        }
        try compare()
    }

    /// Gives one of the uploads its result, if there is one.
    mutating func settle(_ number: Int) throws(Finding) {
        guard !unsettled.isEmpty else { return }
        machine.settled(unsettled.remove(at: number % unsettled.count))
        try compare()
    }

    /// Gives one of the requests its answer, if there is one.
    mutating func answer(_ number: Int) throws(Finding) {
        guard !requests.isEmpty else { return }
        machine.answered(requests.remove(at: number % requests.count).id)
        try compare()
    }

    /// - Parameter took: compares the action for an accepted frame with the expected one.
    private mutating func judge<Action>(
        _ event: FrameEvent, _ action: Result<Action, ProtocolFault>,
        _ took: (inout Self, Action) throws(Finding) -> Void
    ) throws(Finding) {
        let isAllowed = isAllowed(event)
        switch action {
        case .success(let action):
            try require(isAllowed, "\(event) was taken.")
            try took(&self, action)
        case .failure(let fault):
            try require(!isAllowed, "\(event) was refused: \(fault.message)")
            try require(fault.code == .unexpectedFrame, "\(event) was refused with \(fault.code).")
            hasEnded = true
        }
    }

    private func isAllowed(_ event: FrameEvent) -> Bool {
        switch (phase, event) {
        case (.new, .message(.hello)): true
        case (.new, _), (.closed, _): false
        case (.open, .data), (.open, .message(.block)), (.open, .message(.end)), (.open, .message(.abort)): open != nil
        case (.open, .message(.begin(let begin))), (.open, .message(.resume(let begin))):
            open == nil && unsettled.count < limit && !unsettled.contains(begin.id)
        case (.open, .message(.lookup(let lookup))):
            open == nil && unsettled.count + lookup.ids.count <= limit
                && Set(lookup.ids + unsettled).count == unsettled.count + lookup.ids.count
        case (.open, .message(.cancel)): open == nil
        case (.open, .message(let message)) where message.request != nil:
            open == nil && !requests.contains { $0.id == message.request?.id } && requests.count < Limits.requests
                && (requests + [message.request].compactMap(\.self)).reduce(0) { $0 + $1.cost } <= Limits.requestBytes
        case (.open, .message(.ping)), (.open, .message(.pong)), (.open, .message(.goodbye)): true
        case (.open, _): false
        }
    }

    /// Whether the arriving frames belong to an upload without a result.
    private var isWanted: Bool { open.map(unsettled.contains) ?? false }

    private func took(_ action: ServerConnection.DataAction) throws(Finding) {
        try require(action == (isWanted ? .store : .skip), "Data: \(action).")
    }

    private mutating func took(_ message: Message, _ action: ServerConnection.MessageAction) throws(Finding) {
        try require(action == expected(message), "\(message): \(action).")
        switch message {
        case .hello: phase = .open
        case .goodbye: (phase, open) = (.closed, nil)
        case .begin(let begin): (open, unsettled) = (begin.id, unsettled + [begin.id])
        case .resume(let begin): unsettled.append(begin.id)
        case .lookup(let lookup): unsettled += lookup.ids
        case .end, .abort: open = nil
        default: requests += [message.request].compactMap(\.self)
        }
    }

    private func expected(_ message: Message) -> ServerConnection.MessageAction {
        switch message {
        case .hello(let hello): .welcome(hello)
        case .ping(let token): .reply(.pong(token))
        case .goodbye: .close
        case .begin(let begin): .begin(begin)
        case .resume(let begin): .resume(begin)
        case .lookup(let lookup): .lookup(lookup)
        case .block(let block): isWanted ? .block(block) : .nothing
        case .end(let end): isWanted ? .end(end) : .nothing
        case .abort: isWanted ? .abort : .nothing
        case .cancel(let id): requests.contains { $0.id == id } ? .cancel(id) : .nothing
        default: message.request.map { .request($0) } ?? .nothing
        }
    }

    private func compare() throws(Finding) {
        guard !hasEnded else { return }
        try require(machine.isOpen == (phase == .open), "isOpen is \(machine.isOpen).")
        try require(machine.isReceiving == (open != nil), "isReceiving is \(machine.isReceiving).")
        let isSettled = unsettled.isEmpty && open == nil && requests.isEmpty
        try require(machine.isSettled == isSettled, "isSettled is \(machine.isSettled).")
    }
}

extension Message {
    /// The request in the message, or nil. All messages are listed here, so that a new one cannot be forgotten.
    fileprivate var request: Request? {
        switch self {
        case .list(let list): .list(list)
        case .fetch(let fetch): .fetch(fetch)
        case .remove(let remove): .remove(remove)
        case .compare(let compare): .compare(compare)
        case .make(let make): .make(make)
        case .move(let move): .move(move)
        case .people(let people): .people(people)
        case .mail(let mail): .mail(mail)
        case .settle(let settle): .settle(settle)
        case .introduce(let introduce): .introduce(introduce)
        case .hello, .welcome, .ping, .pong, .goodbye, .begin, .accept, .block, .end, .abort, .received, .result,
            .resume,
            .have, .lookup, .unknown, .receipts, .entries, .file, .outcome, .cancel, .persons, .deliveries, .arrived:
            nil
        }
    }
}
