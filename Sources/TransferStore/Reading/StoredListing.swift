import Glibc
package import TransferModel
import TransferSystem

/// What is in one directory of a store, page by page, in the order of the file system. Holds no more than a page, and two
/// descriptors. Belongs to one task at a time.
package final class StoredListing {
    /// A file or directory in it.
    package struct Entry: Sendable {
        package let path: RelativePath
        package let attributes: StoredAttributes
    }

    private let directory: DirectoryHandle
    private let path: RelativePath?
    private let stream: DirectoryStream

    init(_ directory: DirectoryHandle, at path: RelativePath?) throws(SystemError) {
        self.directory = directory
        self.path = path
        stream = try DirectoryStream(directory)
    }

    /// The next ones, none at the end. What no client can name is left out, and so are links, devices and the server's own.
    ///
    /// - Parameter count: how many at most.
    package func next(_ count: Int) throws(StoreError) -> [Entry] {
        var entries: [Entry] = []
        try attempt("list the folder") { () throws(SystemError) in
            while entries.count < count, let name = try stream.next() {
                if let entry = try entry(name) { entries.append(entry) }
            }
        }
        return entries
    }

    private func entry(_ bytes: [UInt8]) throws(SystemError) -> Entry? {
        guard let name = String(validating: bytes, as: UTF8.self),
            let path = try? RelativePath((path.map { $0.string + "/" } ?? "") + name),
            let status = try directory.status(name), let attributes = StoredAttributes(status)
        else { return nil }
        return Entry(path: path, attributes: attributes)
    }
}
