package import TransferCodec
package import TransferModel

/// The stored files and folders, for clients that may see them. Synchronous and safe to call from any thread; what it
/// returns is used by one task at a time.
///
/// Each call looks again, so its result can differ from that of the call before. Keep a reader or a listing for a
/// moment only.
///
///     attributes, whole, object ─► one path
///     list ─► StoredListing.next* ─► no entries at the end
///     reader ─► TreeReader.attributes*, open ─► ReadableContent.read*, isUnchanged
package protocol StoredTree: AnyObject, Sendable {
    /// The attributes of the file or folder at a path; nil for the top of the store.
    ///
    /// - Throws: `notFound`, also for anything other than a file or folder.
    func attributes(at path: RelativePath?) throws(Failure) -> StoredAttributes

    /// The file, folder or link at a path, with everything that is stored of it; a symbolic link is not followed.
    ///
    /// - Throws: `notFound`, also for anything other than a file, folder or link.
    func whole(at path: RelativePath) throws(Failure) -> WholeEntry

    /// The file, folder or link at a path. The content is not read.
    ///
    /// - Returns: nil if the path is free, or has something other than a file, folder or link.
    /// - Throws: if the path cannot be examined.
    func object(at path: RelativePath) throws(Failure) -> FoundObject?

    /// Whether there is a folder at the path; false for a symbolic link to one.
    ///
    /// - Throws: `notFound`, also for anything other than a file, folder or link.
    func isDirectory(at path: RelativePath) throws(Failure) -> Bool

    /// Lists a folder; nil for the top of the store.
    ///
    /// - Throws: `notFound`; `wrongForm` for a file.
    func list(_ path: RelativePath?) throws(Failure) -> any StoredListing

    /// A reader for the files that are stored now.
    func reader() -> any TreeReader

    /// The trash batches, in no order; only those that have something from below `folder`, if that is given.
    func trash(below folder: RelativePath?) throws(Failure) -> [TrashBatch]
}

/// Reads the attributes of files and opens them, often many in one folder. Keep it for a moment only: the folder may be
/// removed and made again. Used by one task at a time.
package protocol TreeReader: AnyObject {
    /// The attributes of the file or folder at the path; nil if there is neither. The content is not read.
    func attributes(at path: RelativePath) -> StoredAttributes?

    /// - Parameter name: the name in messages about failures to read the file.
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

/// The entries of one folder, page by page, in the order of the store. Holds no more than a page. Used by one task at a
/// time.
package protocol StoredListing: AnyObject {
    /// How many files, folders, and with `nextWhole` links were left out so far because no path can have their name: it
    /// is not UTF-8, too long, or one of Transfer's own. What Transfer keeps at the top of the store does not count.
    var unlisted: UInt64 { get }

    /// The next entries; empty at the end. Entries with names that no path can have are left out, and so are links,
    /// devices and the server's own files.
    ///
    /// - Parameter count: the most entries to return.
    func next(_ count: Int) throws(Failure) -> [StoredEntry]

    /// The next entries with everything that is stored of them, including symbolic links.
    ///
    /// - Parameter count: the most entries to return.
    func nextWhole(_ count: Int) throws(Failure) -> [WholeEntry]

    /// Calls `body` with the name and the attributes of each of the next entries.
    ///
    /// - Parameter count: the most entries to look at.
    /// - Returns: how many entries it has looked at; fewer than `count` only at the end.
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
        Failure(.notFound, "\(path?.description ?? "The folder") does not exist.")
    }

    package static func otherVersion(_ path: RelativePath) -> Failure {
        Failure(.fileChanged, "\(path) has changed since the client looked at it; it was not changed.")
    }
}
