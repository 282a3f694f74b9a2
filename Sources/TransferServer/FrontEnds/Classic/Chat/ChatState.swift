import TransferIntake
import TransferModel

/// The session's side of a client that has a name and a mailbox: what it is sent, and what it has.
struct ChatState {
    /// Bytes of the server's own sentences that may wait; a client that makes more of them isn't read.
    static let mostSaid = 64 << 10

    let guests: ChatGuests

    /// What the client calls itself, as soon as it has said so.
    var name: String?

    /// Hands on what waits for the client, once it has its name.
    var worker: ChatWorker?

    /// Sentences of the server's own, which cannot go inside a message.
    private(set) var said: [UInt8] = []

    /// Whether the connection ends inside a message, so that nothing but the rest of it may follow.
    private(set) var isInMessage = false

    /// Whether something may wait that was not looked at.
    var hasNews = false

    /// Whether the worker works.
    var isWorking = false

    private var deliveries = ChatDeliveries()
    /// Those that the ledger was not told of.
    private var received: [UploadID] = []
    /// Bytes that the connection was given.
    private var given: UInt64 = 0

    init(_ guests: ChatGuests) {
        self.guests = guests
    }

    /// Whether the server's own sentences leave room for more of them.
    var takesSentences: Bool { said.count < Self.mostSaid }

    /// Whether a heartbeat means anything but that the client is there.
    var awaitsHeartbeat: Bool { !deliveries.isEmpty }

    /// Whether nothing is to be told to the ledger, and no message is under way.
    var isAtRest: Bool { !isWorking && !isInMessage && received.isEmpty }

    mutating func say(_ bytes: [UInt8]) { said += bytes }

    /// The sentences that can be sent now.
    mutating func takeSaid() -> [UInt8] {
        guard !isInMessage else { return [] }
        defer { said = [] }
        given += UInt64(said.count)
        return said
    }

    /// What there is to be done for the client.
    ///
    /// - Parameters:
    ///   - room: bytes that the connection takes now; 0 for none.
    ///   - isLast: whether only the message that is under way may go on.
    /// - Returns: nothing when there is nothing.
    mutating func order(room: Int, isLast: Bool) -> ChatWorker.Order? {
        let mayBegin = hasNews && !isLast && !deliveries.isFull
        let room = isInMessage || mayBegin ? room : 0
        guard room > 0 || !received.isEmpty else { return nil }
        if room > 0, mayBegin { hasNews = false }
        defer { received = [] }
        return ChatWorker.Order(received: received, room: room, isLast: !mayBegin)
    }

    /// The worker has done that.
    mutating func took(_ outcome: ChatWorker.Outcome) {
        for (id, offset) in outcome.ends { deliveries.sent(id, end: given + UInt64(offset)) }
        given += UInt64(outcome.chunk?.count ?? 0)
        guard outcome.hasLooked else { return }
        isInMessage = outcome.isInMessage
        if !outcome.isEmpty { hasNews = true }
    }

    /// A heartbeat has come.
    ///
    /// - Parameters:
    ///   - arrived: when data last came from the client.
    ///   - waiting: bytes that the other end's system does not have.
    /// - Returns: whether there is something to tell the ledger.
    mutating func heard(at now: MonotonicTime, arrived: MonotonicTime, waiting: Int) -> Bool {
        let waiting = UInt64(clamping: waiting)
        received += deliveries.heard(at: now, arrived: arrived, acknowledged: given - min(given, waiting))
        return !received.isEmpty
    }
}
