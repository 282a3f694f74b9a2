import TransferHTTP

/// What came of some work on requests.
struct HTTPOutcome: Sendable {
    enum Piece: Sendable {
        case bytes([UInt8])
        case chunk(ContentChunk)
    }

    /// What becomes of the connection behind the answers.
    enum Ending: Sendable {
        /// The client was told that this is the last one.
        case said
        /// An answer cannot be completed: only the end of the connection says so.
        case broken(String)
    }

    /// Answers, in order.
    private(set) var pieces: [Piece] = []

    /// Bytes that may still be added.
    private(set) var room: Int

    /// Requests that have their whole answer with it.
    var answered = 0

    /// Whether there is more to do of what the worker has already.
    var isBusy = false

    var ending: Ending?

    /// Whether it is of no use to anybody that the pool goes on once the client has gone.
    private(set) var isForClientAlone = false

    /// Whether the answer goes on when something has happened.
    private(set) var isWaiting = false

    init(room: Int) { self.room = room }

    mutating func append(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        pieces.append(.bytes(bytes))
        room -= bytes.count
    }

    /// Others have their turn before an answer goes on that nobody but the client has anything of.
    mutating func rest() {
        room = 0
        isForClientAlone = true
    }

    /// There is nothing to add before something happens.
    mutating func wait() {
        rest()
        isWaiting = true
    }

    mutating func append(_ chunk: ContentChunk) {
        pieces.append(.chunk(chunk))
        room -= chunk.count
    }
}
