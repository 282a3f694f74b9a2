import TransferClassic
import TransferCodec
import TransferIntake
import TransferMail
import TransferModel
import TransferPorts
import TransferSystem

/// The session's side of a client that has a name and a mailbox: what it is sent, and what it has.
///
/// ```
///   unnamed ──introduce──► named ──enter──► resting ⇄ working        the client, and the worker that hands on to it
///   empty ──mailCame──► news ──order──► empty ──took──► empty, news, inMessage        what waits for it
/// ```
struct ChatState {
    private enum Client {
        /// It has not said what it calls itself.
        case unnamed
        /// The pool decides whether it may have its name.
        case named(String)
        /// It is handed what waits for it, and nothing is being made for it.
        case resting(ChatWorker)
        case working(ChatWorker)
    }

    private enum Mailbox {
        /// All that waits was looked at.
        case empty
        /// Something may wait that was not looked at.
        case news
        /// The connection ends inside a message, so that nothing but the rest of it may follow.
        case inMessage(hasNews: Bool)
    }

    /// Bytes of the server's own sentences that may wait; a client that makes more of them isn't read.
    static let mostSaid = 64 << 10

    let guests: ChatGuests

    private var client = Client.unnamed
    private var mailbox = Mailbox.empty

    /// Sentences of the server's own, which cannot go inside a message.
    private(set) var said: [UInt8] = []

    private var deliveries = ChatDeliveries()
    /// Those that the ledger was not told of.
    private var received: [UploadID] = []
    /// Bytes that the connection was given.
    private var given: UInt64 = 0

    init(_ guests: ChatGuests) {
        self.guests = guests
    }

    /// Hands on what waits for the client; nil until it has its name.
    var worker: ChatWorker? {
        switch client {
        case .unnamed, .named: nil
        case .resting(let worker), .working(let worker): worker
        }
    }

    var isWorking: Bool { if case .working = client { true } else { false } }

    var isInMessage: Bool { if case .inMessage = mailbox { true } else { false } }

    /// Whether something may wait that was not looked at.
    private(set) var hasNews: Bool {
        get {
            switch mailbox {
            case .empty, .inMessage(hasNews: false): false
            case .news, .inMessage(hasNews: true): true
            }
        }
        set { mailbox = isInMessage ? .inMessage(hasNews: newValue) : newValue ? .news : .empty }
    }

    /// Whether the server's own sentences leave room for more of them.
    var takesSentences: Bool { said.count < Self.mostSaid }

    /// Whether a heartbeat means anything but that the client is there.
    var awaitsHeartbeat: Bool { !deliveries.isEmpty }

    /// Whether nothing is to be told to the ledger, and no message is under way.
    var isAtRest: Bool { !isWorking && !isInMessage && received.isEmpty }

    /// The client says its name.
    ///
    /// - Returns: whether it does so for the first time.
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
            throw ClassicFault(.malformedFrame, "A client has one name, and here come two.")
        }
        return false
    }

    /// The client has its name.
    mutating func enter(_ worker: ChatWorker) { client = .resting(worker) }

    /// - Returns: whether the worker has begun to work, which it does once at a time.
    mutating func beginWork() -> Bool {
        guard case .resting(let worker) = client else { return false }
        client = .working(worker)
        return true
    }

    mutating func endWork() {
        if case .working(let worker) = client { client = .resting(worker) }
    }

    /// Something has come for the client.
    mutating func mailCame() { hasNews = true }

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
        let hasNews = hasNews || !outcome.isEmpty
        mailbox = outcome.isInMessage ? .inMessage(hasNews: hasNews) : hasNews ? .news : .empty
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

/// The content of a delivery on its way to a client: read, and digested on the way. Belongs to one task at a time.
final class ChatContent {
    let delivery: Delivery

    private let content: any ReadableContent
    private let digester: ContentDigester
    private var offset: UInt64 = 0

    /// - Parameter digester: reset.
    /// - Throws: `contentLost` when there is more or less of it than was acknowledged.
    init(_ delivery: Delivery, _ content: any ReadableContent, digester: ContentDigester) throws(Failure) {
        (self.delivery, self.content, self.digester) = (delivery, content, digester)
        guard content.attributes.size == delivery.mail.size else { throw .contentLost(delivery.mail.path) }
        if delivery.mail.size > UInt64(Limits.blockSize) { content.expectAll() }
    }

    /// Fills the chunk as far as it can. The last bytes only go into it when all of it is what was acknowledged: the wire has no
    /// words to take back what was said.
    ///
    /// - Returns: whether that was all.
    /// - Throws: `contentLost`; `storageFailed`. What the chunk has of the message must not be sent then.
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

/// What a client was sent, and what of it counts as received. The wire has no acknowledgement, so that is decided from what
/// else is known: a delivery is received when a heartbeat comes at least `proof` after a moment at which the other end's
/// system had taken all bytes of it. A heartbeat counts from when it came, and not from when it was read: one that has waited here
/// says nothing about a client that may be dead by now. Sans-IO: times and counts are arguments.
///
/// ```
///   sent ──a heartbeat comes, and the other end's system has all of it──► taken ──a heartbeat, `proof` later──► received
/// ```
struct ChatDeliveries {
    private struct Sent {
        let id: UploadID
        /// Bytes of the connection up to its end.
        let end: UInt64
    }

    /// So long a client must have been alive with all of a message in its machine. It reads in a loop, and says that it is
    /// there once a second: a heartbeat that was on its way before counts for nothing.
    static let proof = Interval.seconds(1)

    /// Messages that may be sent without being received; then the next ones wait for a heartbeat.
    static let most = 1024

    private var sent: [Sent] = []
    /// Of them, those in front that the other end's system has, with the moment at which that was known.
    private var taken: [(count: Int, moment: MonotonicTime)] = []

    /// Messages that are not known to be received.
    var count: Int { sent.count }

    var isEmpty: Bool { sent.isEmpty }

    var isFull: Bool { sent.count >= Self.most }

    /// All of a message was given to the connection.
    ///
    /// - Parameter end: bytes of the connection up to there; not less than for the one before.
    mutating func sent(_ id: UploadID, end: UInt64) {
        sent.append(Sent(id: id, end: end))
    }

    /// A heartbeat has come.
    ///
    /// - Parameters:
    ///   - arrived: when data last came from the client; at `now`, or before.
    ///   - acknowledged: bytes of the connection that the other end's system has now.
    /// - Returns: what is received by now, in order.
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
