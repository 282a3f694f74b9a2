package import TransferModel

/// A store for a scrub, which reads all stored files again and compares them with what was acknowledged. Synchronous
/// and safe to call from any thread.
///
/// A server may store, replace and remove files meanwhile, so a file that the walk finds may be gone when the scrub
/// opens it. A scrub changes nothing that is stored.
///
///     isServed, lock
///     walk ─► ScrubWalk.next* ─► ScrubFile.open ─► ScrubContent.sync, digest, isUnchanged
///     open, object ─► one path, looked at once more
///     syncNames, unfinished
package protocol ScrubStore: AnyObject, Sendable {
    /// Begins a walk through all that is stored.
    func walk() -> any ScrubWalk

    /// Opens the file at a path.
    func open(_ path: RelativePath) -> ScrubOpening

    /// What is at a path, as in `StoredTree.object(at:)`.
    func object(at path: RelativePath) throws(Failure) -> FoundObject?

    /// Makes all names in the store durable.
    func syncNames() throws(Failure)

    /// The number and size of unfinished uploads, as in `PartStore.unfinished()`.
    func unfinished() throws(Failure) -> UnfinishedContent

    /// Whether a server is using the store. The call does not keep a server from starting.
    func isServed() -> Bool

    /// Keeps servers out until the last reference to the lock is released.
    ///
    /// - Throws: `busy` while a server is using the store.
    func lock() throws(Failure) -> any ScrubLock
}

/// Keeps servers out of a store as long as there is a reference to the lock.
package protocol ScrubLock: AnyObject, Sendable {}

/// A walk through all that is stored. Several threads may share it: each entry is returned to one of them.
package protocol ScrubWalk: AnyObject, Sendable {
    /// The next entry, in no order; nil at the end.
    func next() -> ScrubEntry?
}

/// What a walk finds in the store.
package enum ScrubEntry: Sendable {
    case file(any ScrubFile)

    /// A file whose name no upload can have. In the path, bytes that are not UTF-8 are replaced; the size is in bytes.
    case foreign(path: String, size: UInt64)

    /// A folder, or something in one, that cannot be examined.
    case unreadable(path: String, reason: String)

    /// Neither a file nor a folder that uploads can be in.
    case other
}

/// A file that a walk has found.
package protocol ScrubFile: Sendable {
    var path: RelativePath { get }

    /// Opens the file that is now at the path.
    func open() -> ScrubOpening
}

/// The result of opening a path.
package enum ScrubOpening {
    case file(any ScrubContent)

    case absent

    /// Something that is no file.
    case other

    case unreadable(reason: String)
}

/// The open content of a stored file, which is compared with what was acknowledged. Messages of failures are shown
/// beside the path, and need not name it.
package protocol ScrubContent: ReadableContent {
    /// When the content, the names or the rights were last changed before it was opened; UTC, in nanoseconds since
    /// 1970.
    var changed: Int64 { get }

    /// Makes the content durable, unless it is.
    func sync() throws(Failure)

    /// Removes the content from memory, if the store can, so that the next read comes from where the content is kept,
    /// and so that the scrub does not displace what other programs need.
    func dropMemory()
}

extension ScrubContent {
    /// Reads the whole content except for holes, not from memory if the store can avoid that, and leaves none of it in
    /// memory.
    ///
    /// - Parameters:
    ///   - buffer: a buffer to read into; not empty.
    ///   - progress: called with the size of every piece. If it returns false, reading ends.
    /// - Returns: nil if `progress` has ended the reading.
    package func reread(
        _ function: DigestFunction, through buffer: UnsafeMutableRawBufferPointer, progress: (Int) -> Bool
    ) throws(Failure) -> Digest? {
        dropMemory()
        defer { dropMemory() }
        return try digest(function, through: buffer, progress: progress)
    }
}
