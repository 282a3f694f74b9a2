package import TransferModel

/// A place for the bytes of one upload, which are not visible before they are published.
///
/// Several threads may write at once, each its own bytes. One thread publishes, discards or gives back room after all
/// of them have finished; a thread that digests may still read then.
package protocol StagedContent: AnyObject, Sendable {
    associatedtype Survey: ContentSurvey

    /// Whether the place was made for this upload, so that it only has bytes that have arrived since.
    var isNew: Bool { get }

    /// After publication: whether it has replaced a file.
    var hasReplaced: Bool { get }

    /// After publication: the replaced file in the trash; nil if none is kept.
    var kept: KeptFile? { get }

    /// Writes all of the bytes at an offset, or throws.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(Failure)

    /// Fills a range with zeros, or throws. The zeros take no room if the store can leave them out.
    func clear(_ range: Range<UInt64>) throws(Failure)

    /// Begins to look for the blocks that have arrived.
    ///
    /// - Parameter total: bytes of the upload, if they are known: the last block may be short.
    /// - Throws: if the content cannot be examined.
    func survey(of total: UInt64?, _ function: DigestFunction) throws(Failure) -> Survey

    /// - Returns: the digest of the range; nil if not all of it can be read.
    func digest(of range: Range<UInt64>, _ function: DigestFunction) -> [UInt8]?

    /// Cuts off bytes that an earlier attempt has left behind the end.
    func trim(to size: UInt64) throws(Failure)

    /// Gives back reserved room that is not used, as far as the store can. No thread may be writing.
    func giveBackRoom()

    /// Discards the bytes of the upload.
    func discard()
}

extension StagedContent {
    /// For a store without a trash.
    package var kept: KeptFile? { nil }
}

/// Digests the blocks of an unfinished upload, in order and some at a time, so that other clients have their turn in
/// between.
package protocol ContentSurvey {
    /// - Parameter threads: how many threads to use.
    /// - Returns: the blocks that were found; nil at the end.
    mutating func step(threads: Int) throws(Failure) -> [SurveyedBlock]?
}

/// A whole block that the store has.
package struct SurveyedBlock: Equatable, Sendable {
    package let index: UInt64

    /// The range of the block in the upload.
    package let range: Range<UInt64>

    package let digest: [UInt8]

    package init(_ range: Range<UInt64>, _ digest: [UInt8]) {
        index = range.lowerBound / UInt64(Limits.blockSize)
        (self.range, self.digest) = (range, digest)
    }
}
