import Glibc
import TransferModel
import TransferPorts
import TransferSystem

/// Lists one directory in the order of the file system. Holds two descriptors.
final class DirectoryListing: StoredListing {
    private let directory: DirectoryHandle
    private let path: RelativePath?
    private let stream: DirectoryStream

    /// The number of files, folders and, with `nextWhole`, links so far that were left out because their names cannot
    /// be in a path: they are not UTF-8, too long, or reserved. Transfer's own entries at the top of the store do not
    /// count.
    package private(set) var unlisted: UInt64 = 0

    init(_ directory: DirectoryHandle, at path: RelativePath?) throws(SystemError) {
        self.directory = directory
        self.path = path
        stream = try DirectoryStream(directory)
    }

    /// The next entries; empty at the end. Entries with names that cannot be in a path, links, devices and the server's
    /// own entries are left out.
    ///
    /// - Parameter count: how many at most.
    package func next(_ count: Int) throws(Failure) -> [StoredEntry] {
        var entries: [StoredEntry] = []
        try forEach(count) { name, attributes in
            let path = RelativePath.child(name, of: path)
            if let path { entries.append(StoredEntry(path: path, attributes: attributes)) }
        }
        return entries
    }

    /// The next entries with all their attributes, including symbolic links.
    ///
    /// - Parameter count: how many at most.
    package func nextWhole(_ count: Int) throws(Failure) -> [WholeEntry] {
        var entries: [WholeEntry] = []
        try attempt("list the folder") { () throws(SystemError) in
            while entries.count < count, let bytes = try stream.next() {
                guard let name = try name(bytes, withLinks: true), let path = RelativePath.child(name, of: path) else {
                    continue
                }
                if let entry = try WholeEntry(path, named: name, in: directory) { entries.append(entry) }
            }
        }
        return entries
    }

    /// Calls `body` with the name and attributes of each of the next entries.
    ///
    /// - Parameter count: how many at most.
    /// - Returns: the number of entries; fewer than `count` only at the end.
    @discardableResult
    package func forEach(
        _ count: Int, _ body: (_ name: String, _ attributes: StoredAttributes) -> Void
    ) throws(Failure) -> Int {
        var found = 0
        try attempt("list the folder") { () throws(SystemError) in
            while found < count, let bytes = try stream.next() {
                guard let name = try name(bytes, withLinks: false),
                    let status = try directory.status(name), let attributes = StoredAttributes(status)
                else { continue }
                found += 1
                body(name, attributes)
            }
        }
        return found
    }

    /// - Returns: nil if the name cannot be in a path; it is counted in `unlisted`.
    private func name(_ bytes: [UInt8], withLinks: Bool) throws(SystemError) -> String? {
        if let name = String(validating: bytes, as: UTF8.self), RelativePath.accepts(name, in: path) { return name }
        if path == nil, RelativePath.isOwn(String(decoding: bytes, as: UTF8.self)) { return nil }
        if let status = try directory.status(bytes), status.isFile || status.isDirectory || withLinks && status.isLink {
            unlisted += 1
        }
        return nil
    }
}
