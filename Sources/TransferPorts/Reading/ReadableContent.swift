import TransferCodec
package import TransferModel
package import TransferSystem

/// The open content of a stored file. It stays complete when the file is replaced, moved or removed. Used by one task
/// at a time.
package protocol ReadableContent: AnyObject {
    /// The attributes when the file was opened.
    var attributes: StoredAttributes { get }

    /// Whether the content is the same as when the file was opened. Other names, rights and owners do not matter.
    var isUnchanged: Bool { get }

    /// Reads from an offset until the buffer is full or the file ends.
    ///
    /// - Returns: the number of bytes; fewer than the buffer has only at the end of the file.
    /// - Throws: `contentLost` if the store cannot give back what it has stored, `storageFailed`.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(Failure) -> Int

    /// Bytes that are not in holes, as far as that is known; nil if the file has no holes.
    var filled: UInt64? { get }

    /// The run that begins at an offset: a hole, or data.
    func run(at offset: UInt64) -> FileHoles.Run

    /// Announces that all of it will be read in order, so that the store may read ahead.
    func expectAll()

    /// A descriptor that another process may read the content from; this object keeps it open. Nil if the content is
    /// not in a file of this machine.
    var fileDescriptor: Int32? { get }

    /// Lets staged content share all bytes of this file, if the store supports that.
    ///
    /// - Returns: false if the bytes cannot be shared.
    func share(with staged: any StagedContent) throws(Failure) -> Bool
}

extension ReadableContent {
    package var fileDescriptor: Int32? { nil }

    /// Reads the whole content in order, except for holes.
    ///
    /// - Parameters:
    ///   - buffer: a buffer to read into; not empty.
    ///   - progress: called with the size of every piece. If it returns false, reading ends.
    /// - Returns: nil if `progress` has ended the reading.
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

/// A stored file whose content has to be read.
package struct ContentQuery: Sendable {
    package let path: RelativePath
    package let functions: [DigestFunction]

    package init(path: RelativePath, functions: [DigestFunction]) { (self.path, self.functions) = (path, functions) }
}

/// The result of reading a stored file.
package enum ContentReading: Equatable, Sendable {
    /// The file was not changed while it was read. The digests are in the order of the functions.
    case read(ContentVersion, [Digest])

    /// The file was changed while it was read, or there is no file at the path.
    case changed

    /// The file could not be opened, synced or read.
    case unreadable(Failure)

    /// The caller ended the reading before this file.
    case left
}
