import TransferClassic
import TransferCodec
import TransferIO
import TransferIntake
import TransferMail
import TransferModel
import TransferPorts

/// Makes messages for a client on the pool, from the deliveries in its mailbox, in order, and settles the deliveries that the client has
/// received.
///
/// `@unchecked Sendable`: the session gives it one order at a time and waits for the outcome, so no two threads use it at once.
final class ChatWorker: @unchecked Sendable {
    /// The work of one step.
    struct Order: Equatable, Sendable {
        /// Deliveries that the client has received.
        var received: [UploadID]
        /// Bytes of messages that can be sent to the client now; 0 if none can.
        var room: Int
        /// Whether only the message that is under way may continue.
        var isLast: Bool
    }

    /// The results of one step.
    struct Outcome: Sendable {
        /// Whether the mailbox was looked at.
        var hasLooked = false
        /// Messages for the client; nil if no delivery waits.
        var chunk: AnswerChunk?
        /// Messages that end in the chunk, with the offset of each end.
        var ends: [(delivery: UploadID, offset: Int)] = []
        /// Whether the chunk ends inside a message.
        var isInMessage = false
        /// Whether no other delivery waits.
        var isEmpty = false
        /// Why the connection has to end; nil if it need not.
        var fault: Failure?
    }

    /// Room in the chunk that a new message needs: its head has a name, each byte of which can become six.
    private static let leastRoom = 4 << 10

    /// Deliveries that are looked up at once.
    private static let page = 32

    /// Most deliveries that are looked at in one step: thousands may wait that this wire cannot carry, and each costs a query.
    private static let mostLookedAt = 256

    let name: String

    private let guests: ChatGuests
    private let names: ChatNames
    private let resources: WorkerResources
    /// Open deliveries that were looked up, the next one first.
    private var waiting: [Delivery] = []
    /// Number of the last delivery that was looked at on this connection.
    private var last: UInt64 = 0
    private var current: ChatContent?
    /// Deliveries whose messages were completed in this step.
    private var sent: [Delivery] = []
    private var digesters: [DigestFunction: ContentDigester] = [:]
    private var reader: (any TreeReader)?
    private var outcome = Outcome()
    private var events: [LogEvent] = []

    init(_ name: String, _ guests: ChatGuests, _ names: ChatNames, _ resources: WorkerResources) {
        (self.name, self.guests, self.names, self.resources) = (name, guests, names, resources)
    }

    func step(_ order: Order) -> Outcome {
        settle(order.received)
        if order.room > 0 {
            outcome.hasLooked = true
            attempt { () throws(Failure) in try handOn(order) }
            noteSent()
        }
        reader = nil
        outcome.isInMessage = current != nil
        resources.log.write(events)
        events.removeAll(keepingCapacity: true)
        defer { outcome = Outcome() }
        return outcome
    }

    /// The connection ends with this failure; when the client connects again, the lookup is tried again.
    private func attempt(_ body: () throws(Failure) -> Void) {
        do throws(Failure) {
            try body()
        } catch {
            outcome.fault = error
        }
    }

    private func attemptMail<T>(_ body: () throws(RecordsError) -> T) throws(Failure) -> T {
        do throws(RecordsError) {
            return try body()
        } catch {
            throw Failure(mail: error)
        }
    }
}

// MARK: Handing on

extension ChatWorker {
    /// Looks up deliveries first: most lookups find none, and then no memory is taken.
    private func handOn(_ order: Order) throws(Failure) {
        guard guests.mayKeep(name) else { throw .nameTaken(name) }
        try lookUp()
        guard current != nil || !waiting.isEmpty else {
            outcome.isEmpty = true
            return
        }
        let chunk = AnswerChunk(room: max(order.room, Self.leastRoom), from: resources.chunks)
        outcome.chunk = chunk
        try fill(chunk, isLast: order.isLast)
    }

    private func fill(_ chunk: AnswerChunk, isLast: Bool) throws(Failure) {
        var looks = 0
        while chunk.room > 0 {
            if let current {
                try goOn(current, chunk)
                continue
            }
            guard !isLast, chunk.room >= Self.leastRoom, looks < Self.mostLookedAt else { return }
            looks += 1
            guard let delivery = try next() else {
                outcome.isEmpty = true
                return
            }
            try begin(delivery, chunk)
        }
    }

