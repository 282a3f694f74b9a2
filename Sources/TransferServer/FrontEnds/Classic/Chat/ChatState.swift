import TransferClassic
import TransferCodec
import TransferIntake
import TransferMail
import TransferModel
import TransferPorts
import TransferSystem

/// The session's state of a client that has a name and a mailbox: what was sent to it, and what it has received. `ClassicSession` uses it
/// on its loop.
///
/// ```
///   unnamed ──introduce──► named ──enter──► resting ⇄ working        the client, and the worker that makes its messages
///   empty ──mailCame──► news ──order──► empty ──took──► empty, news, inMessage        its mailbox
/// ```
struct ChatState {
    private enum Client {
        /// The client has not stated its name.
        case unnamed
        /// The pool decides whether the client may have the name.
        case named(String)
        /// The client is admitted, and the pool makes no messages for it now.
        case resting(ChatWorker)
        case working(ChatWorker)
    }

    private enum Mailbox {
        /// All waiting deliveries have been looked at.
        case empty
        /// Deliveries can be waiting that have not been looked at.
        case news
        /// The last bytes are part of a message, so only its rest may follow.
        case inMessage(hasNews: Bool)
    }

    /// Most bytes of the server's own sentences that may wait; a client that causes more of them is not read.
    static let mostSaid = 64 << 10

    let guests: ChatGuests

    private var client = Client.unnamed
    private var mailbox = Mailbox.empty

    /// The server's own sentences, which have to wait for the end of a message.
    private(set) var said: [UInt8] = []

    private var deliveries = ChatDeliveries()
    /// Received deliveries that the ledger does not know of yet.
    private var received: [UploadID] = []
    /// Bytes handed to the connection so far.
    private var given: UInt64 = 0

    init(_ guests: ChatGuests) {
        self.guests = guests
    }

    /// Makes messages of the client's deliveries; nil until the client is admitted.
    var worker: ChatWorker? {
        switch client {
        case .unnamed, .named: nil
        case .resting(let worker), .working(let worker): worker
        }
    }

    var isWorking: Bool { if case .working = client { true } else { false } }

    var isInMessage: Bool { if case .inMessage = mailbox { true } else { false } }

    /// Whether deliveries can be waiting that have not been looked at.
    private(set) var hasNews: Bool {
        get {
            switch mailbox {
            case .empty, .inMessage(hasNews: false): false
            case .news, .inMessage(hasNews: true): true
            }
        }
        set { mailbox = isInMessage ? .inMessage(hasNews: newValue) : newValue ? .news : .empty }
    }

    /// Whether there is room for more of the server's own sentences.
    var takesSentences: Bool { said.count < Self.mostSaid }

    /// Whether a heartbeat can prove that something was received.
    var awaitsHeartbeat: Bool { !deliveries.isEmpty }

    /// Whether no delivery is to be settled, and no message is under way.
    var isAtRest: Bool { !isWorking && !isInMessage && received.isEmpty }

    /// Notes the name that the client states.
    ///
    /// - Returns: whether the client states it for the first time.
    /// - Throws: `ClassicFault` for a second name.
    mutating func introduce(_ name: String) throws(ClassicFault) -> Bool {
        let known: String
        switch client {
        case .unnamed:
            client = .named(name)
            return true
        case .named(let name): known = name
        case .resting(let worker), .working(let worker): known = worker.name
        }
        guard known.hasSameBytes(as: name) else {
            throw ClassicFault(.malformedFrame, "The client sent two names; it may have only one.")
        }
        return false
    }

    /// Notes that the client is admitted.
    mutating func enter(_ worker: ChatWorker) { client = .resting(worker) }

    /// - Returns: whether the worker may begin; false if it is at work already, or the client is not admitted.
    mutating func beginWork() -> Bool {
        guard case .resting(let worker) = client else { return false }
        client = .working(worker)
        return true
    }

    mutating func endWork() {
        if case .working(let worker) = client { client = .resting(worker) }
    }

    /// Notes that a delivery may have arrived for the client.
    mutating func mailCame() { hasNews = true }

    mutating func say(_ bytes: [UInt8]) { said += bytes }

    /// Removes and returns the sentences that can be sent now.
    mutating func takeSaid() -> [UInt8] {
        guard !isInMessage else { return [] }
        defer { said = [] }
        given += UInt64(said.count)
        return said
    }

    /// The next work for the client's worker.
    ///
    /// - Parameters:
    ///   - room: bytes that the connection takes now; 0 if it takes none.
    ///   - isLast: whether only the message that is under way may continue.
    /// - Returns: nil if there is no work.
    mutating func order(room: Int, isLast: Bool) -> ChatWorker.Order? {
        let mayBegin = hasNews && !isLast && !deliveries.isFull
        let room = isInMessage || mayBegin ? room : 0
        guard room > 0 || !received.isEmpty else { return nil }
        if room > 0, mayBegin { hasNews = false }
        defer { received = [] }
        return ChatWorker.Order(received: received, room: room, isLast: !mayBegin)
    }

