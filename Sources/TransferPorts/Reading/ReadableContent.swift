import TransferCodec
package import TransferModel
package import TransferSystem

/// The content of a stored file, open to be read. What replaces, moves or removes the file leaves it whole. Belongs to one task at a
/// time.
package protocol ReadableContent: AnyObject {
    /// When it was opened.
    var attributes: StoredAttributes { get }

    /// Whether the content is what it was when the file was opened. Other names, rights and owners do not matter.
    var isUnchanged: Bool { get }

    /// Reads as much as there is at an offset, up to a buffer full.
    ///
    /// - Returns: bytes; less than a buffer full only at the end of the file.
    /// - Throws: `contentLost` where the store cannot give back what it has taken, `storageFailed`.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(Failure) -> Int

    /// Bytes that are not in holes, as far as that can be told; nil where it has no holes.
    var filled: UInt64? { get }

    /// What begins at an offset: bytes of a hole, or data.
    func run(at offset: UInt64) -> FileHoles.Run

    /// All of it will be read, one byte after the other: a store may read ahead.
    func expectAll()

    /// Lets content that is being made share all of this, where the store can.
    ///
    /// - Returns: false where it cannot.
    func share(with staged: any StagedContent) throws(Failure) -> Bool
}

extension ReadableContent {
    /// Reads all of it but its holes, one byte after the other.
    ///
    /// - Parameters:
    ///   - buffer: to read into; not empty.
    ///   - progress: is called with the bytes of every piece. Reading ends when it returns false.
    /// - Returns: nil where `progress` has ended it.
    package func digest(
        _ function: DigestFunction, through buffer: UnsafeMutableRawBufferPointer, progress: (Int) -> Bool
    ) throws(Failure) -> Digest? {
        expectAll()
        let digester = ContentDigester(function)
        while true {
            let run = run(at: digester.size)
            guard !run.isHole else {
                let zeros = ZeroBytes.prefix(Int(clamping: run.count))
                digester.update(zeros) { _, _ in }
                guard progress(zeros.count) else { return nil }
                continue
            }
            let piece = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Int(clamping: run.count)))
            let count = try read(into: piece, at: digester.size)
            digester.update(UnsafeRawBufferPointer(rebasing: piece[..<count])) { _, _ in }
            guard count == 0 || progress(count) else { return nil }
            guard count > 0, count == piece.count else { return digester.finish().digest }
        }
    }
}

/// A stored file whose content is to be read.
package struct ContentQuery: Sendable {
    package let path: RelativePath
    package let functions: [DigestFunction]

    package init(path: RelativePath, functions: [DigestFunction]) { (self.path, self.functions) = (path, functions) }
}

/// What came of reading a stored file.
package enum ContentReading: Equatable, Sendable {
    /// It was the same file all the time. It has one digest for each function that was asked for, in their order.
    case read(ContentVersion, [Digest])

    /// It was changed while it was read, or no file has the path.
    case changed

    /// It could not be opened, synced or read.
    case unreadable(Failure)

    /// The caller ended the reading before.
    case left
}
