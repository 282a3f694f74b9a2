package import TransferModel

/// A place for the bytes of one upload, which nobody sees until they are published.
///
/// Several threads may write at once, each its own bytes. One thread publishes, discards or gives back, after all of them have
/// ended; one that digests may still read then.
package protocol StagedContent: AnyObject, Sendable {
    associatedtype Survey: ContentSurvey

    /// Whether it was made for its upload, so that nothing is in it but what arrived since.
    var isNew: Bool { get }

    /// Once published, whether something else had its name before.
    var hasReplaced: Bool { get }

    /// Once published, what of that is in the trash; nil where nothing is kept.
    var kept: KeptFile? { get }

    /// Writes at an offset; all of it or an error.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(Failure)

    /// Makes a range zeros, whatever it was before, and takes no room for them where the store can leave them out; all of it
    /// or an error.
    func clear(_ range: Range<UInt64>) throws(Failure)

    /// Begins to look for the blocks that are there.
    ///
    /// - Parameter total: bytes of the upload, where they are known: the last block may be short.
    /// - Throws: when nothing can be said of it at all.
    func survey(of total: UInt64?, _ function: DigestFunction) throws(Failure) -> Survey

    /// - Returns: the digest of some of the bytes; nothing when not all of them can be read.
    func digest(of range: Range<UInt64>, _ function: DigestFunction) -> [UInt8]?

    /// Cuts off what an earlier attempt has left behind the end.
    func trim(to size: UInt64) throws(Failure)

    /// Gives back the room that is reserved and holds nothing, as far as the store can. Nobody may be writing.
    func giveBackRoom()

    /// Throws the bytes away.
    func discard()
}

extension StagedContent {
    /// A store without a trash.
    package var kept: KeptFile? { nil }
}

/// Digests the blocks that are there of an unfinished upload, in order and some at a time, so that others have their turn
/// between.
package protocol ContentSurvey {
    /// - Parameter threads: how many to use.
    /// - Returns: what was found; nothing when all was looked at.
    mutating func step(threads: Int) throws(Failure) -> [SurveyedBlock]?
}

/// A block that is there, whole.
package struct SurveyedBlock: Equatable, Sendable {
    package let index: UInt64

    /// Its bytes of the upload.
    package let range: Range<UInt64>

    package let digest: [UInt8]

    package init(_ range: Range<UInt64>, _ digest: [UInt8]) {
        index = range.lowerBound / UInt64(Limits.blockSize)
        (self.range, self.digest) = (range, digest)
    }
}