    /// Notes the outcome of the worker's order.
    mutating func took(_ outcome: ChatWorker.Outcome) {
        for (id, offset) in outcome.ends { deliveries.sent(id, end: given + UInt64(offset)) }
        given += UInt64(outcome.chunk?.count ?? 0)
        guard outcome.hasLooked else { return }
        let hasNews = hasNews || !outcome.isEmpty
        mailbox = outcome.isInMessage ? .inMessage(hasNews: hasNews) : hasNews ? .news : .empty
    }

    /// Notes a heartbeat.
    ///
    /// - Parameters:
    ///   - arrived: when data last arrived from the client.
    ///   - waiting: bytes that the client's system has not acknowledged.
    /// - Returns: whether deliveries are to be settled.
    mutating func heard(at now: MonotonicTime, arrived: MonotonicTime, waiting: Int) -> Bool {
        let waiting = UInt64(clamping: waiting)
        received += deliveries.heard(at: now, arrived: arrived, acknowledged: given - min(given, waiting))
        return !received.isEmpty
    }
}

/// The content of a delivery on its way to a client: `ChatWorker` has it read and digested chunk by chunk. Used by one task at a time.
final class ChatContent {
    let delivery: Delivery

    private let content: any ReadableContent
    private let digester: ContentDigester
    private var offset: UInt64 = 0

    /// - Parameter digester: must be reset.
    /// - Throws: `contentLost` if the file is longer or shorter than what was acknowledged.
    init(_ delivery: Delivery, _ content: any ReadableContent, digester: ContentDigester) throws(Failure) {
        (self.delivery, self.content, self.digester) = (delivery, content, digester)
        guard content.attributes.size == delivery.mail.size else { throw .contentLost(delivery.mail.path) }
        if delivery.mail.size > UInt64(Limits.blockSize) { content.expectAll() }
    }

    /// Fills the chunk as far as possible. The last bytes are only added when the digest of the whole is right: the wire cannot take back
    /// what was sent.
    ///
    /// - Returns: whether the content is complete.
    /// - Throws: `contentLost`; `storageFailed`. The caller must then remove the message's bytes from the chunk.
    func fill(_ chunk: AnswerChunk) throws(Failure) -> Bool {
        let length = Int(min(UInt64(chunk.room), delivery.mail.size - offset))
        let path = delivery.mail.path
        let bytes = try chunk.append(length) { (place) throws(Failure) in try content.read(into: place, at: offset) }
        guard let bytes else { throw .contentLost(path) }
        digester.update(bytes) { _, _ in }
        offset += UInt64(length)
        guard offset == delivery.mail.size else { return false }
        guard digester.finish().digest == delivery.mail.digest else { throw .contentLost(path) }
        return true
    }
}

/// Decides which deliveries count as received. The wire has no acknowledgement, so this is concluded: a delivery is received when a
/// heartbeat arrives at least `proof` after a moment at which the client's system had all the bytes. A heartbeat counts from when it
/// arrived and not from when it was read: one that has waited here says nothing about a client that may be dead by now. Does no I/O: times
/// and counts are arguments.
///
/// ```
///   sent ──a heartbeat, and the client's system has all of it──► taken ──a heartbeat, `proof` later──► received
/// ```
struct ChatDeliveries {
    private struct Sent {
        let id: UploadID
        /// Bytes of the connection up to the end of the message.
        let end: UInt64
    }

    /// How long a client must have been alive with a complete message in its machine. It reads in a loop, and sends a heartbeat once a
    /// second. A heartbeat that was on its way before the message was there proves nothing.
    static let proof = Interval.seconds(1)

    /// Most messages that may be sent and not received; further ones wait for a heartbeat.
    static let most = 1024

    private var sent: [Sent] = []
    /// Counts of messages, from the beginning of `sent`, that the client's system has, with the moment at which that was noticed.
    private var taken: [(count: Int, moment: MonotonicTime)] = []

    /// Number of messages that do not count as received yet.
    var count: Int { sent.count }

    var isEmpty: Bool { sent.isEmpty }

    var isFull: Bool { sent.count >= Self.most }

    /// Notes that a complete message was handed to the connection.
    ///
    /// - Parameter end: bytes of the connection up to the end of the message; never less than for an earlier message.
    mutating func sent(_ id: UploadID, end: UInt64) {
        sent.append(Sent(id: id, end: end))
    }

    /// Notes a heartbeat.
    ///
    /// - Parameters:
    ///   - arrived: when data last arrived from the client; `now` or earlier.
    ///   - acknowledged: bytes of the connection that the client's system has now.
    /// - Returns: the deliveries that now count as received, in order.
    mutating func heard(at now: MonotonicTime, arrived: MonotonicTime, acknowledged: UInt64) -> [UploadID] {
        var count = 0
        while let oldest = taken.first, oldest.moment + Self.proof <= arrived {
            count += oldest.count
            taken.removeFirst()
        }
        let received = sent.prefix(count).map(\.id)
        sent.removeFirst(count)
        noteTaken(at: now, acknowledged)
        return received
    }

    private mutating func noteTaken(at now: MonotonicTime, _ acknowledged: UInt64) {
        let known = taken.reduce(0) { $0 + $1.count }
        let fresh = sent.dropFirst(known).prefix { $0.end <= acknowledged }.count
        if fresh > 0 { taken.append((fresh, now)) }
    }
}
