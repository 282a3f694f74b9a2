package import TransferModel

/// How far an append upload has come. The client may learn of the mark as soon as it is durable.
package struct AppendMark: Equatable, Sendable {
    /// Bytes from the beginning of the upload.
    package var offset: UInt64

    /// Bytes of the whole upload; nil until they are known.
    package var total: UInt64?

    /// The function of the digests; it is the same for the whole upload.
    package var function: DigestFunction

    /// Digests of the whole blocks, concatenated.
    package var blocks: [UInt8]

    /// The digest of the bytes after the whole blocks; empty without such bytes.
    package var tail: [UInt8]

    package init(
        _ function: DigestFunction = .xxh128, offset: UInt64 = 0, total: UInt64? = nil, blocks: [UInt8] = [],
        tail: [UInt8] = []
    ) {
        (self.function, self.offset, self.total, self.blocks, self.tail) = (function, offset, total, blocks, tail)
    }
}

/// The content of an append upload, which grows over any number of connections and servers. It records how far it is
/// durable and verified. Used by one thread at a time.
package protocol AppendableContent: AnyObject, Sendable {
    /// The bytes, which are published at the end.
    var content: any StagedContent { get }

    /// The declaration that was given when the upload was begun.
    var declaration: [UInt8] { get }

    /// How far the content is durable, also after a power cut.
    var kept: AppendMark { get }

    /// Reads bytes that were written, piece by piece.
    ///
    /// - Throws: `contentLost` if the bytes are lost; other errors of the disk.
    func read(_ range: Range<UInt64>, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Void) throws(Failure)

    /// Makes all bytes up to the mark durable, and then the mark itself. `kept` never decreases.
    ///
    /// - Throws: errors of the disk. If `isLost` is still false after that, what was kept before is valid, and the
    ///   upload can be resumed.
    func keep(_ mark: AppendMark) throws(Failure)

    /// Writes down the mark without making it durable. If a server dies while it publishes, the next one recognises the
    /// published content by the mark. The note has no other effect.
    func note(_ mark: AppendMark)

    /// Whether a sync has failed, so that it is unknown what is durable. Then the content has to be discarded.
    var isLost: Bool { get }

    /// Discards the content and the mark.
    func discard()

    /// Discards the mark if the content is published or removed.
    func forgetIfGone()
}

extension Failure {
    /// The disk has lost content of an unfinished upload.
    package static let appendLost = Failure(
        .contentLost, "The server's disk has lost a part of the upload. Send the upload again from the beginning.")
}