    /// Records which deliveries were sent completely, though they may not arrive. Failing to do so has no consequences.
    private func noteSent() {
        guard !sent.isEmpty else { return }
        try? guests.mailroom.fetched(sent)
        sent.removeAll(keepingCapacity: true)
    }

    private func lookUp() throws(Failure) {
        guard current == nil, waiting.isEmpty else { return }
        waiting = try attemptMail { () throws(RecordsError) in
            try guests.mailroom.ledger.inbox(of: name, after: last, limit: Self.page)
        }
    }

    private func next() throws(Failure) -> Delivery? {
        try lookUp()
        guard let delivery = waiting.first else { return nil }
        waiting.removeFirst()
        last = delivery.number
        return delivery
    }

    /// Begins a message; a delivery that this wire cannot carry stays in the mailbox.
    private func begin(_ delivery: Delivery, _ chunk: AnswerChunk) throws(Failure) {
        guard !names.isUnfit(delivery.number), !delivery.mail.isRotten, try isWaiting(delivery) else { return }
        let mail = delivery.mail
        guard mail.note == nil, guests.chat.carries(mail.kind, size: mail.size) else {
            if names.noteUnfit(delivery.number) { events.append(.unfit(delivery)) }
            return
        }
        let start = chunk.count
        do throws(Failure) {
            let content = try open(delivery)
            chunk.append(guests.chat.forwarded(mail.kind, from: mail.sender, size: mail.size))
            try goOn(content, chunk)
        } catch {
            chunk.shorten(to: start)
            current = nil
            guard error.isLoss else { throw error }
            lost(delivery, error)
        }
    }

    /// Since it was looked up, the delivery may have been fetched over another connection, or have expired.
    private func isWaiting(_ delivery: Delivery) throws(Failure) -> Bool {
        try attemptMail { () throws(RecordsError) in
            try guests.mailroom.ledger.delivery(of: delivery.mail.id, to: name)?.state.isOpen ?? false
        }
    }

    private func open(_ delivery: Delivery) throws(Failure) -> ChatContent {
        let reader = reader ?? resources.tree.reader()
        self.reader = reader
        let function = delivery.mail.digest.algorithm.function
        let digester = digesters[function] ?? ContentDigester(function)
        digesters[function] = digester
        digester.reset()
        return try ChatContent(delivery, try reader.open(delivery.mail.path), digester: digester)
    }

    private func goOn(_ content: ChatContent, _ chunk: AnswerChunk) throws(Failure) {
        current = content
        let before = chunk.count
        do throws(Failure) {
            guard try content.fill(chunk) else { return }
        } catch {
            chunk.shorten(to: before)
            if error.isLoss { lost(content.delivery, error) }
            throw error
        }
        current = nil
        outcome.ends.append((content.delivery.mail.id, chunk.count))
        sent.append(content.delivery)
        events.append(.handedOn(content.delivery, peer: guests.peer))
    }

    /// A delivery with lost content stays in the mailbox until its sender uploads it again or it expires; it is marked, so that no client
    /// gets a part of it again and again.
    private func lost(_ delivery: Delivery, _ error: Failure) {
        try? guests.mailroom.ledger.noteRotten(delivery.mail.id)
        events.append(.notHandedOn(delivery, error))
    }
}

extension Failure {
    /// Whether the stored content is missing or changed. Other failures may be temporary, such as too many open files: when the client
    /// connects again, it gets the delivery.
    fileprivate var isLoss: Bool { code == .notFound || code == .contentLost }
}

// MARK: Ending deliveries

extension ChatWorker {
    private func settle(_ received: [UploadID]) {
        guard !received.isEmpty else { return }
        do throws(RecordsError) {
            guard let ended = try guests.mailroom.settle(received, by: name, as: .delivered).ended else { return }
            resources.intake.mail.free(ended.freed)
            events += ended.deliveries.map { .settled($0, peer: guests.peer) }
        } catch {
            // The deliveries stay in the mailbox, and are sent again when the client connects again.
            events.append(.mailFailed(error))
        }
    }
}
