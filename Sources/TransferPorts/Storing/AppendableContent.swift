package import TransferModel

/// How far an append upload has come: what its sender may be told as soon as it is durable.
package struct AppendMark: Equatable, Sendable {
    /// Bytes from its front.
    package var offset: UInt64

    /// Bytes of the whole upload, as soon as they are known.
    package var total: UInt64?

    /// Digests (XXH128) of its whole blocks, one after the other.
    package var blocks: [UInt8]

    /// The digest of what comes behind them; none where that is no byte.
    package var tail: [UInt8]

    package init(offset: UInt64 = 0, total: UInt64? = nil, blocks: [UInt8] = [], tail: [UInt8] = []) {
        (self.offset, self.total, self.blocks, self.tail) = (offset, total, blocks, tail)
    }

    /// What the digests are made with.
    package static let function = DigestFunction.xxh128
}

/// Content that grows at its end, over any number of connections and servers, and of which is known how far it is durable and
/// verified. Used by one thread at a time.
package protocol AppendableContent: AnyObject, Sendable {
    /// The bytes; to be published in the end.
    var content: any StagedContent { get }

    /// What was said of the upload when it was begun.
    var declaration: [UInt8] { get }

    /// How far it is durable, also after a power cut.
    var kept: AppendMark { get }

    /// Reads bytes that were written, piece by piece.
    ///
    /// - Throws: also `contentLost` where they are not there.
    func read(_ range: Range<UInt64>, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Void) throws(Failure)

    /// Makes all bytes durable up to a place, and that they are. `kept` never goes down.
    ///
    /// - Throws: what the disk says. Unless it `isLost`, what was kept before stands, and can be gone on with.
    func keep(_ mark: AppendMark) throws(Failure)

    /// Writes down what there is, without making it durable: who comes after a server that dies while it publishes finds by that
    /// what the upload has become. It counts for nothing else.
    func note(_ mark: AppendMark)

    /// Whether a sync of it has failed: nobody can say what is durable any more, and it is to be thrown away.
    var isLost: Bool { get }

    /// Throws all of it away.
    func discard()

    /// Throws away what was known of it, where its content has gone: it has a name of its own now, or none.
    func forgetIfGone()
}

extension Failure {
    /// What a disk has lost of an upload that is not complete.
    package static let appendLost = Failure(
        .contentLost, "The server's disk has lost a part of what had arrived. The upload has to be sent again.")
}
