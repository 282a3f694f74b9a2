package import TransferCodec
package import TransferModel

/// What is stored, for clients that may see it. Synchronous and safe to call from any thread; what it returns belongs to one task at a
/// time.
///
/// Each look is a new one: what it finds may have changed by the next. A reader and a listing are kept for a moment only.
///
///     attributes, whole, object ─► one path
///     list ─► StoredListing.next* ─► no entries at the end
///     reader ─► TreeReader.attributes*, open ─► ReadableContent.read*, isUnchanged
package protocol StoredTree: AnyObject, Sendable {
    /// What has a path now; the top of the store for nil.
    ///
    /// - Throws: `notFound`, also for what is neither a file nor a folder.
    func attributes(at path: RelativePath?) throws(Failure) -> StoredAttributes

    /// What has a path now, with all that is kept of it; a symbolic link itself, wherever it leads.
    ///
    /// - Throws: `notFound`, also for what is none of these.
    func whole(at path: RelativePath) throws(Failure) -> WholeEntry

    /// What has a path, without a look at its content.
    ///
    /// - Returns: nil where there is none, also for what is no file, folder or link.
    /// - Throws: where it cannot be said what is there.
    func object(at path: RelativePath) throws(Failure) -> FoundObject?

    /// Whether a folder has the path; a symbolic link is none, wherever it leads.
    ///
    /// - Throws: `notFound`, also for what is no file, folder or link.
    func isDirectory(at path: RelativePath) throws(Failure) -> Bool

    /// What is in a folder; at the top of the store for nil.
    ///
    /// - Throws: `notFound`; `wrongForm` for a file.
    func list(_ path: RelativePath?) throws(Failure) -> any StoredListing

    /// Looks at and opens what is stored now.
    func reader() -> any TreeReader

    /// The parts of the trash, in no order; those alone that have something below a folder, where one is given.
    func trash(below folder: RelativePath?) throws(Failure) -> [TrashBatch]
}

/// Looks at and opens files, many of them often in one folder. Keep it for a moment only: the folder may be removed and made again.
/// Belongs to one task at a time.
package protocol TreeReader: AnyObject {
    /// What has the path, without a look at its content; nil when there is none.
    func attributes(at path: RelativePath) -> StoredAttributes?

    /// - Parameter name: what failures to read it call it.
    /// - Throws: `notFound`; `wrongForm` for a folder.
    func open(_ path: RelativePath, as name: RelativePath) throws(Failure) -> any ReadableContent
}

extension TreeReader {
    package func open(_ path: RelativePath) throws(Failure) -> any ReadableContent { try open(path, as: path) }
}

/// A file or folder in a listing.
package struct StoredEntry: Sendable {
    package let path: RelativePath
    package let attributes: StoredAttributes

    package init(path: RelativePath, attributes: StoredAttributes) {
        (self.path, self.attributes) = (path, attributes)
    }
}

/// What is in one folder, page by page, in the order of the store. Holds no more than a page. Belongs to one task at a time.
package protocol StoredListing: AnyObject {
    /// Files, folders, and with `nextWhole` links so far that are left out because no path can have their name: it is not UTF-8,
    /// too long, or one of Transfer's own. What Transfer keeps at the top of the store is not among them.
    var unlisted: UInt64 { get }

    /// The next ones, none at the end. What no client can name is left out, and so are links, devices and the server's own.
    ///
    /// - Parameter count: how many at most.
    func next(_ count: Int) throws(Failure) -> [StoredEntry]

    /// The next ones with all that is kept of them, symbolic links among them.
    ///
    /// - Parameter count: how many at most.
    func nextWhole(_ count: Int) throws(Failure) -> [WholeEntry]

    /// Calls `body` with the name of each of the next ones, and what it is.
    ///
    /// - Parameter count: how many at most.
    /// - Returns: how many there were; fewer at the end only.
    @discardableResult
    func forEach(
        _ count: Int, _ body: (_ name: String, _ attributes: StoredAttributes) -> Void
    ) throws(Failure) -> Int
}

extension FolderDigester {
    package mutating func add(_ name: String, _ attributes: StoredAttributes) {
        if attributes.isDirectory {
            add(folder: name)
        } else {
            add(file: name, size: attributes.size, modified: attributes.modified)
        }
    }
}

extension Failure {
    package static func notFound(_ path: RelativePath?) -> Failure {
        Failure(.notFound, "There is nothing under \(path?.description ?? "the folder").")
    }

    package static func otherVersion(_ path: RelativePath) -> Failure {
        Failure(.fileChanged, "\(path) has changed since the client has looked at it; it is left as it is.")
    }
}
