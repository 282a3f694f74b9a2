package import TransferModel

/// All that is stored, for a scrub, which reads it again and compares it with what was acknowledged. Synchronous and safe to call from any
/// thread.
///
/// A server may store, replace and remove meanwhile, so what the walk finds may be gone when it is opened. A scrub changes nothing that is
/// stored.
///
///     isServed, lock
///     walk ─► ScrubWalk.next* ─► ScrubFile.open ─► ScrubContent.sync, digest, isUnchanged
///     open, object ─► one path, looked at once more
///     syncNames, unfinished
package protocol ScrubStore: AnyObject, Sendable {
    /// Goes through all that is stored, from the beginning.
    func walk() -> any ScrubWalk

    /// Opens what has a path now.
    func open(_ path: RelativePath) -> ScrubOpening

    /// What has a path, as `StoredTree.object(at:)`.
    func object(at path: RelativePath) throws(Failure) -> FoundObject?

    /// Makes all names durable that there are.
    func syncNames() throws(Failure)

    /// The content of uploads that are not complete, as `PartStore.unfinished()`.
    func unfinished() throws(Failure) -> UnfinishedContent

    /// Whether a server stores in it now. The question keeps no server from starting.
    func isServed() -> Bool

    /// Keeps servers out until the lock is released, which it is with its last reference.
    ///
    /// - Throws: `busy` while a server stores in it.
    func lock() throws(Failure) -> any ScrubLock
}

/// Keeps servers out of a store as long as there is a reference to it.
package protocol ScrubLock: AnyObject, Sendable {}

/// All that is stored, one after the other. Several threads may share a walk: each entry goes to one of them.
package protocol ScrubWalk: AnyObject, Sendable {
    /// The next entry, in no order; nil at the end.
    func next() -> ScrubEntry?
}

/// What a walk comes across.
package enum ScrubEntry: Sendable {
    case file(any ScrubFile)

    /// A file under a name that no upload can have. The path is repaired where it is not UTF-8; the size is in bytes.
    case foreign(path: String, size: UInt64)

    /// A folder, or something in one, that cannot be looked at.
    case unreadable(path: String, reason: String)

    /// Neither a file nor a folder that uploads can be in.
    case other
}

/// Where a walk has found a file.
package protocol ScrubFile: Sendable {
    var path: RelativePath { get }

    /// Opens what is there now.
    func open() -> ScrubOpening
}

/// The result of opening a path.
package enum ScrubOpening {
    case file(any ScrubContent)

    case absent

    /// Something, but no file.
    case other

    case unreadable(reason: String)
}

/// The content of a stored file, open to be compared with what was acknowledged. The sentences of its failures are shown beside the path,
/// and need not name it.
package protocol ScrubContent: ReadableContent {
    /// When its content, its names or its rights were last changed, as far as that was before it was opened; UTC, in nanoseconds since
    /// 1970.
    var changed: Int64 { get }

    /// Makes the content durable, as far as it is not.
    func sync() throws(Failure)

    /// Lets go of what memory has of the content, where the store can: what is read next comes from where the content is kept, and
    /// what was read pushes nothing out that others need.
    func dropMemory()
}

extension ScrubContent {
    /// Reads all of it but its holes, not from memory where the store can do without, and leaves nothing there.
    ///
    /// - Parameters:
    ///   - buffer: to read into; not empty.
    ///   - progress: is called with the bytes of every piece. Reading ends when it returns false.
    /// - Returns: nil where `progress` has ended it.
    package func reread(
        _ function: DigestFunction, through buffer: UnsafeMutableRawBufferPointer, progress: (Int) -> Bool
    ) throws(Failure) -> Digest? {
        dropMemory()
        defer { dropMemory() }
        return try digest(function, through: buffer, progress: progress)
    }
}
